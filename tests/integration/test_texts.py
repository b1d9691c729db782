"""Sentences for the screen and the voice of a device are in the language of its voice assistant."""

import json

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_load_integrations
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.texts.tool_words import tool_words
from custom_components.xiaozhi.texts.translated import async_text, language_of_texts
from tests.paths import ROOT

_FILES = {path.stem: path for path in (ROOT / "custom_components/xiaozhi/translations").glob("*.json")}
_REGIONS = {"zh-Hans": "zh-CN", "zh-Hant": "zh-HK", "pt-BR": "pt"}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", "de"),
        ("de-CH", "de"),
        ("de_AT", "de"),
        ("DE", "de"),
        ("en-GB", "en"),
        ("pt", "pt-BR"),
        ("pt-PT", "pt-BR"),
        ("pt-br", "pt-BR"),
        ("zh", "zh-Hans"),
        ("zh-CN", "zh-Hans"),
        ("zh-cmn-Hans-CN", "zh-Hans"),
        ("zh-Hans-HK", "zh-Hans"),
        ("cmn-CN", "zh-Hans"),
        ("zh-TW", "zh-Hant"),
        ("zh-HK", "zh-Hant"),
        ("zh_hant", "zh-Hant"),
        ("yue", "zh-Hant"),
        ("ko-KR", "ko"),
        ("kok", "en"),
        ("nb", "en"),
        ("", "en"),
        ("../de", "en"),
    ],
)
async def test_a_language_of_an_assistant_is_found_among_the_translations(
    language: str, expected: str
) -> None:
    available = frozenset({"de", "en", "ko", "pt-BR", "zh-Hans", "zh-Hant"})
    assert language_of_texts(language, available) == expected


@pytest.mark.parametrize("code", sorted(_FILES))
async def test_a_sentence_is_in_the_language_of_the_assistant(hass: HomeAssistant, code: str) -> None:
    text = json.loads(_FILES[code].read_text())["exceptions"]["voice_nothing_heard"]["message"]
    assert await async_text(hass, "voice_nothing_heard", _REGIONS.get(code, f"{code}-XX")) == text


async def test_english_takes_the_place_of_a_language_without_translations(hass: HomeAssistant) -> None:
    english = await async_text(hass, "voice_nothing_heard", "en")
    assert english.startswith("I did not hear")
    assert await async_text(hass, "voice_nothing_heard", "xx") == english


@pytest.mark.parametrize(
    ("tool", "title", "words"),
    [
        ("self.audio_speaker.set_volume", "", "Volume"),
        ("self.camera.take_photo", "", "Take photo"),
        ("self.reboot", "", "Restart"),
        ("self.oven.open_door", "", "Oven open door"),
        ("self.oven.open_door", "Open the oven", "Open the oven"),
    ],
)
async def test_a_tool_is_called_what_its_entity_or_action_is_called(
    hass: HomeAssistant, tool: str, title: str, words: str
) -> None:
    await async_load_integrations(hass, {DOMAIN, "button"})
    assert tool_words(hass, tool, title) == words
