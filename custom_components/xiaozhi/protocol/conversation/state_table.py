"""The states of a conversation: events and times in, actions out. No clock, no socket, no task.

A conversation lives as long as its audio channel. The device opens it, says when its microphone is on and may
interrupt at any time; the holder of the conversation takes turns and answers them. Source: the firmware's
`main/application.cc` and `main/audio/audio_service.cc`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Final

from ..messages import Abort, DeviceMessage, ListenDetect, ListenMode, ListenStart, ListenStop
from ..timeouts import ConversationTimeouts


class ConversationState(StrEnum):
    """State of a device, by its conversation."""

    IDLE = "idle"
    CONNECTING = "connecting"
    LISTENING = "listening"
    THINKING = "thinking"
    SPEAKING = "speaking"


class State(Enum):
    """State of a conversation."""

    READY = auto()
    """The device is about to open its microphone."""
    RESTING = auto()
    """The device is idle with an open channel, until its button is pressed."""
    LISTENING = auto()
    """A spoken turn has begun."""
    ASKED = auto()
    """A turn that was typed has begun."""
    THINKING = auto()
    """The answer has begun, and nothing of it has been spoken."""
    SPEAKING = auto()
    CLOSED = auto()

    @property
    def shown(self) -> ConversationState:
        """The state as shown to the user."""
        return _SHOWN[self]


class Event(Enum):
    """Event that changes the state of a conversation."""

    MICROPHONE_ON = auto()
    """The device says that it listens."""
    MICROPHONE_STILL_ON = auto()
    """The next turn is due in realtime mode, where the microphone is on all the time."""
    BUTTON_RELEASED = auto()
    """The device says that the user has finished, in push-to-talk."""
    LISTENING_STOPPED = auto()
    """A program says that its user has finished, or does not want to speak. Stock firmware does not."""
    TYPED = auto()
    """A text has turned out to be no wake word."""
    ABORTED = auto()
    """The user pressed the button or said the wake word."""
    SPOKEN_OVER = auto()
    """The user speaks while the answer is spoken."""
    CHANNEL_CLOSED = auto()
    ANSWER_BEGUN = auto()
    PACKET_SENT = auto()
    ANSWER_STOPPED = auto()
    """`tts stop` is sent; the device listens after that."""
    PUSH_TO_TALK_ANSWER_STOPPED = auto()
    """`tts stop` is sent; the device is idle after that."""
    TURN_ENDED = auto()
    """The holder has nothing to answer, and the program stays."""
    ENDED = auto()
    """The holder is about to close the channel."""


class Action(Enum):
    """Action of the conversation."""

    BEGIN_TURN = auto()
    """Begin the turn that `ConversationTable.turn` describes; it takes the place of another."""
    ADD_BARGE_IN = auto()
    """Let the turn begin with the sound since the answer ended or was spoken over."""
    END_SPEECH = auto()
    """End the audio of the turn, which is then recognised."""
    STOP_LISTENING = auto()
    """End the audio of the turn if anything was said; otherwise nobody expects an answer."""


class Interruption(StrEnum):
    """Reason why the holder must stop its turn at once."""

    ABORTED = "aborted"
    """The user pressed the button or said the wake word."""
    SPOKEN_OVER = "spoken over"
    """The user speaks while the answer is spoken."""
    NEXT_TURN = "next turn"
    """The next turn has begun: the device listens again without having said that it stopped, or a question
    was typed."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart:
    """Beginning of a turn. Its texts are untrusted."""

    mode: ListenMode
    wake_word: str | None = None
    question: str | None = None
    """Text that was typed instead of spoken."""


_SHOWN: Final = {
    State.READY: ConversationState.CONNECTING,
    State.RESTING: ConversationState.IDLE,
    State.LISTENING: ConversationState.LISTENING,
    State.ASKED: ConversationState.THINKING,
    State.THINKING: ConversationState.THINKING,
    State.SPEAKING: ConversationState.SPEAKING,
    State.CLOSED: ConversationState.IDLE,
}
_SILENT: Final = frozenset({State.READY, State.RESTING})
_IN_TURN: Final = frozenset({State.LISTENING, State.ASKED})
_OPEN: Final = tuple(state for state in State if state is not State.CLOSED)

type Actions = tuple[Action | Interruption, ...]

