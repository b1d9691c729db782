"""Home Assistant's own recogniser, asked what it knows and what it understands, without acting on it.

`conversation` offers no public way to its parsed sentences and the names of the home. This is the only module
that reaches for them; `tests/rules/voice/test_recogniser_parts.py` fails when they change. Nothing here runs
an intent, calls a trigger or writes into the recogniser's cache, where a miss would cost the real turn its
"no such device".
"""

from collections.abc import Mapping
from dataclasses import replace
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

__all__ = [
    "area_context",
    "async_home_lists",
    "async_language_intents",
    "intents_left_to",
    "is_own_agent",
    "recognise",
    "trigger_intents",
    "trigger_sentences",
]

# A pipeline leaves these to a language model that controls the home, though it prefers local commands.
_LEFT_TO_MODEL: Final = frozenset({INTENT_GET_STATE, INTENT_MEDIA_SEARCH_AND_PLAY})


def is_own_agent(agent_id: str | None) -> bool:
    """Whether an agent is Home Assistant's own, which knows sentences."""
    return agent_id in {None, HOME_ASSISTANT_AGENT, "homeassistant"}


@callback
def intents_left_to(hass: HomeAssistant, agent_id: str | None) -> frozenset[str]:
    """Return the intents that a pipeline leaves to the agent even though it prefers local commands."""
    if is_own_agent(agent_id) or (state := hass.states.get(agent_id or "")) is None:
        return frozenset()
    features = state.attributes.get(ATTR_SUPPORTED_FEATURES, 0)
    return _LEFT_TO_MODEL if features & ConversationEntityFeature.CONTROL else frozenset()


async def async_language_intents(hass: HomeAssistant, language: str) -> Intents | None:
    """Return the sentences of a language, with those of the owner; the same object until they change."""
    if (agent := get_agent_manager(hass).default_agent) is None:
        return None
    loaded = await agent.async_get_or_load_intents(language)
    return None if loaded is None else loaded.intents


async def async_home_lists(hass: HomeAssistant) -> Mapping[str, SlotList]:
    """Return the names of what is exposed, of areas and floors; the same object until they change."""
    if (agent := get_agent_manager(hass).default_agent) is None:
        return {}
    return await agent._make_slot_lists()  # noqa: SLF001 - there is no public way


@callback
def trigger_sentences(hass: HomeAssistant) -> tuple[str, ...]:
    """Return the sentences that start automations."""
    return (*get_agent_manager(hass).trigger_sentences,)


def trigger_intents(sentences: tuple[str, ...], language: str) -> Intents:
    """Return the sentences that start automations in the recogniser's form: each list is a wildcard."""
    intents = Intents.from_dict(
        {"language": language, "intents": {"trigger": {"data": [{"sentences": [*sentences]}]}}}
    )
    for data in intents.intents["trigger"].data:
        for sentence in data.sentences:
            for name in sentence.list_names():
                intents.slot_lists[name] = WildcardSlotList(name)
    return intents


@callback
def area_context(hass: HomeAssistant, device_id: str | None) -> dict[str, Any]:
    """Return what the recogniser knows of the place of a device."""
    if device_id is None or (device := dr.async_get(hass).async_get(device_id)) is None:
        return {}
    area_id = dr.async_get_effective_area_id(hass, device)
    if area_id is None or (area := ar.async_get(hass).async_get_area(area_id)) is None:
        return {}
    return {"area": {"value": area.name, "text": area.name}}


def recognise(
    text: str,
    intents: Intents,
    lists: Mapping[str, SlotList],
    context: dict[str, Any],
    language: str,
) -> RecognizeResult | None:
    """Return what the recogniser understands of exposed things."""
    # Home Assistant's lists build an index when they are first used, which two threads must not do at once.
    own = {name: replace(slot_list) for name, slot_list in lists.items()}
    return recognize_best(
        text,
        intents,
        slot_lists=own,
        intent_context=context,
        language=language,
        best_metadata_key=METADATA_CUSTOM_SENTENCE,
        best_slot_name="name",
    )
