"""What a device tells about its own state."""

from dataclasses import asdict
import json
from typing import Any

from hypothesis import given
import pytest

from custom_components.xiaozhi.protocol.device_status import DeviceStatus, StatusError, read_status
from tests.protocol.any_json import any_json

FULL: dict[str, dict[str, Any]] = {
    "audio_speaker": {"volume": 70},
    "screen": {"brightness": 100, "theme": "light"},
    "battery": {"level": 5, "charging": True},
    "network": {"type": "wifi", "ssid": "家", "signal": "strong", "ip": "192.0.2.7"},
    "chip": {"temperature": 41.5},
}


def test_a_full_status_is_read_and_can_be_stored() -> None:
    status = read_status(FULL)
    assert status == DeviceStatus(
        volume=70,
        brightness=100,
        theme="light",
        battery_level=5,
        charging=True,
        chip_temperature=41.5,
        network_type="wifi",
        ssid="家",
        signal="strong",
        ip="192.0.2.7",
    )
    assert DeviceStatus.from_dict(json.loads(json.dumps(asdict(status)))) == status


def test_a_cellular_and_a_wired_device() -> None:
    cellular = read_status({"network": {"type": "cellular", "carrier": "CMCC", "signal": "very weak"}})
    assert cellular == DeviceStatus(network_type="cellular", carrier="CMCC", signal="very_weak")
    wired = read_status({"network": {"type": "ethernet", "state": "connected", "ip": "192.0.2.7"}})
    assert wired == DeviceStatus(network_type="ethernet", ip="192.0.2.7")


@pytest.mark.parametrize(
    ("part", "key", "field", "value"),
    [
        ("audio_speaker", "volume", "volume", 101),
        ("audio_speaker", "volume", "volume", -1),
        ("screen", "brightness", "brightness", None),
        ("battery", "level", "battery_level", 1000),
        ("battery", "charging", "charging", 1),
        ("chip", "temperature", "chip_temperature", 1000),
        ("chip", "temperature", "chip_temperature", True),
        ("network", "type", "network_type", "carrier pigeon"),
        ("network", "signal", "signal", -60),
        ("network", "ip", "ip", "192.0.2"),
    ],
)
def test_a_wrong_value_is_none_and_the_others_stay(part: str, key: str, field: str, value: Any) -> None:
    status = read_status({**FULL, part: {**FULL[part], key: value}})
    assert asdict(status) == {**asdict(read_status(FULL)), field: None}


def test_a_limit_is_inclusive_and_a_whole_temperature_is_a_float() -> None:
    """Muted is a volume, and 0 °C is a temperature."""
    status = read_status({"audio_speaker": {"volume": 0}, "chip": {"temperature": 0}})
    assert status == DeviceStatus(volume=0, chip_temperature=0.0)
    assert isinstance(status.chip_temperature, float)


@pytest.mark.parametrize("answer", [None, "ok", [], 7])
def test_what_is_no_object_is_an_error(answer: Any) -> None:
    with pytest.raises(StatusError):
        read_status(answer)


@pytest.mark.parametrize("data", [None, [], 7, {}, {"volume": "x", "new": 1}])
def test_a_strange_store_is_an_unknown_status(data: Any) -> None:
    assert DeviceStatus.from_dict(data) == DeviceStatus()


WORDS = ("audio_speaker", "volume", "network", "type", "ip", "chip", "temperature")


@given(value=any_json(*WORDS))
def test_any_json_gives_a_status_or_an_error(value: Any) -> None:
    try:
        status = read_status(value)
    except StatusError:
        assert not isinstance(value, dict)
        return
    stored = json.dumps(asdict(status), ensure_ascii=False, allow_nan=False).encode()
    assert DeviceStatus.from_dict(json.loads(stored)) == status
