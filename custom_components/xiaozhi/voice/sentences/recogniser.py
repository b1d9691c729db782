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
from homeassistant.components.conversation import (
    DOMAIN as CONVERSATION_DOMAIN,
    HOME_ASSISTANT_AGENT,
    ConversationEntityFeature,
)
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.components.cover import DOMAIN as COVER_DOMAIN, CoverEntityFeature
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.components.intent import TIMER_DATA
from homeassistant.components.media_player import INTENT_MEDIA_SEARCH_AND_PLAY
from homeassistant.components.valve import DOMAIN as VALVE_DOMAIN, ValveEntityFeature
from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.helpers.intent import INTENT_GET_STATE, async_get_entity_aliases

from .request import Request

__all__ = ["Hearing", "async_hear", "own_lists", "recognise", "trigger_intents"]

# A pipeline leaves these to a language model that controls the home, though it prefers local commands.
_LEFT_TO_MODEL: Final = frozenset({INTENT_GET_STATE, INTENT_MEDIA_SEARCH_AND_PLAY})
# What opens and closes, and the feature of those that can also be moved to a position.
_OPENING: Final = {
    COVER_DOMAIN: CoverEntityFeature.SET_POSITION,
    VALVE_DOMAIN: ValveEntityFeature.SET_POSITION,
}
# Of more it is not looked up each time what they can do.
_MOST_OPENING: Final = 100


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
    without_position: frozenset[object]
    """Names of exposed things that open and close, but cannot be moved to a position, as far as is known."""
    chooses_timer: bool
    """There are several timers."""


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
        without_position=_without_position(hass),
        chooses_timer=_has_several_timers(hass),
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
def _without_position(hass: HomeAssistant) -> frozenset[str]:
    states = hass.states.async_all(_OPENING)
    if len(states) > _MOST_OPENING:
        return frozenset()
    entities = er.async_get(hass)
    return frozenset(
        name
        for state in states
        if not _takes_position(state) and async_should_expose(hass, CONVERSATION_DOMAIN, state.entity_id)
        for name in async_get_entity_aliases(hass, entities.async_get(state.entity_id), state=state)
    )


def _takes_position(state: State) -> bool:
    features = state.attributes.get(ATTR_SUPPORTED_FEATURES, 0)
    return not isinstance(features, int) or bool(features & _OPENING[state.domain])


@callback
def _has_several_timers(hass: HomeAssistant) -> bool:
    manager = hass.data.get(TIMER_DATA)
    timers = [] if manager is None else manager.timers.values()
    return sum(not timer.conversation_command for timer in timers) > 1


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
