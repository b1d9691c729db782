"""Settings that cannot be read, such as a downgrade leaves behind, stop nothing."""

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from homeassistant.config_entries import ConfigSubentry
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.cloud.access_point import AccessPointSettings
from custom_components.xiaozhi.guests.firmware.available_firmware import FirmwareSettings
from custom_components.xiaozhi.guests.loudspeaker.loudspeaker_settings import LoudspeakerSettings
from custom_components.xiaozhi.guests.mcp_extras.device_questions import QuestionSettings
from custom_components.xiaozhi.guests.pictures.vision import PhotoSettings
from custom_components.xiaozhi.guests.quiet.do_not_disturb import QuietSettings
from custom_components.xiaozhi.guests.spoken.sentence_files import SentenceSettings
from custom_components.xiaozhi.guests.wake_words.device_wake_words import PhraseSettings
from custom_components.xiaozhi.settings import (
    ConversationStyle,
    DeviceLink,
    DeviceSettings,
    GatewaySettings,
    OfferedLink,
    settings_of,
)

_NONSENSE: Final[list[Any]] = ["nonsense", "", -1, 10**30, 1.5, None, True, [], [1], {"a": 1}, {"a": {}}]
_IDENTITY: Final = {"client_id": "the-client-id", "token": "the-token"}


def _subentry(**data: Any) -> ConfigSubentry:
    return ConfigSubentry(
        subentry_type="any", unique_id="94:a9:90:28:a4:5f", title="Kitchen box", data=MappingProxyType(data)
    )


def device(**data: Any) -> DeviceSettings:
    """Return the settings of a device with these stored ones."""
    return DeviceSettings.from_subentry(_subentry(**_IDENTITY | data))


def phrases(**data: Any) -> PhraseSettings:
    return device(**data).of(PhraseSettings)


def loudspeaker(**data: Any) -> LoudspeakerSettings:
    return device(**data).of(LoudspeakerSettings)


def photos(**data: Any) -> PhotoSettings:
    return device(**data).of(PhotoSettings)


def questions(**data: Any) -> QuestionSettings:
    return device(**data).of(QuestionSettings)


def quiet(**data: Any) -> QuietSettings:
    return device(**data).of(QuietSettings)


def _entry(**data: Any) -> MockConfigEntry:
    data = {"websocket_port": 8765, "link": "mqtt", **data}
    return MockConfigEntry(entry_id="0", title="Kitchen box", data=data)


def gateway(**data: Any) -> GatewaySettings:
    return GatewaySettings.from_entry(_entry(**data))


def firmware(**data: Any) -> FirmwareSettings:
    return settings_of(_entry(**data), FirmwareSettings)


def spoken(**data: Any) -> SentenceSettings:
    return settings_of(_entry(**data), SentenceSettings)


def access_point(**data: Any) -> AccessPointSettings:
    return AccessPointSettings.from_subentry(_subentry(url="wss://cloud.example/mcp/?token=x", **data))


_TEXTS: Final = ("", "nonsense")
# Where a setting is, its key, its name, what it is when it cannot be read, and what may be stored for it.
_SETTINGS: Final[list[tuple[Callable[..., Any], str, str, Any, tuple[Any, ...]]]] = [
    (device, "board", "board", "", _TEXTS),
    (device, "conversation_style", "conversation_style", ConversationStyle.SINGLE, ()),
    (device, "follow_up_wait", "follow_up_wait", 8, ()),
    (device, "interrupt_by_speaking", "interrupt_by_speaking", False, (True,)),
    (device, "microphone", "microphone", True, (False, True)),
    (device, "link", "link", DeviceLink.AUTOMATIC, ()),
    (loudspeaker, "loudspeaker", "loudspeaker", None, (*_TEXTS, None)),
    (loudspeaker, "loudspeaker_lead", "loudspeaker_lead", 0.5, (1.5, 1, True)),
    (device, "share_transcripts", "share_transcripts", False, (True,)),
    (device, "wake_word_pipelines", "wake_word_pipelines", {}, ()),
    (phrases, "wake_phrases", "wake_phrases", (), ([],)),
    (phrases, "wake_threshold", "wake_threshold", 0.2, (0.2,)),
    (device, "announcement_volume", "announcement_volume", None, (0,)),
    (quiet, "quiet_volume", "quiet_volume", 30, (0,)),
    (quiet, "quiet_brightness", "quiet_brightness", 10, (0,)),
    (device, "show_announcements", "shows_announcements", False, (True,)),
    (questions, "ask_ai", "ask_ai", False, (True,)),
    (questions, "ask_people", "ask_people", False, (True,)),
    (photos, "look_at_photos", "look_at_photos", True, (True,)),
    (device, "assistant_tools", "assistant_tools", None, ([],)),
    (gateway, "websocket_port", "websocket_port", 8765, ()),
    (gateway, "mqtt_port", "mqtt_port", 1884, ()),
    (gateway, "udp_port", "udp_port", 8765, ()),
    (gateway, "link", "link", OfferedLink.MQTT, ()),
    (gateway, "address", "address", None, _TEXTS),
    (firmware, "firmware_releases", "firmware_releases", None, _TEXTS),
    (spoken, "understand_alarms", "understand_alarms", False, (True,)),
    # When it is unknown whether the cloud may change anything, it may not.
    (access_point, "llm_hass_api", "apis", ("assist",), ([],)),
    (access_point, "tools", "tools", None, ([],)),
    (access_point, "questions_only", "questions_only", True, (True,)),
]


def test_every_setting_of_a_device_is_tried() -> None:
    always = {"mac", "name", "client_id", "token", "options", "of_guests"}
    tried = {field for read, _, field, _, _ in _SETTINGS if read is device}
    assert tried == DeviceSettings.__dataclass_fields__.keys() - always


@pytest.mark.parametrize(("read", "key", "field", "default", "readable"), _SETTINGS)
def test_a_setting_that_cannot_be_read_is_its_default(
    read: Callable[..., Any],
    key: str,
    field: str,
    default: Any,
    readable: tuple[Any, ...],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The others stay what they are, and the log says which one it was."""
    usual = read()
    for value in _NONSENSE:
        if any(value is known or value == known for known in readable):
            continue
        caplog.clear()
        assert read(**{key: value}) == replace(usual, **{field: default}), value
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
    found = {getattr(DeviceSettings.from_subentry(_subentry(**data)), key) for _ in range(2)}
    assert len(found) == 2
    assert all(len(one) > 30 for one in found)


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
    settings = gateway(link="broker", broker=broker)
    assert (settings.link, settings.broker) == (OfferedLink.MQTT, None)


def test_an_empty_entry_is_a_gateway() -> None:
    settings = GatewaySettings.from_entry(MockConfigEntry(data={}))
    assert (settings.websocket_port, settings.link) == (8765, OfferedLink.WEBSOCKET)
