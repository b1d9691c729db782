"""Loading an asset pack, and what wakes the device with it.

Source: the firmware's `Application::CheckAssetsVersion`, `Assets::Download` and `Assets::Apply`; up to 2.2.6
`AudioService::SetModelsList`, since 2.3.0 `AfeAudioEngine::Initialize`; `CustomWakeWord` for phrases.
"""

from typing import Any, Final

from ..board.crash import DeviceCrashed
from ..firmware.assets import ASSETS_PARTITION_BYTES, Models, read_models
from ..link.http_client import HttpClient, HttpError
from ..link.misbehave import Misbehaviour
from .control import Control
from .hardware import Hardware
from .state import State

_BYTES_PER_SECOND: Final = 64_000
_MULTINET_BYTES: Final = 4_100_000
_KNOWN: Final = {"wn9", "wn9l", "wn9s", "mn6", "mn7"}
_SECOND_KIND: Final = {"esp32s3", "esp32p4"}


class Assets:
    """The pack that a run of the firmware uses."""

    def __init__(self, hardware: Hardware, http: HttpClient, control: Control) -> None:
        self._hardware = hardware
        self._http = http
        self._control = control
        self._wakes: dict[str, str] | None = None
        """Wake words in lower case, with the reported ones; None for any word, as without a pack."""
        self.charset = "basic"
        """The characters of its font: those of the one in the firmware, until a pack is loaded."""

    def heard(self, word: str) -> str | None:
        """Return what the device reports when it hears a word; None if that does not wake it."""
        return word if self._wakes is None else self._wakes.get(word.casefold())

    @property
    def words(self) -> list[str]:
        """Wake words in lower case; empty for any word."""
        return list(self._wakes or ())

    async def check(self) -> None:
        """Download a new pack if one is wanted, and load what is there. Raises `DeviceCrashed`."""
        hardware = self._hardware
        if hardware.profile.number < (2, 0, 0):
            return
        if url := hardware.nvs.get_string("assets", "download_url"):
            hardware.nvs.set("assets", "download_url", "")
            if not await self._update(url):
                # It returns before the pack is loaded: there is no wake word until the next start.
                self._wakes = {}
                return
        self._wakes = self._load()

    async def _update(self, url: str) -> bool:
        hardware, screen = self._hardware, self._hardware.screen
        screen.show_alert("Loading assets...", f"Found new assets: {url}", "cloud_download")
        hardware.recorder.add("sound", name="upgrade")
        await hardware.pace.wait(3)
        await self._control.set_state(State.UPGRADING)
        screen.show_message("system", "Please wait...")
        hardware.recorder.add("assets", url=url)
        try:
            await self._download(url)
        except HttpError as err:
            hardware.recorder.add("assets_failed", url=url, error=str(err))
            screen.show_alert("ERROR", "Failed to download assets", "cancel")
            hardware.recorder.add("sound", name="exclamation")
            await hardware.pace.wait(2)
            await self._control.set_state(State.ACTIVATING)
            return False
        await hardware.pace.wait(1)
        hardware.recorder.add("assets_loaded", url=url)
        return True

    async def _download(self, url: str) -> None:
        partition, header_last = self._hardware.assets, self._hardware.profile.number >= (2, 3, 0)
        written = 0

        async def write(page: bytes, length: int) -> None:
            nonlocal written
            if length > ASSETS_PARTITION_BYTES:
                raise HttpError("it is larger than the partition")
            if not written:
                partition.begin()
            partition.write(written, page, header_last=header_last)
            written += len(page)
            await self._hardware.pace.write_flash(len(page) / _BYTES_PER_SECOND)

        await self._http.download(url, write)
        if header_last:
            partition.finish()
        if partition.files() is None:
            raise HttpError("the pack is damaged")

    def _load(self) -> dict[str, str] | None:
        partition = self._hardware.assets
        if not partition.content:
            return None
        index = partition.index()
        data = (partition.files() or {}).get(str((index or {}).get("srmodels")))
        if index is None or data is None:
            return {}
        self.charset = (index.get("text_font_meta") or {}).get("charset", self.charset)
        models = read_models(data)
        for model in models:
            if model.startswith(("wn", "mn")) and model.partition("_")[0] not in _KNOWN:
                raise DeviceCrashed(f"null pointer: the firmware knows no model {model}")
        second = self._hardware.profile.board.chip in _SECOND_KIND and self._hardware.profile.number >= (
            2,
            0,
            2,
        )
        if second and any(model.startswith("mn") for model in models):
            return self._multinet(index, models)
        return _wakenet(models)

    def _multinet(self, index: dict[str, Any], models: Models) -> dict[str, str]:
        """Return the phrases of MultiNet."""
        if self._hardware.profile.board.free_memory < _MULTINET_BYTES:
            raise DeviceCrashed("null pointer: there is no memory for MultiNet")
        if "fst" not in models or Misbehaviour.DEAF_TO_PHRASES in self._hardware.faults.what:
            return {}
        commands = index.get("multinet_model", {}).get("commands", [])
        return {
            said.casefold(): command["text"]
            for command in commands
            if command.get("action") == "wake"
            for said in (command["command"], command["text"])
        }


def _wakenet(models: Models) -> dict[str, str]:
    """Return the words of the first WakeNet model; its information names them."""
    for model, files in models.items():
        if model.startswith("wn"):
            *_, information = files.get("_MODEL_INFO_", b"").decode().strip().splitlines() or [""]
            words = information.split("_")[2:3]
            return {word.casefold(): word for word in words[0].split(";")} if words else {}
    return {}
