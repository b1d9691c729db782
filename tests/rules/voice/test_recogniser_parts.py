"""The parts of Home Assistant's recogniser and of hassil that the judge of sentences is built on."""

from collections.abc import Callable
from dataclasses import fields
import hashlib
import inspect

from hassil import expression, intents
from hassil.recognize import RecognizeResult, recognize_all
from hassil.string_matcher import match_expression
from homeassistant.components.assist_pipeline import default_pipeline
from homeassistant.components.conversation.agent_manager import AgentManager
from homeassistant.components.conversation.default_agent import DefaultAgent, LanguageIntents
from homeassistant.components.intent import TimerInfo
from homeassistant.components.media_player import INTENT_MEDIA_SEARCH_AND_PLAY
from homeassistant.helpers.intent import INTENT_GET_STATE
import pytest

from custom_components.xiaozhi.voice.sentences import recogniser


@pytest.mark.parametrize(
    ("what", "digest"),
    [
        (DefaultAgent._make_slot_lists, "92181b6a5bdb74a6"),
        (DefaultAgent._recognize_strict, "e6c93723c3eafbb8"),
        (DefaultAgent._make_intent_context, "a3b50f1bb21303ff"),
        (DefaultAgent._rebuild_trigger_intents, "297bd9f90980a5d5"),
        (DefaultAgent.async_get_or_load_intents, "8a8721f0022a4550"),
        (default_pipeline._async_local_fallback_intent_filter, "558edc7ae1201ea4"),
    ],
    ids=["names", "recognise", "place", "triggers", "languages", "left to a model"],
)
def test_the_recogniser_is_asked_as_home_assistant_asks_it(what: Callable[..., object], digest: str) -> None:
    """`voice/sentences/recogniser.py` does the same: compare both, then set the new digest."""
    assert hashlib.sha256(inspect.getsource(what).encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("what", "digest"),
    [(match_expression, "ded6f0f0d1b8cf5b"), (recognize_all, "1d1e2376473a73b6")],
    ids=["templates", "sentences"],
)
def test_templates_match_as_they_did(what: Callable[..., object], digest: str) -> None:
    """`voice/sentences/templates.py` finds what this finds: compare both, then set the new digest."""
    assert hashlib.sha256(inspect.getsource(what).encode()).hexdigest()[:16] == digest


def test_templates_have_the_parts_that_are_known() -> None:
    known = {"TextChunk", "Group", "Sequence", "Alternative", "Permutation", "RuleReference", "ListReference"}
    parts = {
        name
        for name, part in vars(expression).items()
        if inspect.isclass(part) and issubclass(part, expression.Expression)
    }
    assert parts == known | {"Expression"}
    lists = {
        name
        for name, part in vars(intents).items()
        if inspect.isclass(part) and issubclass(part, intents.SlotList)
    }
    assert lists == {"SlotList", "TextSlotList", "RangeSlotList", "WildcardSlotList"}


def test_what_is_read_is_there() -> None:
    assert "intents" in {field.name for field in fields(LanguageIntents)}
    assert isinstance(inspect.getattr_static(AgentManager, "trigger_sentences"), property)
    assert "conversation_command" in {field.name for field in fields(TimerInfo)}
    assert {"entities_list", "intent", "intent_data"} <= {field.name for field in fields(RecognizeResult)}


def test_the_intents_that_are_left_to_a_language_model_are_those_of_a_pipeline() -> None:
    source = inspect.getsource(default_pipeline._async_local_fallback_intent_filter)
    assert "INTENT_GET_STATE" in source
    assert "INTENT_MEDIA_SEARCH_AND_PLAY" in source
    assert {INTENT_GET_STATE, INTENT_MEDIA_SEARCH_AND_PLAY} == recogniser._LEFT_TO_MODEL
