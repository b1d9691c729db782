"""What devices of these tests are called, and some of their entities."""

from collections.abc import Awaitable, Callable

from simulator import Pace, SimulatedDevice, get_profile

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
BRIGHTNESS = "number.kitchen_box_brightness"
# Disabled at first.
VOLUME = "number.kitchen_box_volume"
CONNECTED = "binary_sensor.kitchen_box_connectivity"

type Boot = Callable[..., Awaitable[SimulatedDevice]]
