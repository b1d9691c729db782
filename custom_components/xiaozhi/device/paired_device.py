"""A paired device: its name and room, and what lasts longer than its links."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.device_registry import DeviceInfo

from ..const import CONF_MICROPHONE, DOMAIN, MANUFACTURER
from ..protocol.boards import sold_as
from ..protocol.conversation.readiness import MainTask
from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import RequestHandler
from ..protocol.messages import JsonObject
from ..settings import DeviceSettings
from .bounds import DeviceBounds
from .device_tools import DeviceTools
from .events import DeviceConversations, DeviceEvents
from .state import DeviceState
from .store import DeviceStore


@dataclass(frozen=True, slots=True)
class Handshake:
    """Additions to the handshake on each link of a device: capabilities that are announced, and steps."""

    capabilities: dict[str, Callable[[], JsonObject | None]] = field(default_factory=dict)
    """Descriptions of capabilities, by name; None while there is nothing to announce."""
    handlers: dict[str, RequestHandler] = field(default_factory=dict)
    """Handlers of the requests of the server, by method; they are announced to it."""
    steps: list[Callable[[McpClient], Awaitable[None]]] = field(default_factory=list)
    """Further steps, after the tools. One that raises `McpError` is tried again."""


def area_name(hass: HomeAssistant, area_id: str | None) -> str | None:
    """Return the name of an area that exists."""
    area = ar.async_get(hass).async_get_area(area_id) if area_id else None
    return area.name if area else None


def name_on_page(hass: HomeAssistant, entry: ConfigEntry[Any], subentry: ConfigSubentry) -> str:
    """Return the name of a device: the one on its page, if it was changed there."""
    identifier = (DOMAIN, subentry.unique_id or "")
    registered = dr.async_get(hass).async_get_device_by_identifier(identifier, entry.entry_id)
    return (registered.name_by_user if registered else None) or subentry.title


class PairedDevice:
    """A paired device as its links, its commands and its events know it."""

    main_task: MainTask
    """The task of the device that acts on messages."""

    def __init__(
        self, hass: HomeAssistant, entry: ConfigEntry[Any], subentry: ConfigSubentry, store: DeviceStore
    ) -> None:
        self.hass = hass
        self.subentry_id = subentry.subentry_id
        self.settings = DeviceSettings.from_subentry(subentry)
        self.info = DeviceInfo(identifiers={(DOMAIN, self.mac)})
        """Connects the entities with the device in the registry."""
        self.record = store.record(self.mac, self.settings.board or None)
        """Its last known state, from before it connects, and the listeners that follow it."""
        self._entry = entry
        self.bounds = DeviceBounds()
        self.tools = DeviceTools(hass, self.record)
        self.events = DeviceEvents(self)
        self.conversations = DeviceConversations(self.events)
        self.handshake = Handshake()

    @property
    def mac(self) -> str:
        """MAC in lower case with colons."""
        return self.settings.mac

    @property
    def name(self) -> str:
        """Name from the owner: the one on the device's page, if it was changed there.

        With its area where another device has the same name.
        """
        if (registered := self._registered) is None:
            return self.settings.name
        devices = dr.async_entries_for_config_entry(dr.async_get(self.hass), self._entry.entry_id)
        name = registered.name_by_user or self.settings.name
        alike = sum(name == (each.name_by_user or each.name) for each in devices) > 1
        area = area_name(self.hass, registered.area_id) if alike else None
        return f"{name} ({area})" if area else name

    @property
    def state(self) -> DeviceState:
        """The last known state."""
        return self.record.state

    @property
    def microphone(self) -> bool:
        """Whether conversations are held; otherwise each is ended at once, unheard.

        It is off if either place says so: 0.5.0 has it in the subentry, which is written a second later.
        """
        return self.state.microphone and self.settings.microphone

    async def async_switch_microphone(self, on: bool) -> None:
        """Switch the microphone. Raises `UserError` if that could not be stored."""
        self.record.update(microphone=on)
        self.set_option(CONF_MICROPHONE, on)
        await self.record.async_save()

    @property
    def registry_id(self) -> str | None:
        """Id in the device registry."""
        return registered.id if (registered := self._registered) else None

    @property
    def area_id(self) -> str | None:
        """Id of the room that it is in."""
        return registered.area_id if (registered := self._registered) else None

    @property
    def _registered(self) -> dr.DeviceEntry | None:
        registry = dr.async_get(self.hass)
        return registry.async_get_device_by_identifier((DOMAIN, self.mac), self._entry.entry_id)

    @callback
    def set_option(self, key: str, value: int | str | None) -> None:
        """Store a setting of the owner's in the subentry; it applies from the next turn."""
        subentry = self._entry.subentries[self.subentry_id]
        self.hass.config_entries.async_update_subentry(
            self._entry, subentry, data={**subentry.data, key: value}
        )

    @callback
    def create_task[T](self, work: Coroutine[Any, Any, T], what: str) -> asyncio.Task[T]:
        """Run work that ends with the gateway at the latest."""
        return self._entry.async_create_background_task(self.hass, work, f"xiaozhi {self.name} {what}")

    @callback
    def register(self) -> dr.DeviceEntry:
        """Add the device to the device registry, or update its entry."""
        board = self.state.board
        name = sold_as(board or "")
        return dr.async_get(self.hass).async_get_or_create(
            config_entry_id=self._entry.entry_id,
            config_subentry_id=self.subentry_id,
            identifiers={(DOMAIN, self.mac)},
            connections={(dr.CONNECTION_NETWORK_MAC, self.mac)},
            manufacturer=MANUFACTURER,
            model=name or board,
            # Home Assistant shows the model and the model id.
            model_id=board if name else None,
            name=self.settings.name,
            sw_version=self.state.firmware,
        )
