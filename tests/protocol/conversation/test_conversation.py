"""A conversation hands turns to its holder, and what the holder says to the device."""

import asyncio
from collections.abc import AsyncGenerator
from typing import override

import numpy as np
import pytest

from custom_components.xiaozhi.protocol.audio.opus_codec import OpusDecoder
from custom_components.xiaozhi.protocol.conversation.conversation import Conversation
from custom_components.xiaozhi.protocol.conversation.readiness import MainTask
from custom_components.xiaozhi.protocol.conversation.state_table import ConversationState, Interruption
from custom_components.xiaozhi.protocol.conversation.turn_audio import TurnAudio
from custom_components.xiaozhi.protocol.firmware_version import FirmwareVersion
from custom_components.xiaozhi.protocol.messages import (
    DOWNLINK,
    Abort,
    AudioFormat,
    DeviceHello,
    JsonObject,
    ListenDetect,
    ListenMode,
    ListenStart,
)
from custom_components.xiaozhi.protocol.transport.link import Channel, Link, LinkClosedError, LinkKind
from custom_components.xiaozhi.util.event_loop import loop_time
from simulator.audio.opus import OpusEncoder, encode_sound
from tests.protocol.conversation.test_readiness_proof import SlowTask

UPLINK = AudioFormat(16000, 60)
NEW = FirmwareVersion(2, 4, 2)
OLD = FirmwareVersion(1, 8, 0)


class LoggingLink(Link):
    """A link to nobody, which keeps what it is given with the time."""

    kind = LinkKind.WEBSOCKET
    stays_connected = False

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[tuple[float, JsonObject]] = []
        self.packets: list[tuple[float, bytes]] = []
        self.conversation: Conversation | None = None
        hello = DeviceHello(transport="websocket", audio=UPLINK, supports_mcp=True)
        self._channel = Channel(session_id="s", hello=hello)

    @property
    @override
    def remote(self) -> str:
        return "127.0.0.1"

    @override
    async def send(self, message: JsonObject) -> None:
        if self.channel is None:
            raise LinkClosedError("closed")
        self.messages.append((loop_time(), message))

    @override
    async def send_audio(self, packet: bytes) -> None:
        if self.channel is None:
            raise LinkClosedError("closed")
        self.packets.append((loop_time(), packet))

    @override
    async def close_channel(self) -> None:
        self._channel = None
        assert self.conversation is not None
        self.conversation.channel_closed()

    @override
    async def close(self, reason: str) -> None:
        await self.close_channel()

    def shown(self, kind: str) -> list[JsonObject]:
        return [message for _, message in self.messages if message["type"] == kind]


def make(
    firmware: FirmwareVersion | None = NEW,
    *,
    link: LoggingLink | None = None,
    main_task: MainTask | None = None,
) -> tuple[LoggingLink, Conversation, list[ConversationState]]:
    link = link or LoggingLink()
    states: list[ConversationState] = []
    assert link.channel is not None
    conversation = link.conversation = Conversation(
        link, link.channel, firmware, main_task or MainTask(), states.append
    )
    return link, conversation, states


async def in_turn(
    firmware: FirmwareVersion | None = NEW,
    mode: ListenMode = ListenMode.AUTO,
    main_task: MainTask | None = None,
) -> tuple[LoggingLink, Conversation, TurnAudio, list[ConversationState]]:
    link, conversation, states = make(firmware, main_task=main_task)
    conversation.message_received(ListenStart(mode))
    turn = await conversation.next_turn()
    assert turn is not None
    return link, conversation, turn, states


async def tone(seconds: float) -> AsyncGenerator[bytes]:
    yield b"\x10\x20" * int(24000 * seconds)


async def nothing(_seconds: float) -> None:
    """Do nothing before a packet."""


async def read(turn: TurnAudio) -> bytes:
    return b"".join([frame async for frame in turn.audio()])


