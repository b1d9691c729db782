"""Wake words that can be put on a device: which a board can run, and the asset pack for them.

Source: the firmware's `main/audio` and `main/assets.cc`, and ESP-SR's documents. A device whose pack has a
model that it does not know, or has no memory for, restarts endlessly: only packs that are known to fit are
built.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
import json
from pathlib import Path
import re
from typing import Any, Final, Self
import unicodedata

from ...protocol.checkin import Partition
from ...protocol.firmware_version import FirmwareVersion
from ...protocol.messages import identifier, named_font
from ...util.untrusted_json import parse_json
from ..firmware.firmware_image import FirmwareError
from .assets_pack import Asset, Models, PackError, read_models, read_pack, write_models, write_pack
from .owner_faces import own_faces
from .speech_models import FIXED_WORDS

ORIGINAL: Final = "original"
"""Id of the wake word of the device's release."""

_VERSIONS: Final = ((2, 0, 2), (2, 6, 0))
"""Known versions that look for the kind of wake word in their pack; the last is excluded."""
_FIXED: Final = {
    "esp32s3": "wn9_",
    "esp32p4": "wn9_",
    "esp32c3": "wn9s_",
    "esp32c5": "wn9s_",
    "esp32c6": "wn9s_",
}
"""Models with a fixed word, by chip. One takes the place of another of its size, or of a larger one."""
_REPLACEABLE: Final = {"wn9_": ("wn9_", "wn9l_", "mn"), "wn9s_": ("wn9s_",)}
_EMOTE_BOARDS: Final = re.compile("emote|echoear|esp-vocat|sensairshuttle")
"""Their packs have another form: `CONFIG_USE_EMOTE_MESSAGE_STYLE` in `main/boards`."""
_PHRASE_MEMORY: Final = 5_500_000
"""Free bytes at the check-in. MultiNet takes 4.1 MB; the echo canceller and the screen need the rest."""
_WORD_MODELS: Final = ("wn", "mn", "fst")
_INDEX: Final = "index.json"

MAX_PHRASES: Final = 8
_ENGLISH: Final = re.compile(r"[A-Za-z]{2,16}(?: [A-Za-z]{1,16}){0,4}")
_WITH_PINYIN: Final = re.compile(r"(.*[\u3400-\u9fff])\W+(.*)")
_HAN: Final = re.compile(r"[\u3400-\u9fff]+")
# The device does not escape the text in its messages.
_CHINESE: Final = re.compile(r"(\w{2,12}) *= *([a-z]{1,6}(?: [a-z]{1,6}){1,9})")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of the owner's that wakes a device."""

    text: str
    """Text that the device reports."""
    command: str
    """Text for its model: capital letters, or pinyin."""
    language: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `hello kitchen`, or `你好管家 = ni hao guan jia`; None for something else.

        Tones, capitals, punctuation and what is between the two make no difference; ü is v.
        """
        text = " ".join(unicodedata.normalize("NFKC", text).split())
        if parts := _WITH_PINYIN.fullmatch(text):
            pinyin = unicodedata.normalize("NFD", parts[2].lower().replace("u:", "v")).replace("u\u0308", "v")
            pinyin = "".join(letter for letter in pinyin if not unicodedata.combining(letter))
            pinyin = " ".join(re.sub(r"(?<=[a-z])[1-5]\b|[-'’.,!?)\"]", " ", pinyin).split())
            text = f"{re.sub(r'\W', '', parts[1])}={pinyin}"
        elif _ENGLISH.fullmatch(words := " ".join(re.sub(r"[-,.!?\"“”]", " ", text).split())):
            return cls(words, words.upper(), "en")
        match = _CHINESE.fullmatch(text)
        return cls(match[1], match[2], "cn") if match else None

    @property
    def syllables(self) -> int:
        """Number of syllables, of English roughly: groups of vowels, without a silent e."""
        if self.language == "cn":
            return len(self.command.split())
        spoken = re.sub(r"(?<=[AEIOUY])([^AEIOUYL\s]+)E\b", r"\1", self.command)
        return len(re.findall("[AEIOUY]+", spoken))

    @property
    def is_whole(self) -> bool:
        """Whether there is a syllable for each Chinese character."""
        return not _HAN.fullmatch(self.text) or self.syllables == len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Properties that decide about the wake words of a device; None if unknown."""

    name: str | None
    chip: str | None
    firmware: FirmwareVersion | None
    memory: int | None
    """Least free bytes since its start, at its last check-in."""
    partition: Partition | None

    @property
    def objection(self) -> FirmwareError | None:
        """Why it can have no other wake word, or None."""
        oldest, newest = _VERSIONS
        if (
            self.partition is not None
            and self.chip in _FIXED
            and self.firmware is not None
            and oldest <= self.firmware < newest
            and self.name is not None
            and not _EMOTE_BOARDS.search(self.name)
        ):
            return None
        return FirmwareError(
            "wake_words_unknown_board",
            board=identifier(self.name) or "?",
            chip=identifier(self.chip) or "?",
            version=str(self.firmware or "?"),
        )

    @property
    def objection_to_phrases(self) -> FirmwareError | None:
        """Why it can have no phrases of the owner's, or None."""
        if self.objection is not None:
            return self.objection
        if self.chip != "esp32s3":
            # It is one of those in `_FIXED`.
            return FirmwareError("phrases_need_chip", chip=f"ESP32-{(self.chip or '')[5:].upper()}")
        needed = f"{_PHRASE_MEMORY / 1e6:.1f}"
        if self.memory is None:
            return FirmwareError("phrases_memory_unknown", needed=needed)
        if self.memory > _PHRASE_MEMORY:
            return None
        return FirmwareError("phrases_need_memory", needed=needed, free=f"{self.memory / 1e6:.1f}")

    @property
    def fixed_words(self) -> Mapping[str, tuple[str, str]]:
        """The words and their languages by the models that it may have, in the order of the words."""
        family = _FIXED.get(self.chip or "")
        if self.objection is not None or family is None:
            return {}
        words = sorted(FIXED_WORDS.items(), key=lambda each: each[1][0].casefold())
        return {model: word for model, word in words if model.startswith(family)}


