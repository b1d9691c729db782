"""A device's link over MQTT and UDP: hellos, goodbyes and sessions, apart from what carries the messages."""

import asyncio
from collections.abc import AsyncGenerator
import json
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.messages import (
    MAX_MESSAGE_BYTES,
    ListenMode,
    ListenStart,
    server_hello,
    tts_start,
)
from custom_components.xiaozhi.protocol.transport.link import Admission, Link, LinkClosedError, LinkHandler
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import MqttLink
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpServer
from tests.protocol.transport.mqtt.device import HELLO, LISTEN, encoded
from tests.protocol.transport.udp.device import DeviceAudio, DeviceSocket, opus_packet, until
from tests.protocol.transport.websocket.peer import Recorder


class _Site:
    """A link with all that is around it; its carrier keeps what is published, and may be broken."""

    remote = "192.0.2.7"
    notices_loss = False

    def __init__(self, audio: UdpServer) -> None:
        self.audio = audio
        self.published: list[Any] = []
        self.connected = True
        self.on_publish: list[Any] = []
        self.handler = Recorder()
        self.link = MqttLink(
            self,
            audio=audio,
            address="192.0.2.1",
        )
        self.link.attach(Admission(attach=self.attach, pings_safe=False))

    def attach(self, _link: Link) -> LinkHandler:
        return self.handler

    async def publish(self, payload: bytes) -> None:
        for action in self.on_publish:
            action()
        if not self.connected:
            raise LinkClosedError("the carrier is broken")
        self.published.append(json.loads(payload))

    def disconnect(self) -> None:
        self.connected = False

    def unacknowledged(self) -> int:
        return 0

    async def say(self, message: Any) -> None:
        await self.link.receive(encoded(message))

    async def hello(self) -> dict[str, Any]:
        await self.say(HELLO)
        answer: dict[str, Any] = self.published[-1]
        assert answer["type"] == "hello"
        return answer


@pytest.fixture
async def site(socket_enabled: None) -> AsyncGenerator[_Site]:
    audio = UdpServer()
    audio.start("127.0.0.1", 0)
    yield _Site(audio)
    audio.stop()


@pytest.mark.parametrize("hello", [HELLO, {"type": "hello", "features": {"mcp": True}}])
async def test_a_hello_is_answered_with_all_that_the_firmware_needs(
    site: _Site, hello: dict[str, Any]
) -> None:
    """Older firmware crashes when anything is missing. Some clients do not name the transport."""
    await site.say(hello)
    (answer,) = site.published
    assert answer == server_hello(transport="udp", session_id=answer["session_id"], udp=answer["udp"])
    assert answer["version"] == 3
    assert answer["udp"]["encryption"] == "aes-128-ctr"
    assert answer["udp"]["server"] == "192.0.2.1"
    assert answer["udp"]["port"] == site.audio.port
    assert len(answer["udp"]["key"]) == len(answer["udp"]["nonce"]) == 32
    assert answer["udp"]["nonce"].startswith("01")
    [channel] = site.handler.values("opened")
    assert site.link.channel == channel
    assert channel.session_id == answer["session_id"]
    assert channel.hello.supports_mcp
    assert (channel.hello.audio.sample_rate, channel.hello.audio.frame_duration) == (16000, 60)


async def test_a_conversation_from_hello_to_goodbye(site: _Site) -> None:
    """Audio both ways, messages both ways, and the device idle but linked at the end."""
    answer = await site.hello()
    device = DeviceAudio.from_offer(answer["udp"])
    device_socket = await DeviceSocket.open(site.audio.port)
    await site.say(LISTEN)
    device_socket.send(device.seal(opus_packet(b"question")))
    assert await site.handler.wait_for("audio") == (opus_packet(b"question"), 0)
    assert site.link.remote == "127.0.0.1"
    await site.link.send(tts_start())
    await site.link.send_audio(opus_packet(b"answer"))
    assert device.open(await device_socket.receive()) == opus_packet(b"answer")
    await site.say({"session_id": answer["session_id"], "type": "goodbye"})
    assert site.link.channel is None
    assert site.handler.names == ["opened", "message", "audio", "channel_closed"]
    assert [message["type"] for message in site.published] == ["hello", "tts"]
    assert (site.link.counters.packets_in, site.link.counters.packets_out) == (1, 1)
    await site.hello()
    assert site.handler.names[-1] == "opened"
    device_socket.close()
    await asyncio.sleep(_LATER)
    assert _goodbyes(site) == [], "it was told to speak in the last one, but has begun another"


