"""Random sentences that Home Assistant's recogniser knows, about a house with many things."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice, product
import random
from typing import Any, Final

from hassil.expression import (
    Alternative,
    Expression,
    Group,
    ListReference,
    Permutation,
    RuleReference,
    TextChunk,
)
from hassil.intents import IntentData, Intents, RangeSlotList, SlotList, TextSlotList
from hassil.numbers import get_rbnf_engine
from hassil.util import check_excluded_context, check_required_context, normalize_text

__all__ = ["LANGUAGES", "Sampler", "Vocabulary", "beginnings", "things"]

_NUMBERS: Final = (1, 5, 10, 20, 21, 25, 30, 45, 50, 75, 100)
_LONGEST: Final = 150


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of a language for rooms, things in them, and whatever else."""

    space: str
    rooms: tuple[str, ...]
    floor: str
    things: Mapping[str, str]
    """Name and domain."""
    anything: tuple[str, ...]


LANGUAGES: Final = {
    "en": Vocabulary(
        " ",
        ("kitchen", "bedroom", "living room", "bathroom", "office", "hall", "garage", "attic"),
        "first floor",
        {
            "lamp": "light",
            "ceiling light": "light",
            "desk fan": "fan",
            "heater": "switch",
            "speaker": "media_player",
            "thermostat": "climate",
            "blinds": "cover",
            "door lock": "lock",
            "vacuum": "vacuum",
            "shopping list": "todo",
            "temperature sensor": "sensor",
            "movie night": "scene",
            "good night": "script",
            "weather": "weather",
            "mower": "lawn_mower",
            "valve": "valve",
        },
        ("milk", "happy birthday", "dinner is ready"),
    ),
    "de": Vocabulary(
        " ",
        ("Küche", "Schlafzimmer", "Wohnzimmer", "Bad", "Büro", "Flur", "Garage", "Dachboden"),
        "Obergeschoss",
        {
            "Lampe": "light",
            "Deckenlicht": "light",
            "Ventilator": "fan",
            "Steckdose": "switch",
            "Lautsprecher": "media_player",
            "Thermostat": "climate",
            "Rollo": "cover",
            "Türschloss": "lock",
            "Staubsauger": "vacuum",
            "Einkaufsliste": "todo",
            "Temperatur": "sensor",
            "Filmabend": "scene",
            "Gute Nacht": "script",
            "Wetter": "weather",
            "Mäher": "lawn_mower",
            "Ventil": "valve",
        },
        ("Milch", "alles Gute"),
    ),
    "fr": Vocabulary(
        " ",
        ("cuisine", "chambre", "salon", "salle de bain", "bureau", "couloir", "garage", "grenier"),
        "premier étage",
        {
            "lampe": "light",
            "plafonnier": "light",
            "ventilateur": "fan",
            "prise": "switch",
            "enceinte": "media_player",
            "thermostat": "climate",
            "volet": "cover",
            "serrure": "lock",
            "aspirateur": "vacuum",
            "liste de courses": "todo",
        },
        ("du lait",),
    ),
    "ja": Vocabulary(
        "",
        ("台所", "寝室", "居間", "浴室", "書斎", "廊下", "車庫", "屋根裏"),
        "二階",
        {"ライト": "light", "照明": "light", "扇風機": "fan", "コンセント": "switch", "エアコン": "climate"},
        ("牛乳",),
    ),
    "zh-CN": Vocabulary(
        "",
        ("厨房", "卧室", "客厅", "浴室", "书房", "走廊", "车库", "阁楼"),
        "二楼",
        {
            "灯": "light",
            "吊灯": "light",
            "风扇": "fan",
            "插座": "switch",
            "音箱": "media_player",
            "空调": "climate",
            "窗帘": "cover",
            "门锁": "lock",
            "扫地机": "vacuum",
            "购物清单": "todo",
            "温度计": "sensor",
            "电影模式": "scene",
            "晚安": "script",
            "天气": "weather",
        },
        ("牛奶", "生日快乐"),
    ),
}


def things(words: Vocabulary, number: int) -> list[tuple[str, str]]:
    """Return the name and domain of this many things in the rooms."""
    return [*islice(_things(words), number)]


def _things(words: Vocabulary) -> Iterator[tuple[str, str]]:
    yield from ((words.space.join((room, name)), kind) for (name, kind), room in _in_rooms(words))
    for number in count(2):
        for (name, kind), room in _in_rooms(words):
            yield words.space.join((room, name, str(number))), kind


def _in_rooms(words: Vocabulary) -> Iterator[tuple[tuple[str, str], str]]:
    return product(words.things.items(), words.rooms)


def beginnings(text: str, words: Vocabulary) -> list[str]:
    """Return all texts that somebody has said before the last word, or the last character without spaces."""
    parts = text.split() if words.space else [*text]
    begun = (words.space.join(parts[:end]).strip() for end in range(1, len(parts)))
    return [text for text in begun if text]


class Sampler:
    """Random sentences from the recogniser's templates."""

    def __init__(
        self,
        language: str,
        intents: Intents,
        lists: Mapping[str, SlotList],
        words: Vocabulary,
        seed: int,
    ) -> None:
        """`lists` has the names of the home."""
        self._language = language
        self._intents = intents
        self._lists = {**intents.slot_lists, **lists}
        self._words = words
        self._random = random.Random(seed)
        self._blocks = {
            name: [(block, sentence) for block in intent.data for sentence in block.sentences]
            for name, intent in intents.intents.items()
        }
        self._all = [item for items in self._blocks.values() for item in items]

    def sentence(self) -> str:
        """Return a sentence: half of them of a random intent, since some have most of the templates."""
        while True:
            some = self._all
            if self._random.random() < 0.5:
                some = self._blocks[self._random.choice([*self._blocks])]
            if not some:
                continue
            block, sentence = self._random.choice(some)
            try:
                text = normalize_text(self._sample(sentence.expression, block)).strip()
            except LookupError:
                # The house has nothing of the kind.
                continue
            if 0 < len(text) < _LONGEST:
                return text

    def _sample(self, part: Expression, block: IntentData) -> str:
        match part:
            case TextChunk():
                return part.original_text
            case Alternative():
                return self._sample(self._random.choice(part.items), block)
            case Permutation():
                items = self._random.sample(part.items, len(part.items))
                return "".join(self._sample(item, block) for item in items)
            case Group():
                return "".join(self._sample(item, block) for item in part.items)
            case RuleReference():
                rule = (
                    block.expansion_rules.get(part.rule_name) or self._intents.expansion_rules[part.rule_name]
                )
                return self._sample(rule.expression, block)
            case ListReference():
                return self._value(block.slot_lists.get(part.list_name) or self._lists[part.list_name], block)
        raise ValueError(part)

    def _value(self, values: SlotList, block: IntentData) -> str:
        if isinstance(values, TextSlotList):
            fitting = [value for value in values.values if _fits(block, value.context or {})]
            return self._sample(self._random.choice(fitting).text_in, block)
        if not isinstance(values, RangeSlotList):
            return self._random.choice(self._words.anything)
        number = self._random.choice(_NUMBERS)
        if not values.start <= number <= values.stop:
            number = values.start
        if values.words and self._random.random() < 0.5:
            return self._random.choice(
                sorted(get_rbnf_engine(self._language).format_number(number).text_by_ruleset.values())
            )
        return str(number)


def _fits(block: IntentData, context: dict[str, Any]) -> bool:
    return check_required_context(
        block.requires_context, context, allow_missing_keys=True
    ) and check_excluded_context(block.excludes_context, context)
