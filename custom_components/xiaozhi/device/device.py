"""A paired device: its state and its link."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
import hmac
import logging
from typing import Any, Final, Protocol

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util.signal_type import SignalType

from ..const import DOMAIN, VISION_PATH
from ..firmware.installation import Installation
from ..pictures.jpeg import Picture, PictureKind
from ..protocol import messages
from ..protocol.checkin import CheckIn
from ..protocol.checkin_reply import FirmwareOffer
from ..protocol.conversation.conversation import Conversation, ConversationState
from ..protocol.mcp.client import (
    Capabilities,
    ClientOffer,
    McpClient,
    McpError,
    Progress,
    RequestHandler,
    ServerInfo,
    Tool,
    ToolResult,
    VisionEndpoint,
)
from ..protocol.messages import JsonObject
from ..protocol.status import DeviceStatus
from ..protocol.transport.link import Link, LinkClosedError, LinkKind
from ..settings import DeviceSettings
from ..timeouts import Timeouts
from ..tools.catalogue import REBOOT_TOOL, stock_tool
from ..tools.naming import tool_words
from ..tools.state import ToolState, prepare
from .calls import call_error
from .conversations import DeviceConversations
from .events import EVENT_NOTIFICATION, DeviceEvent, DeviceEvents
from .offers import FollowedResources, Offers
from .session import DeviceSession
from .state import DeviceState
from .store import DeviceStore
from .timers import DeviceTimers

_LOGGER = logging.getLogger(__name__)

EVENT_SIGNAL: Final = SignalType["Device", DeviceEvent](f"{DOMAIN}_event")
"""Sent with each event of any device, for triggers of automations."""


class ChangeListener(Protocol):
    """Receives every change of a device."""

    def device_changed(self, device: Device) -> None:
        """Handle a change of any kind."""


class Device:
    """A paired device, linked or not.

    Its last state comes from the store, so that entities exist before it connects. Listeners are called at
    every change.
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
        self.tools = ToolState(self.state)
        self.info = DeviceInfo(identifiers={(DOMAIN, self.mac)})
        """Connects the entities with the device in the registry."""
        self.events = DeviceEvents(hass.loop.time, lambda: self.settings.share_transcripts)
        self.events.add_listener(lambda event: async_dispatcher_send(hass, EVENT_SIGNAL, self, event))
        self.handlers: dict[str, RequestHandler] = {}
        """What answers the requests of the device's MCP server, by method."""
        self.resources = FollowedResources()
        self.conversations = DeviceConversations(self.events)
        self.timers = DeviceTimers(hass, self.state.timers, self._timers_changed)
        self.installation: Installation | None = None
        """The running installation of a firmware, if any."""
        self._entry = entry
        self._store = store
        self._lasting = self.state.lasting()
        self._listeners: list[ChangeListener] = []
        self._session: DeviceSession | None = None
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
    def add_listener(self, listener: ChangeListener) -> None:
        """Call `listener` at every change."""
        self._listeners.append(listener)

    @callback
    def remove_listener(self, listener: ChangeListener) -> None:
        """Stop calling `listener`."""
        self._listeners.remove(listener)

    @callback
    def changed(self) -> None:
        """Schedule saving the state, and call the listeners."""
        lasting = self.state.lasting()
        self._store.async_schedule_save(seldom=lasting == self._lasting)
        self._lasting = lasting
        for listener in tuple(self._listeners):
            # A failure must affect neither the other listeners nor the source of the change.
            try:
                listener.device_changed(self)
            except Exception:
                _LOGGER.exception("A change of %s could not be shown", self.name)

    @callback
    def _timers_changed(self) -> None:
        # After a crash, the owner is to be told of those that it ended.
        self._store.async_schedule_save(soon=True)
        self.changed()

    # For entities: state.

    @property
    def linked(self) -> bool:
        """Whether a command would arrive now."""
        return self._open_session is not None

    @property
    def _open_session(self) -> DeviceSession | None:
        """The session, if its link accepts messages; a WebSocket does so only after both hellos."""
        session = self._session
        if session is None or not session.reachable:
            return None
        if session.link.channel is None and not session.link.stays_connected:
            return None
        return session

    @property
    def available(self) -> bool:
        """Whether the state of the device counts as current.

        A device on MQTT stays linked. One on WebSocket is linked only during conversations: between them, its
        last state stays valid, and a command fails with an error that says so.
        """
        return self.linked or self.state.link is not LinkKind.MQTT

    @property
    def answers_unasked(self) -> bool:
        """Whether the device can answer before its hello after its MQTT client has reconnected by itself."""
        version = self.state.firmware_version
        return version is None or version.notices_reconnection

    @property
    def conversation_state(self) -> ConversationState:
        """What the device is doing."""
        return self._session.conversation_state if self._session else ConversationState.IDLE

    @property
    def in_conversation(self) -> bool:
        """Whether the device has an audio channel open, also if it rests in push-to-talk."""
        return self._session is not None and self._session.conversation is not None

    @property
    def vision_token(self) -> str:
        """Token that the device sends with a photo. It does not reveal the token of the link."""
        return hmac.digest(self.settings.token.encode(), b"vision", "sha256").hex()

    @property
    def vision(self) -> VisionEndpoint | None:
        """Where the device sends its photos; None if its address for us is unknown."""
        if self.state.origin is None:
            return None
        return VisionEndpoint(url=self.state.origin + VISION_PATH, token=self.vision_token)

    @property
    def offer(self) -> ClientOffer:
        """What is announced to the device's MCP server."""
        return ClientOffer(
            vision=self.vision,
            sampling=self.settings.may_ask_ai,
            elicitation=self.settings.may_ask_people,
            extended=self.state.capabilities.extended,
        )

    def describe(self) -> dict[str, Any]:
        """Return the whole state of the device for diagnostics. Much of it is private."""
        link = self._session.link if self._session else None
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

    # For entities: commands.

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """Call a tool and return its result.

        Raises `HomeAssistantError` with a text for the user when the device is out of reach, does not answer,
        or refuses.
        """
        if (session := self._open_session) is None:
            raise self._unreachable()
        try:
            result = await session.call_tool(name, arguments, on_progress)
        except (McpError, LinkClosedError) as err:
            raise call_error(err, self.name, self.words_for(name)) from err
        if result.json() is not False and self.tools.called(name, arguments or {}):
            self.changed()
            self._read_back(name)
        return result

    async def ask[T](self, what: str, request: Callable[[McpClient], Awaitable[T]]) -> T:
        """Ask the device's MCP server for something other than a tool, named `what` in errors.

        Raises as `call_tool`.
        """
        if (session := self._open_session) is None:
            raise self._unreachable()
        try:
            return await session.ask(request)
        except (McpError, LinkClosedError) as err:
            raise call_error(err, self.name, what) from err

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
                translation_placeholders={"name": self.name, "tool": self.words_for(tool)},
            )
        return result

    @callback
    def words_for(self, tool: str) -> str:
        """Return words for a tool in messages to people."""
        known = self.tools.get(tool)
        return tool_words(self.hass, tool, known.title or "" if known else "")

    @callback
    def _read_back(self, tool: str) -> None:
        if self._session is not None and not stock_tool(tool).restarts:
            self._session.read_soon(acted=True)

    @callback
    def read_regularly(self, tool: str) -> CALLBACK_TYPE:
        """Have a tool read soon, after changes, and every few minutes. Returns a function that ends this."""
        if self._session is not None:
            self._session.read_soon()
        return self.tools.read_regularly(tool)

    async def read_at_rest(self, *, briefly: bool = False) -> None:
        """Read the state of the device while its conversation pauses or is about to end. Never raises."""
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

    @callback
    def pictured(self, kind: PictureKind, picture: Picture) -> None:
        """Store a picture of a kind, in memory, until the next one."""
        self.state.pictures[kind] = picture
        self.changed()

    @contextmanager
    def installing(self, installation: Installation) -> Iterator[None]:
        """Pass the device's check-ins and links to an installation. Only one at a time."""
        self.installation = installation
        self.changed()
        try:
            yield
        finally:
            self.installation = None
            if not installation.stopped:
                self.changed()

    def _unreachable(self) -> HomeAssistantError:
        on_mqtt = self.state.link is LinkKind.MQTT
        return HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="not_connected" if on_mqtt else "only_in_conversation",
            translation_placeholders={"name": self.name},
        )

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
        elif self._session is not None and (old.may_ask_ai, old.may_ask_people) != (
            self.settings.may_ask_ai,
            self.settings.may_ask_people,
        ):
            self._session.announce()
        self.changed()

    @callback
    def replied(self, link: LinkKind, host: str, origin: str | None) -> None:
        """Note the preferred link from the reply to a check-in, and the addresses that the device calls."""
        # A reply that prefers MQTT allows the WebSocket too.
        if link is LinkKind.WEBSOCKET and self._session is not None and self._session.link.kind is not link:
            self._close_link("the device is to connect in another way")
        self.state.replied(link, host, origin)
        self.changed()

    @callback
    def checked_in(self, checkin: CheckIn) -> None:
        """Take the facts from a check-in."""
        self.state.checked_in(checkin)
        self.changed()
        self._just_started = True
        if self._session is not None and not self._session.link.notices_loss:
            self._session.device_started()

    @callback
    def attach(self, link: Link) -> DeviceSession:
        """Use a new link, which replaces an older one."""
        older = self._session
        self.state.link = link.kind
        if self.installation is not None:
            self.installation.linked()
        # A link over a broker begins with a message from the device, which shows that it can send.
        can_answer = self.answers_unasked or self._just_started or not link.notices_loss
        self._just_started = False
        session = self._session = DeviceSession(self, link, self.timeouts, can_answer=can_answer)
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
        if (session := self._session) is not None:
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
        if self._session is session:
            self._session = None
            self._log_link(session, "%s is not connected any more: %s", self.name, reason)
            self._contacted()

    @callback
    def identified(self, server: ServerInfo, capabilities: Capabilities) -> None:
        """Take the version of the firmware, and what the device announces, from the MCP handshake."""
        self.state.capabilities = capabilities
        self.state.contacted(firmware=server.version or None)
        self.changed()

    async def tools_listed(self, tools: tuple[Tool, ...]) -> None:
        """Take the device's tools."""
        # Hostile texts take up to a second; the results are cached.
        await self.hass.async_add_executor_job(prepare, tools)
        if tools != self.state.tools:
            # Without stored tools, a device has no entities after a crash until it connects.
            self._store.async_schedule_save(soon=True)
        self.tools.listed(tools)
        self.changed()

    @callback
    def offers_listed(self, offers: Offers) -> None:
        """Take the lists of the device's resources and prompts."""
        if offers != self.state.offers:
            self.state.offers = offers
            self.resources.keep({resource.uri for resource in offers.resources})
            self._store.async_schedule_save(soon=True)
            self.changed()

    @callback
    def tool_answered(self, name: str, result: ToolResult) -> None:
        """Take the answer of a tool that is read regularly."""
        self.tools.answered(name, result)
        self.changed()

    @callback
    def status_read(self, status: DeviceStatus) -> None:
        """Take the device's status."""
        self.state.status_read(status)
        self.changed()

    async def conversation_opening(self, session_id: str) -> None:
        """Save the id of a conversation before it begins, to end it after a crash."""
        self.state.session = session_id
        await self._store.async_save_at_once(self.mac)

    @callback
    def conversation_started(self, conversation: Conversation) -> None:
        """Pass a conversation to the satellite; without one, end it."""
        if not self.conversations.started(conversation):
            _LOGGER.debug("%s: nobody holds this conversation", self.name)
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
        if (session := self._session) is not None:
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