async def test_our_goodbye_names_the_session_and_an_echo_is_ignored(site: _Site) -> None:
    """Since v2.3.0 the firmware compares the session; up to v2.2.1 it answers with a goodbye of its own."""
    answer = await site.hello()
    await site.link.close_channel()
    assert site.published[-1] == {"type": "goodbye", "session_id": answer["session_id"]}
    assert site.handler.names == ["opened", "channel_closed"]
    await site.say({"session_id": answer["session_id"], "type": "goodbye"})
    second = await site.hello()
    await site.say({"session_id": answer["session_id"], "type": "goodbye"})
    assert site.link.channel is not None
    assert site.link.channel.session_id == second["session_id"] != answer["session_id"]
    await site.link.close_channel()
    await site.link.close_channel()
    assert site.handler.names == ["opened", "channel_closed", "opened", "channel_closed"]
    assert [message["type"] for message in site.published] == ["hello", "goodbye"] * 2


async def test_a_second_hello_ends_the_conversation_before(site: _Site) -> None:
    """A stale channel is opened anew without a goodbye: with other keys, and the old ones are dead."""
    first, second = await site.hello(), await site.hello()
    assert first["udp"]["key"] != second["udp"]["key"]
    assert first["udp"]["nonce"] != second["udp"]["nonce"]
    assert first["session_id"] != second["session_id"]
    assert site.handler.names == ["opened", "channel_closed", "opened"]
    device_socket = await DeviceSocket.open(site.audio.port)
    device_socket.send(DeviceAudio.from_offer(first["udp"]).seal(opus_packet(b"old")))
    device_socket.send(DeviceAudio.from_offer(second["udp"]).seal(opus_packet(b"new")))
    assert await site.handler.wait_for("audio") == (opus_packet(b"new"), 0)
    assert site.audio.counters.unknown == 1
    device_socket.close()


@pytest.mark.parametrize(
    "payload",
    [
        # An answer with another transport would crash the device, and it could not use ours.
        encoded(HELLO | {"transport": "websocket"}),
        b"\x00",
        b'{"type": "mcp", "payload": {"result": NaN}}',
        b'{"type": "hello", "audio_params": {"frame_duration": 61}}',
        b'{"type": "' + b"x" * 66000 + b'"}',
    ],
)
async def test_a_malformed_message_gets_no_answer_and_the_link_lives(site: _Site, payload: bytes) -> None:
    await site.link.receive(payload)
    assert site.published == []
    assert site.link.counters.malformed == 1
    await site.say(LISTEN)
    is_too_long = len(payload) > MAX_MESSAGE_BYTES
    assert site.handler.events == [("too_long", None)] * is_too_long + [
        ("message", ListenStart(ListenMode.AUTO))
    ]


async def test_audio_that_waits_is_heard_before_the_words_sent_after_it(site: _Site) -> None:
    """The last word of push-to-talk must not come after the end of the sentence."""
    device = DeviceAudio.from_offer((await site.hello())["udp"])
    device_socket = await DeviceSocket.open(site.audio.port)
    for _ in range(20):
        device_socket.send(device.seal(opus_packet()))
    await site.handler.wait_for("audio")
    assert len(site.handler.values("audio")) < 20
    await site.say({"session_id": "", "type": "listen", "state": "stop"})
    assert site.handler.names == ["opened", *["audio"] * 20, "message"]
    device_socket.close()


# Conversations that we do not hold

# Longer than a goodbye for an unknown conversation waits.
_LATER = 3


def _goodbyes(site: _Site) -> list[str]:
    """Return the sessions that the device was told to leave."""
    return [message["session_id"] for message in site.published if message["type"] == "goodbye"]


