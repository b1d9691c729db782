"""Texts are in the language of the voice assistant; none of a device can forge a line of the log or hide."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
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
from websockets.asyncio.client import ClientConnection, connect

from custom_components.xiaozhi.const import CONF_WEBSOCKET_PORT, DOMAIN
from custom_components.xiaozhi.device.events import EVENT_NOTIFICATION
from custom_components.xiaozhi.texts.tool_words import tool_words
from custom_components.xiaozhi.texts.translated import async_text
from tests.integration.boxes import Speech
from tests.integration.http_device import TOKEN
from tests.integration.names import CLIENT_ID, MAC
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
        ("self.oven.open_door", "", "Oven open door"),
        ("self.oven.open_door", "Open the oven", "Open the oven"),
    ):
        assert tool_words(hass, tool, title) == words


FORGED: Final = "ERROR (MainThread) forged"
HOSTILE: Final = f"x\r\n{FORGED}\x1b[31m\u202egnp\u2066\u200b\x00\x85\u2028\ud800."
HELLO: Final = {
    "type": "hello",
    "version": 1,
    "features": {"mcp": True},
    "transport": "websocket",
    "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
}
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


class HostileDevice:
    """A paired device that puts hostile texts wherever it can."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, message: dict[str, Any]) -> None:
        await self._socket.send(json.dumps(message))

    async def serve(self) -> None:
        """Answer what the gateway asks, until it hangs up."""
        await self.send(HELLO)
        async for frame in self._socket:
            message = json.loads(frame) if isinstance(frame, str) else {}
            if message.get("type") == "mcp" and "id" in (request := message["payload"]):
                reply = self._answer(request["method"], request["params"])
                payload = {"jsonrpc": "2.0", "id": request["id"], **reply}
                await self.send({"type": "mcp", "payload": payload})

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
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
    hass: HomeAssistant,
    speech: Speech,
    linked_entry: MockConfigEntry,
    entity_registry: er.EntityRegistry,
    caplog: pytest.LogCaptureFixture,
) -> AsyncGenerator[HostileDevice]:
    """A hostile device in a conversation. Its owner has enabled what shows its texts."""
    caplog.set_level(logging.DEBUG)
    for key in ("ssid", "tool_self.plant.get_note"):
        entity_registry.async_get_or_create(
            SENSOR, DOMAIN, f"{MAC}_{key}", suggested_object_id=key, disabled_by=None
        )
    headers = {"Device-Id": MAC, "Client-Id": CLIENT_ID, "Authorization": f"Bearer {TOKEN}"}
    url = f"ws://127.0.0.1:{linked_entry.data[CONF_WEBSOCKET_PORT]}/xiaozhi/v1/"
    async with connect(url, additional_headers=headers) as socket:
        device = HostileDevice(socket)
        serving = asyncio.create_task(device.serve())
        yield device
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


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


async def test_a_hostile_device_reaches_log_states_and_people_with_one_clean_line_at_most(
    hass: HomeAssistant,
    hostile: HostileDevice,
    linked_entry: MockConfigEntry,
    caplog: pytest.LogCaptureFixture,
) -> None:
    device = linked_entry.runtime_data.devices[MAC]
    arrived = asyncio.Event()
    hass.bus.async_listen(EVENT_NOTIFICATION, callback(lambda _: arrived.set()))
    for method in ("notifications/message", ENCODABLE):
        params = {ENCODABLE: [ENCODABLE, {"text": ENCODABLE}]}
        await hostile.send({"type": "mcp", "payload": {"jsonrpc": "2.0", "method": method, "params": params}})
    await hostile.send({"type": "listen", "state": "detect", "text": ENCODABLE})
    await hostile.send({"type": "abort", "reason": ENCODABLE})
    await hostile.send({"type": ENCODABLE})
    await asyncio.wait_for(arrived.wait(), 10)
    with pytest.raises(HomeAssistantError) as refused:
        await device.commands.call_tool("self.plant.water")
    # Status and tools are read at the end of a conversation.
    await hostile.send({"type": "listen", "state": "start", "mode": "manual"})
    await hostile.send({"type": "listen", "state": "stop"})
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
