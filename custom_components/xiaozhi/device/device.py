"""A paired device: what is known of it, and its link."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
import logging
from typing import Any

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import HomeAssistant, callback

from ..device_http.transfers import Transfers
from ..firmware.installation import Installation
from ..protocol.checkin import CheckIn
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.readiness import MainTask
from ..protocol.conversation.state_table import ConversationState
from ..protocol.messages import JsonObject
from ..protocol.transport.link import Link, LinkKind
from ..settings import DeviceSettings
from ..timeouts import Timeouts
from .commands import DeviceCommands
from .device_model import DeviceModel
from .link_session import LinkSession
from .state import INSTALLATION, SETTINGS, DeviceState
from .store import DeviceStore

_LOGGER = logging.getLogger(__name__)


class Device(DeviceModel):
    """A paired device, linked or not."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        subentry: ConfigSubentry,
        store: DeviceStore,
        timeouts: Timeouts,
        transfers: Transfers,
    ) -> None:
        """Prepare a device that is not linked."""
        super().__init__(hass, entry, subentry, store, timeouts, transfers)
        self.session: LinkSession | None = None
        """The session on its link; commands go through `commands`."""
        self.commands = DeviceCommands(self, lambda: self.session)
        self._main_task = MainTask(
            blocked_by_tools=lambda: self.state.runs_tools_on_main_task,
            probe=self._probe_main_task,
            stalled=lambda: self.session is not None and self.session.link.stalled,
        )
        self.installation: Installation | None = None
        """The running installation of a firmware, if any."""
        self._last_statistics: dict[str, Any] = {}
        self._just_started = False
        self.update(board=self.state.board or self.settings.board or None)

    # For entities.

    @property
    def conversation(self) -> Conversation | None:
        """The conversation on its audio channel, also while the device rests in push-to-talk."""
        return self.session.conversation if self.session else None

    def describe(self) -> dict[str, Any]:
        """Return the whole state of the device for diagnostics. Much of it is private."""
        link = self.session.link if self.session else None
        return self.state.as_dict() | {
            "conversation_style": self.settings.conversation_style,
            "follow_up_wait": self.settings.follow_up_wait,
            "interrupt_by_speaking": self.settings.interrupt_by_speaking,
            "microphone": self.settings.microphone,
            "wanted_link": self.settings.link,
            "linked_over": link and link.kind,
            "conversation": self.state.conversation,
            "dropped_events": self.events.dropped,
            "turns": self.conversations.describe(),
            "statistics": link.statistics() if link else self._last_statistics,
        }

    @contextmanager
    def installing(self, installation: Installation) -> Iterator[None]:
        """Pass the device's check-ins and links to an installation. Only one at a time."""
        self.installation = installation
        self.notify(INSTALLATION)
        try:
            yield
        finally:
            self.installation = None
            if not installation.stopped:
                self.notify(INSTALLATION)

    @callback
    def set_option(self, key: str, value: int | str | None) -> None:
        """Store a setting of the owner's in the subentry; it applies from the next turn."""
        subentry = self._entry.subentries[self.subentry_id]
        self.hass.config_entries.async_update_subentry(
            self._entry, subentry, data={**subentry.data, key: value}
        )

    # For the gateway.

    @callback
    def apply(self, subentry: ConfigSubentry) -> None:
        """Apply changed settings. A new token or client id ends the link."""
        old, self.settings = self.settings, DeviceSettings.from_subentry(subentry)
        if old == self.settings:
            return
        if (old.token, old.client_id) != (self.settings.token, self.settings.client_id):
            self._close_link("paired again")
        self.notify(SETTINGS)

    @callback
    def answer_check_in(
        self, checkin: CheckIn, link: LinkKind, host: str, origin: str | None
    ) -> JsonObject | None:
        """Take a check-in that was sent to `host` and `origin`, and whose reply prefers `link`.

        Returns the section of the reply that offers a firmware, if any.
        """
        # A reply that prefers MQTT allows the WebSocket too.
        if link is LinkKind.WEBSOCKET and self.session is not None and self.session.link.kind is not link:
            self._close_link("the device is to connect in another way")
        self.set_state(self.state.after_check_in(checkin).after_reply(link, host, origin))
        self.register()
        self._just_started = True
        if self.session is not None and not self.session.link.notices_loss:
            self.session.restart()
        if self.installation is None:
            return None
        return self.installation.checked_in(self.state.firmware, origin)

    @callback
    def attach(self, link: Link) -> LinkSession:
        """Use a new link, which replaces an older one."""
        older = self.session
        if self.installation is not None:
            self.installation.linked()
        # A link over a broker begins with a message from the device, which shows that it can send.
        can_answer = self.state.answers_unasked or self._just_started or not link.notices_loss
        self._just_started = False
        self.session = LinkSession(
            self,
            link,
            self._main_task,
            can_answer=can_answer,
            on_changed=self._on_changed,
            on_closed=self._on_closed,
        )
        self._on_changed(self.session, replace(self.state, link=link.kind).after_contact())
        self.session.start()
        if older is not None:
            # Last, so that a device that reconnects never seems to be away.
            self.create_task(older.link.close("replaced by a newer link"), "close link")
        return self.session

    async def async_close(self) -> None:
        """End the link and any installation, for good."""
        if self.installation is not None:
            self.installation.stop()
        if (session := self.session) is not None:
            await session.link.close("device removed or gateway stopped")

    # For the session.

    @callback
    def _on_changed(self, session: LinkSession, state: DeviceState | None = None) -> None:
        """Take what the session on the current link says; an older one may still be ending."""
        if self.session is session:
            linked, conversation = session.presence.linked, session.conversation_state
            if linked and not self.state.linked:
                self._log(session.link, "%s is connected over %s", session.link.kind)
            self.set_state(replace(state or self.state, linked=linked, conversation=conversation))

    async def _probe_main_task(self) -> bool:
        return self.session is not None and await self.session.probe_main_task()

    @callback
    def _on_closed(self, session: LinkSession, reason: str) -> None:
        """Remove a session whose link has ended."""
        self._last_statistics = session.link.statistics()
        if self.session is session:
            self.session = None
            if self.state.linked:
                self._log(session.link, "%s is not connected any more: %s", reason)
            gone = replace(self.state, linked=False, conversation=ConversationState.IDLE)
            self.set_state(gone.after_contact())

    def _log(self, link: Link, text: str, value: str) -> None:
        # A device on WebSocket comes and goes with every conversation.
        _LOGGER.log(logging.INFO if link.stays_connected else logging.DEBUG, text, self.name, value)

    @callback
    def _close_link(self, reason: str) -> None:
        if (session := self.session) is not None:
            self._on_closed(session, reason)
            self.create_task(session.link.close(reason), "close link")
