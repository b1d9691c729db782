"""The judge of sentences in a real Home Assistant with its own recogniser."""

from homeassistant.components.conversation import HOME_ASSISTANT_AGENT
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
from homeassistant.setup import async_setup_component
import pytest

from custom_components.xiaozhi.voice.sentences import Completeness, Sentences

# Seconds; a busy machine must not make a judgement late.
PATIENT = 60.0


@pytest.fixture
async def house(hass: HomeAssistant) -> HomeAssistant:
    """A house with some exposed things."""
    assert await async_setup_component(hass, "conversation", {})
    ar.async_get(hass).async_create("Kitchen")
    for entity_id, state, name in (
        ("light.bedroom", "off", "Bedroom Lamp"),
        ("lock.front", "locked", "Front Door"),
        ("todo.shopping", "0", "Shopping List"),
    ):
        hass.states.async_set(entity_id, state, {"friendly_name": name})
        async_expose_entity(hass, "conversation", entity_id, should_expose=True)
    return hass


async def judged(hass: HomeAssistant, text: str, language: str = "en") -> Completeness:
    sentences = Sentences(hass, time_limit=PATIENT)
    return await sentences.judge(text, language=language, agent_id=HOME_ASSISTANT_AGENT, device_id=None)


@pytest.mark.parametrize(
    ("text", "completeness"),
    [
        ("Never mind.", Completeness.COMPLETE),
        ("Turn off the kitchen lights.", Completeness.COMPLETE),
        ("Set a timer for five minutes", Completeness.MAY_GO_ON),
        ("Broadcast dinner is ready", Completeness.MAY_GO_ON),
        ("Turn on the", Completeness.BEGINNING),
        ("Set a timer for", Completeness.BEGINNING),
        ("Who was the first person on the moon?", Completeness.UNKNOWN),
    ],
)
async def test_a_text_is_complete_or_may_go_on_or_begins_a_command(
    house: HomeAssistant, text: str, completeness: Completeness
) -> None:
    assert await judged(house, text) is completeness
