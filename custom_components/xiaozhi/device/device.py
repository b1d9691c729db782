"""A paired device: its state and its link."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
import logging
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util.signal_type import SignalType

from ..const import DOMAIN, VISION_PATH
from ..firmware.offer_at_checkin import Installation
from ..pictures.jpeg import Picture, PictureKind
from ..protocol.checkin import CheckIn
from ..protocol.checkin_reply import FirmwareOffer
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.state_table import ConversationState
from ..protocol.mcp.incoming import RequestHandler
from ..protocol.mcp.model import ServerInfo, VisionEndpoint
from ..protocol.mcp.result import ToolResult
from ..protocol.mcp.tool import Tool
from ..protocol.messages import JsonObject
from ..protocol.status import DeviceStatus
from ..protocol.transport.link import Link, LinkKind
from ..settings import DeviceSettings
from ..timeouts import Timeouts
from ..tools.catalogue import STATUS_TOOL
from ..tools.entity_descriptions import Reading
from ..tools.tool_state import ToolState, prepare
from .commands import DeviceCommands
from .conversations import DeviceConversations
from .events import EVENT_NOTIFICATION, DeviceEvent, DeviceEvents
from .handshake import HandshakeStep
from .listeners import KeyedListeners, Listener
from .session import DeviceSession
from .state import INSTALLATION, SETTINGS, STATUS_READ, DeviceState, changed_keys, is_stored
from .store import DeviceStore

_LOGGER = logging.getLogger(__name__)

EVENT_SIGNAL: Final = SignalType["Device", DeviceEvent](f"{DOMAIN}_event")
"""Sent with each event of any device, for triggers of automations."""


class Device:
    """A paired device, linked or not.

    Its last state comes from the store, so that entities exist before it connects. Listeners are called when
    what they follow has changed.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        subentry: ConfigSubentry,
        store: DeviceStore,
        timeouts: Timeouts,
    ) -> None:
        """Prepare a device that is not linked."""
        self.hass = hass
        self.timeouts = timeouts
        self.subentry_id = subentry.subentry_id
        self.settings = DeviceSettings.from_subentry(subentry)
        self.state: DeviceState = store.state(self.mac)
        """The last known state."""
        self.state.board = self.state.board or self.settings.board or None
        self.tools = ToolState(self.state.tools, self.state.answers, self.state.calls)
        self.info = DeviceInfo(identifiers={(DOMAIN, self.mac)})
        """Connects the entities with the device in the registry."""
        self.events = DeviceEvents(hass.loop.time, lambda: self.settings.share_transcripts)
        self.events.add_listener(lambda event: async_dispatcher_send(hass, EVENT_SIGNAL, self, event))
        self.handlers: dict[str, RequestHandler] = {}
        """What answers the requests of the device's MCP server, by method."""
        self.client_capabilities: dict[str, JsonObject] = {}
        """What is announced to it: the capabilities that these handlers are."""
        self.notification_handlers: dict[str, Callable[[JsonObject], None]] = {}
        """What else handles its admitted notifications, by method."""
        self.handshake_steps: list[HandshakeStep] = []
        """What else is asked of it at each handshake."""
        self.conversations = DeviceConversations(self.events)
        self.session: DeviceSession | None = None
        """The session on its link; commands go through `commands`."""
        self.commands = DeviceCommands(self)
        self.installation: Installation | None = None
        """The running installation of a firmware, if any."""
        self._entry = entry
        self._store = store
        self._listeners = KeyedListeners()
        self._mapping = asyncio.Lock()
        self._shown = self._snapshot()
        self._last_statistics: dict[str, Any] = {}
        self._just_started = False

    @property
    def mac(self) -> str:
        """MAC in lower case with colons."""
        return self.settings.mac

    @property
    def name(self) -> str:
        """Name from the owner."""
        return self.settings.name

    @property
    def registry_id(self) -> str | None:
        """Id in the device registry."""
        registry = dr.async_get(self.hass)
        entry = registry.async_get_device_by_identifier((DOMAIN, self.mac), self._entry.entry_id)
        return entry.id if entry else None

    @callback
    def listen(self, keys: Iterable[str], listener: Listener) -> CALLBACK_TYPE:
        """Call `listener` whenever something with one of these keys has changed; `state.py` lists them.

        Returns a function that ends this.
        """
        return self._listeners.listen(keys, listener)

    @callback
    def changed(self, *keys: str) -> None:
        """Call those who follow what has changed in the state, or these keys, and schedule saving it."""
        shown, self._shown = self._shown, self._snapshot()
        changed = {*keys, *changed_keys(shown, self._shown)}
        if stored := set(filter(is_stored, changed)):
            self._store.async_schedule_save(seldom=stored == {"last_contact"})
        self._listeners.notify(changed)

    def _snapshot(self) -> DeviceState:
        return self.state.copy(linked=self.linked, conversation=self.conversation_state)

    @callback
    def save_soon(self) -> None:
        """Do as `changed`, and save soon what is needed after a crash."""
        self._store.async_schedule_save(soon=True)
        self.changed()

    # For entities: state.

    @property
    def linked(self) -> bool:
        """Whether a command would arrive now."""
        return self.session is not None and self.session.accepts_messages

    @property
    def available(self) -> bool:
        """Whether the state of the device counts as current."""
        return self._shown.available

    @property
    def conversation_state(self) -> ConversationState:
        """What the device is doing."""
        return self.session.conversation_state if self.session else ConversationState.IDLE

    @property
    def in_conversation(self) -> bool:
        """Whether the device has an audio channel open, also if it rests in push-to-talk."""
        return self.session is not None and self.session.conversation is not None

    @property
    def vision(self) -> VisionEndpoint | None:
        """Where it sends its photos; None until its address for us is known."""
        if (origin := self.state.origin) is None:
            return None
        return VisionEndpoint(url=origin + VISION_PATH, token=self.settings.vision_token)

    def describe(self) -> dict[str, Any]:
        """Return the whole state of the device for diagnostics. Much of it is private."""
        link = self.session.link if self.session else None
        return self.state.as_dict() | {
            "conversation_style": self.settings.conversation_style,
            "follow_up_wait": self.settings.follow_up_wait,
            "interrupt_by_speaking": self.settings.interrupt_by_speaking,
            "wanted_link": self.settings.link,
            "linked_over": link and link.kind,
            "conversation": self.conversation_state,
            "dropped_events": self.events.dropped,
            "turns": self.conversations.describe(),
            "statistics": link.statistics() if link else self._last_statistics,
        }

    # For entities: changes.

    @callback
    def pictured(self, kind: PictureKind, picture: Picture) -> None:
        """Store a picture of a kind, in memory, until the next one."""
        self.state.pictures[kind] = picture
        self.changed()

    @contextmanager
    def installing(self, installation: Installation) -> Iterator[None]:
        """Pass the device's check-ins and links to an installation. Only one at a time."""
        self.installation = installation
        self.changed(INSTALLATION)
        try:
            yield
        finally:
            self.installation = None
            if not installation.stopped:
                self.changed(INSTALLATION)

    @callback
    def set_option(self, key: str, value: int) -> None:
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
        self.changed(SETTINGS)

    @callback
    def replied(self, link: LinkKind, host: str, origin: str | None) -> None:
        """Note the preferred link from the reply to a check-in, and the addresses that the device calls."""
        # A reply that prefers MQTT allows the WebSocket too.
        if link is LinkKind.WEBSOCKET and self.session is not None and self.session.link.kind is not link:
            self._close_link("the device is to connect in another way")
        self.state.replied(link, host, origin)
        self.changed()

    @callback
    def checked_in(self, checkin: CheckIn) -> None:
        """Take the facts from a check-in."""
        self.state.checked_in(checkin)
        self.changed()
        self._just_started = True
        if self.session is not None and not self.session.link.notices_loss:
            self.session.device_started()

    @callback
    def attach(self, link: Link) -> DeviceSession:
        """Use a new link, which replaces an older one."""
        older = self.session
        self.state.link = link.kind
        if self.installation is not None:
            self.installation.linked()
        # A link over a broker begins with a message from the device, which shows that it can send.
        can_answer = self.state.answers_unasked or self._just_started or not link.notices_loss
        self._just_started = False
        session = self.session = DeviceSession(self, link, self.timeouts, can_answer=can_answer)
        if session.reachable:
            self._log_connected(session, again=older is not None)
        if older is not None:
            # Last, so that a device that reconnects never seems to be away.
            self.create_task(older.link.close("replaced by a newer link"), "close link")
        self._contacted()
        return session

    @callback
    def firmware_offer(self) -> FirmwareOffer | None:
        """Return the firmware to offer in the current check-in, if any."""
        if self.installation is None:
            return None
        return self.installation.checked_in(self.state.firmware, self.state.origin)

    async def async_close(self) -> None:
        """End the link and any installation, for good."""
        if self.installation is not None:
            self.installation.stop()
        if (session := self.session) is not None:
            await session.link.close("device removed or gateway stopped")

    # For sessions.

    @callback
    def reached(self, session: DeviceSession) -> None:
        """Note that messages to the device arrive."""
        self._log_connected(session)
        self.changed()

    @callback
    def detach(self, session: DeviceSession, reason: str) -> None:
        """Remove a session whose link has ended."""
        self._last_statistics = session.link.statistics()
        if self.session is session:
            self.session = None
            self._log_link(session, "%s is not connected any more: %s", self.name, reason)
            self._contacted()

    @callback
    def identified(self, server: ServerInfo) -> None:
        """Take what the device says of itself in the MCP handshake."""
        self.state.extended = server.extended
        self.state.contacted(firmware=server.version or None)
        self.changed()

    async def tools_listed(self, tools: tuple[Tool, ...]) -> None:
        """Take the device's tools."""
        await self._map(tools)

    async def _map(self, tools: tuple[Tool, ...] | None = None) -> None:
        """Map these tools, or those known, to entities, by the answers so far."""
        async with self._mapping:
            known = self.state.tools
            # Hostile texts take up to a second.
            mapped = await self.hass.async_add_executor_job(
                prepare, known.tools if tools is None else tools, known.shapes, dict(self.state.answers)
            )
            if mapped is not known:
                # Without stored tools, a device has no entities after a crash until it connects.
                self._store.async_schedule_save(soon=True)
                self.state.tools = mapped
                self.tools.listed(mapped)
            self.changed()

    @callback
    async def tool_answered(self, name: str, result: ToolResult) -> None:
        """Take the answer of a tool that is read regularly."""
        if self.tools.answered(name, result):
            await self._map()
        else:
            self.changed()

    def value_of(self, reading: Reading) -> Any:
        """Return the value last read, or None. For the status tool, a member is a field of the status."""
        if reading.tool == STATUS_TOOL:
            return getattr(self.state.status, reading.member or "", None)
        return self.tools.last_value(reading)

    @callback
    def status_read(self, status: DeviceStatus) -> None:
        """Take the device's status."""
        self.state.status_read(status)
        self.changed(STATUS_READ)

    async def conversation_opening(self, session_id: str) -> None:
        """Save the id of a conversation before it begins, to end it after a crash."""
        self.state.session = session_id
        await self._store.async_save_at_once(self.mac)

    @callback
    def conversation_started(self, conversation: Conversation) -> None:
        """Pass a conversation to the satellite; without one, end it."""
        if not self.conversations.started(conversation):
            _LOGGER.debug("%s: no voice satellite to hold this conversation", self.name)
            self.create_task(conversation.end(), "end conversation")
        self._contacted()

    @callback
    def notified(self, method: str, params: JsonObject) -> None:
        """Pass a notification of bounded size to automations."""
        data = {"device_id": self.registry_id, "method": method, "params": params}
        self.hass.bus.async_fire(EVENT_NOTIFICATION, data)
        self.events.notified(method, params)

    @callback
    def create_task[T](self, work: Coroutine[Any, Any, T], what: str) -> asyncio.Task[T]:
        """Run work that ends with the gateway at the latest."""
        return self._entry.async_create_background_task(self.hass, work, f"xiaozhi {self.name} {what}")

    @callback
    def _contacted(self) -> None:
        self.state.contacted()
        self.changed()

    @callback
    def _close_link(self, reason: str) -> None:
        if (session := self.session) is not None:
            self.detach(session, reason)
            self.create_task(session.link.close(reason), "close link")

    def _log_connected(self, session: DeviceSession, *, again: bool = False) -> None:
        kind = session.link.kind
        self._log_link(session, "%s is connected over %s", self.name, kind, quietly=again)

    @staticmethod
    def _log_link(session: DeviceSession, text: str, *values: object, quietly: bool = False) -> None:
        # A device on WebSocket comes and goes with every conversation.
        loud = session.link.stays_connected and session.reachable and not quietly
        _LOGGER.log(logging.INFO if loud else logging.DEBUG, text, *values)
