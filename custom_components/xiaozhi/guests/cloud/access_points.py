"""The access points of the gateway entry."""

from collections.abc import Callable
from datetime import datetime, timedelta
import logging
from typing import Any, Final, override

from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import EVENT_COMPONENT_LOADED, EVENT_HOMEASSISTANT_STOP
from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.area_registry import EVENT_AREA_REGISTRY_UPDATED
from homeassistant.helpers.debounce import Debouncer
from homeassistant.helpers.device_registry import EVENT_DEVICE_REGISTRY_UPDATED
from homeassistant.helpers.entity_registry import EVENT_ENTITY_REGISTRY_UPDATED
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util.event_type import EventType

from ...device.guest import GatewayPart
from ...protocol.access_point.address import AddressError
from ...protocol.timeouts import AccessPointTimeouts
from ...texts.issues import Part, Unpromised
from ...util.event_loop import close_all
from .access_point import AccessPoint, access_point_subentries

_LOGGER = logging.getLogger(__name__)

# For the closing handshakes with servers that do not answer any more.
_PATIENCE: Final = 8
# Events that may change the tools of the house, besides changes of exposed entities.
_CHANGES: Final[tuple[EventType[Any] | str, ...]] = (
    EVENT_AREA_REGISTRY_UPDATED,
    EVENT_COMPONENT_LOADED,
    EVENT_DEVICE_REGISTRY_UPDATED,
    EVENT_ENTITY_REGISTRY_UPDATED,
)


class AccessPoints(GatewayPart):
    """Creates, changes and ends the access points of the entry."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        super().__init__(hass, entry)
        self._points: dict[str, AccessPoint] = {}
        """By the id of the subentry."""
        self._listeners: list[Callable[[AccessPoint], None]] = []
        self._started = False
        self._refresh = Debouncer(
            hass,
            _LOGGER,
            cooldown=AccessPointTimeouts.changes,
            immediate=False,
            function=self._async_refresh,
            background=True,
        )

    @property
    def all(self) -> list[AccessPoint]:
        """Return all access points."""
        return list(self._points.values())

    @override
    async def async_start(self) -> None:
        """Connect as soon as Home Assistant has started."""
        hass, until_unload = self.hass, self.entry.async_on_unload
        until_unload(async_at_started(hass, self._house_started))
        until_unload(hass.bus.async_listen(EVENT_HOMEASSISTANT_STOP, self._house_stops))
        for event in _CHANGES:
            until_unload(hass.bus.async_listen(event, self._house_changed))
        until_unload(
            async_track_time_interval(hass, self._every_hour, timedelta(hours=1), cancel_on_shutdown=True)
        )
        with Unpromised(hass, Part.EXPOSURE):
            from homeassistant.components.homeassistant.exposed_entities import (  # noqa: PLC0415
                async_listen_entity_updates,
            )

            until_unload(async_listen_entity_updates(hass, CONVERSATION_DOMAIN, self._house_changed))

    @override
    async def async_stop(self) -> None:
        self._refresh.async_shutdown()
        self._started = False
        await close_all(*(point.async_close() for point in self.all), patience=_PATIENCE)

    @override
    def describe(self) -> dict[str, Any]:
        return {"access_points": [point.describe() for point in self.all]}

    @override
    def describe_device(self, device: dr.AnyDeviceEntry) -> dict[str, Any]:
        ours = (point for point in self.all if point.info["identifiers"] & device.identifiers)
        return next((point.describe() for point in ours), {})

    @override
    def system_health(self) -> dict[str, Any]:
        connected = sum(point.client.connected for point in self.all)
        return {"access_points": f"{connected}/{len(self.all)}"}

    @override
    @callback
    def async_entry_updated(self) -> None:
        """Follow the entry: add, change and remove access points without disturbing the others."""
        subentries = access_point_subentries(self.entry)
        for subentry_id in self._points.keys() - subentries.keys():
            self.entry.async_create_background_task(
                self.hass, self._points.pop(subentry_id).async_close(), "xiaozhi close access point"
            )
        for subentry_id, subentry in subentries.items():
            if (known := self._points.get(subentry_id)) is not None:
                known.apply(subentry)
                continue
            try:
                point = AccessPoint(self.hass, self.entry, subentry)
            except AddressError as err:
                # One that was stored by another version must not keep the gateway from starting.
                _LOGGER.warning("The address of %s cannot be used: %s", subentry.title, err)
                continue
            self._points[subentry_id] = point
            for listener in tuple(self._listeners):
                listener(point)
            if self._started:
                point.async_start()

    @callback
    def listen(self, listener: Callable[[AccessPoint], None]) -> CALLBACK_TYPE:
        """Call `listener` for every access point, now and later. Returns a function that ends this."""
        for point in self.all:
            listener(point)
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @callback
    def _house_started(self, _hass: HomeAssistant) -> None:
        self._started = True
        for point in self.all:
            point.async_start()

    async def _house_stops(self, _event: Event) -> None:
        await close_all(*(point.async_close() for point in self.all))

    @callback
    def _house_changed(self, *_: object) -> None:
        for point in self.all:
            # What is not exposed any more cannot be used by the next request.
            point.client.dispatcher.forget()
        if self._started and self._points:
            self._refresh.async_schedule_call()

    async def _async_refresh(self) -> None:
        for point in self.all:
            await point.async_refresh()

    @callback
    def _every_hour(self, _now: datetime) -> None:
        """Check for changes without an event: tokens expire, and the server of a remote API comes back."""
        for point in self.all:
            point.async_update_issues()
        self._house_changed()