@dataclass(frozen=True, slots=True)
class Choice:
    """Chosen wake words: a model with fixed words, or phrases of the owner's."""

    models: tuple[str, ...]
    phrases: tuple[Phrase, ...] = ()
    threshold: float = 0.0
    """From 0 (a phrase is heard too often) to 1."""

    @classmethod
    def of(cls, ids: Iterable[str], phrases: Iterable[Phrase], threshold: float, board: Board) -> Self | None:
        """Return the choice of these wake words; None for that of the release. Raises `FirmwareError`.

        The id of a phrase is its text, that of a fixed word its model.
        """
        if (objection := board.objection) is not None:
            raise objection
        chosen = tuple(dict.fromkeys(ids))
        if chosen == (ORIGINAL,):
            return None
        own = tuple(phrase for phrase in phrases if phrase.text in chosen)
        if len(own) == len(chosen) > 0 and len({phrase.language for phrase in own}) == 1:
            if (objection := board.objection_to_phrases) is not None:
                raise objection
            return cls(("fst", f"mn6_{own[0].language}"), own, threshold)
        if len(chosen) == 1 and chosen[0] in board.fixed_words:
            return cls(chosen)
        raise FirmwareError("wake_words_mixed")


def build_pack(
    base: bytes, choice: Choice | None, models: Models, board: Board, faces: Path
) -> tuple[bytes, str | None]:
    """Return the pack of a release with other wake words, and the name of its font. Not in the event loop.

    `models` has the chosen models with their files, the folder `faces` pictures of the owner's. Raises
    `FirmwareError`.
    """
    assets = read_pack(base)
    index, name, found = _words(assets)
    family = _FIXED[board.chip or ""]
    if any(each.endswith(".eaf") for each in assets) or not any(
        model.startswith(_REPLACEABLE[family]) for model in found
    ):
        raise FirmwareError("pack_without_words")
    if choice is not None:
        kept = {model: files for model, files in found.items() if not model.startswith(_WORD_MODELS)}
        chosen = {model: models[model] for model in choice.models}
        index.pop("multinet_model", None)
        if choice.phrases:
            index["multinet_model"] = _multinet(choice, models)
        changed = {
            name: write_models(dict(sorted((kept | chosen).items()))),
            _INDEX: json.dumps(index, indent=4, ensure_ascii=False).encode(),
        }
        assets |= {each: replace(assets[each], content=content) for each, content in changed.items()}
    pack = write_pack(assets | own_faces(assets, index, faces))
    space = board.partition.size if board.partition else 0
    if len(pack) > space:
        raise FirmwareError("pack_too_large", needed=str(len(pack)), space=str(space))
    return pack, _font(index)


def _font(index: Mapping[str, Any]) -> str | None:
    """Return the name of the font. Since 2.4.0 there is a description of it."""
    described = index.get("text_font_meta")
    named = named_font(described) if isinstance(described, dict) else None
    return named or identifier(str(index.get("text_font") or "").removesuffix(".bin"))


def _words(assets: Mapping[str, Asset]) -> tuple[dict[str, Any], str, Models]:
    """Return the index of a pack, the name of the file with its models, and these."""
    try:
        index = parse_json(assets[_INDEX].content)
        name = index["srmodels"]
        models = read_models(assets[name].content)
    except (KeyError, TypeError, ValueError) as err:
        raise PackError from err
    if not isinstance(index, dict) or index.get("version") != 1:
        raise PackError
    return index, name, models


def _multinet(choice: Choice, models: Models) -> dict[str, object]:
    language = choice.phrases[0].language
    vocabulary = models[f"mn6_{language}"]["vocab"].decode(errors="replace").split()
    for phrase in choice.phrases:
        # English is spelled by letters, all of which the model knows.
        unknown = [word for word in phrase.command.split() if f"▁{word}" not in vocabulary]
        if language == "cn" and unknown:
            raise FirmwareError("phrase_syllable", syllable=unknown[0])
    return {
        "language": language,
        "duration": 3000,
        "threshold": choice.threshold,
        "commands": [
            {"command": phrase.command, "text": phrase.text, "action": "wake"} for phrase in choice.phrases
        ],
    }
