"""The select of a device's wake words."""

from typing import Any, Final, override

from homeassistant.components.select import SelectEntity, SelectEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.helpers.entity import EntityDescription

from ...actions.rights import check_entity
from ...device.device import Device
from ...device.state import SETTINGS
from ...entity import DescribedEntities, XiaozhiEntity
from ...gateway import Gateway
from ...tools.stock_tools import ASSETS_TOOL
from ..firmware.installation import INSTALLATION
from .device_wake_words import DECIDE_ABOUT_PACKS, WakeWords, takes_packs
from .wake_word_packs import ORIGINAL

_NOT_KNOWN: Final = "not_known"
_ON_ITS_WAY: Final = "on_its_way"
_WAKE_WORD: Final = SelectEntityDescription(
    key="wake_word", translation_key="wake_word", entity_category=EntityCategory.CONFIG
)


class WakeWordSelect(XiaozhiEntity, SelectEntity):
    """The wake words of a device, if other words are known to fit."""

    follows = (INSTALLATION, SETTINGS, *DECIDE_ABOUT_PACKS, "wake_words", "installed_wake_words", "sent_pack")
    stays = False
    _unrecorded_attributes = frozenset({"fetched", "sent", "hint"})

    def __init__(self, gateway: Gateway, device: Device, described: EntityDescription) -> None:
        super().__init__(gateway, device, described)
        self._words = device.part(WakeWords)

    @override
    @classmethod
    def exists(cls, device: Device, description: SelectEntityDescription) -> bool:
        return takes_packs(device)

    @property
    def _choices(self) -> dict[str, tuple[str, ...]]:
        """Ids of wake words by option. The phrases are one option: a device listens to all of them."""
        own = tuple(phrase.text for phrase in self._words.phrases)
        fixed = {word: (model,) for model, (word, _) in self._words.board.fixed_words.items()}
        return {ORIGINAL: (ORIGINAL,), **({"own_phrases": own} if own else {}), **fixed}

    @property
    @override
    def options(self) -> list[str]:
        known, current = [*self._choices], self.current_option
        return known if current in known else [current, *known]

    @property
    @override
    def current_option(self) -> str:
        """Return the active wake words; unknown after a change of the phrases, which can then be chosen."""
        if self._words.installation is not None:
            return _ON_ITS_WAY
        active = {*self._words.shown}
        return next((option for option, ids in self._choices.items() if active == {*ids}), _NOT_KNOWN)

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return a hint at the next steps, and the progress of Home Assistant and of the device."""
        running, hint = self._words.installation, self._words.hint
        if running is None:
            return {"hint": hint}
        return {"fetched": running.fetched, "sent": running.percentage, **({"hint": hint} if hint else {})}

    @override
    async def async_select_option(self, option: str) -> None:
        await check_entity(self.hass, self._caller, self.device, ASSETS_TOOL)
        if option not in {_NOT_KNOWN, _ON_ITS_WAY}:
            await self._words.async_choose(self._choices[option])


ENTITIES: Final = (DescribedEntities(WakeWordSelect, [_WAKE_WORD], DECIDE_ABOUT_PACKS),)
