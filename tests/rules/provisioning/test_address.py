"""The address that devices call, and the hosts that they can."""

from types import SimpleNamespace
from typing import Any

from homeassistant.components.http import ApiConfig
from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.const import OTA_PATH, WEBSOCKET_PATH
from custom_components.xiaozhi.protocol.checkin import is_usable_host
from custom_components.xiaozhi.protocol.checkin_reply import websocket_url
from custom_components.xiaozhi.provisioning.check_in_address import check_in_url


@given(host=st.one_of(st.text(max_size=260), st.from_regex(r"[0-9A-Za-z._:-]{1,230}", fullmatch=True)))
def test_a_usable_host_always_makes_a_url_that_a_device_takes(host: str) -> None:
    """The check here and the one of the reply agree, so that a reply never fails."""
    if is_usable_host(host):
        assert websocket_url(host, 65535, WEBSOCKET_PATH)


@pytest.mark.parametrize("host", ["192.168.1.10", "homeassistant", "homeassistant.local", "ha_1.home-net.de"])
def test_names_and_ipv4_addresses_are_usable(host: str) -> None:
    """These are what people type."""
    assert is_usable_host(host)


def api(ip: str, port: int = 8123, *, ssl: bool = False) -> ApiConfig:
    """Return how Home Assistant is reached."""
    return ApiConfig(ip, ip, port, ssl)


@pytest.mark.parametrize(
    ("api_config", "internal_url", "address", "expected"),
    [
        (api("192.168.1.10"), None, None, "http://192.168.1.10:8123"),
        (api("192.168.1.10", 80), None, None, "http://192.168.1.10"),
        (api("172.17.0.2"), "http://192.168.1.10:8080", None, "http://192.168.1.10:8080"),
        (api("172.17.0.2"), "http://192.168.1.10", None, "http://192.168.1.10"),
        (api("192.168.1.10"), "http://homeassistant.local:8080", None, "http://192.168.1.10:8123"),
        (api("192.168.1.10"), "https://ha.example.org", None, "http://192.168.1.10:8123"),
        (api("192.168.1.10"), None, "ha.lan", "http://ha.lan:8123"),
        (api("127.0.0.1"), None, "192.168.1.10", "http://192.168.1.10:8123"),
        (api("127.0.0.1"), None, None, None),
        (api("fd12::1"), None, None, None),
        (api("192.168.1.10", 443, ssl=True), None, "ha.example.org", "https://ha.example.org"),
        (api("192.168.1.10", ssl=True), None, None, None),
        (api("192.168.1.10", ssl=True), "http://192.168.1.10:80", None, "http://192.168.1.10"),
        (None, None, "ha.lan", None),
    ],
)
def test_the_address_to_type_is_one_that_devices_can_reach(
    api_config: ApiConfig | None, internal_url: str | None, address: str | None, expected: str | None
) -> None:
    """Short, with the real port, and an IPv4 address rather than a name that the device may not resolve."""
    hass: Any = SimpleNamespace(config=SimpleNamespace(api=api_config, internal_url=internal_url))
    assert check_in_url(hass, address) == (expected and f"{expected}{OTA_PATH}")
