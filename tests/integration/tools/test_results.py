"""What a tool gives besides text reaches the automation that called it, as data."""

import base64
import threading
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.tools import tool_risks
from custom_components.xiaozhi.tools.risk_words import Risk
from simulator import SimulatedDevice
from simulator.board.picture import jpeg
from simulator.board.tools import Image, Tool
from tests.integration.boxes import Boot, wait_for_state
from tests.integration.tools.own_tools import announce, register
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

PICTURE = jpeg(32, 24)
IMAGE = {"type": "image", "data": base64.b64encode(PICTURE).decode(), "mimeType": "image/jpeg"}
RESOURCE_LINK = {
    "type": "resource_link",
    "uri": "file:///sd/log.txt",
    "name": "log.txt",
    "mimeType": "text/plain",
}
EMBEDDED = {
    "type": "resource",
    "resource": {"uri": "file:///sd/note.txt", "mimeType": "text/plain", "text": "Buy milk."},
}
TEXT = {"type": "text", "text": "Here it is."}
PLACE = {"room": "kitchen", "row": 3}


async def add(device: SimulatedDevice, known: Device, *tools: Tool) -> None:
    """Give a running device more tools, and wait until Home Assistant knows them."""
    register(device, *tools)
    announce(device)
    await until(lambda: tools[-1].name in known.tools)


GIVEN: dict[str, tuple[dict[str, Any], Any]] = {
    "image_of_the_firmware": ({"result": Image(data=PICTURE, mime_type="image/jpeg")}, {"result": IMAGE}),
    "image_of_the_standard": ({"answer": {"content": [IMAGE]}}, {"result": IMAGE}),
    "image_beside_text": (
        {"answer": {"content": [TEXT, IMAGE]}},
        {"result": TEXT["text"], "content": [IMAGE]},
    ),
    "structured_without_items": ({"answer": {"content": [], "structuredContent": PLACE}}, {"result": PLACE}),
    "structured_alone": ({"answer": {"structuredContent": PLACE}}, {"result": PLACE}),
    "structured_beside_text": (
        {"answer": {"content": [TEXT], "structuredContent": PLACE}},
        {"result": TEXT["text"], "structured": PLACE},
    ),
    "link": ({"answer": {"content": [RESOURCE_LINK]}}, {"result": RESOURCE_LINK}),
    "embedded": ({"answer": {"content": [EMBEDDED]}}, {"result": EMBEDDED}),
    "two_items": ({"answer": {"content": [RESOURCE_LINK, EMBEDDED]}}, {"result": [RESOURCE_LINK, EMBEDDED]}),
}


async def test_what_is_no_text_is_handed_on_as_data(
    hass: HomeAssistant, boot: Boot, known: Device, device_id: str
) -> None:
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    tools = [
        Tool(name=f"self.find.{name}", description="Find it.", **given) for name, (given, _) in GIVEN.items()
    ]
    await add(device, known, *tools)
    for name, (_, answer) in GIVEN.items():
        call = {"device_id": device_id, "tool": f"self.find.{name}"}
        found = await hass.services.async_call(DOMAIN, "call_tool", call, blocking=True, return_response=True)
        assert found == answer, name


async def test_a_title_names_the_entity(hass: HomeAssistant, boot: Boot, known: Device) -> None:
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    title = "  Feed\nthe fish\u202e " + "x" * 80
    await add(device, known, Tool(name="self.tank.run_once", description="", title=title))
    await until(lambda: any("Feed the fish" in state.name for state in hass.states.async_all("button")))
    (name,) = (state.name for state in hass.states.async_all("button") if "fish" in state.name)
    assert name.startswith("Kitchen box Feed the fish")
    assert len(name) <= len("Kitchen box ") + 64
    assert name.isprintable()


async def test_texts_of_tools_are_not_judged_by_the_event_loop(
    hass: HomeAssistant, boot: Boot, known: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: dict[str, int] = {}
    find = tool_risks.risks_in_name

    def find_and_note(name: str) -> tuple[Risk, ...]:
        judged.setdefault(name, threading.get_ident())
        return find(name)

    monkeypatch.setattr(tool_risks, "risks_in_name", find_and_note)
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    await add(device, known, Tool(name="self.hostile.text", description="open a b c d e f " * 60))
    assert judged["self.hostile.text"] != threading.get_ident()
