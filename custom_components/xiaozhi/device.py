"""A paired device: what entities read and what they call."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
import hmac
import logging
from typing import Any

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr
from homeassistant.util import dt as dt_util

from .const import DOMAIN, VISION_PATH
from .events import EVENT_NOTIFICATION, DeviceEvents, Moment
from .installation import Installation
from .pictures import Picture, PictureKind
from .protocol import messages
from .protocol.checkin import CheckIn, FirmwareOffer
from .protocol.conversation import Conversation, ConversationState
from .protocol.firmware import FirmwareVersion
from .protocol.link import Channel, Link, LinkClosedError, LinkKind
from .protocol.mcp import (
    RESTARTING_TOOLS,
    McpCallError,
    McpError,
    McpTimeoutError,
    ServerInfo,
    Tool,
    ToolResult,
    VisionEndpoint,
)
from .protocol.messages import JsonObject
from .protocol.status import DeviceStatus
from .session import DeviceSession
from .settings import DeviceSettings
from .store import DeviceRecord, DeviceStore
from .toolbox import Toolbox

_LOGGER = logging.getLogger(__name__)

REBOOT_TOOL = "self.reboot"


class Device:
    """A paired device, linked or not.

    Its last known tools and status come from its record in the store, so that entities exist before it calls.
    Listeners are told of every change.
    """

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        subentry: ConfigSubentry,
        record: DeviceRecord,
        store: DeviceStore,
    ) -> None:
        """Prepare a device that is not linked."""
        self.subentry_id = subentry.subentry_id
        self.settings = DeviceSettings.from_subentry(subentry)
        self.events = DeviceEvents()
        self._hass = hass
        self._entry = entry
        self.toolbox = Toolbox(record)
        self._record = record
        self._store = store
        self._session: DeviceSession | None = None
        self._last_statistics: dict[str, Any] = {}
        self._voice: Callable[[Conversation], None] | None = None
        self._listeners: set[Callable[[], None]] = set()
        self.pictures: dict[PictureKind, Picture] = {}
        self.installation: Installation | None = None
        """Of a firmware, while it runs."""

    # What entities read.

    @property
    def mac(self) -> str:
        """MAC in lower case with colons."""
        return self.settings.mac

    @property
    def name(self) -> str:
        """Name that the owner gave."""
        return self.settings.name

    @property
    def registry_id(self) -> str | None:
        """Id in the device registry."""
        registry = dr.async_get(self._hass)
        entry = registry.async_get_device_by_identifier((DOMAIN, self.mac), self._entry.entry_id)
        return entry.id if entry else None

    @property
    def firmware(self) -> FirmwareVersion | None:
        """Version of the firmware, if known."""
        return FirmwareVersion.parse(self._record.firmware)

    @property
    def firmware_text(self) -> str | None:
        """Version of the firmware as the device writes it."""
        return self._record.firmware

    @property
    def board(self) -> str:
        """The build variant of the firmware; empty if the device did not tell it."""
        return self._record.board or self.settings.board

    @property
    def chip(self) -> str | None:
        """Kind of ESP32, such as `esp32s3`, if known."""
        return self._record.chip

    @property
    def firmware_space(self) -> int | None:
        """Bytes that a firmware may have, if known."""
        return self._record.firmware_space

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Tools by name, as last listed."""
        return self.toolbox.tools

    @property
    def status(self) -> DeviceStatus:
        """Status as last read."""
        return self._record.status

    @property
    def last_contact(self) -> datetime | None:
        """When the device last checked in, linked, talked or answered."""
        return self._record.last_contact

    @property
    def linked(self) -> bool:
        """Whether a command would arrive now."""
        return self._open_session is not None

    @property
    def _open_session(self) -> DeviceSession | None:
        """The link, if it takes messages; one on WebSocket takes none before the hellos are exchanged."""
        session = self._session
        if session is None or (session.link.channel is None and not session.link.stays_connected):
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
    def told_link(self) -> LinkKind | None:
        """The kind of link that the device was last told or seen to use."""
        return self._record.link

    @property
    def told_host(self) -> str | None:
        """Name or address under which the device last reached us."""
        return self._record.host

    @property
    def web_origin(self) -> str | None:
        """Scheme, host and port of our web server for the device; None before its first check-in."""
        return self._record.origin

    @property
    def vision(self) -> VisionEndpoint | None:
        """Where the device sends its photos, as far as we know how it reaches us."""
        if self._record.origin is None:
            return None
        return VisionEndpoint(url=self._record.origin + VISION_PATH, token=self.vision_token)

    @property
    def vision_token(self) -> str:
        """What the device shows with a photo. It gives away nothing of the token of its link."""
        return hmac.digest(self.settings.token.encode(), b"vision", "sha256").hex()

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

    @callback
    def add_listener(self, listener: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `listener` after every change; returns what ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

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
        if self._session is not None and tool not in RESTARTING_TOOLS:
            self._session.refresh_soon()

    @callback
    def read_regularly(self, tool: str) -> CALLBACK_TYPE:
        """Have a tool read soon, after changes, and every few minutes; returns what ends that."""
        if self._session is not None:
            self._session.refresh_soon()
        return self.toolbox.read_regularly(tool)

    async def send(self, message: JsonObject) -> None:
        """Send a message that has no answer. Raises as `call_tool`."""
        if (session := self._open_session) is None:
            raise self._unreachable()
        try:
            await session.link.send(message)
        except LinkClosedError as err:
            raise self._unreachable() from err

    async def restart(self) -> None:
        """Restart the device. Raises as `call_tool`."""
        if REBOOT_TOOL in self.tools:
            await self.call_tool(REBOOT_TOOL)
        else:
            await self.send(messages.reboot())

    async def install(self, installation: Installation, path: str) -> None:
        """Have a firmware installed that is offered at `path` of our web server. Raises as `call_tool`.

        A device that is linked restarts for it.
        """
        self.installation = installation
        self._changed()
        try:
            await installation.run(path, self.restart if self.linked else None)
        finally:
            self.installation = None
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
    def attach(self, link: Link) -> DeviceSession:
        """Take over a new link; it replaces an older one."""
        older = self._session
        self._log_link(link, "%s is connected over %s", self.name, link.kind)
        self._record.link = link.kind
        if self.installation is not None:
            self.installation.linked()
        session = self._session = DeviceSession(self, link)
        if older is not None:
            # Last, so that a device that was there and is there never seems to be away.
            self.create_task(older.link.close("replaced by a newer link"), "close link")
        self.contacted()
        return session

    @callback
    def checked_in(self, checkin: CheckIn) -> None:
        """Note what the device is, as it says itself."""
        self._record.board = checkin.board or self._record.board
        self._record.chip = checkin.chip_model or self._record.chip
        self._record.firmware_space = checkin.firmware_space or self._record.firmware_space
        self.contacted(firmware=checkin.firmware_version)

    @callback
    def firmware_offer(self) -> FirmwareOffer | None:
        """Return the firmware that the device, which checks in now, is to install."""
        if self.installation is None:
            return None
        return self.installation.checked_in(self.firmware_text, self.web_origin)

    @callback
    def told(self, link: LinkKind, host: str, origin: str | None) -> None:
        """Note what a check-in told the device: which link to use; and where it reaches us."""
        self._record.link = link
        self._record.host = host
        self._record.origin = origin
        self._changed()

    @callback
    def contacted(self, *, firmware: str | None = None) -> None:
        """Note that the device showed that it is alive, and the version it told."""
        self._record.last_contact = dt_util.utcnow()
        if firmware is not None:
            self._record.firmware = firmware
        self._changed()

    async def async_close(self) -> None:
        """End the link; the device is not used any more."""
        if self.installation is not None:
            self.installation.stop()
        if (session := self._session) is not None:
            await session.link.close("device removed or gateway stopped")

    @callback
    def pictured(self, kind: PictureKind, picture: Picture) -> None:
        """Take a picture of a kind. It is kept in memory, until the next one."""
        self.pictures[kind] = picture
        self._changed()

    # What a session calls.

    @callback
    def detach(self, session: DeviceSession, reason: str) -> None:
        """Forget a link that has ended."""
        self._last_statistics = session.link.statistics()
        if self._session is session:
            self._session = None
            self._log_link(session.link, "%s is not connected any more: %s", self.name, reason)
            self.contacted()

    @callback
    def identified(self, server: ServerInfo) -> None:
        """Take the firmware's version from the MCP handshake."""
        self.contacted(firmware=server.version or None)

    @callback
    def tools_listed(self, tools: tuple[Tool, ...]) -> None:
        """Take the device's tools."""
        if tools != self._record.tools:
            # Without them a device has no entities after a crash, until it calls.
            self._store.async_schedule_save(soon=True)
        self.toolbox.listed(tools)
        self._changed()

    @callback
    def tool_answered(self, name: str, result: ToolResult) -> None:
        """Take the answer of a tool that is read regularly."""
        self.toolbox.answered(name, result)
        self._changed()

    @callback
    def status_read(self, status: DeviceStatus) -> None:
        """Take the device's status."""
        self._record.status = status
        self.contacted()

    @property
    def last_session(self) -> str | None:
        """Id of the last conversation over MQTT, also of one before Home Assistant started."""
        return self._record.session

    @callback
    def conversation_started(self, conversation: Conversation, channel: Channel) -> None:
        """Hand a conversation to the satellite; without one it ends at once."""
        self._record.session = channel.session_id
        self._store.async_schedule_save(soon=True)
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
    def create_task(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        """Run work that ends with the gateway at the latest."""
        return self._entry.async_create_background_task(self._hass, work, f"xiaozhi {self.name} {what}")

    @callback
    def _close_link(self, reason: str) -> None:
        if (session := self._session) is not None:
            self._session = None
            self.create_task(session.link.close(reason), "close link")

    @staticmethod
    def _log_link(link: Link, text: str, *values: object) -> None:
        # A device on WebSocket comes and goes with every conversation.
        _LOGGER.log(logging.INFO if link.stays_connected else logging.DEBUG, text, *values)

    @callback
    def _changed(self) -> None:
        self._store.async_schedule_save()
        for listener in tuple(self._listeners):
            listener()
