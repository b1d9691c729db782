"""Guests: features beside the core, which works without any of them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
import re
from shutil import rmtree
import sys
from types import MappingProxyType, ModuleType
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.importlib import async_import_module
from homeassistant.helpers.storage import STORAGE_DIR

from ..device_http.access import DeviceView
from ..protocol.conversation.conversation import Conversation
from ..protocol.messages import JsonObject
from .device import Device
from .owned import Owned, OwnedValue

MAC: Final = "[0-9a-f]" * 12
"""Pattern of the MAC of a device in the name of a file."""


class DevicePart:
    """Part of a device, from when it is in the device registry until it is deleted or the gateway stops.

    `Device.part` returns it by its class.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._ends: list[CALLBACK_TYPE] = []
        """Functions that end what `start` has begun."""

    @callback
    def start(self) -> None:
        """Begin."""

    @callback
    def end(self) -> None:
        """End everything; what is stored continues when the gateway starts again."""
        for end in self._ends:
            end()
        self._ends.clear()

    @property
    def quiet_levels(self) -> Mapping[str, int] | None:
        """The most that `volume` and `brightness` may be while the device is not to disturb.

        Then only alarms, timers and requested sounds are heard or shown. A change notifies of `QUIET`.
        """
        return None

    @callback
    def checked_in(self, _remote: str, _origin: str | None) -> JsonObject:
        """Note a check-in from an IP address; return sections of the reply.

        The origin is the address of our web server for the device, if it has a usable one.
        """
        return {}

    async def before_first_turn(self, _conversation: Conversation) -> bool:
        """Say what is kept for who has woken the device; return whether there is anything to be said now."""
        return False

    async def async_close(self) -> None:
        """Give back what was borrowed, after all parts have ended, while the link still exists."""

    def describe(self) -> dict[str, Any]:
        """Return what diagnostics show of it, without private data."""
        return {}

    async def update_notes(self) -> list[str]:
        """Return what a new firmware leaves as it is, for its owner."""
        return []

    async def described_loss(self) -> list[str]:
        """Return what is deleted with the device, for its owner, in Markdown."""
        return []


class GatewayPart:
    """Part of the gateway, from its start to its stop.

    `Gateway.part` and `Device.part` return it by its class.
    """

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        self.hass = hass
        self.entry = entry

    async def async_start(self) -> None:
        """Begin, when the ports are open."""

    def describe(self) -> dict[str, Any]:
        """Return what diagnostics show of it, without private data."""
        return {}

    def describe_device(self, _device: dr.AnyDeviceEntry) -> dict[str, Any]:
        """Return the diagnostics of a device in the registry that is its own, and none of a XiaoZhi."""
        return {}

    def system_health(self) -> dict[str, Any]:
        """Return what *System information* shows of it."""
        return {}

    @callback
    def async_entry_updated(self) -> None:
        """Follow the subentries."""

    async def async_stop(self) -> None:
        """End everything, for good."""

    @classmethod
    async def async_removed(cls, hass: HomeAssistant) -> None:
        """Delete what is left, after the owner has deleted the gateway."""


@dataclass(eq=False, slots=True, kw_only=True)
class Guest:
    """A feature beside the core: all that the core needs to know of it.

    It is a folder, whose name is on the list `guests/__init__.py`. Its files that are named like a file of
    Home Assistant hold what it adds to that: `sensor.py` has `ENTITIES`, sources as in `entity.py`. They are
    imported when the platform is, so that a name that Home Assistant lacks costs no more than that.
    """

    package: str
    files: Collection[str] = field(init=False)
    """Names of its files."""
    parts: Iterable[type[DevicePart]] = ()
    """Classes of which each device has one object."""
    gateway_parts: Iterable[type[GatewayPart]] = ()
    """Classes of which the gateway has one object."""
    owned: Iterable[Owned[Any] | OwnedValue[Any]] = ()
    """Things that owners make, and values that they set, with it."""
    views: Mapping[type[DeviceView[Any]], str] = MappingProxyType({})
    """Its views, each with what it is about: an attribute of the gateway, or the gateway itself."""
    kept_files: str = ""
    """Pattern of its files and folders in Home Assistant's storage, with `MAC` in the names of a device's."""

    def __post_init__(self) -> None:
        """Look for its files; it is imported outside of the event loop."""
        folder = Path(sys.modules[self.package].__file__ or "").parent
        self.files = {path.stem for path in folder.glob("*.py")}


def in_file_name(mac: str) -> str:
    """Return a MAC as it stands in the names of files."""
    return mac.replace(":", "")


async def async_forget(hass: HomeAssistant, guests: Iterable[Guest], keep: Collection[str] = ()) -> None:
    """Delete the files of guests, of all devices except those with these MACs.

    Those of no device go with the last one.
    """
    storage, kept = Path(hass.config.path(STORAGE_DIR)), {in_file_name(mac) for mac in keep}
    patterns = [guest.kept_files for guest in guests if guest.kept_files]

    def forget() -> None:
        for path in chain.from_iterable(map(storage.glob, patterns)):
            mac = re.search(MAC, path.name)
            if (mac[0] in kept) if mac else kept:
                continue
            if path.is_dir():
                rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    await hass.async_add_executor_job(forget)


async def async_files(hass: HomeAssistant, guests: Iterable[Guest], name: str) -> list[ModuleType]:
    """Return the files of this name, of all guests that have one."""
    return [
        await async_import_module(hass, f"{guest.package}.{name}") for guest in guests if name in guest.files
    ]
