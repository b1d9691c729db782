"""Programs that are no device are served like one: here one on a computer, as other people write them.

It shares no code with integration or simulator. It differs from a device in what it leaves out (the transport
in its hello), in what it adds (pings, a close handshake) and in the length of its packets.
"""

import asyncio
from collections.abc import AsyncGenerator
import json
from typing import Any

from aiohttp.test_utils import TestClient
import av
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
from websockets.asyncio.client import ClientConnection, connect

from custom_components.xiaozhi.const import OTA_PATH
from tests.integration.boxes import Speech, wait_for_state
from tests.integration.http_device import paired_device
from tests.integration.names import COMMAND, LIGHT

pytestmark = pytest.mark.usefixtures("all_enabled")

MAC = "3c:52:82:10:00:07"
# Without hyphens, unlike a device's.
CLIENT_ID = "b0f7c9e2a4d14c6f8e1a5d3c7b9f0a12"
RATE, PACKET_MS = 16000, 20


class PcClient:
    """A conversation over a WebSocket, with the standard's pings and close handshake."""

    def __init__(self, connection: ClientConnection) -> None:
        self.messages: list[dict[str, Any]] = []
        self.packets: list[bytes] = []
        self.connection = connection
        self.reading = asyncio.create_task(self._read())
        self._news = asyncio.Event()
        context = av.CodecContext.create("libopus", "w")
        assert isinstance(context, av.AudioCodecContext)
        context.sample_rate, context.format, context.layout = RATE, "s16", "mono"
        context.options = {"frame_duration": str(PACKET_MS), "application": "voip"}
        self._context = context

    async def _read(self) -> None:
        async for frame in self.connection:
            if isinstance(frame, bytes):
                self.packets.append(frame)
                continue
            message = json.loads(frame)
            self.messages.append(message)
            request = message.get("payload", {})
            if "id" in request:
                tools = {"serverInfo": {"name": "pc", "version": "2.0.3"}, "tools": []}
                await self.say("mcp", payload={"jsonrpc": "2.0", "id": request["id"], "result": tools})
            self._news.set()

    async def say(self, kind: str, **fields: Any) -> None:
        await self.connection.send(json.dumps({"type": kind, **fields}))

    async def wait_for(self, kind: str, **fields: str) -> dict[str, Any]:
        async with asyncio.timeout(30):
            while True:
                for message in self.messages:
                    if message["type"] == kind and fields.items() <= message.items():
                        return message
                self._news.clear()
                await self._news.wait()

    @property
    def methods(self) -> list[str]:
        """The MCP methods that the server has called."""
        return [message["payload"]["method"] for message in self.messages if message["type"] == "mcp"]

    async def hello(self) -> None:
        audio = {"format": "opus", "sample_rate": RATE, "channels": 1, "frame_duration": PACKET_MS}
        await self.say("hello", version=1, features={"mcp": True}, audio_params=audio)
        await self.wait_for("hello")

    async def talk(self, pcm: bytes) -> None:
        """Stream a second of silence, a sentence, and silence, at the pace of a microphone."""
        size = RATE * PACKET_MS // 1000
        spoken = bytes(2 * RATE) + pcm
        position = 0
        while True:
            frame = av.AudioFrame(format="s16", layout="mono", samples=size)
            frame.sample_rate, frame.pts = RATE, position
            frame.planes[0].update(spoken[2 * position :][: 2 * size].ljust(2 * size, b"\0"))
            position += size
            for packet in self._context.encode(frame):
                await self.connection.send(bytes(packet))
            await asyncio.sleep(PACKET_MS / 1000)


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return (paired_device(MAC, CLIENT_ID),)


@pytest.fixture
async def client(
    speech: Speech, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> AsyncGenerator[PcClient]:
    """A client that has checked in as such clients do, with a body of its own, and connected."""
    http: TestClient[Any, Any] = await hass_client_no_auth()
    headers = {"Device-Id": MAC, "Client-Id": CLIENT_ID, "User-Agent": "pc-client/2.0.3"}
    body = {"application": {"name": "pc-client", "version": "2.0.3"}, "board": {"type": "pc", "name": "pc"}}
    settings = (await (await http.post(OTA_PATH, headers=headers, json=body)).json())["websocket"]
    headers = {**headers, "Authorization": f"Bearer {settings['token']}", "Protocol-Version": "1"}
    # Real clients ping every 20 s; a test has only seconds.
    async with connect(
        settings["url"], additional_headers=headers, ping_interval=0.5, ping_timeout=20, proxy=None
    ) as connection:
        client = PcClient(connection)
        yield client
        await connection.close()
        await client.reading
        assert connection.close_code == 1000


async def test_a_client_on_a_computer_talks_like_a_device(
    hass: HomeAssistant, speech: Speech, client: PcClient, command: bytes
) -> None:
    """Its 20 ms packets are understood, its answer is heard to the end, and it is let go without a fuss."""
    speech.recognizer.lines = [COMMAND]
    await client.hello()
    await client.say("listen", state="detect", text="hello computer")
    await client.say("listen", state="start", mode="auto")
    talking = asyncio.create_task(client.talk(command))
    await client.wait_for("tts", state="start")
    talking.cancel()
    await client.reading
    assert hass.states.is_state(LIGHT, "on")
    assert (await client.wait_for("stt"))["text"] == COMMAND
    assert (await client.wait_for("tts", state="sentence_start"))["text"]
    # 60 ms each, as our hello announces: half a second of speech at the least.
    assert len(client.packets) > 8
    (heard,) = speech.recognizer.streams
    # It lists no tool, so none is called: some clients answer a call of an unknown one with silence.
    assert "tools/call" not in client.methods
    # A second before it and some after, and no silence between the packets.
    assert len(command) < len(heard) < len(command) + 3.2 * 32000
    await wait_for_state(hass, "sensor.kitchen_box_conversation_state", "idle")


async def test_a_question_that_is_typed_is_answered(
    hass: HomeAssistant, speech: Speech, client: PcClient
) -> None:
    """Such clients open the microphone first, and want emoji and session id in what they are sent."""
    await client.hello()
    await asyncio.sleep(2)
    # A tool would keep a device from its microphone that still plays a sound of its own.
    assert client.methods == ["initialize", "notifications/initialized", "tools/list"]
    await client.say("listen", state="start", mode="auto")
    talking = asyncio.create_task(client.talk(b""))
    await asyncio.sleep(0.1)
    await client.say("listen", state="detect", text=COMMAND)
    await client.wait_for("tts", state="start")
    talking.cancel()
    await client.reading
    assert hass.states.is_state(LIGHT, "on")
    assert (await client.wait_for("stt"))["text"] == COMMAND
    assert len(client.packets) > 8
    assert not [text for text in speech.recognizer.streams if text]
    session_id = (await client.wait_for("hello"))["session_id"]
    shown = [message for message in client.messages if message["type"] in {"stt", "tts", "llm"}]
    assert {message["session_id"] for message in shown} == {session_id}
    faces = [(message["emotion"], message["text"]) for message in shown if message["type"] == "llm"]
    assert ("thinking", "🤔") in faces


async def test_a_microphone_that_is_stopped_before_anything_was_said_ends_quietly(
    speech: Speech, client: PcClient
) -> None:
    await client.hello()
    await client.say("listen", state="start", mode="auto")
    talking = asyncio.create_task(client.talk(b""))
    await asyncio.sleep(1)
    await client.say("listen", state="stop")
    talking.cancel()
    await client.reading
    assert not [message for message in client.messages if message["type"] in {"stt", "tts", "llm"}]
    assert not [text for text in speech.recognizer.streams if text]
