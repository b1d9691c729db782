"""Actions on the entities of a simulated device, and what the device did."""

from simulator import SimulatedDevice

LAMP = "light.kitchen_box_lamp"
STATUS_LIGHT = "number.kitchen_box_status_light_brightness"
STRIP = "light.kitchen_box_led_strip"


def colour(device: SimulatedDevice) -> tuple[int, ...]:
    return tuple(device.values[f"led_{part}"] for part in ("red", "green", "blue"))


def calls(device: SimulatedDevice) -> list[str]:
    return [data["name"] for data in device.events("tool") if data["name"] != "self.get_device_status"]
