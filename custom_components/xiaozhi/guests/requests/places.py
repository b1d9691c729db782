"""The devices that somebody means by the name of a room, a floor or a device."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr

from ...actions.rights import satellite_id
from ...device.device import Device
from ...errors import InputError
from ...util.text import one_line
from ..spoken.language import Language, folded

# Characters of spoken words in an answer.
_SHOWN: Final = 60


class _Place(NamedTuple):
    """A room, a floor or a device."""

    shown: str
    """Name in an answer."""
    names: Iterable[str]
    devices: list[Device]


@callback
def devices_called(
    hass: HomeAssistant, said: str, devices: Collection[Device], languages: Collection[Language]
) -> list[Device]:
    """Return those of some devices that are meant: in a room, else on a floor, else a device, or all.

    Raises `InputError` if none is, or one of several may be. Nothing is guessed: somebody else would hear it.
    """
    if any(language.means_everyone(said) for language in languages):
        return [*devices]
    wanted = {_plain(language, said) for language in languages}
    for kind in (_rooms(hass, devices), _floors(hass, devices), _each(hass, devices)):
        found = [
            (name, there)
            for name, called, there in kind
            if there and any(_plain(language, each) in wanted for language in languages for each in called)
        ]
        if len(found) > 1:
            raise InputError(
                "message_several_places",
                place=one_line(said, _SHOWN),
                names=", ".join(sorted(name for name, _ in found)),
            )
        if found:
            return found[0][1]
    raise InputError("message_unknown_place", place=one_line(said, _SHOWN))


def _plain(language: Language, name: str) -> str:
    return folded(language.plain(name))


def _rooms(hass: HomeAssistant, devices: Collection[Device]) -> Iterator[_Place]:
    for area in ar.async_get(hass).async_list_areas():
        there = [device for device in devices if device.area_id == area.id]
        yield _Place(area.name, (area.name, *area.aliases), there)


def _floors(hass: HomeAssistant, devices: Collection[Device]) -> Iterator[_Place]:
    areas = ar.async_get(hass)
    for floor in fr.async_get(hass).async_list_floors():
        rooms = {area.id for area in areas.async_list_areas() if area.floor_id == floor.floor_id}
        there = [device for device in devices if device.area_id in rooms]
        yield _Place(floor.name, (floor.name, *floor.aliases), there)


def _each(hass: HomeAssistant, devices: Collection[Device]) -> Iterator[_Place]:
    entities = er.async_get(hass)
    for device in devices:
        entry = entities.async_get(satellite_id(hass, device) or "")
        aliases = () if entry is None else er.async_get_entity_aliases(hass, entry)
        # Where several are called the same, its room is added in brackets.
        yield _Place(device.name, (device.name, device.name.partition(" (")[0], *aliases), [device])
