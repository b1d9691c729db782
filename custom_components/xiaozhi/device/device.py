"""A paired device: its link, and what is done over it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
import logging
from typing import Any, override

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError

from ..const import DOMAIN
from ..firmware.installation import Installation
from ..protocol import messages
from ..protocol.checkin import CheckIn
from ..protocol.checkin_reply import FirmwareOffer
from ..protocol.conversation.conversation import Conversation, ConversationState
from ..protocol.mcp.client import McpCallError, McpError, McpTimeoutError, ToolResult
from ..protocol.messages import JsonObject
from ..protocol.transport.link import Link, LinkClosedError, LinkKind
from ..settings import DeviceSettings
from ..tools.catalogue import REBOOT_TOOL, stock_tool
from .events import EVENT_NOTIFICATION, DeviceEvents, Moment
from .known import KnownDevice
from .session import DeviceSession
from .store import DeviceRecord, DeviceStore

_LOGGER = logging.getLogger(__name__)


class Device(KnownDevice):
    """A paired device, linked or not."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        subentry: ConfigSubentry,
        record: DeviceRecord,
        store: DeviceStore,
    ) -> None:
        """Prepare a device that is not linked."""
        super().__init__(hass, entry, subentry, record, store)
        self.events = DeviceEvents()
        self._session: DeviceSession | None = None
        self._last_statistics: dict[str, Any] = {}
        self._voice: Callable[[Conversation], None] | None = None
        self._just_started = False
        self.installation: Installation | None = None
        """Of a firmware, while it runs."""

    # What entities read.

    @property
    def linked(self) -> bool:
        """Whether a command would arrive now."""
        return self._open_session is not None

    @property
    def _open_session(self) -> DeviceSession | None:
        """The link, if it takes messages; one on WebSocket takes none before the hellos are exchanged."""
        session = self._session
        if session is None or not session.proven:
            return None
        if session.link.channel is None and not session.link.stays_connected:
            return None
        return session

    @property
    def available(self) -> bool:
        """Whether what is known of the device is current, as far as its kind of link can tell.

        A device on MQTT stays linked. One on WebSocket is there only while it talks: between conversations
        its last state stands, and a command says when it can be given.
        """
        return self.linked or self._record.link is not LinkKind.MQTT

    @property
    def answers_unasked(self) -> bool:
        """Whether the device can answer before its hello on a connection that it has made by itself."""
        return self.firmware is None or self.firmware.notices_reconnection

    @property
    def conversation_state(self) -> ConversationState:
        """What the device is doing."""
        return self._session.conversation_state if self._session else ConversationState.IDLE

    def describe(self) -> dict[str, Any]:
        """Return everything that is known of the device, for diagnostics; most of it private."""
        link = self._session.link if self._session else None
        return self._record.as_dict() | {
            "board": self.board,
            "conversation_style": self.settings.conversation_style,
            "wanted_link": self.settings.link,
            "linked_over": link and link.kind,
            "conversation": self.conversation_state,
            "dropped_events": self.events.dropped,
            "statistics": link.statistics() if link else self._last_statistics,
        }

    # What entities call.

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool and return its result.

        Raises `HomeAssistantError` with a text for the user when the device is out of reach, does not answer,
        or refuses.
        """
        if (session := self._open_session) is None:
            raise self._unreachable()
        placeholders = {"name": self.name, "tool": name}
        try:
            result = await session.call_tool(name, arguments)
        except McpTimeoutError as err:
            raise HomeAssistantError(
                translation_domain=DOMAIN, translation_key="no_answer", translation_placeholders=placeholders
            ) from err
        except McpCallError as err:
            raise HomeAssistantError(
                translation_domain=DOMAIN,
                translation_key="refused",
                translation_placeholders={**placeholders, "reason": str(err)},
            ) from err
        except (McpError, LinkClosedError) as err:
            raise HomeAssistantError(
                translation_domain=DOMAIN, translation_key="went_away", translation_placeholders=placeholders
            ) from err
        if result.json() is not False and self.toolbox.called(name, arguments or {}):
            self._changed()
            self._read_back(name)
        return result

    async def change(self, tool: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool that changes the device, return its result, and read the status soon after.

        Raises as `call_tool`, and when the tool answers that it did nothing.
        """
        result = await self.call_tool(tool, arguments)
        self._read_back(tool)
        if result.json() is False:
            raise HomeAssistantError(
                translation_domain=DOMAIN,
                translation_key="not_done",
                translation_placeholders={"name": self.name, "tool": tool},
            )
        return result

    @callback
    def _read_back(self, tool: str) -> None:
        if self._session is not None and not stock_tool(tool).restarts:
            self._session.read_soon(acted=True)

    @callback
    def read_regularly(self, tool: str) -> CALLBACK_TYPE:
        """Have a tool read soon, after changes, and every few minutes; returns what ends that."""
        if self._session is not None:
            self._session.read_soon()
        return self.toolbox.read_regularly(tool)

    async def read_at_rest(self, *, briefly: bool = False) -> None:
        """Read how the device is while its conversation pauses or is about to end. Raises nothing."""
        if self._session is not None:
            await self._session.read_at_rest(briefly=briefly)

    async def send(self, message: JsonObject) -> None:
        """Send a message that has no answer. Raises as `call_tool`."""
        if (session := self._open_session) is None:
            raise self._unreachable()
        try:
            await session.send(message)
        except LinkClosedError as err:
            raise self._unreachable() from err

    async def restart(self) -> None:
        """Restart the device. Raises as `call_tool`."""
        if REBOOT_TOOL in self.tools:
            await self.call_tool(REBOOT_TOOL)
        else:
            await self.send(messages.reboot())

    @contextmanager
    def installing(self, installation: Installation) -> Iterator[None]:
        """Have an installation told of the device's check-ins and links. One at a time."""
        self.installation = installation
        self._changed()
        try:
            yield
        finally:
            self.installation = None
            if not installation.stopped:
                self._changed()

    def _unreachable(self) -> HomeAssistantError:
        on_mqtt = self._record.link is LinkKind.MQTT
        return HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="not_connected" if on_mqtt else "only_in_conversation",
            translation_placeholders={"name": self.name},
        )

    # What the gateway calls.

    @callback
    def apply(self, subentry: ConfigSubentry) -> None:
        """Take over changed settings. A new token ends the link that the old one opened."""
        old, self.settings = self.settings, DeviceSettings.from_subentry(subentry)
        if old == self.settings:
            return
        if (old.token, old.client_id) != (self.settings.token, self.settings.client_id):
            self._close_link("paired again")
        self._changed()

    @callback
    @override
    def told(self, link: LinkKind, host: str, origin: str | None) -> None:
        # Told to prefer MQTT, it was told of the WebSocket, too.
        if link is LinkKind.WEBSOCKET and self._session is not None and self._session.link.kind is not link:
            self._close_link("the device is to connect in another way")
        super().told(link, host, origin)

    @callback
    @override
    def checked_in(self, checkin: CheckIn) -> None:
        super().checked_in(checkin)
        self._just_started = True
        if self._session is not None and not self._session.link.notices_loss:
            self._session.device_started()

    @callback
    def attach(self, link: Link) -> DeviceSession:
        """Take over a new link; it replaces an older one."""
        older = self._session
        self._record.link = link.kind
        if self.installation is not None:
            self.installation.linked()
        # A broker's link begins with a message of the device, so that it can send.
        can_answer = self.answers_unasked or self._just_started or not link.notices_loss
        self._just_started = False
        session = self._session = DeviceSession(self, link, can_answer=can_answer)
        if session.proven:
            self._log_connected(session, anew=older is not None)
        if older is not None:
            # Last, so that a device that was there and is there never seems to be away.
            self.create_task(older.link.close("replaced by a newer link"), "close link")
        self.contacted()
        return session

    @callback
    def firmware_offer(self) -> FirmwareOffer | None:
        """Return the firmware that the device, which checks in now, is to install."""
        if self.installation is None:
            return None
        return self.installation.checked_in(self.firmware_text, self.web_origin)

    async def async_close(self) -> None:
        """End the link; the device is not used any more."""
        if self.installation is not None:
            self.installation.stop()
        if (session := self._session) is not None:
            await session.link.close("device removed or gateway stopped")

    # What a session calls.

    @callback
    def proven(self, session: DeviceSession) -> None:
        """Note that what is sent over a link arrives."""
        self._log_connected(session)
        self._changed()

    @callback
    def detach(self, session: DeviceSession, reason: str) -> None:
        """Forget a link that has ended."""
        self._last_statistics = session.link.statistics()
        if self._session is session:
            self._session = None
            self._log_link(session, "%s is not connected any more: %s", self.name, reason)
            self.contacted()

    async def conversation_opening(self, session_id: str) -> None:
        """Have the id of a conversation on disk before the device is in it, to end it after a crash."""
        self._record.session = session_id
        await self._store.async_save_at_once(self.mac)

    @callback
    def conversation_started(self, conversation: Conversation) -> None:
        """Hand a conversation to the satellite; without one it ends at once."""
        self.happened(Moment.STARTED)
        if self._voice is not None:
            self._voice(conversation)
        else:
            _LOGGER.debug("%s: nobody holds the conversation, the satellite is disabled", self.name)
            self.create_task(conversation.end(), "end conversation")
        self.contacted()

    @callback
    def conversation_state_changed(self, _state: ConversationState) -> None:
        """Tell the listeners that the device listens, speaks, ..."""
        self._changed()

    @callback
    def notified(self, method: str, params: JsonObject) -> None:
        """Pass a notification on to automations; its size is bounded."""
        data = {"device_id": self.registry_id, "method": method, "params": params}
        self._hass.bus.async_fire(EVENT_NOTIFICATION, data)
        self.events.notified(method, params)

    @callback
    def happened(self, moment: Moment, text: str | None = None, **attributes: str) -> None:
        """Pass a moment of a conversation on to automations; its text only if the owner allows that."""
        if text is not None and self.settings.share_transcripts:
            attributes["text"] = text
        self.events.happened(moment, **attributes)

    @callback
    def set_voice(self, voice: Callable[[Conversation], None]) -> CALLBACK_TYPE:
        """Let `voice` hold this device's conversations; returns what ends that."""
        self._voice = voice

        @callback
        def end() -> None:
            self._voice = None

        return end

    @callback
    def create_task[T](self, work: Coroutine[Any, Any, T], what: str) -> asyncio.Task[T]:
        """Run work that ends with the gateway at the latest."""
        return self._entry.async_create_background_task(self._hass, work, f"xiaozhi {self.name} {what}")

    @callback
    def _close_link(self, reason: str) -> None:
        if (session := self._session) is not None:
            self.detach(session, reason)
            self.create_task(session.link.close(reason), "close link")

    def _log_connected(self, session: DeviceSession, *, anew: bool = False) -> None:
        kind = session.link.kind
        self._log_link(session, "%s is connected over %s", self.name, kind, quietly=anew)

    @staticmethod
    def _log_link(session: DeviceSession, text: str, *values: object, quietly: bool = False) -> None:
        # A device on WebSocket comes and goes with every conversation.
        loud = session.link.stays_connected and session.proven and not quietly
        _LOGGER.log(logging.INFO if loud else logging.DEBUG, text, *values)
