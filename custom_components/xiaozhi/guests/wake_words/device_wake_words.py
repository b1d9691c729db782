"""The wake words of a device, as its owner sees and changes them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
import re
from typing import Any, Final, override

from homeassistant.core import callback
import voluptuous as vol
from yarl import URL

from ...device.device import Device
from ...device.guest import DevicePart
from ...errors import InputError
from ...protocol.checkin import Partition
from ...settings import TEXTS, stored
from ...texts.translated import async_explain, async_text, known_text
from ...tools.stock_tools import ASSETS_TOOL
from ...util.text import plain_name
from ...voice.pipelines import spoken_language
from ..firmware.available_firmware import FirmwareFiles
from ..firmware.firmware_image import FirmwareError
from ..firmware.installation import DeviceInstallation
from .owner_faces import FACES_FOLDER
from .pack_installation import SENT_PACK, PackInstallation
from .speech_models import FIXED_WORDS, async_models, source
from .wake_word_packs import ORIGINAL, Board, Choice, Phrase, build_pack

DECIDE_ABOUT_PACKS: Final = ("tools", "board", "chip", "firmware", "assets", "free_memory")
"""Keys of the state that decide which packs a device can load."""
NO_PACK: Final[dict[str, Any]] = {
    **dict.fromkeys(("installed_wake_words", "sent_pack", "wake_words"), ()),
    **dict.fromkeys(("font", "lost_pack")),
}
"""The fields about the pack of a device, where nothing is known of it."""
CONF_WAKE_PHRASES: Final = "wake_phrases"
CONF_WAKE_THRESHOLD: Final = "wake_threshold"
_LANGUAGES: Final = {"cn": "zh", "en": "en"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseSettings:
    """Phrases of an owner's."""

    wake_phrases: tuple[str, ...] = stored(TEXTS, ())
    """As typed into the form of the device."""
    wake_threshold: float = stored(vol.All(vol.Coerce(float), vol.Range(min=0.05, max=0.95)), 0.2)
    """Certainty with which the device must have heard one of them."""


