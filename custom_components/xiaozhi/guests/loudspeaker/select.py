"""The select of another loudspeaker."""

from typing import Final, override

from homeassistant.components.select import SelectEntity, SelectEntityDescription
from homeassistant.const import EntityCategory

from ...announcements.other_loudspeaker import chosen_player
from ...entity import DescribedEntities, XiaozhiSettingEntity
from .available_players import THIS_DEVICE, AvailablePlayers, area_of
from .loudspeaker_settings import CONF_LOUDSPEAKER

_LOUDSPEAKER: Final = SelectEntityDescription(
    key=CONF_LOUDSPEAKER, translation_key=CONF_LOUDSPEAKER, entity_category=EntityCategory.CONFIG
)


class LoudspeakerSelect(XiaozhiSettingEntity, SelectEntity):
    """Loudspeaker of the device's speech: its own, or a media player, by name."""

    @property
    @override
    def options(self) -> list[str]:
        return [THIS_DEVICE, *self._players().values()]

    @property
    @override
    def current_option(self) -> str:
        return self._players().get(chosen_player(self.device) or "", THIS_DEVICE)

    @override
    async def async_select_option(self, option: str) -> None:
        by_name = {name: entity_id for entity_id, name in self._players().items()}
        self.device.set_option(CONF_LOUDSPEAKER, by_name.get(option))

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self.async_on_remove(self.device.part(AvailablePlayers).listen(self.async_write_ha_state))

    def _players(self) -> dict[str, str]:
        """Return the names of the available players and of the chosen one, those of the area first."""
        chosen, fit = chosen_player(self.device), self.device.part(AvailablePlayers).fit_for(self.device)
        found = {each: player for each, player in fit.items() if each == chosen or player.can_announce}
        here = area_of(self.hass, self.entity_id)
        order = sorted(
            found, key=lambda each: (here is None or found[each].area != here, found[each].name, each)
        )
        missing = {} if chosen is None or chosen in found else {chosen: chosen}
        return missing | {each: found[each].full_name for each in order}


ENTITIES: Final = (DescribedEntities(LoudspeakerSelect, [_LOUDSPEAKER]),)
