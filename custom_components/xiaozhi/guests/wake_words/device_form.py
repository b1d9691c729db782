"""The phrases in the form of a device."""

from collections.abc import Iterable
from typing import Final

from homeassistant.helpers.selector import (
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    TextSelector,
    TextSelectorConfig,
)
import voluptuous as vol

from ...device.device import Device
from ...forms.device_form import DeviceForm
from ...texts.translated import async_explain
from ...util.text import plain_name
from .device_wake_words import CONF_WAKE_PHRASES, CONF_WAKE_THRESHOLD, PhraseSettings, board_of
from .wake_word_packs import MAX_PHRASES, Phrase

# No default: an empty list is a choice, too.
_PHRASES: Final = {
    vol.Optional(CONF_WAKE_PHRASES, default=[]): TextSelector(TextSelectorConfig(multiple=True))
}
_THRESHOLD: Final = NumberSelector(
    NumberSelectorConfig(min=0.05, max=0.95, step=0.05, mode=NumberSelectorMode.SLIDER)
)


def check(form: DeviceForm) -> None:
    """Check the phrases."""
    texts = form.given.get(CONF_WAKE_PHRASES, [])
    error, phrase = _phrase_error(texts)
    if error is not None:
        form.errors[CONF_WAKE_PHRASES] = error
    form.placeholders["phrase"] = plain_name(phrase)
    if texts not in ([], [*form.before.of(PhraseSettings).wake_phrases]):
        form.reason = "phrases_saved"


async def add_fields(form: DeviceForm, device: Device | None) -> None:
    """Add the phrases, or the reason why the device can have none."""
    if device is None:
        return
    settings = form.before.of(PhraseSettings)
    form.words += [phrase.text for phrase in map(Phrase.parse, settings.wake_phrases) if phrase]
    if device.state.is_program:
        return
    if (objection := board_of(device).objection_to_phrases) is None:
        threshold = vol.Optional(CONF_WAKE_THRESHOLD, default=settings.wake_threshold)
        form.fields |= {**_PHRASES, threshold: _THRESHOLD}
    else:
        form.notes.append(await async_explain(device.hass, objection))


def _phrase_error(texts: Iterable[str]) -> tuple[str | None, str]:
    """Return the error in some phrases, and which one has it: no model or no single one understands them."""
    found = list[Phrase]()
    for text in texts:
        if (phrase := Phrase.parse(text)) is None or not phrase.is_whole:
            return "phrases_bad", text
        if phrase.syllables < 2:
            return "phrases_short", text
        found.append(phrase)
    alike = len({phrase.language for phrase in found}) < 2
    each_once = len({phrase.command for phrase in found}) == len(found)
    return None if alike and each_once and len(found) <= MAX_PHRASES else "phrases_mixed", ""
