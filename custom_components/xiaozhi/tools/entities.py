"""What tools of a device can become: descriptions of entities, without Home Assistant's objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from homeassistant.const import EntityCategory, Platform

__all__ = [
    "ActionTool",
    "ButtonTool",
    "Call",
    "Colour",
    "LightTool",
    "NumberTool",
    "Reading",
    "SelectTool",
    "SensorTool",
    "Setter",
    "SwitchTool",
    "ToolEntity",
]

_NO_ARGUMENTS: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that always has the same arguments."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: _NO_ARGUMENTS, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where a state is read: the answer of a tool, or a member of it.

    For the status tool, the member is a field of `DeviceStatus`.
    """

    tool: str
    member: str | None = None
    on_off: tuple[str, str] | None = None
    """What its text contains when something is on and when it is off, where it is not just these words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setter:
    """A tool that takes one whole number of a range."""

    tool: str
    argument: str
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A tool that takes a colour."""

    tool: str
    arguments: tuple[str, str, str]
    """Names for red, green and blue."""
    maximum: int
    """Of each of them; the minimum is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntity:
    """An entity that tools make, or a tool that makes none."""

    platform: ClassVar[Platform | None] = None
    follows_calls: ClassVar[bool] = False
    """Whether its state may come from the last calls of its tools."""

    key: str
    """The same for the same tools for ever; unique among the entities of a device."""
    tools: tuple[str, ...]
    """All that it uses; without one of them it is another entity or none."""
    name: str | None = None
    """For people; None if the texts or the device class give one."""
    translation_key: str | None = None
    device_class: str | None = None
    category: EntityCategory | None = None
    enabled: bool = True
    """Whether it is there without its owner's asking for it."""
    user_only: bool = False
    """Whether the device wants a tool of it to be kept from language models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTool(ToolEntity):
    """A tool that can only be called by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonTool(ToolEntity):
    """A tool that does something."""

    platform: ClassVar[Platform | None] = Platform.BUTTON

    call: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTool(ToolEntity):
    """A tool that sets a number."""

    platform: ClassVar[Platform | None] = Platform.NUMBER
    follows_calls: ClassVar[bool] = True

    setter: Setter
    unit: str | None = None
    state: Reading | None = None
    """None if only what was last set is known; so for the entities below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectTool(ToolEntity):
    """A tool that takes one of some texts."""

    platform: ClassVar[Platform | None] = Platform.SELECT
    follows_calls: ClassVar[bool] = True

    tool: str
    argument: str
    options: tuple[str, ...]
    state: Reading | None = None
    momentary: bool = False
    """Whether a choice is something done, and no state afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTool(ToolEntity):
    """What is on or off."""

    platform: ClassVar[Platform | None] = Platform.SWITCH
    follows_calls: ClassVar[bool] = True

    on: Call
    off: Call
    state: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LightTool(ToolEntity):
    """A light. It has a colour, or calls that switch it on and off, or both."""

    platform: ClassVar[Platform | None] = Platform.LIGHT
    follows_calls: ClassVar[bool] = True

    on: Call | None = None
    off: Call | None = None
    colour: Colour | None = None
    brightness: Setter | None = None
    state: Reading | None = None
    """Whether it is on."""
    brightness_state: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorTool(ToolEntity):
    """A tool that answers."""

    platform: ClassVar[Platform | None] = Platform.SENSOR

    state: Reading
    unit: str | None = None
    options: tuple[str, ...] | None = None
    """All that it can be, if that is known."""
