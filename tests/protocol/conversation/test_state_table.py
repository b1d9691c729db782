"""The states of a conversation hold together in any order of events, and lead where they should."""

from collections.abc import Callable
from math import inf

from hypothesis import example, given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.conversation.state_table import (
    TRANSITIONS,
    Action,
    Actions,
    ConversationTable,
    Event,
    Interruption,
    State,
    TurnStart,
)
from custom_components.xiaozhi.protocol.messages import (
    Abort,
    DeviceMessage,
    ListenDetect,
    ListenMode,
    ListenStart,
    ListenStop,
)
from custom_components.xiaozhi.protocol.timeouts import ConversationTimeouts

IN_TURN = {State.LISTENING, State.ASKED}

MESSAGES = st.one_of(
    st.builds(ListenStart, st.sampled_from(ListenMode)),
    st.builds(ListenDetect, st.sampled_from(["", " ", "hi xiaozhi"])),
    st.builds(ListenStop),
    st.builds(Abort),
)
# Others come from the table itself, by a message or by the time.
HOLDERS = (
    Event.ANSWER_BEGUN,
    Event.PACKET_SENT,
    Event.ANSWER_STOPPED,
    Event.TURN_ENDED,
    Event.ENDED,
    Event.CHANNEL_CLOSED,
)


