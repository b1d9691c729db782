"""When a pause ends a turn, and which transcript is that of the turn."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.conversation.patience import (
    DEFAULT_PAUSES,
    EndAfter,
    EndOfTurn,
    Judge,
    Patience,
    PatienceAction,
    Transcribe,
    TranscribeAll,
    UseTranscript,
)

TEXT = "turn on the light"


def judged(judgement: EndOfTurn) -> Patience:
    """Return a turn in a pause whose transcript has been judged."""
    patience = Patience()
    assert patience.paused(engine_free=True) == Transcribe(1)
    assert patience.transcribed(1, TEXT) == Judge(1, TEXT)
    assert patience.judged(1, judgement) == EndAfter(DEFAULT_PAUSES[judgement])
    return patience


@pytest.mark.parametrize("judgement", [EndOfTurn.COMPLETE, EndOfTurn.DETAIL, EndOfTurn.PAUSE])
def test_the_early_transcript_is_that_of_the_turn(judgement: EndOfTurn) -> None:
    patience = judged(judgement)
    assert patience.ended() == UseTranscript(TEXT)
    assert patience.ending is judgement


def test_what_ends_as_half_a_command_is_transcribed_as_a_whole() -> None:
    patience = judged(EndOfTurn.BEGINNING)
    assert patience.ended() == TranscribeAll()
    assert patience.ending is EndOfTurn.BEGINNING


@pytest.mark.parametrize("text", [None, ""])
def test_a_call_that_fails_or_hears_nothing_leaves_the_pause_as_it_is(text: str | None) -> None:
    patience = Patience()
    patience.paused(engine_free=True)
    assert patience.transcribed(1, text) is None
    assert patience.ended() == TranscribeAll()
    assert patience.ending is EndOfTurn.PAUSE


def test_a_transcript_that_is_not_judged_in_time_is_used_all_the_same() -> None:
    patience = Patience()
    patience.paused(engine_free=True)
    patience.transcribed(1, TEXT)
    assert patience.ended() == UseTranscript(TEXT)
    assert patience.judged(1, EndOfTurn.COMPLETE) is None
    assert patience.ending is EndOfTurn.PAUSE


def test_a_transcript_on_its_way_is_waited_for() -> None:
    patience = Patience()
    patience.paused(engine_free=True)
    assert patience.ended() is None
    assert patience.transcribed(1, TEXT) == UseTranscript(TEXT)


def test_a_transcript_on_its_way_that_fails_is_made_again() -> None:
    patience = Patience()
    patience.paused(engine_free=True)
    assert patience.ended() is None
    assert patience.transcribed(1, None) == TranscribeAll()


def test_a_transcript_that_takes_too_long_is_not_waited_for() -> None:
    patience = Patience()
    patience.paused(engine_free=True)
    assert patience.late() is None
    patience.ended()
    assert patience.late() == TranscribeAll()
    assert patience.transcribed(1, TEXT) is None
    assert patience.late() is None


@pytest.mark.parametrize("known", ["nothing", "transcript", "judgement"])
def test_what_was_known_before_speech_went_on_is_dropped(known: str) -> None:
    patience = Patience()
    patience.paused(engine_free=True)
    if known != "nothing":
        patience.transcribed(1, TEXT)
    if known == "judgement":
        patience.judged(1, EndOfTurn.COMPLETE)
    patience.resumed()
    assert patience.transcribed(1, TEXT) is None
    assert patience.judged(1, EndOfTurn.COMPLETE) is None
    assert patience.ended() == TranscribeAll()
    assert patience.ending is EndOfTurn.PAUSE


def test_the_next_pause_waits_for_the_engine_that_still_works_on_the_last() -> None:
    patience = Patience()
    patience.paused(engine_free=True)
    patience.resumed()
    assert patience.paused(engine_free=True) is None
    assert patience.transcribed(1, "turn on") == Transcribe(2)
    assert patience.transcribed(2, TEXT) == Judge(2, TEXT)


def test_an_engine_that_is_busy_with_others_is_not_called() -> None:
    patience = Patience()
    assert patience.paused(engine_free=False) is None
    assert patience.ended() == TranscribeAll()


def test_no_more_than_two_calls_are_made_in_vain() -> None:
    patience = Patience()
    for number in (1, 2):
        assert patience.paused(engine_free=True) == Transcribe(number)
        patience.transcribed(number, TEXT)
        patience.resumed()
    assert patience.paused(engine_free=True) is None
    assert patience.ended() == TranscribeAll()


EVENTS = ("paused", "resumed", "transcribed", "failed", "judged", "ended", "late")


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 4)), max_size=30))
def test_whatever_happens_the_turn_gets_one_transcript_and_few_calls(events: list[tuple[str, int]]) -> None:
    """Also when events come late, twice, or in the moment of the decision."""
    patience = Patience()
    actions: list[PatienceAction | None] = []
    running: set[int] = set()
    over = False
    for event, number in [*events, ("ended", 0), ("late", 0)]:
        match event:
            case "paused":
                action = patience.paused(engine_free=True)
            case "resumed":
                action = patience.resumed()
            case "transcribed" | "failed":
                action = patience.transcribed(number, TEXT if event == "transcribed" else None)
                running.discard(number)
            case "judged":
                action = patience.judged(number, EndOfTurn.COMPLETE)
            case "ended":
                action = patience.ended()
            case _:
                action = patience.late()
        if isinstance(action, Transcribe):
            assert not running
            running.add(action.number)
        if over:
            assert action is None
        over = over or isinstance(action, UseTranscript | TranscribeAll)
        actions.append(action)
    assert sum(isinstance(action, UseTranscript | TranscribeAll) for action in actions) == 1
    assert sum(isinstance(action, Transcribe) for action in actions) <= 2
