"""The status of a device: the answer of the tool `self.get_device_status`.

Source: `GetDeviceStatusJson` of the firmware's boards (`main/boards/common/*.cc`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final, Self

from ..util.text import label

NETWORK_TYPES: Final = ("wifi", "cellular", "ethernet", "rndis")
"""As the firmware writes them."""
SIGNALS: Final = ("unknown", "very_weak", "weak", "medium", "strong")
"""As the firmware writes them, except `very_weak` for its "very weak"."""


class StatusError(ValueError):
    """The answer is not a status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStatus:
    """Status of a device; None where missing or invalid."""

    volume: int | None = None
    """Percent."""
    brightness: int | None = None
    """Percent; only with a backlight."""
    theme: str | None = None
    battery_level: int | None = None
    """Percent; only if the board measures it."""
    charging: bool | None = None
    chip_temperature: float | None = None
    """Degrees Celsius."""
    network_type: str | None = None
    """One of `NETWORK_TYPES`."""
    ssid: str | None = None
    signal: str | None = None
    """One of `SIGNALS`."""
    carrier: str | None = None
    ip: str | None = None

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read the result of `dataclasses.asdict`; missing or wrong values become None."""
        return cls(**{name: check(_member(data, name)) for name, (_, _, check) in _FIELDS.items()})


def read_status(status: object) -> DeviceStatus:
    """Read the answer of the status tool, as JSON values. Raises `StatusError` if it is not an object."""
    if not isinstance(status, dict):
        raise StatusError("the status is not a JSON object")
    return DeviceStatus(
        **{name: check(_member(_member(status, part), key)) for name, (part, key, check) in _FIELDS.items()}
    )


def _member(data: object, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _percent(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= 100 else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _temperature(value: Any) -> float | None:
    # The chips' sensors measure from -40 to 125 °C.
    return float(value) if type(value) in {int, float} and -50 <= value <= 150 else None


def _address(value: object) -> str | None:
    try:
        return str(ip_address(label(value) or ""))
    except ValueError:
        return None


def _one_of(words: tuple[str, ...]) -> Callable[[object], str | None]:
    def check(value: object) -> str | None:
        word = value.replace(" ", "_") if isinstance(value, str) else None
        return word if word in words else None

    return check


# Field: part of the status, member of that part, check.
_FIELDS: Final[dict[str, tuple[str, str, Callable[[object], Any]]]] = {
    "volume": ("audio_speaker", "volume", _percent),
    "brightness": ("screen", "brightness", _percent),
    "theme": ("screen", "theme", label),
    "battery_level": ("battery", "level", _percent),
    "charging": ("battery", "charging", _flag),
    "chip_temperature": ("chip", "temperature", _temperature),
    "network_type": ("network", "type", _one_of(NETWORK_TYPES)),
    "ssid": ("network", "ssid", label),
    "signal": ("network", "signal", _one_of(SIGNALS)),
    "carrier": ("network", "carrier", label),
    "ip": ("network", "ip", _address),
}
