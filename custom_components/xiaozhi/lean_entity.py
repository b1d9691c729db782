"""Entities that take less memory.

Home Assistant's properties keep what they have returned in the entity. Python shares the names of attributes
between the objects of a class only while there are no more than 30; with more, each takes 1.3 KiB more.
"""

from typing import Any, Final, override

from homeassistant.helpers.entity import Entity
from propcache.api import cached_property

__all__ = ["LeanEntity"]

# Home Assistant looks whether this one is its own.
_UNCHANGED: Final = "name"


class _Asked(property):
    """A property of Home Assistant that does not keep its value."""


class LeanEntity(Entity):
    """An entity whose properties are asked each time. They return an attribute, or a constant."""

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Replace the properties that this class inherits from classes of Home Assistant."""
        super().__init_subclass__(**kwargs)
        members = {
            name: member
            for parent in reversed(cls.__mro__)
            for name, member in vars(parent).items()
            if not isinstance(member, _Asked)
        }
        for name, member in members.items():
            if isinstance(member, cached_property) and name != _UNCHANGED and not name.startswith("_"):
                setattr(cls, name, _Asked(member.func))
            elif isinstance(getattr(cls, name, None), _Asked):
                # Another class than that of the parent's property defines it.
                setattr(cls, name, member)
