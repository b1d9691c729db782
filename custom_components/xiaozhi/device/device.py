"""A paired device with its link: check-ins, sessions and settings."""

from collections.abc import Iterator, Mapping
import logging
from typing import Any, override

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback

from ..device_http.transfers import Transfers
from ..protocol.checkin import CheckIn
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.readiness import MainTask
from ..protocol.messages import JsonObject
from ..protocol.transport.link import Link, LinkKind
from ..settings import DeviceSettings, GatewaySettings
from .bounds import LINKS
from .commands import DeviceCommands
from .link_session import LinkSession
from .link_settings import link_settings
from .paired_device import PairedDevice
from .state import ATTACHED, SETTINGS
from .store import DeviceStore

_LOGGER = logging.getLogger(__name__)


class Device(PairedDevice):
    """A paired device, linked or not."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        subentry: ConfigSubentry,
        store: DeviceStore,
        gateway: GatewaySettings,
        transfers: Transfers,
        gateway_parts: Mapping[type[Any], Any],
    ) -> None:
        super().__init__(hass, entry, subentry, store)
        self.transfers = transfers
        self._gateway = gateway
        self.session: LinkSession | None = None
        """The session on its link; commands go through `commands`."""
        self.commands = DeviceCommands(self, lambda: self.session)
        self.main_task = _DeviceMainTask(self)
        self.parts: dict[type[Any], Any] = {}
        """Its parts by their class, made by the gateway; none until it is in the device registry."""
        self._gateway_parts = gateway_parts
        self._last_statistics: dict[str, Any] = {}
        self._just_started = False
        self._ends: list[CALLBACK_TYPE] = []
        self.record.listen(["linked"], self._on_linked)

    # For entities.

    def part[PartT](self, kind: type[PartT]) -> PartT:
        """Return the part of this class, of the device or of its gateway."""
        found: PartT = self.parts[kind] if kind in self.parts else self._gateway_parts[kind]
        return found

    @property
    def quiet_levels(self) -> Mapping[str, int] | None:
        """The most that `volume` and `brightness` may be while it is not to disturb; None while it may."""
        levels: Iterator[Mapping[str, int] | None] = (part.quiet_levels for part in self.parts.values())
        return next(filter(None, levels), None)

    @property
    def conversation(self) -> Conversation | None:
        """The conversation on its audio channel, also while the device rests in push-to-talk."""
        return self.session.conversation if self.session else None

    def describe(self) -> dict[str, Any]:
        """Return the whole state of the device for diagnostics. Much of it is private."""
        link = self.session.link if self.session else None
        return (
            self.state.as_dict()
            | self.record.owned_as_dict()
            | {
                "conversation_style": self.settings.conversation_style,
                "follow_up_wait": self.settings.follow_up_wait,
                "interrupt_by_speaking": self.settings.interrupt_by_speaking,
                "microphone": self.microphone,
                "wanted_link": self.settings.link,
                "linked_over": link and link.kind,
                "conversation": self.state.conversation,
                "exceeded_bounds": dict(self.bounds.exceeded),
                "turns": self.conversations.describe(),
                "statistics": link.statistics() if link else self._last_statistics,
            }
        )

    # For the gateway.

    @callback
    def apply(self, subentry: ConfigSubentry) -> None:
        """Apply changed settings. A new token or client id ends the link."""
        old, self.settings = self.settings, DeviceSettings.from_subentry(subentry)
        if (old, old.options) == (self.settings, self.settings.options):
            return
        if (old.token, old.client_id) != (self.settings.token, self.settings.client_id):
            self._close_link("paired again")
        self.record.notify(SETTINGS)

    @callback
    def answer_check_in(self, checkin: CheckIn, *, remote: str, origin: str) -> JsonObject:
        """Take a check-in from an IP address, which was sent to this scheme, host and port.

        Returns the reply: link settings, and what parts add.
        """
        self.record.set_state(self.state.after_check_in(checkin))
        firmware = self.state.firmware_version
        link = link_settings(self._gateway, self.settings, firmware, host=checkin.host, origin=origin)
        # A reply that prefers MQTT allows the WebSocket too.
        if link.preferred is LinkKind.WEBSOCKET and self.session and self.session.link.kind is LinkKind.MQTT:
            self._close_link("the device is to connect in another way")
        self.record.set_state(self.state.after_reply(link.preferred, link.origin))
        self.register()
        self._just_started = True
        if self.session is not None and not self.session.link.notices_loss:
            self.session.restart()
        reply = link.sections
        for part in self.parts.values():
            reply = reply | part.checked_in(remote, link.origin)
        return reply

    @callback
    def attach(self, link: Link) -> LinkSession:
        """Use a new link, which replaces an older one."""
        older = self.session
        # A link over a broker begins with a message from the device, which shows that it can send.
        can_answer = self.state.answers_unasked or self._just_started or not link.notices_loss
        self._just_started = False
        if older is not None:
            older.over = True
        self.session = LinkSession(self, link, self._link_gone)
        self.session.start(can_answer=can_answer)
        self.record.notify(ATTACHED)
        if older is not None:
            # Last, so that a device that reconnects never seems to be away.
            self.create_task(older.link.close("replaced by a newer link"), "close link")
        return self.session

    @callback
    def until_closed(self, end: CALLBACK_TYPE) -> None:
        """Call `end` when the device is deleted, or the gateway stops."""
        self._ends.append(end)

    async def async_close(self) -> None:
        """End the link, for good."""
        while self._ends:
            self._ends.pop()()
        if (session := self.session) is not None:
            await session.link.close("device removed or gateway stopped")

    @callback
    def _on_linked(self) -> None:
        if self.session is not None and self.state.linked:
            self._log(self.session.link, "%s is connected over %s", self.session.link.kind)

    @callback
    def _link_gone(self, reason: str) -> None:
        """Forget the session, whose link has ended."""
        if (session := self.session) is not None:
            self._last_statistics = session.link.statistics()
            self.session = None
            if self.state.linked:
                self._log(session.link, "%s is not connected any more: %s", reason)

    def _log(self, link: Link, text: str, value: str) -> None:
        # A device on WebSocket comes and goes with every conversation.
        seldom = link.stays_connected and not self.bounds.delay(LINKS)
        _LOGGER.log(logging.INFO if seldom else logging.DEBUG, text, self.name, value)

    @callback
    def _close_link(self, reason: str) -> None:
        if (session := self.session) is not None:
            session.end(reason)
            self.create_task(session.link.close(reason), "close link")


class _DeviceMainTask(MainTask):
    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device

    @property
    @override
    def blocked_by_tools(self) -> bool:
        return self._device.state.runs_tools_on_main_task

    @property
    @override
    def stalled(self) -> bool:
        session = self._device.session
        return session is not None and session.link.held > 0

    @override
    async def probe(self) -> bool | None:
        session = self._device.session
        return session is not None and await session.probe_main_task()
