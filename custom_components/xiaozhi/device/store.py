"""The last known tools and status of every device, so that its entities exist before it calls."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime
import logging
from typing import Any, Final, Self

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..protocol.mcp.client import Tool
from ..protocol.status import DeviceStatus
from ..protocol.transport.link import LinkKind
from ..tools.danger import judge

_LOGGER = logging.getLogger(__name__)

_VERSION: Final = 1
# A device that talks changes its record often; a lost minute of it is found again at the next handshake.
_SAVE_DELAY: Final = 60
_SOON: Final = 1
# A device that only shows that it is there, once a minute for ever, must not wear out a memory card.
_SELDOM: Final = 15 * 60
# Seconds; a person waits for the device to listen.
_DISK_PATIENCE: Final = 0.5


@dataclass(slots=True, kw_only=True)
class DeviceRecord:
    """What a device last told."""

    firmware: str | None = None
    board: str | None = None
    """The build variant."""
    chip: str | None = None
    """Such as `esp32s3`."""
    firmware_space: int | None = None
    """Bytes that a firmware may have."""
    ip: str | None = None
    """Its address when it last checked in."""
    link: LinkKind | None = None
    """The kind that it was last told or seen to use."""
    told: LinkKind | None = None
    """The kind that its last check-in told it to prefer; with MQTT, it may use the WebSocket, too."""
    host: str | None = None
    """Name or address under which it last reached us."""
    origin: str | None = None
    """Scheme, host and port of our web server as it can reach them."""
    tools: tuple[Tool, ...] = ()
    status: DeviceStatus = field(default_factory=DeviceStatus)
    answers: dict[str, Any] = field(default_factory=dict)
    """What its tools last answered, by name."""
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Arguments of the last calls that set something, by name of the tool, the latest at the end."""
    last_contact: datetime | None = None
    session: str | None = None
    """Id of its last conversation over MQTT, to end it if Home Assistant could not."""

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read a stored record; what is missing or damaged becomes unknown."""
        data = data if isinstance(data, dict) else {}
        last_contact = _get(data, "last_contact", str)
        tools, calls = _get(data, "tools", list) or (), _get(data, "calls", dict) or {}
        return cls(
            firmware=_get(data, "firmware", str),
            board=_get(data, "board", str),
            chip=_get(data, "chip", str),
            firmware_space=_get(data, "firmware_space", int),
            ip=_get(data, "ip", str),
            link=_link(data, "link"),
            told=_link(data, "told"),
            host=_get(data, "host", str),
            origin=_get(data, "origin", str),
            session=_get(data, "session", str),
            tools=tuple(tool for stored in tools if (tool := Tool.from_dict(stored))),
            status=DeviceStatus.from_dict(data.get("status")),
            answers=_get(data, "answers", dict) or {},
            calls={name: arguments for name, arguments in calls.items() if isinstance(arguments, dict)},
            last_contact=dt_util.parse_datetime(last_contact) if last_contact else None,
        )

    def lasting(self) -> Self:
        """Return a copy of what changes only with the device: all but the time of its last contact."""
        return replace(self, last_contact=None, answers=dict(self.answers), calls=dict(self.calls))

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {
            "firmware": self.firmware,
            "board": self.board,
            "chip": self.chip,
            "firmware_space": self.firmware_space,
            "ip": self.ip,
            "link": self.link,
            "told": self.told,
            "host": self.host,
            "origin": self.origin,
            "session": self.session,
            "tools": [tool.as_dict() for tool in self.tools],
            "status": self.status.as_dict(),
            "answers": self.answers,
            "calls": self.calls,
            "last_contact": self.last_contact.isoformat() if self.last_contact else None,
        }


def _get[ValueT](data: dict[str, Any], key: str, kind: type[ValueT]) -> ValueT | None:
    value = data.get(key)
    return value if isinstance(value, kind) else None


def _link(data: dict[str, Any], key: str) -> LinkKind | None:
    kind = _get(data, key, str)
    return LinkKind(kind) if kind and kind in LinkKind else None


class DeviceStore:
    """The records of all devices of a gateway, by MAC."""

    def __init__(self, hass: HomeAssistant, entry_id: str) -> None:
        """Prepare the store of the gateway `entry_id`."""
        self._hass = hass
        self._store: Store[dict[str, Any]] = Store(hass, _VERSION, f"{DOMAIN}.{entry_id}", private=True)
        self._records: dict[str, DeviceRecord] = {}
        self._due: float | None = None
        self._at_once_from: dict[str, float] = {}

    async def async_load(self) -> None:
        """Read all records. A damaged file costs only what the devices will tell again."""
        try:
            stored = await self._store.async_load() or {}
            self._records = {mac: DeviceRecord.from_dict(data) for mac, data in stored.items()}
            tools = [tool for record in self._records.values() for tool in record.tools]
            await self._hass.async_add_executor_job(judge, tools)
        except Exception:
            # Pairings are in the config entry: nothing here is worth a gateway that does not start.
            _LOGGER.exception("Stored states are unreadable. They are learned from the devices again")

    @callback
    def record(self, mac: str) -> DeviceRecord:
        """Return the record of a device, a new one if there is none."""
        return self._records.setdefault(mac, DeviceRecord())

    @callback
    def async_keep(self, macs: set[str]) -> None:
        """Forget every device but these."""
        if gone := self._records.keys() - macs:
            for mac in gone:
                del self._records[mac]
                self._at_once_from.pop(mac, None)
            self.async_schedule_save()

    @callback
    def async_schedule_save(self, *, soon: bool = False, seldom: bool = False) -> None:
        """Save in a while; later changes do not put it off.

        Save `soon` what would be missed after a crash, and `seldom` the time of the last contact.
        """
        delay = _SOON if soon else _SELDOM if seldom else _SAVE_DELAY
        due = self._hass.loop.time() + delay
        if self._due is None or due < self._due:
            self._due = due
            self._store.async_delay_save(self._data, delay)

    async def async_save_at_once(self, mac: str) -> None:
        """Return when what is known is on disk, so that a crash cannot lose it.

        A device that asks for this all the time must not wear out a memory card: its next save within a
        second is scheduled only. A disk that is stuck is not waited for.
        """
        now = self._hass.loop.time()
        if now < self._at_once_from.get(mac, now):
            self.async_schedule_save(soon=True)
            return
        self._at_once_from[mac] = now + _SOON
        saving = self._hass.async_create_task(self.async_save(), "xiaozhi save")
        await asyncio.wait([saving], timeout=_DISK_PATIENCE)

    async def async_save(self) -> None:
        """Save now."""
        await self._store.async_save(self._data())

    async def async_remove(self) -> None:
        """Delete the file."""
        await self._store.async_remove()

    @callback
    def _data(self) -> dict[str, Any]:
        self._due = None
        return {mac: record.as_dict() for mac, record in self._records.items()}
