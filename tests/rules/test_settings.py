"""Settings that cannot be read, such as a downgrade leaves behind, stop nothing."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from homeassistant.config_entries import ConfigSubentry
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.access_point.settings import AccessPointSettings
from custom_components.xiaozhi.settings import (
    ConversationStyle,
    DeviceLink,
    DeviceSettings,
    GatewaySettings,
    OfferedLink,
)

_NONSENSE: Final[list[Any]] = ["nonsense", "", -1, 10**30, 1.5, None, True, [], [1], {"a": 1}, {"a": {}}]
# What each setting is when it cannot be read, and what may be stored for it.
_DEVICE: Final[dict[str, tuple[str, Any, tuple[Any, ...]]]] = {
    "board": ("board", "", ("", "nonsense")),
    "conversation_style": ("conversation_style", ConversationStyle.SINGLE, ()),
    "follow_up_wait": ("follow_up_wait", 8, ()),
    "interrupt_by_speaking": ("interrupt_by_speaking", False, (True,)),
    "link": ("link", DeviceLink.AUTOMATIC, ()),
    "share_transcripts": ("share_transcripts", False, (True,)),
    "wake_word_pipelines": ("wake_word_pipelines", {}, ()),
    "announcement_volume": ("announcement_volume", 0, ()),
    "show_announcements": ("shows_announcements", False, (True,)),
    "ask_ai": ("may_ask_ai", False, (True,)),
    "ask_people": ("may_ask_people", False, (True,)),
    "look_at_photos": ("looks_at_photos", True, (True,)),
    "assistant_tools": ("assistant_tools", None, ([],)),
}
_IDENTITY: Final = {"client_id": "the-client-id", "token": "the-token"}


def device(**data: Any) -> ConfigSubentry:
    """Return the subentry of a device with these stored settings."""
    return ConfigSubentry(
        subentry_type="device",
        unique_id="94:a9:90:28:a4:5f",
        title="Kitchen box",
        data=MappingProxyType({**_IDENTITY, **data}),
    )


def test_every_setting_of_a_device_is_tried() -> None:
    always = {"mac", "name", "client_id", "token"}
    assert {field for field, _, _ in _DEVICE.values()} == DeviceSettings.__dataclass_fields__.keys() - always


@pytest.mark.parametrize("key", _DEVICE)
def test_a_setting_of_a_device_that_cannot_be_read_is_its_default(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The others stay what they are, and the log says which one it was."""
    field, default, readable = _DEVICE[key]
    usual = DeviceSettings.from_subentry(device())
    for value in _NONSENSE:
        caplog.clear()
        settings = DeviceSettings.from_subentry(device(**{key: value}))
        if any(value is known or value == known for known in readable):
            continue
        assert getattr(settings, field) == default, value
        assert settings == replace(usual, **{field: default})
        (line,) = caplog.messages
        assert "Kitchen box" in line
        assert key in line


@pytest.mark.parametrize("key", ["client_id", "token"])
@pytest.mark.parametrize("value", [None, "", 5, ["a"], "absent"])
def test_credentials_that_cannot_be_read_let_nobody_in(key: str, value: Any) -> None:
    """There is nothing that a stranger could guess."""
    data = {**_IDENTITY, key: value}
    if value == "absent":
        del data[key]
    subentry = ConfigSubentry(subentry_type="device", unique_id="m", title="Box", data=MappingProxyType(data))
    found = {getattr(DeviceSettings.from_subentry(subentry), key) for _ in range(2)}
    assert len(found) == 2
    assert all(len(one) > 30 for one in found)


_GATEWAY: Final = {
    "websocket_port": ("websocket_port", 8765),
    "mqtt_port": ("mqtt_port", 1884),
    "udp_port": ("udp_port", 8765),
    "link": ("link", OfferedLink.MQTT),
    "address": ("address", None),
    "firmware_releases": ("firmware_releases", None),
}


@pytest.mark.parametrize("key", _GATEWAY)
def test_a_setting_of_the_gateway_that_cannot_be_read_is_its_default(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    field, default = _GATEWAY[key]
    for value in _NONSENSE:
        if key in {"address", "firmware_releases"} and isinstance(value, str):
            continue
        caplog.clear()
        data = {"websocket_port": 8765, "link": "mqtt", key: value}
        settings = GatewaySettings.from_entry(MockConfigEntry(title="XiaoZhi", data=data))
        assert getattr(settings, field) == default, value
        assert [key in line for line in caplog.messages] == [True]


@pytest.mark.parametrize(
    "broker",
    [
        *_NONSENSE,
        {"host": "broker", "port": "nonsense"},
        {"host": 5, "port": 1883},
        {"host": "broker", "port": 1883, "username": 5},
        {"host": "broker", "port": 1883, "password": []},
    ],
)
def test_a_broker_that_cannot_be_read_leaves_the_gateways_own_endpoint(broker: Any) -> None:
    data = {"websocket_port": 8765, "link": "broker", "broker": broker}
    settings = GatewaySettings.from_entry(MockConfigEntry(data=data))
    assert (settings.link, settings.broker) == (OfferedLink.MQTT, None)


def test_an_empty_entry_is_a_gateway() -> None:
    settings = GatewaySettings.from_entry(MockConfigEntry(data={}))
    assert (settings.websocket_port, settings.link) == (8765, OfferedLink.WEBSOCKET)


@pytest.mark.parametrize(
    ("key", "field", "default"),
    [
        ("llm_hass_api", "apis", ("assist",)),
        ("tools", "tools", None),
        ("questions_only", "questions_only", True),
    ],
)
def test_a_setting_of_an_access_point_that_cannot_be_read_is_its_default(
    key: str, field: str, default: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """When it is unknown whether the cloud may change anything, it may not."""
    for value in ("nonsense", -1, 1.5, None, [1], {"a": 1}):
        caplog.clear()
        subentry = ConfigSubentry(
            subentry_type="access_point",
            unique_id="u",
            title="The cloud",
            data=MappingProxyType({"url": "wss://cloud.example/mcp/?token=x", key: value}),
        )
        assert getattr(AccessPointSettings.from_subentry(subentry), field) == default
        (line,) = caplog.messages
        assert "The cloud" in line
        assert key in line
