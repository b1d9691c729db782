"""Repairs that are more than a notice: questions of a device."""

from homeassistant.components.repairs import RepairsFlow
from homeassistant.core import HomeAssistant

from .guests.mcp_extras.question_flow import QuestionFlow


async def async_create_fix_flow(
    hass: HomeAssistant, issue_id: str, data: dict[str, str | int | float | None] | None
) -> RepairsFlow:
    """Return the form for an issue."""
    return QuestionFlow()