class Walk:
    """A table, what it has asked for, and a clock that is moved by hand."""

    def __init__(self, *, audio_may_be_late: bool = False, is_program: bool = False) -> None:
        self.table = ConversationTable(audio_may_be_late=audio_may_be_late, is_program=is_program)
        self.pinged_at = -inf
        self.now = 0.0
        self.busy = False

    def receive(self, message: DeviceMessage) -> Actions:
        return self._check(self.table.receive(message, self.now))

    def happened(self, event: Event) -> Actions:
        return self._check(self.table.happened(event, self.now))

    def packet(self) -> None:
        heard = self.table.packet_arrived(self.now)
        assert not heard or self.table.state is State.LISTENING
        self._check(())

    def wait(self, seconds: float) -> Actions:
        """Let time pass, with a call whenever the table wants one."""
        end = self.now + seconds
        done: list[Action | Interruption] = []
        while (deadline := self.table.deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            done += self._check(self._time_passed())
            assert self.table.deadline is None or self.table.deadline > self.now, "it is over"
        self.now = end
        return tuple(done)

    def _time_passed(self) -> Actions:
        return self.table.time_passed(self.now, main_task_busy=self.busy, pinged_at=self.pinged_at)

    def await_turn(self) -> None:
        if not (self.busy and self.table.realtime):
            self._check(self.table.await_turn(self.now))

    def take_turn(self) -> None:
        """Let the holder take the turn if there is one."""
        if self.table.turn_waits:
            self.table.take_turn()
            self.table.stop_awaiting()
        self._check(())

    def expect(self, state: State | None = None, *, awaiting: bool | None = None) -> None:
        """Fail unless this is the state, or a turn is waited for or not."""
        assert state in {None, self.table.state}
        assert awaiting in {None, self.table.awaiting}

    def use_tools(self, busy: bool) -> None:
        """Let the device begin or end to run tools."""
        self.busy = busy

    def _check(self, actions: Actions) -> Actions:
        table = self.table
        if table.awaiting and not table.turn_waits:
            assert table.deadline is not None, "nothing would end the wait"
        if table.turn_waits:
            assert table.state in IN_TURN
        if table.state is State.CLOSED:
            assert table.deadline is None
            assert not table.awaiting
            assert not table.turn_waits
        if Action.BEGIN_TURN in actions:
            assert table.state in IN_TURN
            assert table.turn_waits
            assert (table.state is State.ASKED) is (table.turn.question is not None)
        return actions


STEPS: st.SearchStrategy[Callable[[Walk], object]] = st.one_of(
    MESSAGES.map(lambda message: lambda walk: walk.receive(message)),
    st.sampled_from(HOLDERS[:-1]).map(lambda event: lambda walk: walk.happened(event)),
    st.sampled_from(HOLDERS).map(lambda event: lambda walk: walk.happened(event)),
    st.just(Walk.packet),
    st.floats(0, 130).map(lambda seconds: lambda walk: walk.wait(seconds)),
    st.just(Walk.await_turn),
    st.just(Walk.take_turn),
    st.booleans().map(lambda busy: lambda walk: walk.use_tools(busy)),
)
WALKS = st.lists(STEPS, max_size=30)


@given(WALKS, st.booleans(), st.booleans())
@example(
    [
        lambda walk: walk.receive(ListenStart(ListenMode.REALTIME)),
        lambda walk: walk.receive(Abort()),
        lambda walk: walk.receive(ListenDetect("hi xiaozhi")),
    ],
    False,
    False,
)
def test_in_any_order_of_events_a_wait_for_the_next_turn_ends(
    steps: list[Callable[[Walk], object]], audio_may_be_late: bool, is_program: bool
) -> None:
    walk = Walk(audio_may_be_late=audio_may_be_late, is_program=is_program)
    for step in steps:
        step(walk)
    walk.use_tools(busy=False)
    walk.await_turn()
    walk.wait(ConversationTimeouts.program + ConversationTimeouts.typed)
    assert walk.table.turn_waits or not walk.table.awaiting


@given(WALKS, MESSAGES)
def test_from_any_state_a_listening_device_is_heard_and_the_end_ends_all(
    steps: list[Callable[[Walk], object]], message: DeviceMessage
) -> None:
    walk = Walk()
    for step in steps:
        step(walk)
    closed, answering = walk.table.state is State.CLOSED, walk.table.state in {State.THINKING, State.SPEAKING}
    actions = walk.receive(ListenStart(ListenMode.AUTO))
    assert walk.table.turn_waits is not closed
    assert not answering or Interruption.NEXT_TURN in actions
    assert (Interruption.CLOSED in walk.happened(Event.CHANNEL_CLOSED)) is not closed
    for step in steps:
        step(walk)
    assert walk.receive(message) == ()
    walk.expect(State.CLOSED)


def test_every_state_can_be_reached_and_left() -> None:
    reached = {State.READY}
    while (
        new := {row[0] for rows in TRANSITIONS.values() for state, row in rows.items() if state in reached}
        - reached
    ):
        reached |= new
    assert reached == set(State)
    for state in set(State) - {State.CLOSED}:
        assert TRANSITIONS[Event.CHANNEL_CLOSED][state][0] is State.CLOSED


@pytest.mark.parametrize("mode", list(ListenMode))
def test_a_device_that_does_not_listen_is_given_up_in_push_to_talk_later(mode: ListenMode) -> None:
    walk = Walk()
    walk.receive(ListenStart(mode))
    walk.take_turn()
    walk.happened(Event.ANSWER_BEGUN)
    walk.happened(Event.ANSWER_STOPPED)
    rests = walk.table.state is State.RESTING
    assert rests is (mode is ListenMode.MANUAL)
    walk.await_turn()
    if mode is ListenMode.REALTIME:
        assert walk.table.turn_waits, "its microphone is still on"
        return
    patience = ConversationTimeouts.push_to_talk if rests else ConversationTimeouts.listen
    walk.wait(patience - 0.1)
    walk.expect(awaiting=True)
    walk.wait(0.2)
    walk.expect(awaiting=False)


@pytest.mark.parametrize("mode", [ListenMode.AUTO, ListenMode.MANUAL])
def test_a_program_rests_with_its_channel_until_it_is_silent(mode: ListenMode) -> None:
    walk = Walk(is_program=True)
    walk.expect(State.RESTING)
    walk.receive(ListenStart(mode))
    walk.take_turn()
    walk.happened(Event.ANSWER_BEGUN)
    walk.happened(Event.ANSWER_STOPPED)
    walk.expect(State.RESTING)
    walk.await_turn()
    walk.wait(ConversationTimeouts.program - 1)
    walk.pinged_at = walk.now
    walk.wait(ConversationTimeouts.program - 1)
    walk.expect(awaiting=True)
    walk.wait(2)
    walk.expect(awaiting=False)


def test_a_microphone_that_a_program_has_stopped_is_not_still_on() -> None:
    walk = Walk(is_program=True)
    walk.receive(ListenStart(ListenMode.REALTIME))
    walk.take_turn()
    assert walk.receive(ListenStop()) == (Action.STOP_LISTENING,)
    walk.happened(Event.TURN_ENDED)
    walk.await_turn()
    walk.expect(State.RESTING, awaiting=True)


def test_a_device_that_runs_a_tool_is_waited_for() -> None:
    walk = Walk()
    walk.await_turn()
    walk.use_tools(busy=True)
    walk.wait(2 * ConversationTimeouts.listen - 1)
    walk.use_tools(busy=False)
    walk.wait(ConversationTimeouts.listen)
    walk.expect(awaiting=True)
    walk.wait(2)
    walk.expect(awaiting=False)


def test_the_wait_begins_again_after_a_turn_aborted_before_it_was_taken() -> None:
    walk = Walk()
    walk.await_turn()
    walk.wait(ConversationTimeouts.listen - 1)
    walk.receive(ListenStart(ListenMode.AUTO))
    walk.receive(Abort())
    walk.wait(ConversationTimeouts.listen - 1)
    walk.expect(awaiting=True)
    assert not walk.table.turn_waits


def test_a_packet_sent_while_the_device_listens_does_not_make_it_speak() -> None:
    walk = Walk()
    walk.receive(ListenStart(ListenMode.MANUAL))
    walk.happened(Event.ANSWER_BEGUN)
    walk.happened(Event.PACKET_SENT)
    walk.expect(State.SPEAKING)
    walk.receive(Abort())
    walk.receive(ListenStart(ListenMode.MANUAL))
    walk.happened(Event.PACKET_SENT)
    walk.expect(State.LISTENING)
    walk.happened(Event.ANSWER_STOPPED)
    walk.expect(State.LISTENING)


def test_only_an_answer_that_is_being_spoken_can_be_spoken_over() -> None:
    walk = Walk()
    walk.receive(ListenStart(ListenMode.REALTIME))
    assert walk.happened(Event.SPOKEN_OVER) == ()
    assert not walk.table.hears_between_turns
    walk.happened(Event.ANSWER_BEGUN)
    assert walk.table.hears_between_turns
    assert walk.happened(Event.SPOKEN_OVER) == ()
    walk.happened(Event.PACKET_SENT)
    assert walk.happened(Event.SPOKEN_OVER) == (Interruption.SPOKEN_OVER,)
    walk.happened(Event.ANSWER_STOPPED)
    assert walk.table.hears_between_turns
    assert walk.happened(Event.SPOKEN_OVER) == ()


def test_a_text_counts_as_typed_when_nothing_else_explains_it() -> None:
    walk = Walk()
    walk.receive(ListenDetect("what time is it"))
    walk.use_tools(busy=True)
    assert walk.wait(10 * ConversationTimeouts.typed) == ()
    walk.use_tools(busy=False)
    assert walk.wait(ConversationTimeouts.typed) == (Action.BEGIN_TURN, Action.END_SPEECH)
    assert walk.table.turn == TurnStart(mode=ListenMode.AUTO, question="what time is it")


@pytest.mark.parametrize("mode", list(ListenMode))
def test_a_text_while_the_microphone_is_on_is_typed(mode: ListenMode) -> None:
    """The firmware sends its wake word before it listens; programs on computers send a question then."""
    walk = Walk()
    walk.receive(ListenStart(mode))
    walk.take_turn()
    walk.packet()
    assert walk.receive(ListenDetect(" what time is it ")) == (
        Interruption.NEXT_TURN,
        Action.BEGIN_TURN,
        Action.END_SPEECH,
    )
    assert walk.table.turn == TurnStart(mode=mode, question="what time is it")
    walk.packet()
    walk.expect(State.ASKED)


@pytest.mark.parametrize("mode", list(ListenMode))
def test_a_stop_ends_the_speech_which_may_be_nothing_outside_push_to_talk(mode: ListenMode) -> None:
    walk = Walk()
    walk.receive(ListenStart(mode))
    expected = Action.END_SPEECH if mode is ListenMode.MANUAL else Action.STOP_LISTENING
    assert walk.receive(ListenStop()) == (expected,)