async def test_an_answer_starts_speaking_is_paced_and_decodes() -> None:
    link, conversation, _, states = await in_turn()
    await conversation.begin_answer()
    began = loop_time()
    await conversation.play(tone(1.0), nothing)
    sent = [time - began for time, _ in link.packets]
    assert sent[0] >= 0.19
    assert sent[5] - sent[0] < 0.06
    assert sent[-1] - sent[0] > 0.55
    decoder = OpusDecoder(DOWNLINK.frame_duration)
    assert sum(len(decoder.decode(packet)) for _, packet in link.packets) == len(sent) * 1920
    assert 17 <= len(sent) <= 18
    await conversation.end_answer()
    assert link.shown("tts") == [{"type": "tts", "state": "start"}, {"type": "tts", "state": "stop"}]
    assert states == [
        ConversationState.LISTENING,
        ConversationState.THINKING,
        ConversationState.SPEAKING,
        ConversationState.CONNECTING,
    ]


async def test_an_answer_does_not_wait_for_the_sound_of_one_that_was_stopped() -> None:
    """The device throws away its queue when it is told to speak."""
    link, conversation, _, _ = await in_turn()
    for _ in range(2):
        await conversation.begin_answer()
        began = loop_time()
        await conversation.play(tone(0.3), nothing)
        assert link.packets[-1][0] - began < 0.25
        await conversation.stop_speaking()


async def answer_in_realtime() -> tuple[LoggingLink, Conversation, OpusEncoder]:
    """Return a conversation in which the device speaks, and listens meanwhile."""
    link, conversation, _, _ = await in_turn(mode=ListenMode.REALTIME)
    await conversation.begin_answer()
    await conversation.play(tone(0.3), nothing)
    return link, conversation, OpusEncoder()


async def hear(conversation: Conversation, encoder: OpusEncoder, loudness: int, frames: int) -> None:
    """Let the microphone hear something for as many frames of 60 ms."""
    for _ in range(frames):
        conversation.audio_received(encoder.encode(np.full(960, loudness, "<i2").tobytes()), 0)
        await asyncio.sleep(0.06)


async def begin_of_next_turn(conversation: Conversation) -> bytes:
    turn = await conversation.next_turn()
    assert turn is not None
    turn.end_speech()
    return await read(turn)


async def test_in_realtime_the_next_turn_begins_after_the_answer() -> None:
    _, conversation, encoder = await answer_in_realtime()
    ending = asyncio.create_task(conversation.end_answer())
    # The answer still plays for 0.36 s.
    await hear(conversation, encoder, 0, 4)
    await hear(conversation, encoder, 8000, 4)
    assert not ending.done()
    await ending
    audio = await begin_of_next_turn(conversation)
    assert len(audio) in {1920 * frames for frames in (2, 3)}


async def test_the_sound_between_turns_is_bounded_and_gone_with_the_next_answer() -> None:
    _, conversation, encoder = await answer_in_realtime()
    packet = encoder.encode(bytes(1920))
    for _ in range(1000):
        conversation.audio_received(packet, 0)
    conversation.spoken_over(0)
    await conversation.stop_speaking()
    assert len(await begin_of_next_turn(conversation)) == pytest.approx(30 * 32000, abs=1920)
    await conversation.begin_answer()
    conversation.audio_received(packet, 0)
    await conversation.begin_answer()
    await conversation.end_answer()
    assert await begin_of_next_turn(conversation) == b""


async def test_the_end_of_the_channel_ends_all_waiting() -> None:
    link, conversation, _, states = await in_turn()
    waiting = asyncio.ensure_future(conversation.interruption())
    await conversation.end()
    assert await waiting is Interruption.CLOSED
    assert await conversation.next_turn() is None
    assert states[-1] is ConversationState.IDLE
    # The device has begun another one.
    link._channel = LoggingLink().channel
    with pytest.raises(LinkClosedError):
        await conversation.begin_answer()
    assert conversation.state is ConversationState.IDLE
    assert not link.messages
    await conversation.end()


async def test_the_end_of_an_old_conversation_leaves_a_newer_channel_open() -> None:
    link, conversation, _ = make()
    newer = link._channel = LoggingLink().channel
    await conversation.end()
    assert link.channel is newer


async def test_half_a_sentence_does_not_end_when_the_connection_breaks() -> None:
    _, conversation, turn, _ = await in_turn()
    conversation.channel_closed()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await read(turn)


