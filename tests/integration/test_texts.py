"""Sentences for the screen and the voice of a device are in the language of its voice assistant."""

import json

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_load_integrations

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.texts.tool_words import tool_words
from custom_components.xiaozhi.texts.translated import async_text
from tests.paths import ROOT

_FILES = {path.stem: path for path in (ROOT / "custom_components/xiaozhi/translations").glob("*.json")}
_REGIONS = {"zh-Hans": "zh-CN", "zh-Hant": "zh-HK", "pt-BR": "pt"}


async def test_a_sentence_is_in_the_language_of_the_assistant_or_in_english(hass: HomeAssistant) -> None:
    for code, file in _FILES.items():
        text = json.loads(file.read_text())["exceptions"]["voice_nothing_heard"]["message"]
        assert await async_text(hass, "voice_nothing_heard", _REGIONS.get(code, f"{code}-XX")) == text
    english = await async_text(hass, "voice_nothing_heard", "en")
    assert english.startswith("I did not hear")
    assert await async_text(hass, "voice_nothing_heard", "xx") == english


async def test_a_tool_is_called_what_its_entity_or_action_is_called(hass: HomeAssistant) -> None:
    await async_load_integrations(hass, {DOMAIN, "button"})
    for tool, title, words in (
        ("self.audio_speaker.set_volume", "", "Volume"),
        ("self.camera.take_photo", "", "Take photo"),
        ("self.reboot", "", "Restart"),
        ("self.oven.open_door", "", "Oven open door"),
        ("self.oven.open_door", "Open the oven", "Open the oven"),
    ):
        assert tool_words(hass, tool, title) == words
