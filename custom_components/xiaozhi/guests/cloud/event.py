"""The event entity of an access point."""

from typing import Final, override

from homeassistant.components.event import EventEntity
from homeassistant.core import callback

from ...protocol.access_point.dispatcher import CallOutcome, CallRecord
from .entities import AccessPointEntities, AccessPointEntity


class ToolCalledEvent(AccessPointEntity, EventEntity):
    """A call of a tool, with how it ended."""

    _key = "tool_called"
    _attr_translation_key = "tool_called"
    _attr_event_types = [outcome.value for outcome in CallOutcome]  # noqa: RUF012 - as its base class has it

    @override
    @callback
    def _point_changed(self, record: CallRecord | None) -> None:
        """Take a call as an event."""
        if record is not None:
            self._trigger_event(record.outcome, {"tool": record.tool, "milliseconds": record.milliseconds})
        super()._point_changed(record)


ENTITIES: Final = (AccessPointEntities(ToolCalledEvent),)