async def test_a_wake_word_is_decoded_only_to_compare_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    decode = OpusDecoder.decode

    def count(decoder: OpusDecoder, packet: bytes) -> bytes:
        decoded.append(packet)
        return decode(decoder, packet)

    monkeypatch.setattr(OpusDecoder, "decode", count)
    _, conversation, _ = make()
    packets = encode_sound(np.full(960 * 40, 8000, "<i2").tobytes())
    for packet in packets:
        conversation.audio_received(packet, 0)
    conversation.message_received(ListenDetect("hi xiaozhi"))
    conversation.message_received(ListenStart(ListenMode.AUTO))
    turn = await conversation.next_turn()
    assert turn is not None
    assert not decoded
    await asyncio.gather(turn.loudness.hear_wake_word(), turn.loudness.hear_wake_word())
    assert decoded == packets[-33:]
    assert len(turn.loudness.wake_word) == 99
    await turn.loudness.hear_wake_word()
    assert len(decoded) == 33


async def test_a_late_sound_of_the_wake_word_is_not_part_of_the_command() -> None:
    link = LoggingLink()
    link.kind = LinkKind.MQTT
    _, conversation, _ = make(link=link)
    packet = OpusEncoder().encode(bytes(1920))
    conversation.message_received(ListenDetect("hi xiaozhi"))
    conversation.message_received(ListenStart(ListenMode.AUTO))
    for _ in range(10):
        conversation.audio_received(packet, 0)
    turn = await conversation.next_turn()
    assert turn is not None
    await asyncio.sleep(0.13)
    conversation.audio_received(packet, 0)
    turn.end_speech()
    assert len(await read(turn)) <= 3 * 1920


ALERT: JsonObject = {"type": "alert", "status": "Door", "message": "It rang", "emotion": "happy"}


@pytest.mark.parametrize("firmware", [NEW, OLD, None])
async def test_an_alert_during_an_answer_waits_for_its_end_and_is_not_cut_off(
    firmware: FirmwareVersion | None,
) -> None:
    link, conversation, _, _ = await in_turn(firmware)
    await conversation.begin_answer()
    showing: list[asyncio.Task[None]] = []

    async def ring(_seconds: float) -> None:
        if len(link.packets) in {0, 2}:
            showing.append(asyncio.create_task(conversation.loudspeaker.alert(ALERT)))
            await asyncio.sleep(0)

    await conversation.play(tone(0.6), ring)
    shown = [time for time, message in link.messages if message["type"] == "alert"]
    assert len(shown) == 1, "the first was shown while the device only thought"
    await conversation.end_answer()
    alerts = [time for time, message in link.messages if message["type"] == "alert"]
    stopped = link.messages[-1]
    assert stopped[1]["state"] == "stop"
    assert len(alerts) == 2
    assert alerts[1] > link.packets[-1][0] + 0.36
    assert stopped[0] > alerts[-1] + 0.85
    await asyncio.gather(*showing)


async def test_an_alert_between_the_last_answer_and_the_close_is_shown() -> None:
    link, conversation, _, _ = await in_turn()
    await conversation.begin_answer()
    await conversation.play(tone(0.3), nothing)
    await conversation.loudspeaker.wait_played()
    await conversation.loudspeaker.alert(ALERT)
    assert link.shown("alert")


async def test_an_answer_aborted_before_the_device_knew_of_it_leaves_no_trace() -> None:
    """A `tts start` that comes later would silence its microphone."""
    main_task = MainTask()
    link, conversation, _, _ = await in_turn(main_task=main_task)
    with main_task.call():
        await conversation.begin_answer()
        conversation.message_received(Abort())
        conversation.message_received(ListenStart(ListenMode.AUTO))
        await conversation.stop_speaking()
    await asyncio.sleep(1)
    assert not link.shown("tts")
    assert conversation.state is ConversationState.LISTENING


async def test_a_stop_does_not_overtake_the_start() -> None:
    """Both in one pass of the device's main loop would leave it without `listen start`."""
    main_task = SlowTask()
    link, conversation, _, _ = await in_turn(main_task=main_task)
    await conversation.begin_answer()
    stopping = asyncio.create_task(conversation.stop_speaking())
    await asyncio.sleep(0.1)
    assert [message["state"] for message in link.shown("tts")] == ["start"]
    main_task.answer.set_result(True)
    await stopping
    assert [message["state"] for message in link.shown("tts")] == ["start", "stop"]
