"""The volume of a device's loudspeaker, and its mute, which the firmware does not have."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from ..device.device import Device
from ..tools.answer_values import as_number
from ..tools.tool_entities import NumberTool

_KEY: Final = "volume"
# The firmware's own default, for a device that was muted before its volume was known.
_USUAL: Final = 0.7


class SpeakerVolume:
    """Volume from 0 to 1. Changes raise as what calls the tools."""

    def __init__(self, device: Device, change: Callable[[str, dict[str, Any]], Awaitable[None]]) -> None:
        """Call tools that change the device with `change`."""
        self._device = device
        self._change = change
        self.before_mute: float | None = None
        """The volume to go back to; None if it was not muted here."""
        self._set: tuple[float, object] | None = None
        """The volume that was set last, and the status read before that."""

    @property
    def _tool(self) -> NumberTool | None:
        tool = self._device.tools.entities.get(_KEY)
        return tool if isinstance(tool, NumberTool) else None

    @property
    def adjustable(self) -> bool:
        """Whether the device lets its volume be set."""
        return self._tool is not None

    @property
    def level(self) -> float | None:
        """The volume as last read, or as set since; None if it is unknown."""
        if self._set is not None and self._set[1] is self._device.state.status:
            return self._set[0]
        if (tool := self._tool) is None or tool.state is None:
            return None
        value = as_number(self._device.tools.last_value(tool.state))
        low, high = tool.setter.minimum, tool.setter.maximum
        if value is None or high <= low:
            return None
        return min(max((value - low) / (high - low), 0.0), 1.0)

    @property
    def muted(self) -> bool:
        """Whether it was muted here, and has not been set to anything else since."""
        return self.before_mute is not None and not self.level

    async def set(self, level: float) -> None:
        """Set the volume."""
        if (tool := self._tool) is not None:
            low, high = tool.setter.minimum, tool.setter.maximum
            before = self._device.state.status
            await self._change(tool.setter.tool, {tool.setter.argument: round(low + level * (high - low))})
            self._set = (level, before)
        self.before_mute = None

    async def mute(self) -> None:
        """Set the volume to nothing, and remember what it was."""
        if not self.muted:
            before = self.level or _USUAL
            await self.set(0)
            self.before_mute = before

    async def unmute(self) -> None:
        """Set the volume to what it was."""
        if self.before_mute is not None:
            await self.set(self.before_mute)
