"""The wake words of a device, as its owner sees and changes them."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
import re
from typing import Final

from homeassistant.core import HomeAssistant

from ..device.device import Device
from ..device.state import INSTALLATION
from ..errors import InputError
from ..firmware.faces import FACES_FOLDER
from ..firmware.image import FirmwareError
from ..firmware.installation import PackInstallation
from ..firmware.library import FirmwareFiles
from ..firmware.speech_models import async_models
from ..firmware.wake_words import ORIGINAL, Board, Choice, Phrase, build_pack
from ..protocol.checkin import Partition
from ..protocol.faces import Face
from ..texts.translated import async_explain, async_text, known_text
from ..tools.stock_tools import ASSETS_TOOL
from .pipelines import spoken_language

DECIDE_ABOUT_PACKS: Final = ("tools", "board", "chip", "firmware", "assets", "free_memory")
"""The parts of the state that decide about the packs that a device can be given."""
_LANGUAGES: Final = {"cn": "zh", "en": "en"}


class WakeWords:
    """What wakes a device, and what else could."""

    def __init__(self, hass: HomeAssistant, device: Device, files: FirmwareFiles) -> None:
        self._hass = hass
        self._device = device
        self._files = files

    @property
    def board(self) -> Board:
        """What decides about its wake words."""
        return board_of(self._device)

    @property
    def phrases(self) -> Sequence[Phrase]:
        """Those of its owner, if it can have any."""
        if self.board.objection_to_phrases is not None:
            return ()
        return tuple(filter(None, map(Phrase.parse, self._device.settings.wake_phrases)))

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
    def active(self) -> tuple[str, ...]:
        """Ids of those that wake it; empty while that is not known.

        They cannot be read: they are those that were installed, or the one that it has reported since.
        """
        state, available = self._device.state, self.available
        installed = tuple(each for each in state.installed_wake_words if each in available)
        # Of a release, nobody knows the word.
        if not (heard := _plain(*state.wake_words[:1])) or installed == (ORIGINAL,):
            return installed
        # A phrase may wake it that is not in the form any more.
        words = {each: (each, "") for each in state.installed_wake_words} | {**available}
        fits = [
            each
            for each, (word, _) in words.items()
            if each != ORIGINAL and any(_plain(part) in heard for part in word.split(", "))
        ]
        return installed if {*state.installed_wake_words} & {*fits} else tuple(fits[:1])

    async def async_choose(self, ids: Sequence[str]) -> None:
        """Put wake words on the device, which restarts for them. Raises `HomeAssistantError`."""
        device = self._device
        if device.installation is not None:
            raise InputError("update_running", name=device.name)
        progressed = partial(device.record.notify, INSTALLATION)
        installation = PackInstallation(device.name, progressed)
        with device.installing(installation):
            try:
                pack, font = await self._pack(ids, installation)
            except FirmwareError as err:
                reason = await async_explain(self._hass, err)
                raise InputError("wake_words_unusable", name=device.name, reason=reason) from err
            installation.check()
            installed: tuple[str, ...] = ()
            try:
                linked = device.state.linked
                await installation.deliver(
                    pack, device.transfers, self._send, device.commands.restart, linked=linked
                )
                installed = tuple(ids)
            finally:
                # A word that it has heard before is no longer known to wake it.
                if installation.begun:
                    device.record.update(
                        installed_wake_words=installed, wake_words=(), font=font if installed else None
                    )

    async def async_renew(self) -> None:
        """Put the pack of its firmware on the device, with what wakes it now. Raises `HomeAssistantError`.

        If that is one of its owner's phrases, it gets those that there are now.
        """
        own, active = tuple(phrase.text for phrase in self.phrases), self.active
        await self.async_choose(own if {*active} & {*own} else active or (ORIGINAL,))

    async def _pack(self, ids: Sequence[str], installation: PackInstallation) -> tuple[bytes, str | None]:
        board, state = self.board, self._device.state
        settings = self._device.settings
        choice = Choice.of(ids, self.phrases, settings.wake_threshold, board)
        base = await self._files.async_load_pack(
            board.name or "", state.firmware or "", board.chip or "", board.partition or Partition(0, 0)
        )
        wanted = () if choice is None else choice.models
        models = await async_models(self._hass, wanted, installation.prepared)
        faces = Path(self._hass.config.path(*FACES_FOLDER))
        return await self._hass.async_add_executor_job(build_pack, base, choice, models, board, faces)

    async def _send(self, path: str) -> None:
        device = self._device
        language = spoken_language(self._hass, device)
        await device.commands.call_tool(ASSETS_TOOL, {"url": f"{device.state.origin}{path}"})
        text = await async_text(self._hass, "wake_words_coming", language)
        await device.commands.show(status="Home Assistant", message=text, emotion=Face.NEUTRAL)
        await device.commands.restart()


def takes_packs(device: Device, _: object = None) -> bool:
    """Return whether a device can be given a pack."""
    return board_of(device).objection is None


def board_of(device: Device) -> Board:
    """Return what decides about the wake words of a device."""
    state = device.state
    return Board(
        name=state.board,
        chip=state.chip,
        firmware=state.firmware_version,
        memory=state.free_memory,
        partition=state.assets if ASSETS_TOOL in device.tools else None,
    )


def _plain(*words: str) -> str:
    """Return the letters of words: devices write `Hi,ESP`, people `Hi ESP`."""
    return re.sub(r"[\W_]", "", "".join(words)).casefold()
