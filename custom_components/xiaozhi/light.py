"""Lights of a device: lamps, and LEDs with colour and brightness."""

from typing import Any, Final, override

from homeassistant.components.light import ATTR_BRIGHTNESS, ATTR_RGB_COLOR, ColorMode, LightEntity

from .device.device import Device
from .entity import ToolEntities, XiaozhiToolEntity, entities_from
from .gateway import Gateway
from .tools.answer_values import as_number
from .tools.stock_tools import CATALOGUE
from .tools.tool_entities import Colour, LightTool

# Devices do not wait for each other; the calls of one do in `ToolCalls`.
PARALLEL_UPDATES = 0

type Rgb = tuple[int, int, int]

_FULL: Final = 255


class XiaozhiLight(XiaozhiToolEntity[LightTool], LightEntity):
    """A light of a device."""

    def __init__(self, gateway: Gateway, device: Device, tool: LightTool) -> None:
        super().__init__(gateway, device, tool)
        self._last_shown: Rgb | None = None
        mode = ColorMode.ONOFF if tool.brightness is None else ColorMode.BRIGHTNESS
        self._attr_color_mode = ColorMode.RGB if tool.colour is not None else mode
        self._attr_supported_color_modes = {self._attr_color_mode}

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether part of the state is only the last set value: no device reports its colour."""
        return self.tool.state is None or self.tool.colour is not None

    @property
    @override
    def is_on(self) -> bool | None:
        """Return whether the light is on: as last read, or else as last switched."""
        if self.tool.state is not None:
            return self._flag(self.tool.state)
        tools = (self.tool.on, self.tool.off, self.tool.colour)
        last = self.device.tools.last_call(used.tool for used in tools if used is not None)
        if last is None:
            return None
        if self.tool.colour is not None and last.tool == self.tool.colour.tool:
            return any(self._shown or ())
        return last == self.tool.on

    @property
    @override
    def rgb_color(self) -> Rgb | None:
        """Return the colour last set, at full brightness unless another tool sets the brightness."""
        lit = self._lit
        if lit is None or self.tool.brightness is not None:
            return lit
        return _scaled(lit, _FULL / max(lit))

    @property
    @override
    def brightness(self) -> int | None:
        setter = self.tool.brightness
        if setter is None:
            lit = self._lit
            return None if lit is None else max(lit)
        level = as_number(self._value(self.tool.brightness_state, setter))
        return None if level is None else max(0, min(_FULL, round(level * _FULL / setter.maximum)))

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        """Switch the light on, in the given colour and brightness or the last ones.

        A lit one is sent only the changes: on some lamps, the tool for on means full brightness.
        """
        tool, lit = self.tool, self.is_on is True
        # A brightness of 0 would leave it dark.
        brightness: int | None = kwargs.get(ATTR_BRIGHTNESS, _FULL if self.brightness == 0 else None)
        dimmer = None if brightness is None else tool.brightness
        shown = self._colour_for(kwargs.get(ATTR_RGB_COLOR), brightness)
        painter = None if shown is None else tool.colour
        # Stock firmware's colour switches on.
        shines = lit or (painter is not None and painter.tool in CATALOGUE)
        if tool.on is not None and not (shines and (dimmer or painter)):
            await self._call(tool.on)
        if dimmer is not None and brightness is not None:
            # Before the colour, which would flash up in the old brightness.
            arguments = {dimmer.argument: max(1, dimmer.minimum, round(brightness * dimmer.maximum / _FULL))}
            await self._change(dimmer.tool, arguments, only_attribute=lit)
        if painter is not None and shown is not None:
            if tool.brightness is None:
                shown = _scaled(shown, (brightness or self.brightness or _FULL) / _FULL)
            await self._show(painter, shown, only_attribute=lit)

    def _colour_for(self, wanted: Rgb | None, brightness: int | None) -> Rgb | None:
        """Return the colour that is sent to switch the light on; None if none is needed."""
        tool = self.tool
        if self.is_on and brightness is not None and tool.brightness is not None:
            return wanted
        # Without a tool of its own, the brightness is in the colour.
        needs_one = tool.on is None or (brightness is not None and tool.brightness is None)
        return wanted or self.rgb_color or ((_FULL, _FULL, _FULL) if needs_one else None)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        self._last_shown = self._lit
        if self.tool.off is not None:
            await self._call(self.tool.off)
        elif self.tool.colour is not None:
            await self._show(self.tool.colour, (0, 0, 0))

    async def _show(self, colour: Colour, shown: Rgb, *, only_attribute: bool = False) -> None:
        values = _scaled(shown, colour.maximum / _FULL)
        arguments = dict(zip(colour.arguments, values, strict=True))
        await self._change(colour.tool, arguments, only_attribute=only_attribute)

    @property
    def _lit(self) -> Rgb | None:
        """The colour in which the light was last on."""
        shown = self._shown
        return self._last_shown if shown is not None and not any(shown) else shown

    @property
    def _shown(self) -> Rgb | None:
        """The colour last set, unless the light was switched on since then: it may have another one now."""
        if (colour := self.tool.colour) is None:
            return None
        last = self.device.tools.last_call(used.tool for used in (self.tool.on, colour) if used is not None)
        if last is None or last.tool != colour.tool:
            return None
        values = [as_number(last.arguments.get(argument)) for argument in colour.arguments]
        red, green, blue = (None if value is None else int(value) for value in values)
        if red is None or green is None or blue is None:
            return None
        return _scaled((red, green, blue), _FULL / colour.maximum)


def _scaled(colour: Rgb, factor: float) -> Rgb:
    """Return a brighter or darker colour, which is never black unless `colour` is."""
    largest = max(colour)
    red, green, blue = (max(1 if value == largest > 0 else 0, round(value * factor)) for value in colour)
    return red, green, blue


async_setup_entry = entities_from(ToolEntities(XiaozhiLight, LightTool))
