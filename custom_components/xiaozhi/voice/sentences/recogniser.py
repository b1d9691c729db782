"""Home Assistant's own recogniser, asked what it knows and what it understands, without acting on it.

`conversation` offers no public way to its parsed sentences and the names of the home. This is the only module
that reaches for them; `tests/rules/voice/test_recogniser_parts.py` fails when they change. Nothing here runs
an intent, calls a trigger or writes into the recogniser's cache, where a miss would cost the real turn its
"no such device".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hassil.intents import Intents, SlotList, WildcardSlotList
from hassil.recognize import RecognizeResult, recognize_best
from homeassistant.components.conversation import HOME_ASSISTANT_AGENT, ConversationEntityFeature
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.components.media_player import INTENT_MEDIA_SEARCH_AND_PLAY
from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.helpers.intent import INTENT_GET_STATE

from .request import Request

__all__ = ["Hearing", "async_hear", "own_lists", "recognise", "trigger_intents"]

# A pipeline leaves these to a language model that controls the home, though it prefers local commands.
_LEFT_TO_MODEL: Final = frozenset({INTENT_GET_STATE, INTENT_MEDIA_SEARCH_AND_PLAY})


@dataclass(frozen=True, slots=True)
class Hearing:
    """A transcript, and what Home Assistant's recogniser would hold it against."""

    text: str
    language: str
    intents: Intents | None
    """The sentences of the language, with those of the owner; the same object until they change."""
    triggers: tuple[str, ...]
    """Sentences that start automations, whatever agent there is."""
    lists: Mapping[str, SlotList]
    """The names of what is exposed, of areas and floors; the same object until they change."""
    context: dict[str, Any]
    """The area in which it is said."""
    excluded: frozenset[str]
    """Intents that are left to a language model."""


async def async_hear(hass: HomeAssistant, request: Request) -> Hearing | None:
    """Return what a transcript would be held against, or None if that is nothing."""
    manager = get_agent_manager(hass)
    if (agent := manager.default_agent) is None:
        return None
    is_own = request.agent_id in {None, HOME_ASSISTANT_AGENT}
    intents = None
    if is_own or request.prefer_local_intents:
        loaded = await agent.async_get_or_load_intents(request.language)
        intents = None if loaded is None else loaded.intents
    triggers = (*manager.trigger_sentences,)
    if intents is None and not triggers:
        return None
    return Hearing(
        text=request.text,
        language=request.language,
        intents=intents,
        triggers=triggers,
        lists=await agent._make_slot_lists(),  # noqa: SLF001 - there is no public way
        context=_area_context(hass, request.device_id),
        excluded=frozenset() if request.agent_id is None or is_own else _left_to(hass, request.agent_id),
    )


@callback
def _area_context(hass: HomeAssistant, device_id: str | None) -> dict[str, Any]:
    if device_id is None or (device := dr.async_get(hass).async_get(device_id)) is None:
        return {}
    area_id = dr.async_get_effective_area_id(hass, device)
    if area_id is None or (area := ar.async_get(hass).async_get_area(area_id)) is None:
        return {}
    return {"area": {"value": area.name, "text": area.name}}


@callback
def _left_to(hass: HomeAssistant, agent_id: str) -> frozenset[str]:
    state = hass.states.get(agent_id)
    features = 0 if state is None else state.attributes.get(ATTR_SUPPORTED_FEATURES, 0)
    return _LEFT_TO_MODEL if features & ConversationEntityFeature.CONTROL else frozenset()


def trigger_intents(sentences: tuple[str, ...], language: str) -> Intents:
    """Return the sentences that start automations in the recogniser's form: each list is a wildcard."""
    # Each has an intent of its own, since another sentence may start another automation.
    intents = Intents.from_dict(
        {
            "language": language,
            "intents": {f"trigger {i}": {"data": [{"sentences": [s]}]} for i, s in enumerate(sentences)},
        }
    )
    for intent in intents.intents.values():
        for block in intent.data:
            for sentence in block.sentences:
                for name in sentence.list_names():
                    intents.slot_lists[name] = WildcardSlotList(name)
    return intents


def own_lists(lists: Mapping[str, SlotList]) -> dict[str, SlotList]:
    """Return copies of lists. They build an index when they are first used, which two threads must not do."""
    return {name: replace(slot_list) for name, slot_list in lists.items()}


def recognise(hearing: Hearing, intents: Intents, lists: Mapping[str, SlotList]) -> RecognizeResult | None:
    """Return what the recogniser understands with copies of the home's lists, as it does in a pipeline."""
    result = recognize_best(
        hearing.text,
        intents,
        slot_lists={**lists},
        intent_context=hearing.context,
        language=hearing.language,
        best_metadata_key=METADATA_CUSTOM_SENTENCE,
        best_slot_name="name",
    )
    return None if result is None or result.intent.name in hearing.excluded else result
