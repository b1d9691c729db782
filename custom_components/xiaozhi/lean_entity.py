"""Entities that take less memory.

Home Assistant's properties keep what they have returned in the entity. Python shares the names of attributes
between the objects of a class only while there are no more than 30; with more, each takes 1.3 KiB more.
"""

from typing import Any, Final, Self

from homeassistant.helpers.entity import Entity
from propcache.api import cached_property

__all__ = ["LeanEntity"]

# Home Assistant looks whether this one is its own.
_UNCHANGED: Final = "name"
_REPLACED: Final = "_properties_replaced"


class _Asked(property):
    """A property of Home Assistant that does not keep its value."""


class LeanEntity(Entity):
    """An entity whose properties are asked each time. They return an attribute, or a constant."""

    def __new__(cls, *_arguments: Any, **_more: Any) -> Self:
        """Make an entity; the first one of a class replaces the properties that the class inherits.

        Not those of each parent: a parent that comes before a class of Home Assistant would hide what that
        class makes of a property.
        """
        if _REPLACED not in vars(cls):
            setattr(cls, _REPLACED, True)
            _replace(cls)
        return super().__new__(cls)


def _replace(kind: type[LeanEntity]) -> None:
    members = {
        name: member
        for parent in reversed(kind.__mro__)
        for name, member in vars(parent).items()
        if not isinstance(member, _Asked)
    }
    for name, member in members.items():
        if isinstance(member, cached_property) and name != _UNCHANGED and not name.startswith("_"):
            setattr(kind, name, _Asked(member.func))
        elif isinstance(getattr(kind, name, None), _Asked):
            # Another class than that of the parent's property defines it.
            setattr(kind, name, member)
