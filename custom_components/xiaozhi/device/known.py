"""What is known of a paired device, whether it can be reached or not."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
import hmac
import logging
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.util import dt as dt_util

from ..const import DOMAIN, VISION_PATH
from ..pictures.jpeg import Picture, PictureKind
from ..protocol.checkin import CheckIn
from ..protocol.firmware import FirmwareVersion
from ..protocol.mcp.client import ServerInfo, Tool, ToolResult, VisionEndpoint
from ..protocol.status import DeviceStatus
from ..protocol.transport.link import LinkKind
from ..settings import DeviceSettings
from ..tools.danger import judge
from ..tools.state import Toolbox
from .store import DeviceRecord, DeviceStore

__all__ = ["KnownDevice"]

_LOGGER = logging.getLogger(__name__)


# How exactly the answer to a poll, which comes every minute, moves the time of the last contact.
_COARSE: Final = timedelta(minutes=15)


class KnownDevice:
    """What the owner has set for a device, and what it last told.

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
        """Begin with what is recorded."""
        self.subentry_id = subentry.subentry_id
        self.settings = DeviceSettings.from_subentry(subentry)
        self.toolbox = Toolbox(record)
        self.pictures: dict[PictureKind, Picture] = {}
        self.withheld: dict[str, int] = {}
        """How many entities of each platform may not be added today."""
        self._hass = hass
        self._entry = entry
        self._record = record
        self._lasting = record.lasting()
        self._store = store
        self._listeners: set[Callable[[], None]] = set()

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
    def ip(self) -> str | None:
        """IP address, if known. On Wi-Fi only a check-in tells it, at every start."""
        return self.status.ip or self._record.ip

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
        """When the device last checked in, linked or talked, or about when it last answered."""
        return self._record.last_contact

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
    def last_session(self) -> str | None:
        """Id of the last conversation over MQTT, also of one before Home Assistant started."""
        return self._record.session

    @callback
    def add_listener(self, listener: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `listener` after every change; returns what ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    @callback
    def checked_in(self, checkin: CheckIn) -> None:
        """Note what the device is, as it says itself."""
        self._record.board = checkin.board or self._record.board
        self._record.chip = checkin.chip_model or self._record.chip
        self._record.firmware_space = checkin.firmware_space or self._record.firmware_space
        self._record.ip = checkin.ip or self._record.ip
        self.contacted(firmware=checkin.firmware_version)

    @callback
    def told(self, link: LinkKind, host: str, origin: str | None) -> None:
        """Note what a check-in told the device: which link to prefer; and where it reaches us.

        One that was told of both links, and uses the other, goes on doing so until it is told something else.
        """
        if link is LinkKind.WEBSOCKET or self._record.told is not link:
            self._record.link = link
        self._record.told = link
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

    @callback
    def identified(self, server: ServerInfo) -> None:
        """Take the firmware's version from the MCP handshake."""
        self.contacted(firmware=server.version or None)

    async def async_tools_listed(self, tools: tuple[Tool, ...]) -> None:
        """Take the device's tools."""
        # A list of hostile texts takes most of a second; what was judged is remembered.
        await self._hass.async_add_executor_job(judge, tools)
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
        last = self._record.last_contact
        if last is None or dt_util.utcnow() - last >= _COARSE:
            self._record.last_contact = dt_util.utcnow()
        self._changed()

    @callback
    def pictured(self, kind: PictureKind, picture: Picture) -> None:
        """Take a picture of a kind. It is kept in memory, until the next one."""
        self.pictures[kind] = picture
        self._changed()

    @callback
    def _changed(self) -> None:
        lasting = self._record.lasting()
        self._store.async_schedule_save(seldom=lasting == self._lasting)
        self._lasting = lasting
        for listener in tuple(self._listeners):
            # One that fails must neither stop the others nor who brings the news.
            try:
                listener()
            except Exception:
                _LOGGER.exception("A change of %s could not be shown", self.name)
