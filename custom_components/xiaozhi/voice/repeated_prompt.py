"""Transcripts that only repeat the prompt of the speech recognition, as Whisper writes them for noise."""

from collections.abc import Iterator
import re
from typing import Final

from homeassistant.components import conversation
from homeassistant.components.homeassistant import async_should_expose
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr

# The prompt is a list of names, separated by commas.
_COMMA: Final = re.compile("[,，、]")
# Fewer different names may be a real command.
_LEAST_NAMES: Final = 3


@callback
def repeats_prompt(hass: HomeAssistant, transcript: str) -> bool:
    """Whether a transcript is a list of names of the home, and says nothing about them.

    The engine does not report its prompt. It has these names if it was given the home, by its owner or by the
    option `--hass-token` of Home Assistant's Whisper (`wyoming_faster_whisper/vocabulary.py`).
    """
    parts = {part.strip(" .。").casefold() for part in _COMMA.split(transcript)} - {""}
    return len(parts) >= _LEAST_NAMES and parts <= {name.casefold() for name in _names(hass)}


def _names(hass: HomeAssistant) -> Iterator[str]:
    for area in ar.async_get(hass).async_list_areas():
        yield from (area.name, *area.aliases)
    for floor in fr.async_get(hass).async_list_floors():
        yield from (floor.name, *floor.aliases)
    entities = er.async_get(hass)
    for state in hass.states.async_all():
        if async_should_expose(hass, conversation.DOMAIN, state.entity_id):
            yield state.name
            if (entry := entities.async_get(state.entity_id)) is not None:
                yield from er.async_get_entity_aliases(hass, entry)
