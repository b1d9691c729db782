"""What devices of these tests are called, with some of their entities, and what switches them on."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.device.device import Device
from simulator import Pace, Profile, SimulatedDevice, get_profile

MAC = "24:6f:28:aa:bb:01"
OTHER_MAC = "24:6f:28:aa:bb:02"
CLIENT_ID = "3b0c6e0e-26f5-4b3c-8a4e-6c7d1f2a9b01"
# Polls and back-offs need not be waited for; sound stays as slow as it is.
QUICK = Pace(waits=0.02, timeouts=0.1, main_loop_delay=0.001)

# Firmware that says nothing while the device is idle, and firmware that does.
OLD, NEW = get_profile(), get_profile(version="2.5.0")

COMMAND = "turn on the kitchen light"
LIGHT = "input_boolean.kitchen_light"
SATELLITE = "assist_satellite.kitchen_box"
OTHER_SATELLITE = "assist_satellite.bedroom_box"
BRIGHTNESS = "number.kitchen_box_brightness"
# Disabled at first.
VOLUME = "number.kitchen_box_volume"
CONNECTED = "binary_sensor.kitchen_box_connectivity"


def registry_ids(hass: HomeAssistant, entry: MockConfigEntry) -> list[str]:
    """Return the ids of devices in the device registry, in the order of pairing."""
    return [device.id for device in registered_devices(hass, entry)]


def registered_devices(hass: HomeAssistant, entry: MockConfigEntry) -> list[dr.DeviceEntry]:
    """Return the devices in the device registry, in the order of pairing: the gateway is a service."""
    registered = dr.async_entries_for_config_entry(dr.async_get(hass), entry.entry_id)
    return [each for each in registered if each.entry_type is None]


class Boot:
    """Switches simulated devices on, which check in at a gateway; the first one is paired."""

    def __init__(self, hass: HomeAssistant, entry: MockConfigEntry, check_in_url: str) -> None:
        self.entry = entry
        self.known: Device = entry.runtime_data.devices.get(MAC)
        """The first device, as Home Assistant knows it."""
        self.device_ids = registry_ids(hass, entry)
        self.devices: list[SimulatedDevice] = []
        self.hass = hass
        self._check_in_url = check_in_url

    async def __call__(self, profile: Profile | None = None, **options: Any) -> SimulatedDevice:
        """Switch a device on, and let it check in."""
        options = {"mac": MAC, "client_id": CLIENT_ID, "pace": QUICK, **options}
        device = SimulatedDevice(profile or get_profile(), self._check_in_url, **options)
        self.devices.append(device)
        await device.boot()
        return device

    @property
    def device_id(self) -> str:
        """Id of the first device in the device registry."""
        return self.device_ids[0]
