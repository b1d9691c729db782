"""Speech models for wake words: fetched when an owner has chosen one, and kept, or in a folder of the owner.

They are Espressif's, for use on its products, and no part of this integration. `speech_models.json` lists
those of ESP-SR 2.1.5 that are the same in 2.4.6: firmware from 2.0.2 on has one of these, or one between.
"""

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
import json
import logging
from pathlib import Path
from typing import Any, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.storage import STORAGE_DIR
from yarl import URL

from ...const import DOMAIN
from ..firmware.available_firmware import fetch
from ..firmware.firmware_image import FirmwareError
from ..firmware.installation import FirmwareTimeouts
from ..firmware.owner_files import read_file
from .assets_pack import Models
from .pack_installation import PackInstallation

_LOGGER = logging.getLogger(__name__)

MODELS_FOLDER: Final = ("xiaozhi", "models")
"""Relative to Home Assistant's configuration folder: where an owner without internet puts models."""
_CACHE: Final = (STORAGE_DIR, f"{DOMAIN}_models")

TABLE: Final[dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""Where the models are, and the files of each with size and hash."""
FIXED_WORDS: Final[dict[str, tuple[str, str]]] = {
    model: (entry["word"], entry["language"]) for model, entry in TABLE["models"].items() if "word" in entry
}
"""Words and language of the models with fixed words."""


async def async_models(hass: HomeAssistant, names: Iterable[str], installation: PackInstallation) -> Models:
    """Return models with their files.

    Raises `FirmwareError`, which names the folders of all that are missing.
    """
    run = hass.async_add_executor_job
    wanted = [(model, name) for model in names for name in TABLE["models"][model]["files"]]
    found: dict[str, dict[str, bytes]] = {}
    missing: dict[str, None] = {}
    for number, (model, name) in enumerate(wanted, 1):
        size, digest = TABLE["models"][model]["files"][name]
        own, kept = (Path(hass.config.path(*folder, model, name)) for folder in (MODELS_FOLDER, _CACHE))
        content = await run(_read, (own, kept), size, digest)
        # An unreachable server is not tried again.
        if content is None and not missing:
            url = source().joinpath(TABLE["models"][model]["folder"], model, name)
            installation.fetching(str(url.host), size)
            with suppress(FirmwareError):
                fetched = await fetch(async_get_clientsession(hass), url, size, FirmwareTimeouts.file)
                content = fetched if await run(_keep, kept, fetched, digest) else None
        if content is None:
            missing[model] = None
            continue
        found.setdefault(model, {})[name] = content
        installation.prepared(number / len(wanted))
    if missing:
        raise FirmwareError("model_missing", host=str(source().host), folders=", ".join(missing))
    return found


def source() -> URL:
    """Return where Espressif's models are."""
    return URL(TABLE["source"])


def _read(paths: Iterable[Path], size: int, digest: str) -> bytes | None:
    """Return a file of the owner's, or one that was fetched before, if it is the right one."""
    for path in paths:
        try:
            content = read_file(path, size)
        except OSError:
            continue
        if sha256(content).hexdigest() == digest:
            return content
    return None


def _keep(path: Path, content: bytes, digest: str) -> bool:
    if sha256(content).hexdigest() != digest:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # If this breaks off, the hash is wrong.
        path.write_bytes(content)
    except OSError as err:
        _LOGGER.warning("A speech model cannot be kept, and is fetched again the next time: %s", err)
    return True