TRANSITIONS: Final[Mapping[Event, Mapping[State, tuple[State, *Actions]]]] = {
    Event.MICROPHONE_ON: {
        **dict.fromkeys(_SILENT, (State.LISTENING, Action.BEGIN_TURN)),
        **dict.fromkeys(
            (State.LISTENING, State.ASKED, State.THINKING, State.SPEAKING),
            (State.LISTENING, Interruption.NEXT_TURN, Action.BEGIN_TURN),
        ),
    },
    Event.MICROPHONE_STILL_ON: dict.fromkeys(
        _OPEN, (State.LISTENING, Action.BEGIN_TURN, Action.ADD_BARGE_IN)
    ),
    Event.BUTTON_RELEASED: {State.LISTENING: (State.LISTENING, Action.END_SPEECH)},
    Event.LISTENING_STOPPED: {State.LISTENING: (State.LISTENING, Action.STOP_LISTENING)},
    Event.TYPED: {
        **dict.fromkeys(_SILENT, (State.ASKED, Action.BEGIN_TURN, Action.END_SPEECH)),
        State.LISTENING: (State.ASKED, Interruption.NEXT_TURN, Action.BEGIN_TURN, Action.END_SPEECH),
    },
    Event.ABORTED: {
        State.READY: (State.READY, Interruption.ABORTED),
        State.RESTING: (State.RESTING, Interruption.ABORTED),
        # The audio does not end: an aborted turn must not be recognised.
        State.LISTENING: (State.RESTING, Interruption.ABORTED),
        State.ASKED: (State.RESTING, Interruption.ABORTED),
        # The device may go on speaking until `tts stop`.
        State.THINKING: (State.THINKING, Interruption.ABORTED),
        State.SPEAKING: (State.SPEAKING, Interruption.ABORTED),
    },
    # Half a sentence must not be recognised, either, while its turn is being cancelled.
    Event.CHANNEL_CLOSED: dict.fromkeys(_OPEN, (State.CLOSED, Interruption.CLOSED)),
    # The device itself ignores it.
    Event.SPOKEN_OVER: {State.SPEAKING: (State.SPEAKING, Interruption.SPOKEN_OVER)},
    Event.ANSWER_BEGUN: {
        State.LISTENING: (State.THINKING, Action.END_SPEECH),
        **dict.fromkeys(
            (State.READY, State.RESTING, State.ASKED, State.THINKING, State.SPEAKING), (State.THINKING,)
        ),
    },
    Event.PACKET_SENT: {State.THINKING: (State.SPEAKING,)},
    # Not while listening: pressing the button in push-to-talk stops the answer and speaks at once.
    Event.ANSWER_STOPPED: dict.fromkeys((State.THINKING, State.SPEAKING), (State.READY,)),
    Event.PUSH_TO_TALK_ANSWER_STOPPED: dict.fromkeys((State.THINKING, State.SPEAKING), (State.RESTING,)),
    Event.TURN_ENDED: dict.fromkeys(_IN_TURN, (State.RESTING,)),
    Event.ENDED: {State.LISTENING: (State.LISTENING, Action.END_SPEECH)},
}
"""The next state and the actions, by event and state. An event that is not in it changes nothing."""


