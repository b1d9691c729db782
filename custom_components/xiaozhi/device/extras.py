"""What a device's MCP server offers beyond tools, over one link: lists, followed resources, log level."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
import logging
from typing import Any, Final, Protocol

from homeassistant.const import EVENT_LOGGING_CHANGED
from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, callback

from ..protocol.mcp.client import McpCallError, McpClient, McpError, McpProtocolError
from ..protocol.messages import JsonObject
from ..protocol.transport.link import LinkClosedError
from ..timeouts import SessionTimeouts
from .log import log_level, log_message, logger_of
from .offers import FollowedResources, Offers
from .state import RESOURCES, DeviceState

__all__ = ["ExtendedDevice", "McpExtras"]

_LOGGER = logging.getLogger(__name__)

_MESSAGE: Final = "notifications/message"
_UPDATED: Final = "notifications/resources/updated"
_RESOURCES_CHANGED: Final = "notifications/resources/list_changed"
_PROMPTS_CHANGED: Final = "notifications/prompts/list_changed"
# More than the entities of one device show, and few enough to be read one after the other.
_MAX_FOLLOWED: Final = 64


class ExtendedDevice(Protocol):
    """What `McpExtras` needs of the device."""

    @property
    def hass(self) -> HomeAssistant:
        """Home Assistant."""

    @property
    def name(self) -> str:
        """Name of the device, for the log."""

    @property
    def state(self) -> DeviceState:
        """State of the device."""

    @property
    def resources(self) -> FollowedResources:
        """Resources that entities show."""

    def offers_listed(self, offers: Offers) -> None:
        """Store the lists of the device."""

    def changed(self, *keys: str) -> None:
        """Call the listeners."""


class McpExtras:
    """Keeps the lists, the followed resources and the log level of one link."""

    def __init__(
        self,
        device: ExtendedDevice,
        mcp: McpClient,
        create_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        timeouts: SessionTimeouts,
    ) -> None:
        """`create_task` runs work that ends with the link at the latest."""
        self._device = device
        self._mcp = mcp
        self._create_task = create_task
        self._timeouts = timeouts
        self._logger = logger_of(device.name)
        self._level: str | None = None
        self._due: set[str] = set()
        self._subscribed: set[str] = set()
        self._reading: asyncio.Task[None] | None = None
        self._stop_listening: CALLBACK_TYPE | None = None
        self._on_list_changed = {
            _RESOURCES_CHANGED: self._list_resources,
            _PROMPTS_CHANGED: self._list_prompts,
        }
        self._relisting: set[str] = set()

    async def start(self) -> None:
        """Ask for everything that the device has announced. Raises `McpError` and `LinkClosedError`."""
        announced = self._mcp.capabilities
        if not announced.extended:
            # Other firmware on this device may have announced more.
            self._device.offers_listed(Offers())
            return
        if announced.logging:
            await self._refused_quietly(self._set_log_level)
            if self._stop_listening is None:
                listen = self._device.hass.bus.async_listen
                self._stop_listening = listen(EVENT_LOGGING_CHANGED, self._logging_changed)
        await self._refused_quietly(self._list_resources)
        await self._refused_quietly(self._list_prompts)
        self._device.resources.on_change = self._follow
        for uri in self._device.resources.wanted:
            self._follow(uri)

    @callback
    def notified(self, method: str, params: JsonObject) -> None:
        """Handle an admitted notification."""
        if method == _MESSAGE:
            log_message(self._logger, params)

    @callback
    def changed(self, method: str, params: JsonObject) -> None:
        """Note what has changed on the device, however often it says so."""
        if method in self._on_list_changed and self._mcp.capabilities.extended:
            if method not in self._relisting:
                self._relisting.add(method)
                self._create_task(self._relist(method), "list offers")
        elif method == _UPDATED and params.get("uri") in self._device.resources.wanted:
            self._read_soon(params["uri"])

    @callback
    def poll(self) -> None:
        """Read the followed resources whose changes the device does not report."""
        for uri in self._device.resources.wanted:
            if uri not in self._subscribed:
                self._read_soon(uri)

    @callback
    def close(self) -> None:
        """End with the link."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        if self._device.resources.on_change == self._follow:
            self._device.resources.on_change = None

    # Lists

    async def _list_resources(self) -> None:
        if not self._mcp.capabilities.resources:
            self._store(resources=(), templates=())
            return
        resources = await self._mcp.list_resources()
        try:
            templates = await self._mcp.list_templates()
        except McpCallError, McpProtocolError:
            # Some servers have resources only.
            templates = ()
        self._store(resources=resources, templates=templates)

    async def _list_prompts(self) -> None:
        announced = self._mcp.capabilities.prompts
        self._store(prompts=await self._mcp.list_prompts() if announced else ())

    @callback
    def _store(self, **lists: Any) -> None:
        self._device.offers_listed(replace(self._device.state.offers, **lists))

    async def _relist(self, method: str) -> None:
        await asyncio.sleep(self._timeouts.listing)
        # A change from here on needs another listing.
        self._relisting.discard(method)
        await self._tried(self._on_list_changed[method])

    # Followed resources

    @callback
    def _follow(self, uri: str) -> None:
        if not self._mcp.capabilities.resources:
            return
        if uri in self._device.resources.wanted:
            self._create_task(self._subscribe(uri), "subscribe")
        elif uri in self._subscribed:
            self._subscribed.discard(uri)
            self._create_task(self._tried(partial(self._mcp.unsubscribe, uri)), "unsubscribe")

    async def _subscribe(self, uri: str) -> None:
        if self._mcp.capabilities.subscriptions and len(self._subscribed) < _MAX_FOLLOWED:
            try:
                await self._mcp.subscribe(uri)
                self._subscribed.add(uri)
            except (McpError, LinkClosedError) as err:
                _LOGGER.debug("%s: a resource cannot be subscribed to: %s", self._device.name, err)
        self._read_soon(uri)

    @callback
    def _read_soon(self, uri: str) -> None:
        if len(self._due) < _MAX_FOLLOWED:
            self._due.add(uri)
        if self._reading is None or self._reading.done():
            self._reading = self._create_task(self._read_due(), "read resources")

    async def _read_due(self) -> None:
        """Read what is due, one after the other, with a pause in which more changes are gathered."""
        while self._due:
            await asyncio.sleep(self._timeouts.resource)
            due, self._due = self._due, set()
            for uri in sorted(due & set(self._device.resources.wanted)):
                await self._tried(partial(self._read, uri))

    async def _read(self, uri: str) -> None:
        self._device.resources.contents[uri] = await self._mcp.read_resource(uri)
        self._device.changed(RESOURCES)

    # Log

    async def _set_log_level(self) -> None:
        level = log_level(self._logger)
        if level != self._level:
            await self._mcp.set_log_level(level)
            self._level = level

    @callback
    def _logging_changed(self, event: Event) -> None:
        self._create_task(self._tried(self._set_log_level), "set log level")

    async def _refused_quietly(self, ask: Callable[[], Awaitable[None]]) -> None:
        """Ask for something that the device may refuse, without missing what is asked next."""
        try:
            await ask()
        except (McpCallError, McpProtocolError) as err:
            _LOGGER.debug("%s: refused: %s", self._device.name, err)

    async def _tried(self, ask: Callable[[], Awaitable[None]]) -> None:
        try:
            await ask()
        except (McpError, LinkClosedError) as err:
            _LOGGER.debug("%s: not done: %s", self._device.name, err)
