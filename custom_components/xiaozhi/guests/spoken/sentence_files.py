"""Files with sentences about alarms for Home Assistant's own assistant, in the pipelines' languages.

Home Assistant offers integrations no other way: sentence triggers would keep the sentences from language
models.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
import logging
from pathlib import Path
from typing import Any, Final, override

from home_assistant_intents import get_languages
from homeassistant.components.assist_pipeline import async_get_pipelines
from homeassistant.components.conversation import DOMAIN as CONVERSATION
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import SERVICE_RELOAD
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.util.file import WriteError, write_utf8_file_atomic
from homeassistant.util.language import matches

from ...const import DOMAIN
from ...device.device import Device
from ...device.guest import GatewayPart
from ...settings import settings_of, stored
from ...texts.issues import async_raise_issue
from ...voice.pipelines import command_language
from .box_sentences import Ability, abilities
from .language import is_known, load_language
from .sentences import sentences

_LOGGER = logging.getLogger(__name__)

_FOLDER: Final = "custom_sentences"
CONF_UNDERSTAND_ALARMS: Final = "understand_alarms"
_NAME: Final = "xiaozhi.yaml"
_MARK: Final = "# Written by the XiaoZhi integration, which leaves it alone once it is changed. "
_ISSUE: Final = "sentences_changed"
# As for missing engines: Home Assistant does not report new pipelines.
_INTERVAL: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceSettings:
    """Settings of the gateway about sentences."""

    understand_alarms: bool = stored(bool, False)
    """Whether they are written for Home Assistant's own assistant."""


class SentenceFiles(GatewayPart):
    """Writes and removes the files: at the start, and when pipelines or abilities of devices have changed."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        super().__init__(hass, entry)
        self._is_wanted = settings_of(entry, SentenceSettings).understand_alarms
        self._written: tuple[set[str], set[Ability]] | None = None

    @property
    def languages(self) -> set[str]:
        """Languages in which sentences are understood."""
        return set() if self._written is None else self._written[0]

    @override
    async def async_start(self) -> None:
        await self._check()
        stop = async_track_time_interval(self.hass, self._check, _INTERVAL, cancel_on_shutdown=True)
        self.entry.async_on_unload(stop)

    async def _check(self, _: object = None) -> None:
        devices: list[Device] = self.entry.runtime_data.devices.values()
        languages = {command_language(each) for each in async_get_pipelines(self.hass) if self._is_wanted}
        house = {ability for device in devices for ability in abilities(device)}
        if (languages, house) != self._written:
            self._written = languages, house
            await async_write_sentences(self.hass, languages, house)

    @override
    @classmethod
    async def async_removed(cls, hass: HomeAssistant) -> None:
        await async_write_sentences(hass, ())


async def async_write_sentences(
    hass: HomeAssistant, languages: Iterable[str], house: Collection[Ability] = ()
) -> None:
    """Write the files of these languages and remove all others, except those that the owner has changed."""
    folder = Path(hass.config.path(_FOLDER))
    has_changed, left_alone = await hass.async_add_executor_job(_write, folder, set(languages), house)
    if left_alone:
        async_raise_issue(hass, _ISSUE, files=", ".join(f"`{path}`" for path in left_alone))
    else:
        ir.async_delete_issue(hass, DOMAIN, _ISSUE)
    if has_changed and hass.services.has_service(CONVERSATION, SERVICE_RELOAD):
        try:
            await hass.services.async_call(CONVERSATION, SERVICE_RELOAD, blocking=True)
        except (HomeAssistantError, OSError) as err:
            # It reads the owner's configuration, too.
            _LOGGER.warning("The sentences about alarms are used after a restart: %s", err)


def _write(folder: Path, languages: set[str], house: Collection[Ability]) -> tuple[bool, list[Path]]:
    """Return whether a file has changed, and the files that were left alone."""
    variants = {next(iter(matches(language, get_languages())), "") for language in languages}
    wanted = {folder / code / _NAME: _content(code, house) for code in variants if is_known(code)}
    has_changed, left_alone = False, []
    for path in sorted({*folder.glob(f"*/{_NAME}"), *wanted}):
        try:
            found = path.read_text(encoding="utf-8") if path.is_file() else None
            if found is not None and not _is_unchanged(found):
                left_alone.append(path)
            elif (content := wanted.get(path)) is None:
                path.unlink()
                with suppress(OSError):
                    path.parent.rmdir()
                has_changed = True
            elif content != found:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_utf8_file_atomic(str(path), content)
                has_changed = True
        except (OSError, UnicodeDecodeError, WriteError) as err:
            _LOGGER.warning("The sentences about alarms in %s cannot be written: %s", path, err)
    return has_changed, left_alone


def _content(code: str, house: Collection[Ability]) -> str:
    content = sentences(load_language(code), code, house)
    return f"{_MARK}{_digest(content)}\n{content}"


def _is_unchanged(found: str) -> bool:
    mark, _, content = found.partition("\n")
    return mark == _MARK + _digest(content)


def _digest(content: str) -> str:
    return sha256(content.encode()).hexdigest()[:16]
