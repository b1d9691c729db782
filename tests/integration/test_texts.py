"""Texts are in the language of the voice assistant; none of a device can forge a line of the log or hide."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
import json
import logging
from typing import Any, Final

from homeassistant.components.sensor import DOMAIN as SENSOR
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.helpers.translation import async_load_integrations
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.events import EVENT_NOTIFICATION
from custom_components.xiaozhi.texts.translated import async_text, tool_words
from tests.integration.boxes import Speech
from tests.integration.names import CLIENT_ID, MAC
from tests.integration.websocket_client import WebSocketClient, connected
from tests.paths import ROOT
from tests.protocol.transport.udp.device import until

_FILES = {path.stem: path for path in (ROOT / "custom_components/xiaozhi/translations").glob("*.json")}
_REGIONS = {"zh-Hans": "zh-CN", "zh-Hant": "zh-HK", "pt-BR": "pt"}


async def test_a_sentence_is_in_the_language_of_the_assistant_or_in_english(hass: HomeAssistant) -> None:
    for code, file in _FILES.items():
        text = json.loads(file.read_text())["exceptions"]["voice_nothing_heard"]["message"]
        assert await async_text(hass, "voice_nothing_heard", _REGIONS.get(code, f"{code}-XX")) == text
    english = await async_text(hass, "voice_nothing_heard", "en")
    assert english.startswith("I did not hear")
    assert await async_text(hass, "voice_nothing_heard", "xx") == english


async def test_a_tool_is_called_what_its_entity_or_action_is_called(hass: HomeAssistant) -> None:
    await async_load_integrations(hass, {DOMAIN, "button"})
    for tool, title, words in (
        ("self.audio_speaker.set_volume", "", "Volume"),
        ("self.camera.take_photo", "", "Take photo"),
        ("self.reboot", "", "Restart"),
        ("self.led_strip.blink", "LED strip blink", "LED strip: blink"),
        ("self.oven.open_door", "", "Oven open door"),
        ("self.oven.open_door", "Open the oven", "Open the oven"),
    ):
        assert tool_words(hass, tool, title) == words


FORGED: Final = "ERROR (MainThread) forged"
HOSTILE: Final = f"x\r\n{FORGED}\x1b[31m\u202egnp\u2066\u200b\x00\x85\u2028\ud800."
CLEAN: Final = f"x {FORGED} [31mgnp"
# Half of a surrogate pair ends a message; the other texts do not hold it.
ENCODABLE: Final = HOSTILE.replace("\ud800", "")
ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "self.get_device_status": {
        "network": {"type": "wifi", "ssid": ENCODABLE, "carrier": ENCODABLE},
        "screen": {"theme": ENCODABLE},
    },
    "self.plant.get_note": {"note": ENCODABLE, ENCODABLE: [ENCODABLE]},
}
TOOLS: Final = [
    *({"name": name, "description": ENCODABLE, "inputSchema": {}} for name in ANSWERS),
    {"name": "self.plant.water", "description": ENCODABLE, "inputSchema": {}},
    {"name": ENCODABLE, "description": "never listed", "inputSchema": {}},
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {"result": {"serverInfo": {"name": ENCODABLE, "version": ENCODABLE}}}
        case "tools/list" if "cursor" not in params:
            return {"result": {"tools": TOOLS, "nextCursor": ENCODABLE}}
        case "tools/call" if params["name"] in ANSWERS:
            content = {"type": "text", "text": json.dumps(ANSWERS[params["name"]])}
            return {"result": {"content": [content]}}
    return {"error": {"message": ENCODABLE}}


@pytest.fixture
async def hostile(
    speech: Speech,
    linked_entry: MockConfigEntry,
    entity_registry: er.EntityRegistry,
    hass_client_no_auth: ClientSessionGenerator,
    caplog: pytest.LogCaptureFixture,
) -> AsyncGenerator[WebSocketClient]:
    """A hostile device in a conversation. Its owner has enabled what shows its texts."""
    caplog.set_level(logging.DEBUG)
    for key in ("ssid", "tool_self.plant.get_note"):
        entity_registry.async_get_or_create(
            SENSOR, DOMAIN, f"{MAC}_{key}", suggested_object_id=key, disabled_by=None
        )
    async with connected(await hass_client_no_auth(), answer, mac=MAC, client_id=CLIENT_ID) as device:
        await device.hello()
        yield device


def texts_in(value: Any) -> Iterator[str]:
    """Give all texts of a value, names of members too."""
    match value:
        case str():
            yield value
        case dict():
            for name, member in value.items():
                yield from texts_in(name)
                yield from texts_in(member)
        case list() | tuple():
            for item in value:
                yield from texts_in(item)


def assert_clean(texts: list[str]) -> None:
    assert [text for text in texts if not text.isprintable()] == []


async def test_a_hostile_device_reaches_logs_and_people_with_one_clean_line(
    hass: HomeAssistant,
    hostile: WebSocketClient,
    linked_entry: MockConfigEntry,
    caplog: pytest.LogCaptureFixture,
) -> None:
    device = linked_entry.runtime_data.devices[MAC]
    arrived = asyncio.Event()
    hass.bus.async_listen(EVENT_NOTIFICATION, callback(lambda _: arrived.set()))
    for method in ("notifications/message", ENCODABLE):
        params = {ENCODABLE: [ENCODABLE, {"text": ENCODABLE}]}
        await hostile.say("mcp", payload={"jsonrpc": "2.0", "method": method, "params": params})
    await hostile.say("listen", state="detect", text=ENCODABLE)
    await hostile.say("abort", reason=ENCODABLE)
    await hostile.say(ENCODABLE)
    await asyncio.wait_for(arrived.wait(), 10)
    with pytest.raises(HomeAssistantError) as refused:
        await device.commands.call_tool("self.plant.water")
    # Status and tools are read at the end of a conversation.
    await hostile.say("listen", state="start", mode="manual")
    await hostile.say("listen", state="stop")
    for sensor in ("sensor.ssid", "sensor.tool_self_plant_get_note"):
        await until(lambda sensor=sensor: CLEAN[:10] in str(hass.states.get(sensor)))
    await hass.async_block_till_done()

    assert CLEAN in str(refused.value)
    assert_clean([str(refused.value)])
    states = hass.states.async_all()
    shown = [text for state in states for text in (state.state, *texts_in(dict(state.attributes)))]
    assert_clean(shown)
    assert any(text.startswith(CLEAN) for text in shown)
    entry = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), linked_entry.entry_id)
    assert entry is not None
    assert_clean([*texts_in([entry.name, entry.model, entry.sw_version])])
    assert device.state.firmware
    ours = "custom_components.xiaozhi"
    logged = [record.getMessage() for record in caplog.records if record.name.startswith(ours)]
    assert any(CLEAN[:10] in text for text in logged)
    assert_clean(logged)
