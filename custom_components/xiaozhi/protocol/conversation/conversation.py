"""One conversation with a device: its turns, its microphone and its loudspeaker.

A conversation lives as long as the audio channel. The device opens it, says when its microphone streams and
may interrupt at any time; we decide what it shows and plays, and end it. Source: the firmware's
`main/application.cc` and `main/audio/audio_service.cc`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import suppress
from typing import Final

from ...util.event_loop import loop_time, within
from ..audio.opus_codec import OpusDecoder
from ..firmware_version import FirmwareVersion
from ..messages import Abort, DeviceMessage, JsonObject, ListenMode, ListenStop, tts_stop
from ..timeouts import ConversationTimeouts
from ..trace import Trace
from ..transport.link import Channel, Link, LinkClosedError, LinkKind
from .barge_in import BargeInBuffer, BargeInFrame
from .loudspeaker import Loudspeaker
from .readiness import MainTask
from .state_table import (
    Action,
    Actions,
    ConversationState,
    ConversationTable,
    Event,
    Interruption,
    State,
    TurnStart,
)
from .turn_audio import TurnAudio

# The beginning of a word is too soft to be found.
_BEFORE_WORDS: Final = 0.2
# Of the wake word, in ms: the firmware keeps that much.
_WAKE_WORD: Final = 2000
# Between the release of the button and `tts start`: messages in the same TCP segment as the release are to be
# read first. Speech recognition begins meanwhile.
_RELEASED: Final = 0.02


class Conversation:
    """A conversation on one open channel.

    Its holder awaits `next_turn`, feeds the turn's audio to speech recognition, answers with `begin_answer`,
    `play` and `end_answer`, watches `interruption` meanwhile, and calls `end` at last. All sending methods
    raise `LinkClosedError` when the device is gone.
    """

    def __init__(
        self,
        link: Link,
        channel: Channel,
        firmware: FirmwareVersion | None,
        main_task: MainTask,
        on_state_changed: Callable[[ConversationState], None],
        *,
        is_program: bool = False,
    ) -> None:
        """Take over an open channel. An unknown firmware (None) is treated as carefully as the oldest."""
        self._link = link
        self._channel = channel
        self.main_task = main_task
        """The task of the device that acts on messages, which tools may keep busy."""
        self.loudspeaker = Loudspeaker(
            link, main_task, cuts_speech_at_stop=firmware is None or firmware.cuts_speech_at_stop
        )
        """Waits for alerts and for the end of playback."""
        self._on_state_changed = on_state_changed
        self._table = ConversationTable(audio_may_be_late=link.kind is LinkKind.MQTT, is_program=is_program)
        frame_duration = channel.hello.audio.frame_duration
        self._decoder = OpusDecoder(frame_duration)
        self._shown = self.state
        self._turn: TurnAudio | None = None
        self._wake_word: deque[bytes] = deque(maxlen=_WAKE_WORD // frame_duration)
        self._barge_in = BargeInBuffer(ConversationTimeouts.turn)
        self._next_words_since = float("inf")
        """Time from which the sound between turns belongs to the next turn."""
        self._spoken_since = float("inf")
        """Time at which the answer began to be spoken."""
        self.person_at = float("-inf")
        """Time at which somebody was last known to be there: a button was pressed, or words understood."""
        self._changed = asyncio.Event()
        self.closed = asyncio.Event()
        """Set when the channel is gone: the end of the conversation, also for those who do not hold it."""
        self._reachable = asyncio.Event()
        """Set once sound can reach the device: over UDP, its address is that of its first packet."""
        if link.kind is not LinkKind.MQTT:
            self._reachable.set()
        self._timer: asyncio.TimerHandle | None = None
        self._interruption: asyncio.Future[Interruption] = asyncio.get_running_loop().create_future()

    @property
    def trace(self) -> Trace | None:
        """Recording of the conversation, if any."""
        return self._link.trace if self._link.channel is self._channel else None

    @property
    def state(self) -> ConversationState:
        """State of the device."""
        return self._table.state.shown

    @property
    def resting(self) -> bool:
        """Whether the device is idle with an open channel, until its button is pressed."""
        return self._table.state is State.RESTING

    @property
    def pushes_to_talk(self) -> bool:
        """Whether the device listens only while its button is pressed."""
        return self._table.turn.mode is ListenMode.MANUAL

    @property
    def answering(self) -> bool:
        """Whether an answer has begun that has not ended."""
        return self._table.state in {State.THINKING, State.SPEAKING}

    # From the device.

    def message_received(self, message: DeviceMessage) -> None:
        """Take a message of this channel."""
        if isinstance(message, (Abort, ListenStop)):
            self.person_at = loop_time()
        self._do(self._table.receive(message, loop_time()), type(message).__name__)

    def audio_received(self, packet: bytes, missing: int) -> None:
        """Take an Opus packet; one that comes while nothing listens is dropped, or belongs to a wake word."""
        self._reachable.set()
        now = loop_time()
        if self._table.packet_arrived(now) and self._turn is not None:
            self._turn.put(self._decoder.decode(packet), missing)
        elif self._table.hears_between_turns:
            self._barge_in.put(self._decoder.decode(packet), missing, now)
        elif self._table.hears_wake_word:
            self._wake_word.append(packet)

    def channel_closed(self, *, lost: bool = False) -> None:
        """End all waiting: the channel is gone, or `lost` with a link that the device has not closed."""
        if self._turn is not None:
            self._turn.lost = lost
        self.loudspeaker.end()
        self._happened(Event.CHANNEL_CLOSED)
        self.closed.set()

    # For the holder of the conversation.

    async def next_turn(self) -> TurnAudio | None:
        """Wait until the user speaks. None when the channel is gone or the device does not listen in time."""
        if self._table.realtime and not self._table.turn_waits:
            await self.main_task.wait_free()
        self._do(self._table.await_turn(loop_time()), "AWAIT_TURN")
        try:
            while self._table.awaiting and not self._table.turn_waits:
                self._changed.clear()
                await self._changed.wait()
        finally:
            self._table.stop_awaiting()
        if not self._table.turn_waits:
            return None
        self._table.take_turn()
        self.forget_interruption()
        return self._turn

    async def interruption(self) -> Interruption:
        """Wait until the current turn must stop, and say why."""
        return await asyncio.shield(self._interruption)

    def forget_interruption(self) -> None:
        """Watch for the next `interruption`: the turn that the last one has ended is over."""
        if self._interruption.done():
            self._interruption = asyncio.get_running_loop().create_future()

    async def is_reachable(self) -> bool:
        """Wait until sound can reach the device; return whether it can.

        The microphone of one that was woken by its button gives nothing at first, and nothing once it speaks.
        """
        return await within(ConversationTimeouts.first_packet, self._reachable.wait())

    async def is_there(self) -> bool:
        """Whether the device is still there after what it was sent, as far as anything shows that."""
        await self.main_task.wait_free()
        answers = await self.main_task.probe()
        return not self._link.held if answers is None else answers

    async def show(self, message: JsonObject) -> None:
        """Send a message that shows something: a transcript, a caption, a face."""
        await self._link.send(message)

    async def begin_answer(self) -> None:
        """Stop listening and make the device ready to speak. Call it as soon as the user has finished.

        If the user speaks again already, this is an `interruption`, and does not return.
        """
        if self.pushes_to_talk:
            await asyncio.sleep(_RELEASED)
        if self.closed.is_set():
            raise LinkClosedError("the conversation is over")
        if self._table.turn_waits:
            self._interrupt(Interruption.NEXT_TURN)
            await asyncio.get_running_loop().create_future()
        self._happened(Event.ANSWER_BEGUN)
        self._barge_in.clear()
        self._next_words_since = self._spoken_since = float("inf")
        await self.loudspeaker.start()

    async def play(
        self, speech: AsyncIterable[bytes], before_packet: Callable[[float], Awaitable[None]]
    ) -> None:
        """Play 16-bit mono PCM at the rate of `DOWNLINK`, paced by the clock; returns when all is sent.

        A tool that the device runs is waited for. `before_packet` is awaited before each packet with the
        seconds of speech sent so far.
        """

        async def before_each(seconds: float) -> None:
            await before_packet(seconds)
            self._spoken_since = min(self._spoken_since, loop_time())
            self._happened(Event.PACKET_SENT)

        await self.loudspeaker.play(speech, before_each)

    async def end_answer(self) -> None:
        """Let the device listen again, or go idle in push-to-talk; returns when the answer was played."""
        # Until then, what the microphone hears is the answer.
        self._begin_next_words(self.loudspeaker.silent_since or loop_time())
        await self.loudspeaker.wait_stoppable()
        await self._stop()
        await self.loudspeaker.wait_silent()

    async def end_turn(self, *, silently: bool) -> None:
        """Leave a turn of a program that has no answer; unless `silently`, it may listen again."""
        self._happened(Event.TURN_ENDED)
        if not silently:
            await self._link.send(tts_stop())

    async def stop_speaking(self) -> None:
        """Make the device stop at once; it listens again, or goes idle in push-to-talk."""
        self._begin_next_words(loop_time())
        await self._stop()

    async def barge_in_audio(self) -> AsyncGenerator[tuple[float, BargeInFrame]]:
        """Yield the sound of a microphone that is always on, with the seconds of the answer before it."""
        async for frame in self._barge_in.follow():
            if (spoken := frame.time - self._spoken_since) >= 0:
                yield spoken, frame

    def spoken_over(self, at: float) -> None:
        """Note that the user has begun to speak at a moment of `barge_in_audio`.

        The answer is interrupted if it is still being spoken; the next turn begins with those words.
        """
        self._begin_next_words(self._barge_in.time_of(at - _BEFORE_WORDS))
        self._happened(Event.SPOKEN_OVER)

    async def end(self) -> None:
        """End the conversation: the device goes idle. Never raises; does nothing when it has ended."""
        self._happened(Event.ENDED)
        # A link that stays connected may have opened another conversation's channel already.
        if self._link.channel is self._channel:
            with suppress(LinkClosedError):
                await self._link.close_channel()

    async def _stop(self) -> None:
        self._happened(Event.ANSWER_STOPPED)
        await self.loudspeaker.stop()

    def _begin_next_words(self, since: float) -> None:
        self._next_words_since = min(self._next_words_since, since)

    # Actions of the table.

    def _happened(self, event: Event) -> None:
        self._do(self._table.happened(event, loop_time()), event.name)

    def _do(self, actions: Actions, event: str) -> None:
        if self.trace is not None and (actions or self.state is not self._shown):
            asked = [action.name for action in actions]
            self.trace.note("table", event=event, state=self._table.state.name, actions=asked)
        for action in actions:
            match action:
                case Action.BEGIN_TURN:
                    self._turn = self._make_turn(self._table.turn)
                case Action.ADD_BARGE_IN if self._turn is not None:
                    for frame in self._barge_in.take(self._next_words_since):
                        self._turn.put(frame.pcm, frame.missing)
                case Action.END_SPEECH if self._turn is not None:
                    self._turn.end_speech()
                case Action.STOP_LISTENING if self._turn is not None:
                    self._turn.stopped = True
                    self._turn.end_speech()
                case Interruption():
                    self._interrupt(action)
        self._changed.set()
        self._set_deadline()
        if self.state is not self._shown:
            self._shown = self.state
            if self.trace is not None:
                self.trace.note("state", state=self._shown)
            self._on_state_changed(self._shown)

    def _interrupt(self, reason: Interruption) -> None:
        self.loudspeaker.withdraw()
        if not self._interruption.done():
            self._interruption.set_result(reason)

    def _make_turn(self, start: TurnStart) -> TurnAudio:
        longest = ConversationTimeouts.held if start.mode is ListenMode.MANUAL else ConversationTimeouts.turn
        turn = TurnAudio(start, self._channel.hello.audio.frame_duration, self._wake_word, longest=longest)
        turn.trace = self.trace
        return turn

    def _set_deadline(self) -> None:
        deadline = self._table.deadline
        if self._timer is not None and deadline != self._timer.when():
            self._timer.cancel()
            self._timer = None
        if self._timer is None and deadline is not None:
            self._timer = asyncio.get_running_loop().call_at(deadline, self._time_passed, deadline)

    def _time_passed(self, deadline: float) -> None:
        self._timer = None
        # A timer may be early by the resolution of the clock.
        now = max(loop_time(), deadline)
        busy = bool(self.main_task.running)
        actions = self._table.time_passed(now, main_task_busy=busy, pinged_at=self._link.pinged_at)
        self._do(actions, "TIME_PASSED")