class WakeWords(DevicePart):
    """The wake words of a device, and those that it could have."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._hass = device.hass
        self._files = device.part(FirmwareFiles)

    @property
    def board(self) -> Board:
        """The properties that decide about its wake words."""
        return board_of(self.device)

    @property
    def phrases(self) -> Sequence[Phrase]:
        """Phrases of its owner, if it can have any."""
        if self.board.objection_to_phrases is not None:
            return ()
        return tuple(filter(None, map(Phrase.parse, self.device.settings.of(PhraseSettings).wake_phrases)))

    @property
    def available(self) -> Mapping[str, tuple[str, str]]:
        """Words and languages, by id; empty where there is no choice."""
        board = self.board
        if board.objection is not None:
            return {}
        return {
            ORIGINAL: (known_text(self._hass, "wake_word_original"), ""),
            **{phrase.text: (phrase.text, _LANGUAGES[phrase.language]) for phrase in self.phrases},
            **board.fixed_words,
        }

    @property
    def installation(self) -> PackInstallation | None:
        """The running installation of a pack."""
        running = self.device.part(DeviceInstallation).running
        return running if isinstance(running, PackInstallation) else None

    @property
    def active(self) -> tuple[str, ...]:
        """Ids of the installed wake words, since the device does not report them.

        Empty if they are unknown: while others are on their way, and after the device has reported another
        word.
        """
        state = self.device.state
        return () if SENT_PACK.of(state) else state.installed_wake_words

    @property
    def shown(self) -> tuple[str, ...]:
        """Ids of those that are active; where that is unknown, of the one that the device has reported."""
        state = self.device.state
        if self.active or SENT_PACK.of(state) or not (heard := state.wake_words[:1]):
            return self.active
        words = (model for model in self.board.fixed_words if _is_heard(model, _plain(*heard)))
        # None of ours: it is the one that the device has come with.
        return (next(words, ORIGINAL),)

    @callback
    def compare(self) -> None:
        """Forget what was installed if the device reports another word: it was flashed with another tool."""
        state = self.device.state
        installed, heard = state.installed_wake_words, _plain(*state.wake_words[:1])
        # The word of a release is unknown.
        fits = not heard or ORIGINAL in installed or any(_is_heard(each, heard) for each in installed)
        if not fits and installed:
            self.device.record.update(installed_wake_words=())

    @property
    def hint(self) -> str:
        """A hint at downloads for a choice, or at the owner's next step; empty if there is none."""
        if (running := self.installation) is None:
            hosts = {"releases": _host(self._files.releases), "models": str(source().host)}
            return known_text(self._hass, "wake_words_ask", **hosts)
        if running.source is not None:
            host, size = running.source
            return known_text(self._hass, "wake_words_fetching", host=host, size=f"{size / 1e6:.1f}")
        return known_text(self._hass, "wake_words_waiting") if running.waiting else ""

    @override
    async def update_notes(self) -> list[str]:
        notes = [await async_text(self._hass, "updates_leave_pack")] if takes_packs(self.device) else []
        if font := self.device.state.font:
            notes.append(await async_text(self._hass, "updates_leave_font", font=plain_name(font)))
        return notes

    async def async_choose(self, ids: Sequence[str]) -> None:
        """Put wake words on the device, which restarts for them. Raises `HomeAssistantError`."""
        device = self.device
        installation = PackInstallation(device, tuple(ids), spoken_language(self._hass, device))
        with device.part(DeviceInstallation).installing(installation):
            if device.state.origin is None:
                raise InputError("pack_no_address", name=device.name)
            try:
                pack, font = await self._pack(ids, installation)
            except FirmwareError as err:
                reason = await async_explain(self._hass, err)
                raise InputError("wake_words_unusable", name=device.name, reason=reason) from err
            installation.check()
            known: dict[str, Any] = {}
            try:
                await installation.deliver(pack)
                known = {"installed_wake_words": tuple(ids), "font": font}
            finally:
                # A word that it has heard before may no longer wake it.
                changes = NO_PACK | known if installation.begun else {}
                waits = () if installation.settled else SENT_PACK.of(device.state)
                device.record.update(**changes | {"sent_pack": waits})
            await device.record.async_save()

    async def async_renew(self) -> None:
        """Put the pack of its firmware on the device, with its active or chosen wake words.

        Phrases of its owner are replaced by the present ones. Raises `HomeAssistantError`.
        """
        wanted = SENT_PACK.of(self.device.state) or self.active or (ORIGINAL,)
        if not FIXED_WORDS.keys() >= {*wanted} - {ORIGINAL}:
            wanted = tuple(phrase.text for phrase in self.phrases) or (ORIGINAL,)
        await self.async_choose(wanted)

    async def _pack(self, ids: Sequence[str], installation: PackInstallation) -> tuple[bytes, str | None]:
        board, state = self.board, self.device.state
        choice = Choice.of(ids, self.phrases, self.device.settings.of(PhraseSettings).wake_threshold, board)
        base = await self._files.async_load_pack(
            board.name or "",
            state.firmware or "",
            board.chip or "",
            board.partition or Partition(0, 0),
            installation.fetching,
        )
        wanted = () if choice is None else choice.models
        models = await async_models(self._hass, wanted, installation)
        faces = Path(self._hass.config.path(*FACES_FOLDER))
        return await self._hass.async_add_executor_job(build_pack, base, choice, models, board, faces)


def takes_packs(device: Device) -> bool:
    """Return whether a device can be given a pack."""
    return board_of(device).objection is None


def board_of(device: Device) -> Board:
    """Return the properties that decide about the wake words of a device."""
    state = device.state
    return Board(
        name=state.board,
        chip=state.chip,
        firmware=state.firmware_version,
        memory=state.free_memory,
        partition=state.assets if ASSETS_TOOL in device.tools else None,
    )


def _host(address: str) -> str:
    with suppress(ValueError):
        return URL(address).host or address
    return address


def _is_heard(wake_word: str, heard: str) -> bool:
    """Whether a device reports the wake word with this id."""
    word, _ = FIXED_WORDS.get(wake_word, (wake_word, ""))
    return any(_plain(part) in heard for part in word.split(", "))


def _plain(*words: str) -> str:
    """Return the letters of words: devices write `Hi,ESP`, people `Hi ESP`."""
    return re.sub(r"[\W_]", "", "".join(words)).casefold()
