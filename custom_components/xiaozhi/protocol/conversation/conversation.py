"""One conversation with a device: its turns, its microphone and its loudspeaker.

A conversation lives as long as the audio channel. The device opens it, says when its microphone streams and
may interrupt at any time; we say what it shows and plays, and end it. Source: the firmware's
`main/application.cc` and `main/audio/audio_service.cc`.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import suppress
from enum import StrEnum
from typing import Final

from ..audio.codec import OpusDecoder
from ..clock import loop_time
from ..firmware import FirmwareVersion
from ..messages import (
    Abort,
    AudioFormat,
    DeviceMessage,
    JsonObject,
    ListenDetect,
    ListenMode,
    ListenStart,
    ListenStop,
)
from ..transport.link import Channel, Link, LinkClosedError, LinkKind
from .loudspeaker import Loudspeaker
from .main_task import MainTask
from .turn import Turn

__all__ = ["Conversation", "ConversationState", "Interruption"]

# The sound of the wake word on UDP may come after the message on MQTT that the microphone is on; that itself
# gives nothing for its first 120 ms.
_WAKE_AUDIO_DELAY: Final = 0.12
# Stock devices send `listen start` right after a wake word, or when a sound of their own has ended; the sound
# of the wake word itself comes before. A text without all of that was typed.
_QUESTION_DELAY: Final = 2.0
_WAKE_AUDIO_SECONDS: Final = 3.0
# How long the device may take to open its microphone after the channel, or after an answer.
_LISTEN_TIMEOUT: Final = 10.0
# How long a push-to-talk device may think before it must open a new channel. Below the 120 s after which it
# counts the channel as stale and mixes up its sessions.
_PUSH_TO_TALK_TIMEOUT: Final = 60.0


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
        main_task: MainTask,
        on_state_changed: Callable[[ConversationState], None],
    ) -> None:
        """Take over an open channel. An unknown firmware (None) is treated as carefully as the oldest."""
        self._link = link
        self._channel = channel
        self._main_task = main_task
        self._loudspeaker = Loudspeaker(
            link,
            channel.downlink,
            main_task,
            cuts_speech_at_stop=firmware is None or firmware.cuts_speech_at_stop,
        )
        self._on_state_changed = on_state_changed
        self._state = ConversationState.CONNECTING
        self._decoder = OpusDecoder(channel.uplink.sample_rate, channel.uplink.frame_duration)
        self._turns: asyncio.Queue[Turn | None] = asyncio.Queue()
        self._turn: Turn | None = None
        self._mode: ListenMode | None = None
        self._wake_word: str | None = None
        self._interruption: asyncio.Future[Interruption] = asyncio.get_running_loop().create_future()
        self._answering = False
        self._deaf_until = 0.0
        self._heard_at = -_WAKE_AUDIO_SECONDS
        self._question: asyncio.TimerHandle | None = None
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
                self._detected(text.strip() or None)
            case ListenStart(mode):
                self._no_question()
                self._listening(mode)
            case ListenStop():
                if self._turn is not None:
                    self._turn.end_speech()
            case Abort():
                self._no_question()
                self._abort()

    def audio_received(self, packet: bytes, missing: int) -> None:
        """Take an Opus packet; what comes while nobody listens is dropped."""
        self._heard_at = loop_time()
        self._no_question()
        if self._turn is not None and loop_time() >= self._deaf_until:
            self._turn.put(self._decoder.decode(packet), missing)

    def channel_closed(self) -> None:
        """End all waiting: the channel is gone."""
        if self._closed:
            return
        self._closed = True
        self._no_question()
        # Its audio does not end: half a sentence must not be understood while the turn is being cancelled.
        self._turn = None
        self._turns.put_nowait(None)
        self._interrupt(Interruption.CLOSED)
        self._set_state(ConversationState.IDLE)

    def _detected(self, text: str | None) -> None:
        self._wake_word = text
        self._no_question()
        silent = loop_time() - self._heard_at >= _WAKE_AUDIO_SECONDS
        if text is not None and silent and self._turn is None and not self._answering:
            self._question = asyncio.get_running_loop().call_later(_QUESTION_DELAY, self._asked, text)

    def _no_question(self) -> None:
        if self._question is not None:
            self._question.cancel()
            self._question = None

    def _asked(self, text: str) -> None:
        if self._main_task.running:
            # It may be why the device does not listen yet.
            self._question = asyncio.get_running_loop().call_later(_QUESTION_DELAY, self._asked, text)
            return
        self._question = self._wake_word = None
        mode = self._mode or ListenMode.AUTO
        self._turn = Turn(mode, None, self._channel.uplink.frame_duration, question=text)
        self._turn.end_speech()
        self._turns.put_nowait(self._turn)
        self._set_state(ConversationState.THINKING)

    def _abort(self) -> None:
        if self._turn is not None:
            # Its audio does not end: what was aborted must not be understood.
            self._turn = None
            self._set_state(ConversationState.IDLE)
        self._interrupt(Interruption.ABORTED)

    def _listening(self, mode: ListenMode) -> None:
        if self._turn is not None or self._answering:
            self._interrupt(Interruption.LISTENING)
        self._mode = mode
        self._begin_turn(mode)

    def _begin_turn(self, mode: ListenMode) -> None:
        wake_word, self._wake_word = self._wake_word, None
        if wake_word is not None and self._link.kind is LinkKind.MQTT:
            self._deaf_until = loop_time() + _WAKE_AUDIO_DELAY
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
            await self._main_task.wait_free()
            # The microphone never stopped, so the device does not say that it listens again.
            if self._turns.empty() and not self._closed:
                self._begin_turn(ListenMode.REALTIME)
        timeout = _PUSH_TO_TALK_TIMEOUT if self._mode is ListenMode.MANUAL else _LISTEN_TIMEOUT
        while not self._closed:
            try:
                async with asyncio.timeout(timeout):
                    turn = await self._turns.get()
            except TimeoutError:
                if not self._main_task.running:
                    return None
                # The device listens only when its tool is done.
                await self._main_task.wait_free()
                continue
            # Others were aborted, or followed by this one, before anybody asked for them.
            if turn is not None and turn is self._turn:
                if self._interruption.done():
                    self._interruption = asyncio.get_running_loop().create_future()
                return turn
        return None

    async def interruption(self) -> Interruption:
        """Wait until the current turn must stop, and say why."""
        return await asyncio.shield(self._interruption)

    @property
    def held_up(self) -> bool:
        """Whether an answer is there that the device does not take yet, because it runs a tool."""
        return self._loudspeaker.held_up

    async def show(self, message: JsonObject) -> None:
        """Send a message that shows something: a transcript, a caption, a face."""
        await self._link.send(message)

    async def wait_shown(self) -> None:
        """Wait until the device has time to show what it was sent: it shows nothing while it runs a tool."""
        await self._main_task.wait_free()

    async def alert(self, message: JsonObject) -> None:
        """Show an alert: at once, or after the answer that is being spoken."""
        await self._loudspeaker.alert(message)

    def take_alerts(self) -> list[JsonObject]:
        """Return the alerts that were not shown before the channel was closed."""
        return self._loudspeaker.take_alerts()

    async def begin_answer(self) -> None:
        """Stop listening and make the device ready to speak. Call it as soon as the user has finished."""
        self._stop_listening()
        self._answering = True
        self._set_state(ConversationState.THINKING)
        await self._loudspeaker.start()

    async def play(
        self, speech: AsyncIterable[bytes], before_packet: Callable[[float], Awaitable[None]]
    ) -> None:
        """Play 16-bit mono PCM at the downlink's rate, paced by the clock; returns when all is sent.

        A tool that the device runs is waited for. `before_packet` is awaited before each packet with the
        seconds of speech sent so far.
        """
        await self._loudspeaker.play(
            speech, before_packet, lambda: self._set_state(ConversationState.SPEAKING)
        )

    async def wait_played(self) -> None:
        """Wait until what was sent is played and waiting alerts are shown, before the conversation ends."""
        await self._loudspeaker.wait_played()

    async def end_answer(self) -> None:
        """Let the device listen again, or go idle in push-to-talk; returns when the answer was played."""
        await self._loudspeaker.wait_stoppable()
        await self.stop_speaking()
        await self._loudspeaker.wait_silent()

    async def stop_speaking(self) -> None:
        """Make the device stop at once; it listens again, or goes idle in push-to-talk."""
        was_answering, self._answering = self._answering, False
        await self._loudspeaker.stop()
        # Pressing the button in push-to-talk stops the answer and speaks at once.
        if was_answering and self._turn is None:
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
