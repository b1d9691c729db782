"""Repair issues, as an owner sees them."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir

from custom_components.xiaozhi.const import DOMAIN


def open_issues(hass: HomeAssistant) -> list[ir.IssueEntry]:
    """Return the open issues of the integration, except the one about missing speech engines."""
    return [
        issue
        for issue in ir.async_get(hass).issues.values()
        if issue.domain == DOMAIN and issue.active and issue.issue_id != "no_speech"
    ]
