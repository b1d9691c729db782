"""Which speech-to-text engines are called early."""

from types import SimpleNamespace
from typing import Any

import pytest

from custom_components.xiaozhi.voice.engine_trial import EngineKind, Trial, kind_of


def engine(platform: str, name: str, *, finds_the_end: bool = False) -> Any:
    """Return what is looked at of an engine."""
    return SimpleNamespace(
        platform=SimpleNamespace(platform_name=platform),
        name=name,
        audio_processing=SimpleNamespace(requires_external_vad=not finds_the_end),
    )


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        (engine("wyoming", "faster-whisper"), EngineKind.GAINS),
        (engine("wyoming", "Whisper.cpp"), EngineKind.GAINS),
        (engine("wyoming", "vosk"), EngineKind.WHILE_LISTENING),
        (engine("wyoming", "Speech to Phrase"), EngineKind.WHILE_LISTENING),
        (engine("cloud", "Home Assistant Cloud"), EngineKind.WHILE_LISTENING),
        (engine("openai_conversation", "OpenAI STT"), EngineKind.BILLED),
        (engine("homemade", "faster-whisper"), EngineKind.UNKNOWN),
        (engine("homemade", "endless", finds_the_end=True), EngineKind.WHILE_LISTENING),
    ],
    ids=lambda value: value.value if isinstance(value, EngineKind) else value.name,
)
def test_engines_are_known_by_their_integration_and_name(known: Any, kind: EngineKind) -> None:
    assert kind_of(known) is kind


def test_a_billed_engine_is_called_early_only_if_the_owner_insists() -> None:
    trial = Trial(EngineKind.BILLED)
    assert not trial.transcribes_early(chosen_by_owner=False)
    assert trial.transcribes_early(chosen_by_owner=True)


@pytest.mark.parametrize(
    ("early", "plain", "gains"),
    [(0.3, 0.3, True), (0.5, 0.3, True), (3.0, 3.0, True), (0.7, 0.2, False), (1.6, 0.8, False)],
)
def test_ten_turns_tell_whether_an_unknown_engine_gains(early: float, plain: float, gains: bool) -> None:
    trial = Trial(EngineKind.UNKNOWN)
    for _ in range(5):
        assert not trial.transcribes_early(chosen_by_owner=False)
        trial.plain(plain)
    for _ in range(5):
        assert trial.transcribes_early(chosen_by_owner=False)
        trial.early(early)
    assert trial.transcribes_early(chosen_by_owner=False) is gains
    assert trial.describe()["gains"] is gains


@pytest.mark.parametrize(("plain", "gains"), [(0.8, False), (1.6, True)])
def test_a_known_engine_that_is_always_late_is_compared(plain: float, gains: bool) -> None:
    """Its computer may be too slow to transcribe twice."""
    trial = Trial(EngineKind.GAINS)
    for _ in range(5):
        assert trial.transcribes_early(chosen_by_owner=False)
        trial.early(1.6)
        trial.ended(late=True)
    for _ in range(5):
        assert not trial.transcribes_early(chosen_by_owner=False)
        trial.plain(plain)
    assert trial.transcribes_early(chosen_by_owner=False) is gains
    trial.ended(late=True)
    assert trial.transcribes_early(chosen_by_owner=False) is gains


def test_an_engine_that_is_in_time_is_never_compared() -> None:
    trial = Trial(EngineKind.GAINS)
    for _ in range(30):
        trial.early(0.3)
        trial.ended(late=False)
        assert trial.transcribes_early(chosen_by_owner=False)


def test_three_failures_in_a_row_end_early_calls() -> None:
    trial = Trial(EngineKind.GAINS)
    for _ in range(2):
        trial.failed()
    trial.early(0.3)
    for _ in range(2):
        trial.failed()
    assert trial.transcribes_early(chosen_by_owner=True)
    trial.failed()
    assert not trial.transcribes_early(chosen_by_owner=True)
