"""The select of another loudspeaker."""

from typing import Final, override

from homeassistant.components.select import SelectEntity, SelectEntityDescription
from homeassistant.const import EntityCategory

from ...entity import DescribedEntities, XiaozhiSettingEntity
from .available_players import THIS_DEVICE, AvailablePlayers, area_of
from .loudspeaker_settings import CONF_LOUDSPEAKER, LoudspeakerSettings

_LOUDSPEAKER: Final = SelectEntityDescription(
    key=CONF_LOUDSPEAKER, translation_key=CONF_LOUDSPEAKER, entity_category=EntityCategory.CONFIG
)


class LoudspeakerSelect(XiaozhiSettingEntity, SelectEntity):
    """Loudspeaker of the device's speech: its own, or a media player, by name."""

    @property
    def _chosen(self) -> str | None:
        return self.device.settings.of(LoudspeakerSettings).loudspeaker

    @property
    @override
    def options(self) -> list[str]:
        return [THIS_DEVICE, *self._players().values()]

    @property
    @override
    def current_option(self) -> str:
        return self._players().get(self._chosen or "", THIS_DEVICE)

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
        chosen, players = self._chosen, self.device.part(AvailablePlayers)
        unfit = players.unfit_for(self.device)
        found = {
            entity_id: player
            for entity_id, player in players.listed().items()
            if entity_id == chosen or (player.can_announce and player.device_id not in unfit)
        }
        here = area_of(self.hass, self.entity_id)
        order = sorted(
            found, key=lambda each: (here is None or found[each].area != here, found[each].name, each)
        )
        missing = {} if chosen is None or chosen in found else {chosen: chosen}
        return missing | {each: found[each].full_name for each in order}


ENTITIES: Final = (DescribedEntities(LoudspeakerSelect, [_LOUDSPEAKER]),)
