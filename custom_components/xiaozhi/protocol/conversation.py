"""One conversation with a device: its turns, its microphone and its loudspeaker.

A conversation lives as long as the audio channel. The device opens it, says when its microphone streams and
may interrupt at any time; we say what it shows and plays, and end it. Source: the firmware's
`main/application.cc` and `main/audio/audio_service.cc`.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import suppress
from enum import StrEnum
from time import monotonic
from typing import Final

from .audio.codec import OpusDecoder, OpusEncoder
from .audio.concealment import Concealment
from .audio.pacing import DownlinkPacer
from .audio.timeline import UplinkTimeline, silence
from .firmware import FirmwareVersion
from .link import Channel, Link, LinkClosedError, LinkKind
from .messages import (
    Abort,
    AudioFormat,
    DeviceMessage,
    JsonObject,
    ListenDetect,
    ListenMode,
    ListenStart,
    ListenStop,
    tts_start,
    tts_stop,
)

__all__ = ["Conversation", "ConversationState", "Interruption", "Turn"]

# Home Assistant's voice detector gives no valid answer for the first 760 ms of a stream and takes that for
# silence, so that the end of a short command would never be heard. Leading silence costs no time.
PRE_ROLL_MS: Final = 760
# No spoken command is longer; a device that is left listening would stream for ever.
MAX_TURN_SECONDS: Final = 30.0
# Speech recognition that is this far behind has failed; more would only fill memory.
_MAX_WAITING_FRAMES: Final = 600
# The state flips on the device's main task, which then flushes its play queue: earlier packets are lost.
_SPEAKING_DELAY: Final = 0.2
# Audio on UDP and control on MQTT are unordered: a stop must not overtake the last packets.
_UNORDERED_MARGIN: Final = 0.25
# The sound of the wake word on UDP may come after the message on MQTT that the microphone is on; that itself
# gives nothing for its first 120 ms.
_WAKE_AUDIO_DELAY: Final = 0.12
# What jitter and the loudspeaker's buffers add to the computed end of playback.
_PLAYBACK_MARGIN: Final = 0.25
# How long the device may take to open its microphone after the channel, or after an answer.
_LISTEN_TIMEOUT: Final = 10.0
# How long a push-to-talk device may think before it must open a new channel. Below the 120 s after which it
# counts the channel as stale and mixes up its sessions.
_PUSH_TO_TALK_TIMEOUT: Final = 60.0
# Larger pieces would keep the event loop busy for more than a millisecond.
_FRAMES_PER_ENCODE: Final = 4


class ConversationState(StrEnum):
    """What a device is doing, as far as its conversation tells."""

    IDLE = "idle"
    CONNECTING = "connecting"
    LISTENING = "listening"
    THINKING = "thinking"
    SPEAKING = "speaking"


class Interruption(StrEnum):
    """Why a turn must stop at once."""

    ABORTED = "aborted"
    """The user pressed the button or said the wake word."""
    LISTENING = "listening"
    """The device listens anew without having said that it stopped."""
    CLOSED = "closed"
    """The channel is gone."""


class Turn:
    """The user speaks once."""

    def __init__(self, mode: ListenMode, wake_word: str | None, frame_duration: int) -> None:
        """Begin to collect; `frame_duration` in ms. `wake_word` is untrusted text."""
        self.mode = mode
        self.wake_word = wake_word
        self.dropped_frames = 0
        self._frame_duration = frame_duration
        self._timeline = UplinkTimeline(frame_duration)
        self._timeline.start(monotonic())
        self._concealment = Concealment(frame_duration)
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = False

    def put(self, pcm: bytes, missing: int) -> None:
        """Take a decoded frame; `missing` frames before it were lost and are made up for."""
        if self._ended:
            return
        if self._frames.qsize() >= _MAX_WAITING_FRAMES:
            self.dropped_frames += 1
            return
        if gap := self._timeline.frames_before(monotonic(), missing):
            self._frames.put_nowait(self._concealment.frames(gap))
        self._concealment.heard(pcm)
        self._frames.put_nowait(pcm)

    def end_speech(self) -> None:
        """End the audio; what has arrived is still delivered."""
        if not self._ended:
            self._ended = True
            self._frames.put_nowait(None)

    async def audio(self) -> AsyncGenerator[bytes]:
        """Yield 16 kHz mono 16-bit PCM: a lead of silence, then the microphone without gaps."""
        yield silence(PRE_ROLL_MS)
        end = monotonic() + MAX_TURN_SECONDS
        while monotonic() < end:
            try:
                async with asyncio.timeout(self._frame_duration / 1000):
                    frame = await self._frames.get()
            except TimeoutError:
                if due := self._timeline.due(monotonic()):
                    yield silence(due * self._frame_duration)
                continue
            if frame is None:
                return
            yield frame


class Conversation:
    """A conversation on one open channel.

    Whoever holds the conversation awaits `next_turn`, feeds the turn's audio to speech recognition, answers
    with `begin_answer`, `play` and `end_answer`, watches `interruption` meanwhile, and calls `end` at last.
    All sending methods raise `LinkClosedError` when the device is gone.
    """

    def __init__(
        self,
        link: Link,
        channel: Channel,
        firmware: FirmwareVersion | None,
        on_state_changed: Callable[[ConversationState], None],
    ) -> None:
        """Take over an open channel. An unknown firmware (None) is treated as carefully as the oldest."""
        self._link = link
        self._channel = channel
        self._cuts_speech_at_stop = firmware is None or firmware.cuts_speech_at_stop
        self._on_state_changed = on_state_changed
        self._state = ConversationState.CONNECTING
        self._decoder = OpusDecoder(channel.uplink.sample_rate, channel.uplink.frame_duration)
        self._pacer = DownlinkPacer(channel.downlink.frame_duration)
        self._turns: asyncio.Queue[Turn | None] = asyncio.Queue()
        self._turn: Turn | None = None
        self._mode: ListenMode | None = None
        self._wake_word: str | None = None
        self._interruption: asyncio.Future[Interruption] = asyncio.get_running_loop().create_future()
        self._answering = False
        self._deaf_until = 0.0
        self._closed = False

    @property
    def state(self) -> ConversationState:
        """What the device is doing."""
        return self._state

    @property
    def closed(self) -> bool:
        """Whether the channel is gone."""
        return self._closed

    @property
    def downlink(self) -> AudioFormat:
        """Format of what is played."""
        return self._channel.downlink

    @property
    def mode(self) -> ListenMode | None:
        """How the device listens; None until it does."""
        return self._mode

    # What comes from the device.

    def message_received(self, message: DeviceMessage) -> None:
        """Take a message of this channel."""
        match message:
            case ListenDetect(text):
                self._wake_word = text.strip() or None
            case ListenStart(mode):
                self._listening(mode)
            case ListenStop():
                if self._turn is not None:
                    self._turn.end_speech()
            case Abort():
                self._interrupt(Interruption.ABORTED)

    def audio_received(self, packet: bytes, missing: int) -> None:
        """Take an Opus packet; what comes while nobody listens is dropped."""
        if self._turn is not None and monotonic() >= self._deaf_until:
            self._turn.put(self._decoder.decode(packet), missing)

    def channel_closed(self) -> None:
        """End all waiting: the channel is gone."""
        if self._closed:
            return
        self._closed = True
        # Its audio does not end: half a sentence must not be understood while the turn is being cancelled.
        self._turn = None
        self._turns.put_nowait(None)
        self._interrupt(Interruption.CLOSED)
        self._set_state(ConversationState.IDLE)

    def _listening(self, mode: ListenMode) -> None:
        if self._turn is not None or self._answering:
            self._interrupt(Interruption.LISTENING)
        self._mode = mode
        self._begin_turn(mode)

    def _begin_turn(self, mode: ListenMode) -> None:
        wake_word, self._wake_word = self._wake_word, None
        if wake_word is not None and self._link.kind is LinkKind.MQTT:
            self._deaf_until = monotonic() + _WAKE_AUDIO_DELAY
        self._turn = Turn(mode, wake_word, self._channel.uplink.frame_duration)
        self._turns.put_nowait(self._turn)
        self._set_state(ConversationState.LISTENING)

    def _stop_listening(self) -> None:
        if self._turn is not None:
            self._turn.end_speech()
            self._turn = None

    def _interrupt(self, reason: Interruption) -> None:
        if not self._interruption.done():
            self._interruption.set_result(reason)

    def _set_state(self, state: ConversationState) -> None:
        if self._closed:
            state = ConversationState.IDLE
        if state is not self._state:
            self._state = state
            self._on_state_changed(state)

    # What the holder of the conversation does.

    async def next_turn(self) -> Turn | None:
        """Wait until the user speaks. None when the channel is gone or the device does not listen in time."""
        if self._mode is ListenMode.REALTIME and self._turns.empty() and not self._closed:
            # The microphone never stopped, so the device does not say that it listens again.
            self._begin_turn(ListenMode.REALTIME)
        timeout = _PUSH_TO_TALK_TIMEOUT if self._mode is ListenMode.MANUAL else _LISTEN_TIMEOUT
        try:
            async with asyncio.timeout(timeout):
                turn = await self._turns.get()
                while not self._turns.empty():
                    turn = self._turns.get_nowait()
        except TimeoutError:
            return None
        if turn is None or self._closed:
            return None
        if self._interruption.done():
            self._interruption = asyncio.get_running_loop().create_future()
        return turn

    async def interruption(self) -> Interruption:
        """Wait until the current turn must stop, and say why."""
        return await asyncio.shield(self._interruption)

    async def show(self, message: JsonObject) -> None:
        """Send a message that shows something: a transcript, a caption, a face."""
        await self._link.send(message)

    async def begin_answer(self) -> None:
        """Stop listening and make the device ready to speak.

        Call it as soon as the user has finished: what arrives before the device is ready is lost.
        """
        self._stop_listening()
        self._answering = True
        self._set_state(ConversationState.THINKING)
        await self._link.send(tts_start())
        self._pacer.reset()
        self._pacer.start(monotonic() + _SPEAKING_DELAY)

    async def play(
        self, speech: AsyncIterable[bytes], before_packet: Callable[[float], Awaitable[None]]
    ) -> None:
        """Play 16-bit mono PCM at the downlink's rate, paced by the clock; returns when all is sent.

        `before_packet` is awaited before each packet with the seconds of speech sent so far.
        """
        frame = self._channel.downlink
        encoder = OpusEncoder(frame)
        seconds = 0.0
        async for packets in _encode(encoder, speech, frame):
            for packet in packets:
                send_time = self._pacer.next_send_time()
                starved = monotonic() > send_time
                await _sleep_until(send_time)
                await before_packet(seconds)
                self._set_state(ConversationState.SPEAKING)
                await self._link.send_audio(packet)
                self._pacer.sent(monotonic(), starved=starved)
                seconds += frame.frame_duration / 1000

    async def wait_played(self) -> None:
        """Wait until the device has played what was sent, as far as the clock tells."""
        await _sleep_until(self._pacer.playback_end() + _PLAYBACK_MARGIN)

    async def end_answer(self) -> None:
        """Let the device listen again, or go idle in push-to-talk; returns when the answer was played."""
        played_at = self._pacer.playback_end() + _PLAYBACK_MARGIN
        if self._cuts_speech_at_stop:
            await _sleep_until(played_at)
        elif self._link.kind is LinkKind.MQTT:
            await asyncio.sleep(_UNORDERED_MARGIN)
        await self.stop_speaking()
        await _sleep_until(played_at)

    async def stop_speaking(self) -> None:
        """Make the device stop at once; it listens again, or goes idle in push-to-talk."""
        self._answering = False
        await self._link.send(tts_stop())
        # Pressing the button in push-to-talk stops the answer and speaks at once.
        if self._turn is None:
            is_push_to_talk = self._mode is ListenMode.MANUAL
            self._set_state(ConversationState.IDLE if is_push_to_talk else ConversationState.CONNECTING)

    async def end(self) -> None:
        """End the conversation: the device goes idle. Never raises; does nothing when it has ended."""
        self._stop_listening()
        self._answering = False
        # A link that stays connected may have opened another conversation's channel already.
        if self._link.channel is self._channel:
            with suppress(LinkClosedError):
                await self._link.close_channel()


async def _sleep_until(time: float) -> None:
    await asyncio.sleep(max(0.0, time - monotonic()))


async def _encode(
    encoder: OpusEncoder, speech: AsyncIterable[bytes], frame: AudioFormat
) -> AsyncGenerator[list[bytes]]:
    piece = _FRAMES_PER_ENCODE * frame.frame_samples * 2
    async for pcm in speech:
        for start in range(0, len(pcm), piece):
            yield encoder.encode(pcm[start : start + piece])
    yield encoder.flush()
