"""Programs that are no device are served like one: here one on a computer, as other people write them.

It differs from a device in what it leaves out (the transport in its hello), in what it adds (pings, a close
handshake) and in the length of its packets.
"""

import asyncio
from collections.abc import AsyncGenerator
from itertools import count
from typing import Any

import av
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
from websockets.exceptions import ConnectionClosedError

from tests.integration.boxes import Speech, act, call_action, wait_for_state
from tests.integration.http_device import paired_device
from tests.integration.names import COMMAND, LIGHT, SATELLITE
from tests.integration.websocket_client import PACKET_MS, RATE, WebSocketClient, connected
from tests.protocol.transport.udp.device import until

pytestmark = pytest.mark.usefixtures("all_enabled")

STATE = "sensor.kitchen_box_conversation_state"
MAC = "3c:52:82:10:00:07"
# Without hyphens, unlike a device's.
CLIENT_ID = "b0f7c9e2a4d14c6f8e1a5d3c7b9f0a12"


def answer(method: str, _params: dict[str, Any]) -> dict[str, Any]:
    return {"result": {"serverInfo": {"name": "pc", "version": "2.0.3"}, "tools": []}}


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return (paired_device(MAC, CLIENT_ID),)


@pytest.fixture
async def client(
    speech: Speech, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> AsyncGenerator[WebSocketClient]:
    """A client that has checked in, and says hello minutes after it has connected, as esp_xiaozhi does."""
    about = {"mac": MAC, "client_id": CLIENT_ID, "board": "pc-client", "version": "2.0.3"}
    async with connected(await hass_client_no_auth(), answer, **about) as client:
        await asyncio.sleep(300)
        await client.hello()
        yield client
    assert client.connection.close_code == 1000


async def talk(client: WebSocketClient, pcm: bytes) -> None:
    """Stream a second of silence, a sentence, and silence, at the pace of a microphone."""
    encoder: Any = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.format, encoder.layout = RATE, "s16", "mono"
    encoder.options = {"frame_duration": str(PACKET_MS), "application": "voip"}
    size = RATE * PACKET_MS // 1000
    spoken = bytes(2 * RATE) + pcm
    for position in count(step=size):
        frame = av.AudioFrame(format="s16", layout="mono", samples=size)
        frame.sample_rate, frame.pts = RATE, position
        frame.planes[0].update(spoken[2 * position :][: 2 * size].ljust(2 * size, b"\0"))
        for packet in encoder.encode(frame):
            await client.connection.send(bytes(packet))
        await asyncio.sleep(PACKET_MS / 1000)


def methods(client: WebSocketClient) -> list[str]:
    """Return the MCP methods that the server has called."""
    return [message["payload"]["method"] for message in client.messages if message["type"] == "mcp"]


async def test_a_client_on_a_computer_talks_like_a_device(
    hass: HomeAssistant, speech: Speech, client: WebSocketClient, command: bytes
) -> None:
    """Its 20 ms packets are understood, its answer is heard to the end, and it is let go without a fuss."""
    speech.recognizer.lines = [COMMAND]
    await client.say("listen", state="detect", text="hello computer")
    await client.say("listen", state="start", mode="auto")
    talking = asyncio.create_task(talk(client, command))
    await client.wait_for("tts", state="start")
    talking.cancel()
    await client.wait_for("tts", state="stop")
    assert hass.states.is_state(LIGHT, "on")
    assert (await client.wait_for("stt"))["text"] == COMMAND
    assert (await client.wait_for("tts", state="sentence_start"))["text"]
    # 60 ms each, as our hello announces: half a second of speech at the least.
    assert len(client.packets) > 8
    (heard,) = speech.recognizer.streams
    # It lists no tool, so none is called: some clients answer a call of an unknown one with silence.
    assert "tools/call" not in methods(client)
    # A second before it and some after, and no silence between the packets.
    assert len(command) < len(heard) < len(command) + 3.2 * 32000
    await wait_for_state(hass, STATE, "idle")


async def test_a_question_that_is_typed_is_answered(
    hass: HomeAssistant, speech: Speech, client: WebSocketClient
) -> None:
    """Such clients open the microphone first, and want emoji and session id in what they are sent."""
    await asyncio.sleep(2)
    # A tool would keep a device from its microphone that still plays a sound of its own.
    assert methods(client) == ["initialize", "notifications/initialized", "tools/list"]
    await client.say("listen", state="start", mode="auto")
    talking = asyncio.create_task(talk(client, b""))
    await asyncio.sleep(0.1)
    await client.say("listen", state="detect", text=COMMAND)
    await client.wait_for("tts", state="start")
    talking.cancel()
    await client.wait_for("tts", state="stop")
    assert hass.states.is_state(LIGHT, "on")
    assert (await client.wait_for("stt"))["text"] == COMMAND
    assert len(client.packets) > 8
    assert not [text for text in speech.recognizer.streams if text]
    session_id = (await client.wait_for("hello"))["session_id"]
    shown = [message for message in client.messages if message["type"] in {"stt", "tts", "llm"}]
    assert {message["session_id"] for message in shown} == {session_id}
    faces = [(message["emotion"], message["text"]) for message in shown if message["type"] == "llm"]
    assert ("thinking", "🤔") in faces


async def test_a_microphone_stopped_before_any_word_ends_quietly(
    hass: HomeAssistant, speech: Speech, client: WebSocketClient
) -> None:
    await client.say("listen", state="start", mode="auto")
    talking = asyncio.create_task(talk(client, b""))
    await wait_for_state(hass, STATE, "listening")
    await client.say("listen", state="stop")
    talking.cancel()
    await wait_for_state(hass, STATE, "idle")
    assert not [message for message in client.messages if message["type"] in {"stt", "tts", "llm"}]
    assert not [text for text in speech.recognizer.streams if text]


def stops(client: WebSocketClient) -> int:
    return sum(message.get("state") == "stop" for message in client.messages)


@pytest.mark.parametrize("mode", ["auto", "realtime"])
async def test_a_program_is_heard_after_each_answer_also_much_later(
    hass: HomeAssistant, speech: Speech, client: WebSocketClient, command: bytes, mode: str
) -> None:
    """It shows *listening* after an answer. Little of the silence before speech is recognized."""
    speech.recognizer.lines = [COMMAND] * 2
    for answered, pause in enumerate((0, 16)):
        await client.say("listen", state="start", mode=mode)
        talking = asyncio.create_task(talk(client, bytes(2 * RATE * pause) + command))
        await until(lambda answered=answered: stops(client) > answered, 90)
        talking.cancel()
    heard = [text for text in speech.recognizer.streams if text]
    assert len(heard) == 2
    assert max(map(len, heard)) < len(command) + 12 * 32000
    assert client.connection.close_code is None


async def test_after_an_answer_it_is_idle_also_if_it_answers_no_call(
    speech: Speech, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """It is asked for its tools then."""
    hass = speech.hass
    speech.recognizer.lines = [COMMAND]

    def answer_nobody(_method: str, _params: dict[str, Any]) -> dict[str, Any]:
        return {"id": -1, "result": {}}

    about = {"mac": MAC, "client_id": CLIENT_ID, "board": "pc-client", "version": "2.0.3"}
    async with connected(await hass_client_no_auth(), answer_nobody, **about) as client:
        await client.hello()
        await client.say("listen", state="start", mode="auto")
        talking = asyncio.create_task(talk(client, speech.command))
        await wait_for_state(hass, SATELLITE, "responding", 30)
        await until(lambda: stops(client) == 1, 30)
        talking.cancel()
        await wait_for_state(hass, SATELLITE, "idle", 1)


async def test_a_program_that_shows_listening_lets_an_announcement_be_made(
    hass: HomeAssistant, speech: Speech, client: WebSocketClient
) -> None:
    await client.say("listen", state="start", mode="auto")
    talking = asyncio.create_task(talk(client, bytes(100 * RATE)))
    await wait_for_state(hass, STATE, "listening")
    await asyncio.sleep(1)
    await act(hass, "assist_satellite", "announce", SATELLITE, message="Dinner is ready", preannounce=False)
    talking.cancel()
    assert (await client.wait_for("tts", state="sentence_start"))["text"] == "Dinner is ready"
    assert not speech.recognizer.streams


BIG = {"name": "pc.print_everything", "inputSchema": {"type": "object", "properties": {}}}


async def test_an_answer_that_is_too_long_says_so(
    hass: HomeAssistant, device_id: str, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """And `get_tools` waits for a list that has been asked for."""

    def reply(method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "tools/list":
                return {"result": {"tools": [BIG]}}
            case "tools/call":
                return {"result": {"content": [{"type": "text", "text": "x" * 70_000}]}}
        return answer(method, params)

    async with connected(await hass_client_no_auth(), reply, mac=MAC, client_id=CLIENT_ID) as client:
        await client.hello()
        listed = await call_action(hass, "get_tools", device_id)
        assert [tool["tool"] for tool in listed["tools"]] == ["pc.print_everything"]
        with pytest.raises(HomeAssistantError, match="more than 64 KB"):
            await call_action(hass, "call_tool", device_id, tool="pc.print_everything")
        # Its connection is closed for that, with the reason.
        with pytest.raises(ConnectionClosedError, match="exceeds limit"):
            await client.reading
        client.reading = asyncio.create_task(asyncio.sleep(0))


@pytest.mark.parametrize("pings", [True, False])
async def test_a_program_stays_while_it_pings_and_else_for_two_minutes(
    linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator, pings: bool
) -> None:
    about = {"mac": MAC, "client_id": CLIENT_ID, "board": "pc-client", "version": "2.0.3"}
    interval = 20 if pings else None
    async with connected(await hass_client_no_auth(), answer, ping_interval=interval, **about) as client:
        await client.hello()
        await asyncio.sleep(100)
        assert client.connection.close_code is None
        await client.say("listen", state="start", mode="auto")
        await client.say("listen", state="stop")
        await asyncio.sleep(110)
        assert client.connection.close_code is None
        await asyncio.sleep(250)
        assert client.connection.close_code == (None if pings else 1000)