@pytest.mark.parametrize("session_id", ["of yesterday", ""])
@pytest.mark.parametrize(
    "message",
    [
        {"type": "listen", "state": "start", "mode": "auto"},
        {"type": "listen", "state": "detect", "text": "hello"},
        {"type": "listen", "state": "stop"},
        {"type": "abort"},
    ],
    ids=["start", "detect", "stop", "abort"],
)
async def test_a_conversation_that_we_do_not_hold_is_ended(
    site: _Site, message: dict[str, Any], session_id: str
) -> None:
    """The device listens or speaks, and nothing else would make it idle. After its start the id is empty."""
    for _ in range(20):
        await site.say({"session_id": session_id, **message})
    await until(lambda: bool(_goodbyes(site)))
    assert _goodbyes(site) == [session_id], "however often the device says it"
    # Firmware up to v2.2.1 answers with a goodbye of its own, which must not be answered again.
    await site.say({"session_id": session_id, "type": "goodbye"})
    await asyncio.sleep(_LATER)
    assert _goodbyes(site) == [session_id]
    assert site.handler.names == ["message"] * 20
    assert site.link.counters.malformed == 0


@pytest.mark.parametrize(
    "message",
    [
        {"type": "mcp", "payload": {"jsonrpc": "2.0", "id": 1, "result": {}}},
        {"type": "iot", "descriptors": []},
        {"type": "goodbye"},
    ],
    ids=["mcp", "iot", "goodbye"],
)
async def test_what_an_idle_device_says_needs_no_goodbye(site: _Site, message: dict[str, Any]) -> None:
    """Its answers name its last conversation."""
    await site.say({"session_id": "of yesterday", **message})
    await asyncio.sleep(_LATER)
    assert _goodbyes(site) == []


async def test_a_message_that_crosses_our_goodbye_is_not_answered(site: _Site) -> None:
    """After an answer the device listens again, and says so while our goodbye is on its way."""
    ended = (await site.hello())["session_id"]
    await site.link.close_channel()
    await site.say({"session_id": ended, "type": "listen", "state": "start", "mode": "auto"})
    await asyncio.sleep(_LATER)
    assert _goodbyes(site) == [ended]
    await site.say({"session_id": "another", "type": "listen", "state": "start", "mode": "auto"})
    await until(lambda: len(_goodbyes(site)) == 2)
    assert _goodbyes(site) == [ended, "another"]


async def test_a_link_that_ends_says_no_goodbye_later(site: _Site) -> None:
    """It would be said to the next link's device."""
    await site.say({"session_id": "of yesterday", "type": "abort"})
    site.link.ended("replaced")
    await asyncio.sleep(_LATER)
    assert site.published == []


async def test_closing_the_link_ends_the_conversation_politely(site: _Site) -> None:
    """With a goodbye, or the device would show an error; then nothing more goes either way."""
    answer = await site.hello()
    await site.link.close("removed")
    assert site.published[-1] == {"type": "goodbye", "session_id": answer["session_id"]}
    assert not site.connected
    assert site.handler.names == ["opened", "channel_closed", "link_closed"]
    assert site.handler.values("link_closed") == ["removed"]
    await site.link.close("again")
    await site.say(HELLO)
    await site.link.close_channel()
    with pytest.raises(LinkClosedError, match="removed"):
        await site.link.send(tts_start())
    assert site.handler.names == ["opened", "channel_closed", "link_closed"]


async def test_the_link_ends_with_its_carrier(site: _Site) -> None:
    """Once, whoever reports it how often."""
    await site.hello()
    site.connected = False
    site.link.ended("connection lost")
    site.link.ended("and again")
    assert site.handler.names == ["opened", "channel_closed", "link_closed"]
    assert site.handler.values("link_closed") == ["connection lost"]


async def test_a_link_that_ends_while_it_answers_a_hello_opens_nothing(site: _Site) -> None:
    """A newer connection of the device may come in between."""
    site.on_publish.append(lambda: site.link.ended("replaced"))
    await site.say(HELLO)
    assert site.handler.names == ["link_closed"]
    assert site.link.channel is None


async def test_what_cannot_be_sent_ends_a_conversation_and_opens_none(site: _Site) -> None:
    """The connection broke in that moment: to hang up needs no error."""
    await site.hello()
    site.connected = False
    await site.link.close_channel()
    await site.say(HELLO)
    assert site.handler.names == ["opened", "channel_closed"]
    assert site.link.channel is None
