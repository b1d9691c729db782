"""An issue is shown while Home Assistant cannot hear or speak; it looks every ten seconds."""

import asyncio

from homeassistant.components.assist_pipeline import async_create_default_pipeline, async_get_pipeline
from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from tests.integration.boxes import Speech, choose, open_issues
from tests.integration.http_device import paired_device
from tests.integration.provisioning.forms import start_device

PIPELINE = "Home Assistant"


def shown_issue(hass: HomeAssistant) -> tuple[str | None, str] | None:
    """Return the key of the issue and the assistants that it names."""
    assert open_issues(hass) == []
    issue = ir.async_get(hass).async_get_issue(DOMAIN, "no_speech")
    if issue is None:
        return None
    assert issue.learn_more_url == "homeassistant://config/voice-assistants/assistants"
    return issue.translation_key, (issue.translation_placeholders or {})["pipelines"]


@pytest.mark.parametrize("gateway_entry", [[paired_device()]], indirect=True)
async def test_the_issue_follows_the_engines_but_an_unloaded_one_is_not_missing(
    hass: HomeAssistant, speech: Speech, gateway_entry: MockConfigEntry
) -> None:
    """And the form that shows the address says the same."""
    recognizer, voice = speech.recognizer.entity_id, speech.voice.entity_id
    for hears, speaks, expected in (
        (recognizer, voice, None),
        (None, voice, ("no_speech_to_text", PIPELINE)),
        (recognizer, None, ("no_text_to_speech", PIPELINE)),
        (None, None, ("no_speech", PIPELINE)),
        (recognizer, "tts.gone", ("no_text_to_speech", PIPELINE)),
        (recognizer, voice, None),
    ):
        await speech.use(stt_engine=hears, tts_engine=speaks)
        await asyncio.sleep(11)
        assert shown_issue(hass) == expected
        form = await start_device(hass, gateway_entry)
        hint = form["description_placeholders"]["speech"]
        assert ("[Voice assistants](/config/voice-assistants/assistants)" in hint) == bool(expected)
        assert (PIPELINE in hint) == bool(expected)
    # Its server may only be away.
    (entry,) = hass.config_entries.async_entries("scripted")
    assert await hass.config_entries.async_unload_platforms(entry, ["stt"])
    await asyncio.sleep(11)
    assert shown_issue(hass) is None
    er.async_get(hass).async_remove(recognizer)
    await asyncio.sleep(11)
    assert shown_issue(hass) == ("no_speech_to_text", PIPELINE)
    assert await hass.config_entries.async_unload(gateway_entry.entry_id)
    assert shown_issue(hass) is None


@pytest.mark.parametrize("gateway_entry", [[paired_device()]], indirect=True)
async def test_the_assistant_of_each_device_counts_or_else_the_preferred_one(
    hass: HomeAssistant, speech: Speech, gateway_entry: MockConfigEntry
) -> None:
    """Home Assistant tells nothing of these changes."""
    deaf = async_get_pipeline(hass)
    other = await async_create_default_pipeline(
        hass, speech.recognizer.entity_id, speech.voice.entity_id, "Other"
    )
    assert other is not None
    await speech.use(stt_engine=None)
    is_deaf = ("no_speech_to_text", PIPELINE)

    async def looked() -> tuple[str, str] | None:
        await asyncio.sleep(11)
        return shown_issue(hass)

    prefer = hass.data[KEY_ASSIST_PIPELINE].pipeline_store.async_set_preferred_item
    for pipeline_id, expected in ((other.id, None), (deaf.id, is_deaf)):
        prefer(pipeline_id)
        assert await looked() == expected
    await choose(hass, "select.kitchen_box_assistant", "Other")
    assert await looked() is None
    (subentry_id,) = gateway_entry.subentries
    hass.config_entries.async_remove_subentry(gateway_entry, subentry_id)
    assert await looked() == is_deaf
