"""The examples in the documentation: each works as it stands, and no action is without one."""

from collections.abc import Iterator
from datetime import datetime, timedelta
import logging
import re
from typing import Any, Final

from homeassistant.components.automation.config import async_validate_config_item
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
import yaml

from custom_components.xiaozhi.const import CONF_SHARE_TRANSCRIPTS, DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.device.events import ConversationEvent
from custom_components.xiaozhi.guests.alarms.alarm import Alarm
from custom_components.xiaozhi.guests.alarms.timers import SetTimer
from custom_components.xiaozhi.guests.pictures.device_pictures import DevicePictures
from custom_components.xiaozhi.guests.pictures.picture_file import Picture, PictureKind
from custom_components.xiaozhi.protocol.device_status import DeviceStatus
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from scripts.tool_table import stock_tools
from tests.integration.http_device import MAC, add_to, paired_device
from tests.paths import ROOT
from tests.rules.tools.sample_tools import DEVICES, tool as sample_tool

_PAGES: Final = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
_AUTOMATION: Final = re.compile(r"^```yaml\n(alias: .*?)^```", re.MULTILINE | re.DOTALL)
_TEXTS: Final = [text for page in _PAGES for text in _AUTOMATION.findall(page.read_text())]
_EXAMPLES: Final[list[dict[str, Any]]] = [yaml.safe_load(text) for text in _TEXTS]
# The device of the examples, as automations.md introduces it.
_ENTITY: Final = re.compile(r"\b([a-z_]+\.kitchen_xiaozhi\w*)")
_FIELDS: Final = {
    action: set(about.get("fields", ()))
    for action, about in yaml.safe_load(
        (ROOT / "custom_components/xiaozhi/services.yaml").read_text()
    ).items()
}
_NOTIFIED: Final = {
    "notifications/message": {"data": "Battery is hot"},
    "notifications/progress": {"progress": 3, "total": 10},
    "notifications/button": {"clicks": 2},
}
# The event entities, and triggers with the device by an entity, which is there.
_OF_EVENTS: Final = re.compile(r"event\.received|'xiaozhi\.\w+', 'target': {'entity_id'")
_AT_NIGHT: Final = {"Light in the kitchen when XiaoZhi is woken at night"}
# Of firmware of the owner's own.
_OWN_TOOLS: Final = [
    *(*DEVICES["curtain"], *DEVICES["infrared"]),
    *(sample_tool("self.pump.turn_on"), sample_tool("self.pump.turn_off")),
]


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Return every trigger, condition and action, however deep it is; not what is in their data."""
    if isinstance(value, list):
        for inner in value:
            yield from parts(inner)
    elif isinstance(value, dict):
        yield value
        for key, inner in value.items():
            if key not in {"data", "event_data"}:
                yield from parts(inner)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def is_template(value: Any) -> bool:
    return "{{" in str(value) or "{%" in str(value)


ACTIONS: Final = [
    (example["alias"], part) for example in _EXAMPLES for part in parts(example) if "action" in part
]


@pytest.fixture
async def device(hass: HomeAssistant, gateway_entry: MockConfigEntry, all_enabled: None) -> Device:
    """A device in the kitchen with all that any device has; its owner has switched on what is disabled."""
    gateway = gateway_entry.runtime_data
    gateway.remember_area(MAC, ar.async_get(hass).async_create("Kitchen").id)
    paired = paired_device(title="XiaoZhi")
    await add_to(hass, gateway_entry, {**paired, "data": {**paired["data"], CONF_SHARE_TRANSCRIPTS: True}})
    (device,) = gateway.devices.values()
    # Timers are for devices on MQTT.
    start = datetime.fromisoformat("2026-03-02T07:00")
    alarm = Alarm(start=start, rule="FREQ=DAILY", time=start, found=dt_util.utcnow()).renewed(
        dt_util.utcnow()
    )
    timer = SetTimer(name="Eggs", seconds=300, ends_at=dt_util.utcnow() + timedelta(seconds=300))
    device.record.update(
        listens_while_speaking=True,
        link=LinkKind.MQTT,
        timers={"1": timer},
        alarms={"1": alarm},
    )
    tools = {tool.name: tool for tools in (*stock_tools().values(), _OWN_TOOLS) for tool in tools}
    await device.tools.set_list(tuple(tools.values()))
    device.record.update(
        status=DeviceStatus(
            volume=50,
            brightness=50,
            theme="light",
            battery_level=50,
            charging=False,
            chip_temperature=40.0,
            network_type="wifi",
            ssid="Home",
            signal="strong",
            ip="192.168.1.20",
        )
    )
    for kind in PictureKind:
        device.part(DevicePictures).keep(kind, Picture(data=b"", taken=dt_util.utcnow()))
    await hass.async_block_till_done()
    # Between conversations, it keeps its values as one on WebSocket does.
    device.record.update(link=LinkKind.WEBSOCKET)
    await hass.async_block_till_done()
    return device


@pytest.fixture
async def components(hass: HomeAssistant, device: Device) -> None:
    """Set up all whose actions the examples use."""
    for name in {action["action"].partition(".")[0] for _, action in ACTIONS}:
        assert await async_setup_component(hass, name, {}), name


@pytest.mark.own_home
@pytest.mark.usefixtures("components")
async def test_home_assistant_takes_every_example_and_runs_it(
    hass: HomeAssistant, caplog: pytest.LogCaptureFixture
) -> None:
    """As it stands, copied into the editor."""
    names = [example["alias"] for example in _EXAMPLES]
    assert len(set(names)) == len(names) > 30
    automations = [{"id": str(number), **example} for number, example in enumerate(_EXAMPLES)]
    assert await async_setup_component(hass, "automation", {"automation": automations})
    await hass.async_block_till_done()
    for example in _EXAMPLES:
        config = await async_validate_config_item(hass, "example", example)
        assert config is not None
        assert config.validation_error is None, example["alias"]
    running = {state.name for state in hass.states.async_all("automation") if state.state == "on"}
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)
    assert running == set(names)
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    told = {record.message: record.name for record in warnings if record.name.startswith("homeassistant.")}
    # On a busy machine, it warns of states that take long.
    assert set(told.values()) <= {"homeassistant.helpers.entity"}, told


@pytest.mark.own_home
@pytest.mark.usefixtures("components")
async def test_every_event_is_taken_by_its_example(
    hass: HomeAssistant, device: Device, notes: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The device is not connected: what an example does with it fails, but not what it makes of the event."""
    examples = [each for each in _EXAMPLES if _OF_EVENTS.search(str(each["triggers"]))]
    assert await async_setup_component(hass, "automation", {"automation": examples})
    await hass.async_block_till_done()
    for moment in ConversationEvent:
        device.events.fire(
            moment, "Hello.", **{"reason": "stt-stream-failed"} if moment is ConversationEvent.FAILED else {}
        )
        await hass.async_block_till_done()
    for method, params in _NOTIFIED.items():
        device.events.fire_notification(method, params)
        await hass.async_block_till_done()
    assert notes == ["Reason: stt-stream-failed", "Battery is hot", "3 of 10"]
    automations = {
        state.name: state.attributes["last_triggered"] for state in hass.states.async_all("automation")
    }
    assert {name for name, last in automations.items() if last is None} <= _AT_NIGHT
    assert not [record.message for record in caplog.records if "template" in record.message.lower()]
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


