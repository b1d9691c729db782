"""What covers and valves share: both are opened and closed."""

from homeassistant.components.cover import CoverEntityFeature
from homeassistant.components.valve import ValveEntityFeature

from .entity import XiaozhiToolEntity
from .tools.entities import OpenableTool
from .tools.openings import is_closed, position_of, value_of


class XiaozhiOpening[ToolT: OpenableTool](XiaozhiToolEntity[ToolT]):
    """Something that a device opens and closes."""

    @property
    def is_closed(self) -> bool | None:
        """Return whether it is closed."""
        return is_closed(self.tool, self.device.tools)

    @property
    def _position(self) -> int | None:
        """How far it is open, in per cent."""
        return position_of(self.tool, self.device.tools)

    def _features[FeatureT: (CoverEntityFeature, ValveEntityFeature)](self, kind: type[FeatureT]) -> FeatureT:
        """Return what the tools can do."""
        features = kind.OPEN | kind.CLOSE
        if self.tool.stop is not None:
            features |= kind.STOP
        if self.tool.position is not None:
            features |= kind.SET_POSITION
        return features

    async def _open(self) -> None:
        await self._call(self.tool.open)

    async def _close(self) -> None:
        await self._call(self.tool.close)

    async def _stop(self) -> None:
        if self.tool.stop is not None:
            await self._call(self.tool.stop, only_attribute=True)

    async def _move(self, position: int) -> None:
        """Open it as far as this, in per cent."""
        if (setter := self.tool.position) is not None:
            arguments = {setter.argument: value_of(position, setter)}
            await self._change(setter.tool, arguments, only_attribute=self.is_closed is (position == 0))