class ConversationTable:
    """The state of one conversation. Times are seconds of one clock that only moves forwards.

    The actions that a method returns are to be done at once, in order. `time_passed` is to be called at
    `deadline`, which any method may change.
    """

    def __init__(self, *, audio_may_be_late: bool, is_program: bool = False) -> None:
        """Begin with an open channel, whose audio may arrive later than messages that follow it.

        A program need not listen after its hello or an answer, and stays.
        """
        self._audio_may_be_late = audio_may_be_late
        self._is_program = is_program
        self.state = State.RESTING if is_program else State.READY
        self.awaiting = False
        self.turn = TurnStart(mode=ListenMode.AUTO)
        self._taken = True
        self._mode: ListenMode | None = None
        self._wake_word: str | None = None
        self._typed_due: float | None = None
        self._listen_due: float | None = None
        self._was_busy = False
        """Whether the device ran a tool when it was last expected to listen."""
        self._sound_until = float("-inf")
        self._deaf_until = float("-inf")

    @property
    def realtime(self) -> bool:
        """Whether the microphone is on all the time."""
        return self._mode is ListenMode.REALTIME

    @property
    def turn_waits(self) -> bool:
        """Whether a turn has begun that the holder has not taken."""
        return not self._taken and self.state in _IN_TURN

    @property
    def deadline(self) -> float | None:
        """Time at which `time_passed` is due; None while no time-out is running."""
        return min((due for due in (self._listen_due, self._typed_due) if due is not None), default=None)

    # From the device.

    def receive(self, message: DeviceMessage, now: float) -> Actions:
        """Take a message of the device."""
        match message:
            case ListenDetect(text):
                return self._detected(text.strip() or None, now)
            case ListenStart(mode):
                self._mode = mode
                return self.happened(Event.MICROPHONE_ON, now)
            case ListenStop():
                is_push_to_talk = self._mode is ListenMode.MANUAL
                if self.realtime:
                    self._mode = None
                return self.happened(
                    Event.BUTTON_RELEASED if is_push_to_talk else Event.LISTENING_STOPPED, now
                )
            case Abort():
                self._typed_due = None
                return self.happened(Event.ABORTED, now)
        return ()

    def packet_arrived(self, now: float) -> bool:
        """Note an audio packet; return whether it belongs to the turn."""
        self._sound_until = now + ConversationTimeouts.wake_sound
        self._typed_due = None
        return self.state is State.LISTENING and now >= self._deaf_until

    @property
    def hears_between_turns(self) -> bool:
        """Whether audio that belongs to no turn comes from a microphone that is on all the time."""
        return self.realtime and self.state in {State.READY, State.THINKING, State.SPEAKING}

    @property
    def hears_wake_word(self) -> bool:
        """Whether audio that belongs to no turn is the sound of a wake word."""
        return self.state in _SILENT or self.state is State.LISTENING

    def _detected(self, text: str | None, now: float) -> Actions:
        if self.state is State.LISTENING:
            # The firmware sends its wake word before it listens. Programs on computers type like this.
            if text is None:
                return ()
            self._wake_word = text
            return self.happened(Event.TYPED, now)
        self._wake_word = text
        may_be_typed = text is not None and now >= self._sound_until and self.state in _SILENT
        self._typed_due = now + ConversationTimeouts.typed if may_be_typed else None
        return ()

    # For the holder of the conversation.

    def happened(self, event: Event, now: float) -> Actions:
        """Take an event; one that does not fit the state changes nothing."""
        rests = self._mode is ListenMode.MANUAL or (self._is_program and not self.realtime)
        if event is Event.ANSWER_STOPPED and rests:
            event = Event.PUSH_TO_TALK_ANSWER_STOPPED
        self.state, *actions = TRANSITIONS[event].get(self.state, (self.state,))
        if Action.BEGIN_TURN in actions:
            self._begin_turn(now, typed=event is Event.TYPED)
        if self.state is State.CLOSED:
            self._typed_due = self._listen_due = None
            self.awaiting = False
        elif self.awaiting:
            self._await_listening(now)
        return tuple(actions)

    def await_turn(self, now: float) -> Actions:
        """Wait for the next turn, until `turn_waits` or it is not `awaiting` any more.

        In realtime mode, call it when the device runs no tool, which would keep it from listening.
        """
        if self.state is State.CLOSED or self.turn_waits:
            return ()
        if self.realtime:
            # The microphone never stopped, so the device does not say that it listens again.
            return self.happened(Event.MICROPHONE_STILL_ON, now)
        self.awaiting = True
        self._await_listening(now)
        return ()

    def take_turn(self) -> None:
        """Note that the holder has taken the turn that waits."""
        self._taken = True

    def stop_awaiting(self) -> None:
        """Stop waiting for a turn."""
        self.awaiting = self._was_busy = False
        self._listen_due = None

    def time_passed(self, now: float, *, main_task_busy: bool, pinged_at: float) -> Actions:
        """Act on time-outs. A device that runs a tool may not have come to listening yet."""
        actions: Actions = ()
        if self._typed_due is not None and now >= self._typed_due:
            self._typed_due = now + ConversationTimeouts.typed if main_task_busy else None
            if not main_task_busy:
                actions = self.happened(Event.TYPED, now)
        if self._listen_due is not None and now >= self._listen_due:
            self._listen_due = None
            # Its tool may have ended a moment ago.
            if main_task_busy or self._was_busy:
                self._await_listening(now)
            elif self._is_program and pinged_at + ConversationTimeouts.program > now:
                self._listen_due = pinged_at + ConversationTimeouts.program
            else:
                self.awaiting = False
            self._was_busy = main_task_busy
        return actions

    def _begin_turn(self, now: float, *, typed: bool) -> None:
        self._typed_due = None
        text, self._wake_word = self._wake_word, None
        mode = self._mode or ListenMode.AUTO
        if typed:
            self.turn = TurnStart(mode=mode, question=text)
        else:
            self.turn = TurnStart(mode=mode, wake_word=text)
            if text is not None and self._audio_may_be_late:
                self._deaf_until = now + ConversationTimeouts.late_wake_sound
        self._taken = False

    def _await_listening(self, now: float) -> None:
        """Run the time-out for the next turn unless one is there."""
        if self.turn_waits:
            self._listen_due = None
        elif self._listen_due is None:
            patience = ConversationTimeouts.listen
            if self._is_program:
                patience = ConversationTimeouts.program
            elif self._mode is ListenMode.MANUAL:
                patience = ConversationTimeouts.push_to_talk
            self._listen_due = now + patience