@pytest.mark.usefixtures("components")
async def test_every_action_exists_and_takes_its_data_and_each_has_an_example(
    hass: HomeAssistant,
) -> None:
    for alias, action in ACTIONS:
        domain, _, service = action["action"].partition(".")
        assert hass.services.has_service(domain, service), f"{alias}: there is no {action['action']}"
        data = action.get("data", {})
        if domain == DOMAIN:
            assert set(data) <= _FIELDS[service], alias
        if not is_template(data) and not is_template(action.get("target")):
            schema = hass.services.async_services_for_domain(domain)[service].schema
            assert schema is None or schema(data | action.get("target", {})), alias
    assert {f"{DOMAIN}.{action}" for action in _FIELDS} <= {action["action"] for _, action in ACTIONS}


async def test_every_entity_exists_and_can_be_what_an_example_wants(
    hass: HomeAssistant, device: Device
) -> None:
    known = set(er.async_get(hass).entities)
    for text in _TEXTS:
        assert set(_ENTITY.findall(text)) <= known, text
        assert "kitchen_box" not in text, "all examples are about the same device"
    for example in _EXAMPLES:
        for part in parts(example):
            wanted = {str(value) for key in ("from", "to", "state") for value in as_list(part.get(key, []))}
            wanted |= {part["data"]["option"]} if "option" in part.get("data", {}) else set()
            ids = as_list(part.get("entity_id", part.get("target", {}).get("entity_id", [])))
            for state in filter(None, map(hass.states.get, ids)):
                options = set(state.attributes.get("options", wanted))
                assert is_template(wanted) or wanted <= options, f"{example['alias']}: {state.entity_id}"
