"""State of a paired device, and its listeners."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import replace
from functools import partial
import logging
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.device_registry import DeviceInfo
from homeassistant.helpers.dispatcher import async_dispatcher_send
from homeassistant.util.signal_type import SignalType

from ..const import DOMAIN, MANUFACTURER
from ..device_http.transfers import Transfers
from ..protocol.boards import sold_as
from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import RequestHandler
from ..settings import DeviceSettings
from ..timeouts import Timeouts
from .device_tools import DeviceTools
from .events import DeviceConversations, DeviceEvent, DeviceEvents
from .state import DeviceState, changed_keys
from .store import DeviceStore

_LOGGER = logging.getLogger(__name__)

EVENT_SIGNAL: Final = SignalType["DeviceModel", DeviceEvent](f"{DOMAIN}_event")
"""Sent with each event of any device, for event entities and triggers of automations."""

type Listener = Callable[[], None]
type HandshakeStep = Callable[[McpClient], Awaitable[None]]
"""Raises `McpError`, and is then tried again."""


class DeviceModel:
    """A paired device as far as it is known: what does not depend on a link.

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
        transfers: Transfers,
    ) -> None:
        self.hass = hass
        self.timeouts = timeouts
        self.transfers = transfers
        self.subentry_id = subentry.subentry_id
        self.settings = DeviceSettings.from_subentry(subentry)
        self.info = DeviceInfo(identifiers={(DOMAIN, self.mac)})
        """Connects the entities with the device in the registry."""
        self._entry = entry
        self._store = store
        self._state = store.state(self.mac)
        self._listeners: list[tuple[frozenset[str], Listener]] = []
        self.tools = DeviceTools(hass, lambda: self._state, self.update)
        self.events = DeviceEvents(
            partial(async_dispatcher_send, hass, EVENT_SIGNAL, self),
            clock=hass.loop.time,
            shares_texts=lambda: self.settings.share_transcripts,
        )
        self.conversations = DeviceConversations(self.events)
        self.handlers: dict[str, RequestHandler] = {}
        """Handlers of the requests of the device's MCP server, by method; they are announced to it."""
        self.handshake_steps: list[HandshakeStep] = []
        """Further steps of the handshake, after the tools, on every link."""
        self.open_questions: dict[str, Any] = {}
        """Its questions that a person can answer now, by the id of their repair issue."""

    @property
    def mac(self) -> str:
        """MAC in lower case with colons."""
        return self.settings.mac

    @property
    def name(self) -> str:
        """Name from the owner: the one on the device's page, if it was changed there."""
        registered = self._registered
        return (registered.name_by_user if registered else None) or self.settings.name

    @property
    def registry_id(self) -> str | None:
        """Id in the device registry."""
        return registered.id if (registered := self._registered) else None

    @property
    def _registered(self) -> dr.DeviceEntry | None:
        registry = dr.async_get(self.hass)
        return registry.async_get_device_by_identifier((DOMAIN, self.mac), self._entry.entry_id)

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
            # Home Assistant shows both.
            model_id=board if name else None,
            name=self.settings.name,
            sw_version=self.state.firmware,
        )

    @property
    def state(self) -> DeviceState:
        """The last known state."""
        return self._state

    @callback
    def set_state(self, state: DeviceState) -> None:
        """Take a new state, save it in time, and call the listeners that follow what has changed."""
        old, self._state = self._state, state
        changed = set(changed_keys(old, state))
        self._store.replace(self.mac, old, state, changed)
        self.notify(*changed)

    @callback
    def update(self, **fields: Any) -> None:
        """Change fields of the state."""
        self.set_state(replace(self._state, **fields))

    async def async_save(self) -> None:
        """Save the last known state now."""
        await self._store.async_save()

    @callback
    def listen(self, keys: Iterable[str], listener: Listener) -> CALLBACK_TYPE:
        """Call `listener` whenever something with one of these keys has changed; see `state.py`.

        Returns a function that ends this.
        """
        registration = frozenset(keys), listener
        self._listeners.append(registration)
        return lambda: self._listeners.remove(registration)

    @callback
    def notify(self, *keys: str) -> None:
        """Call once each listener that follows one of these keys."""
        for followed, listener in tuple(self._listeners):
            if followed.isdisjoint(keys):
                continue
            # A failure must affect neither the other listeners nor the source of the change.
            try:
                listener()
            except Exception:
                _LOGGER.exception("A change of a device could not be shown")

    @callback
    def create_task[T](self, work: Coroutine[Any, Any, T], what: str) -> asyncio.Task[T]:
        """Run work that ends with the gateway at the latest."""
        return self._entry.async_create_background_task(self.hass, work, f"xiaozhi {self.name} {what}")
