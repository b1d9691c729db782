"""Opens and fills in forms, and checks that all their texts exist."""

import asyncio
import json
from string import Formatter
from typing import Any, Final

from homeassistant.config_entries import (
    SOURCE_IGNORE,
    SOURCE_INTEGRATION_DISCOVERY,
    SOURCE_USER,
    ConfigEntry,
    ConfigFlowResult,
)
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import config_validation as cv
import probatio
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from simulator import SimulatedDevice, State
from tests.integration.names import Boot
from tests.paths import ROOT

ADDRESS: Final = "http://192.168.1.10:8123/api/xiaozhi/ota"
"""What Home Assistant tells people to type into devices, with the fixture `own_address`."""
# Not shown where a gateway has one link to offer.
_ADVANCED: Final = "advanced"


def websocket_only(port: int, **fields: Any) -> dict[str, Any]:
    """Fill in the form of a gateway that opens this port and no other."""
    return {"link": "websocket", "websocket_port": port, **fields}


def stored(port: int, **fields: Any) -> dict[str, Any]:
    """Return what is stored of `websocket_only`: the ports for other links, too."""
    ports = {**websocket_only(port), "mqtt_port": 1884, "udp_port": 8765}
    return {**ports, "understand_alarms": True, **fields}


def texts(section: str, language: str = "en") -> dict[str, Any]:
    path = ROOT / "custom_components" / DOMAIN / "translations" / f"{language}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))[section]
    return found


def check_texts(section: dict[str, Any], result: Any) -> Any:
    """Return a form or its end, after checking that all its texts and placeholders exist."""
    if result.get("translation_domain"):
        return result
    shown: list[str] = []
    # An access point has no text of its own at the end.
    ends = section.get("create_entry", {"default": ""})
    if result["type"] is FlowResultType.CREATE_ENTRY and result["context"]["source"] != SOURCE_IGNORE:
        shown.append(ends["default"])
    if result["type"] is FlowResultType.ABORT:
        shown.append(section["abort"][result["reason"]])
    if result["type"] is FlowResultType.FORM:
        step = section["step"][result["step_id"]]
        shown += [step["title"], step.get("description", "")]
        shown += [section["error"][error] for error in (result["errors"] or {}).values()]
        assert result["data_schema"] is not None
        above, below = _fields(result)
        fields = above | below
        if below:
            advanced = step["sections"][_ADVANCED]
            # A field that is filled in wrongly is shown above.
            assert all(advanced[part].items() <= step[part].items() for part in ("data", "data_description"))
        hidden = set[str]()
        if "rare" in fields:
            rare = {str(field) for field in result["data_schema"].schema["rare"].schema.schema}
            assert rare <= step["sections"]["rare"]["data"].keys()
        hidden = hidden | ({"wake_phrases", "wake_threshold", "quiet_volume", "quiet_brightness"} - fields)
        assert fields - step.get("sections", {}).keys() == step.get("data", {}).keys() - hidden
        # What the frontend draws.
        schema = probatio.to_field_list(result["data_schema"], custom_serializer=cv.custom_serializer)
        assert json.dumps(schema)
    needed = {name for text in shown for _, name, _, _ in Formatter().parse(text) if name}
    assert needed <= (result.get("description_placeholders") or {}).keys()
    return result


def _fields(form: Any) -> tuple[set[str], set[str]]:
    """Return the names of a form's fields: those above *Advanced*, and those below."""
    schema = form["data_schema"].schema if form["type"] is FlowResultType.FORM else {}
    below = schema.get(_ADVANCED)
    return (
        {str(field) for field in schema} - {_ADVANCED},
        set() if below is None else {str(field) for field in below.schema.schema},
    )


def suggested(form: Any, section: str | None = None) -> dict[str, Any]:
    """Return what a form, or a section of it, suggests for its fields."""
    fields = form["data_schema"].schema
    if section is not None:
        fields = fields[section].schema.schema
    return {
        str(field): field.description["suggested_value"]
        for field in fields
        if field.description and "suggested_value" in field.description
    }


async def cards(hass: HomeAssistant) -> list[ConfigFlowResult]:
    """Return the cards of devices that wait to be added, when Home Assistant has made all of them."""
    while making := [task for task in asyncio.all_tasks() if task.get_name().startswith("discovery flow")]:
        await asyncio.wait(making)
    await hass.async_block_till_done()
    flows = hass.config_entries.flow.async_progress_by_handler(DOMAIN)
    return [flow for flow in flows if flow["context"]["source"] == SOURCE_INTEGRATION_DISCOVERY]


async def start(hass: HomeAssistant, source: str = SOURCE_USER, data: Any = None) -> Any:
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": source}, data=data)
    return check_texts(texts("config"), result)


async def submit(hass: HomeAssistant, form: Any, **user_input: Any) -> Any:
    """Fill in a form of the integration; `user_input` names a field wherever it is in the form."""
    _, below = _fields(form)
    if below:
        inside = {name: value for name, value in user_input.items() if name in below}
        user_input = {name: value for name, value in user_input.items() if name not in below}
        user_input[_ADVANCED] = inside
    result = await hass.config_entries.flow.async_configure(form["flow_id"], user_input)
    return check_texts(texts("config"), result)


async def start_device(hass: HomeAssistant, entry: ConfigEntry) -> Any:
    """Press *Add device*."""
    result = await hass.config_entries.subentries.async_init(
        (entry.entry_id, "device"), context={"source": SOURCE_USER}
    )
    return check_texts(texts("config_subentries")["device"], result)


async def submit_device(hass: HomeAssistant, form: Any, **user_input: Any) -> Any:
    """Fill in a form of *Add device*, or of *Change device* with all of its fields that are used rarely."""
    rare = user_input.keys() & {"link", "loudspeaker_lead", "restart_now", "show_announcements"}
    user_input |= {"rare": {name: user_input.pop(name) for name in rare}} if rare else {}
    result = await hass.config_entries.subentries.async_configure(form["flow_id"], user_input)
    return check_texts(texts("config_subentries")["device"], result)


async def pair_new(boot: Boot) -> SimulatedDevice:
    """Switch a new device on, and add it by the code that it shows."""
    device = await boot()
    form = await start_device(boot.hass, boot.entry)
    form = await submit_device(boot.hass, form, code=device.pairing_code)
    await submit_device(boot.hass, form, name="Kitchen box")
    await device.wait_for(lambda: device.pairing_code is None, 10)
    await device.wait_state(State.IDLE, 10)
    return device


async def change_device(hass: HomeAssistant, entry: MockConfigEntry) -> Any:
    """Press *Change device* on the only device of a gateway."""
    (subentry_id,) = entry.subentries
    result = await entry.start_subentry_reconfigure_flow(hass, subentry_id)
    return check_texts(texts("config_subentries")["device"], result)
