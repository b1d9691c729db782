"""What a tool gives besides text reaches the automation that called it, as data."""

import base64
import threading
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.tools import tool_risks
from custom_components.xiaozhi.tools.risk_words import Risk
from simulator import SimulatedDevice
from simulator.board.picture import jpeg
from simulator.board.tools import Image, Tool
from tests.integration.boxes import MAC, Boot, wait_for_state
from tests.integration.tools.own_tools import announce, register
from tests.protocol.transport.udp.device import until

PICTURE = jpeg(32, 24)
IMAGE = {"type": "image", "data": base64.b64encode(PICTURE).decode(), "mimeType": "image/jpeg"}
LINK = {"type": "resource_link", "uri": "file:///sd/log.txt", "name": "log.txt", "mimeType": "text/plain"}
EMBEDDED = {
    "type": "resource",
    "resource": {"uri": "file:///sd/note.txt", "mimeType": "text/plain", "text": "Buy milk."},
}
TEXT = {"type": "text", "text": "Here it is."}
PLACE = {"room": "kitchen", "row": 3}


@pytest.fixture
def link() -> LinkKind:
    """A device on MQTT can be reached at any time."""
    return LinkKind.MQTT


async def ask(hass: HomeAssistant, entry: MockConfigEntry, tool: str) -> Any:
    device = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), entry.entry_id)
    assert device is not None
    call = {"device_id": device.id, "tool": tool}
    return await hass.services.async_call(DOMAIN, "call_tool", call, blocking=True, return_response=True)


async def add(device: SimulatedDevice, entry: MockConfigEntry, tool: Tool) -> None:
    """Give a running device one more tool, and wait until Home Assistant knows it."""
    register(device, tool)
    announce(device)
    (box,) = entry.runtime_data.devices.values()
    await until(lambda: tool.name in box.tools)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"result": Image(data=PICTURE, mime_type="image/jpeg")}, {"result": IMAGE}),
        ({"answer": {"content": [IMAGE]}}, {"result": IMAGE}),
        ({"answer": {"content": [TEXT, IMAGE]}}, {"result": TEXT["text"], "content": [IMAGE]}),
        ({"answer": {"content": [], "structuredContent": PLACE}}, {"result": PLACE}),
        ({"answer": {"structuredContent": PLACE}}, {"result": PLACE}),
        (
            {"answer": {"content": [TEXT], "structuredContent": PLACE}},
            {"result": TEXT["text"], "structured": PLACE},
        ),
        ({"answer": {"content": [LINK]}}, {"result": LINK}),
        ({"answer": {"content": [EMBEDDED]}}, {"result": EMBEDDED}),
        ({"answer": {"content": [LINK, EMBEDDED]}}, {"result": [LINK, EMBEDDED]}),
    ],
    ids=[
        "an image in the firmware's form",
        "an image in the standard's form",
        "an image beside a text",
        "structured content without items",
        "structured content alone",
        "structured content beside a text",
        "a link to a resource",
        "an embedded resource",
        "two items",
    ],
)
async def test_what_is_no_text_is_handed_on_as_data(
    hass: HomeAssistant,
    boot: Boot,
    linked_entry: MockConfigEntry,
    given: dict[str, Any],
    answer: dict[str, Any],
) -> None:
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    await add(device, linked_entry, Tool(name="self.shelf.find", description="Find it.", **given))
    assert await ask(hass, linked_entry, "self.shelf.find") == answer


async def test_a_title_names_the_entity(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    title = "  Feed\nthe fish\u202e " + "x" * 80
    await add(device, linked_entry, Tool(name="self.tank.run_once", description="", title=title))
    await until(lambda: any("Feed the fish" in state.name for state in hass.states.async_all("button")))
    (name,) = (state.name for state in hass.states.async_all("button") if "fish" in state.name)
    assert name.startswith("Kitchen box Feed the fish")
    assert len(name) <= len("Kitchen box ") + 64
    assert name.isprintable()


async def test_texts_of_tools_are_not_judged_by_the_event_loop(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: dict[str, int] = {}
    find = tool_risks.risks_in_name

    def find_and_note(name: str) -> tuple[Risk, ...]:
        judged.setdefault(name, threading.get_ident())
        return find(name)

    monkeypatch.setattr(tool_risks, "risks_in_name", find_and_note)
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    await add(device, linked_entry, Tool(name="self.hostile.text", description="open a b c d e f " * 60))
    assert judged["self.hostile.text"] != threading.get_ident()
