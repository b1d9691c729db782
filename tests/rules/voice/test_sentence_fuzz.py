"""The judge of sentences with texts that nobody says, and with random sentences of the recogniser."""

from functools import cache
import time
from unittest.mock import Mock

from hassil.intents import Intents, TextSlotList
from hassil.recognize import RecognizeResult
from home_assistant_intents import get_intents
from homeassistant.core import HomeAssistant
from hypothesis import example, given, strategies as st
import pytest

from benchmarks.sentence_samples import LANGUAGES, Sampler, beginnings, things
from custom_components.xiaozhi.voice.sentences import Completeness, knowledge
from custom_components.xiaozhi.voice.sentences.recogniser import Hearing, recognise, trigger_intents


def context(domain: str) -> dict[str, str]:
    return {"domain": domain, "device_class": "blind"} if domain == "cover" else {"domain": domain}


class Judge:
    """The part of a judgement that runs in a thread, in a house with 40 things."""

    def __init__(self, language: str, triggers: tuple[str, ...] = ()) -> None:
        words = LANGUAGES[language]
        intents = get_intents(language)
        assert intents is not None
        self.intents = Intents.from_dict(intents)
        names = [(name, name, context(domain)) for name, domain in things(words, 40)]
        self.lists = {
            "name": TextSlotList.from_tuples(names, allow_template=False),
            "area": TextSlotList.from_strings(words.rooms, allow_template=False),
            "floor": TextSlotList.from_strings([words.floor], allow_template=False),
        }
        self.language = language
        self.triggers = triggers
        self.sampler = Sampler(language, self.intents, self.lists, words, seed=1)
        self._trigger_intents = trigger_intents(triggers, language)
        # In the thread, Home Assistant itself is not asked.
        self._knowledge = knowledge.Knowledge(Mock(spec=HomeAssistant))

    def hearing(self, text: str) -> Hearing:
        return Hearing(
            text=text,
            language=self.language,
            intents=self.intents,
            triggers=self.triggers,
            lists=self.lists,
            context={},
            excluded=frozenset(),
            without_position=frozenset(),
            chooses_timer=True,
        )

    def __call__(self, text: str) -> Completeness:
        return self._knowledge._judge(self.hearing(text), time.monotonic() + 60)

    def meaning(self, text: str) -> tuple[object, ...] | None:
        """Return what the recogniser understands; the room of the only thing of a name does not matter."""
        result: RecognizeResult | None = recognise(self.hearing(text), self.intents, self.lists)
        if result is None:
            return None
        slots = {name: str(entity.value) for name, entity in result.entities.items()}
        if "name" in slots:
            slots.pop("area", None)
            slots.pop("floor", None)
        return result.intent.name, result.response, sorted(slots.items())

    def starts_automation(self, text: str) -> bool:
        """Whether the recogniser finds that an automation begins with a text."""
        return recognise(self.hearing(text), self._trigger_intents, self.lists) is not None


@cache
def judge(language: str) -> Judge:
    return Judge(language, ("{anything} my lord", "[so] good night"))


WORDS = (
    *("turn", "on", "off", "the", "kitchen", "lamp", "to", "set", "please", "good", "night"),
    *("50", "%", "twenty", "five", "-5", "5.5", ",", ".", "?", "…", "a-b", "_", "'", "’"),
    *("灯", "打开", "客厅", "ß", "İ", "\u0301", "\x00", "my", "lord"),
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(WORDS),
        max_size=12,
    ).map(" ".join),
)


@given(text=TEXTS)
@example(text="0 MY LORD")
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_no_text_is_too_strange(language: str, text: str) -> None:
    judged = judge(language)(text)
    if judged is Completeness.COMPLETE:
        assert judge(language).meaning(text) or judge(language).starts_automation(text)


@pytest.mark.parametrize("language", [*LANGUAGES])
def test_no_command_is_taken_for_complete_when_more_words_make_it_another(language: str) -> None:
    judge = Judge(language)
    seen = dict.fromkeys(Completeness, 0)
    for _ in range(12):
        sentence = judge.sampler.sentence()
        meant = judge.meaning(sentence)
        for text in beginnings(sentence, LANGUAGES[language]):
            judged = judge(text)
            seen[judged] += 1
            if judged is Completeness.COMPLETE:
                assert judge.meaning(text) == meant, (text, sentence)
        judged = judge(sentence)
        seen[judged] += 1
        if meant:
            assert judged not in {Completeness.BEGINNING, Completeness.UNKNOWN}, sentence
    assert seen[Completeness.BEGINNING] > seen[Completeness.UNKNOWN]
    assert seen[Completeness.COMPLETE]


def test_a_class_that_is_called_as_a_room_is_may_be_in_another_room() -> None:
    """Up to here the doors of the garage are meant; with "across hall", all garage doors of the hall."""
    assert judge("en")("raise up the garage doors position to ten") is Completeness.MAY_GO_ON
