"""How well and how quickly it is judged whether a sentence is complete."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
import gc
from time import perf_counter
import tracemalloc
from typing import Any, Final

from hassil.intents import SlotList
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.intent import async_register_timer_handler
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, intent
from homeassistant.setup import async_setup_component

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.voice.sentences import Completeness, Sentences
from custom_components.xiaozhi.voice.sentences.recogniser import Hearing, async_hear, own_lists, recognise
from custom_components.xiaozhi.voice.sentences.request import Request

from .house import House
from .report import Finding, Row, median, percentile
from .sentence_samples import LANGUAGES, Sampler, Vocabulary, beginnings, things

__all__ = ["measure"]

_SEED: Final = 11
_SENTENCES: Final = 100
_NAMES: Final = (50, 500, 2000)
_PATIENCE: Final = 60.0
_TIMER_DEVICE: Final = "benchmark"
# What opens can be opened to a position, so that more words can change a command.
_ATTRIBUTES: Final[Mapping[str, Mapping[str, Any]]] = {
    "cover": {"supported_features": 15, "device_class": "blind"},
    "valve": {"supported_features": 15},
}
# The others with few names only.
_WITH_MANY_NAMES: Final = ("en", "de", "zh-CN")


@dataclass
class _Tally:
    """Judgements on some sentences and on what was said of them before."""

    sentences: Counter[Completeness] = field(default_factory=Counter)
    beginnings: Counter[Completeness] = field(default_factory=Counter)
    wrong: int = 0
    """Beginnings that were taken for complete, though the whole sentence means something else."""
    milliseconds: list[float] = field(default_factory=list)


async def measure(house: House, *, quick: bool = False) -> Finding:
    """Judge random sentences of the recogniser, and all their beginnings."""
    hass = house.hass
    assert await async_setup_component(hass, "conversation", {})
    await _start_timers(hass)
    rows: list[Row] = []
    for language in ("en",) if quick else LANGUAGES:
        for names in (50,) if quick else _NAMES if language in _WITH_MANY_NAMES else (50,):
            async with _named(hass, LANGUAGES[language], names):
                rows.append(await _measured(hass, language, names, 3 if quick else _SENTENCES))
    await intent.async_handle(hass, DOMAIN, intent.INTENT_CANCEL_ALL_TIMERS, device_id=_TIMER_DEVICE)
    return Finding(
        benchmark="sentences",
        claim="judgements on random commands and all their beginnings; wrong: taken for complete, though "
        "more words make another command; ms: median, p99, first, warm-up, after a change of names; "
        "MiB: kept for the language and the names",
        rows=rows,
    )


async def _start_timers(hass: HomeAssistant) -> None:
    """Start two timers, so that it matters which one is meant."""
    async_register_timer_handler(hass, _TIMER_DEVICE, lambda *_: None)
    for name in ("tea", "pizza"):
        slots = {"name": {"value": name}, "hours": {"value": 10}}
        await intent.async_handle(hass, DOMAIN, intent.INTENT_START_TIMER, slots, device_id=_TIMER_DEVICE)


@asynccontextmanager
async def _named(hass: HomeAssistant, words: Vocabulary, number: int) -> AsyncGenerator[None]:
    """Have so many things and their rooms meanwhile."""
    areas = ar.async_get(hass)
    rooms = [areas.async_get_or_create(room) for room in words.rooms]
    ids = []
    for index, (name, domain) in enumerate(things(words, number)):
        ids.append(f"{domain}.thing_{index}")
        hass.states.async_set(ids[-1], "off", {"friendly_name": name, **_ATTRIBUTES.get(domain, {})})
        async_expose_entity(hass, "conversation", ids[-1], should_expose=True)
    await hass.async_block_till_done()
    try:
        yield
    finally:
        for entity_id in ids:
            hass.states.async_remove(entity_id)
        for room in rooms:
            areas.async_delete(room.id)
        await hass.async_block_till_done()


async def _measured(hass: HomeAssistant, language: str, names: int, number: int) -> Row:
    words = LANGUAGES[language]
    mebibytes = await _mebibytes(hass, language)
    sentences = Sentences(hass, time_limit=_PATIENCE)
    begun = perf_counter()
    await sentences.warm(language, None)
    warm_up = _milliseconds(begun)

    async def judge(text: str) -> tuple[Completeness, float]:
        begun = perf_counter()
        judged = await sentences.judge(text, language=language, agent_id=None, device_id=None)
        return judged, _milliseconds(begun)

    hearing = await async_hear(hass, Request("", language, None, False, None, 0.0))
    assert hearing is not None
    assert hearing.intents is not None
    lists = own_lists(hearing.lists)
    sampler = Sampler(language, hearing.intents, lists, words, _SEED)
    tally = _Tally()
    _, first = await judge(sampler.sentence())
    for _ in range(number):
        sentence = sampler.sentence()
        meant = _meaning(hearing, lists, sentence)
        for text in [*beginnings(sentence, words), sentence]:
            judged, milliseconds = await judge(text)
            tally.milliseconds.append(milliseconds)
            (tally.sentences if text == sentence else tally.beginnings)[judged] += 1
            if judged is Completeness.COMPLETE and _meaning(hearing, lists, text) != meant:
                tally.wrong += 1
    hass.states.async_set("light.new", "off", {"friendly_name": "novelty"})
    async_expose_entity(hass, "conversation", "light.new", should_expose=True)
    _, changed = await judge(sampler.sentence())
    hass.states.async_remove("light.new")
    return {
        "language": language,
        "names": names,
        **{f"{kind} %": _percent(tally.sentences, kind) for kind in Completeness},
        "beginnings": tally.beginnings.total(),
        **{f"its {kind} %": _percent(tally.beginnings, kind) for kind in Completeness},
        "wrong": tally.wrong,
        "median": _rounded(median(tally.milliseconds)),
        "p99": _rounded(percentile(tally.milliseconds, 99)),
        "first": _rounded(first),
        "warm-up": _rounded(warm_up),
        "changed": _rounded(changed),
        "MiB": mebibytes,
    }


async def _mebibytes(hass: HomeAssistant, language: str) -> float:
    """Return how much a judge keeps beside what Home Assistant keeps of a language itself."""
    await Sentences(hass).warm(language, None)
    gc.collect()
    tracemalloc.start()
    try:
        sentences = Sentences(hass)
        before = tracemalloc.get_traced_memory()[0]
        await sentences.warm(language, None)
        gc.collect()
        return round((tracemalloc.get_traced_memory()[0] - before) / 2**20, 1)
    finally:
        tracemalloc.stop()


def _meaning(hearing: Hearing, lists: dict[str, SlotList], text: str) -> tuple[object, ...] | None:
    """Return what the recogniser understands; where the only thing of a name is does not matter."""
    assert hearing.intents is not None
    result = recognise(replace(hearing, text=text), hearing.intents, lists)
    if result is None:
        return None
    slots = {name: str(entity.value) for name, entity in result.entities.items()}
    if "name" in slots:
        slots.pop("area", None)
        slots.pop("floor", None)
    return result.intent.name, result.response, sorted(slots.items())


def _milliseconds(begun: float) -> float:
    return 1000 * (perf_counter() - begun)


def _percent(counts: Counter[Completeness], kind: Completeness) -> float:
    return round(100 * counts[kind] / max(1, counts.total()))


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 1)
