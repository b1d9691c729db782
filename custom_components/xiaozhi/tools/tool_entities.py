"""Descriptions of entities made from tools, without Home Assistant's objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from homeassistant.const import EntityCategory, Platform

from .answer_values import as_number, main_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call with fixed arguments."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Source of a state: the answer of a tool, or one of its members.

    For the status tool, the member is a field of `DeviceStatus`.
    """

    tool: str
    member: str | None = None
    on_off: tuple[str, str] | None = None
    """Parts of the answer's text for on and for off, if it has words of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setter:
    """A tool whose argument is a whole number with limits."""

    tool: str
    argument: str
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSetter:
    """A tool whose argument is one of several texts or numbers with names."""

    tool: str
    argument: str
    options: tuple[str, ...]
    """The names."""
    values: tuple[int, ...] | tuple[str, ...] | None = None
    """Values to send for the options, in their order; None to send the options themselves."""

    def call(self, option: str) -> Call:
        """Return the call that chooses an option."""
        value = (self.values or self.options)[self.options.index(option)]
        return Call(tool=self.tool, arguments={self.argument: value})

    def option_of(self, answer: object) -> str | None:
        """Return the option that an answer or a sent value names, or None."""
        value = main_value(answer)
        if isinstance(value, bool):
            return None
        if value in self.options:
            return str(value)
        wanted = (value, as_number(value))
        values = zip(self.options, self.values or (), strict=False)
        return next((option for option, each in values if each in wanted), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A tool that sets a colour."""

    tool: str
    arguments: tuple[str, str, str]
    """Names of the arguments for red, green and blue."""
    maximum: int
    """Maximum of each argument; the minimum is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntity:
    """An entity made from tools, or a tool without an entity."""

    platform: ClassVar[Platform | None] = None
    follows_calls: ClassVar[bool] = False
    """Whether its state may come from the last calls of its tools."""

    key: str
    """Unique among the entities of a device; never changes for the same tools."""
    tools: tuple[str, ...]
    """All tools used; without one of them, the others make another entity or none."""
    name: str | None = None
    """For people; None if the translations or the device class name the entity."""
    translation_key: str | None = None
    device_class: str | None = None
    category: EntityCategory | None = None
    enabled: bool = True
    """Whether the entity is enabled by default."""
    user_only: bool = False
    """Whether the device reserves one of the tools for users."""

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Readings of its state."""
        values = (getattr(self, each.name) for each in fields(self))
        return tuple(value for value in values if isinstance(value, Reading))


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionTool(ToolEntity):
    """A tool that can be called only by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonTool(ToolEntity):
    """A button that calls a tool."""

    platform: ClassVar[Platform | None] = Platform.BUTTON

    call: Call


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberTool(ToolEntity):
    """A number that a tool sets."""

    platform: ClassVar[Platform | None] = Platform.NUMBER
    follows_calls: ClassVar[bool] = True

    setter: Setter
    unit: str | None = None
    state: Reading | None = None
    """None if only the last set value is known; likewise below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectTool(ToolEntity):
    """A select: a tool whose argument is one of several texts."""

    platform: ClassVar[Platform | None] = Platform.SELECT
    follows_calls: ClassVar[bool] = True

    choice: OptionSetter
    state: Reading | None = None
    default: str | None = None
    """The option of the firmware until another one is chosen; None if unknown."""
    momentary: bool = False
    """Whether choosing an option only triggers an action: there is no state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTool(ToolEntity):
    """A switch."""

    platform: ClassVar[Platform | None] = Platform.SWITCH
    follows_calls: ClassVar[bool] = True

    on: Call
    off: Call
    state: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LightTool(ToolEntity):
    """A light: with a colour, with calls for on and off, or with both."""

    platform: ClassVar[Platform | None] = Platform.LIGHT
    follows_calls: ClassVar[bool] = True

    on: Call | None = None
    off: Call | None = None
    colour: Colour | None = None
    brightness: Setter | None = None
    state: Reading | None = None
    """Reading of its on or off state."""
    brightness_state: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorTool(ToolEntity):
    """A sensor: a tool that answers without arguments."""

    platform: ClassVar[Platform | None] = Platform.SENSOR

    state: Reading
    unit: str | None = None
    options: tuple[str, ...] | None = None
    """All possible values, if known."""
    measured: bool = False
    """Whether the value is a measured number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinarySensorTool(ToolEntity):
    """A binary sensor."""

    platform: ClassVar[Platform | None] = Platform.BINARY_SENSOR
    measured: ClassVar[bool] = True

    state: Reading
