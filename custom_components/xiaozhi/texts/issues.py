"""Raises repair issues for the owner."""

from enum import StrEnum
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from ..const import DOMAIN
from .translated import known_text

_CHANGED: Final = "home_assistant_changed"


@callback
def async_raise_issue(
    hass: HomeAssistant,
    issue_id: str,
    key: str | None = None,
    *,
    severity: ir.IssueSeverity = ir.IssueSeverity.WARNING,
    learn_more_url: str | None = None,
    **placeholders: str,
) -> None:
    """Raise an issue with the text `key`, by default that of its id."""
    ir.async_create_issue(
        hass,
        DOMAIN,
        issue_id,
        is_fixable=False,
        severity=severity,
        learn_more_url=learn_more_url,
        translation_key=key or issue_id,
        translation_placeholders=placeholders or None,
    )


class Part(StrEnum):
    """Parts of Home Assistant that it does not promise, and that owners would miss."""

    RUNS = "runs"
    RECOGNIZER = "recognizer"


@callback
def async_report_change(hass: HomeAssistant, part: Part) -> None:
    """Report that a part of Home Assistant is not as it was, and what the owner misses until an update."""
    missing = known_text(hass, f"changed_{part}")
    async_raise_issue(hass, f"{_CHANGED}_{part}", _CHANGED, missing=missing)


@callback
def async_delete_changes(hass: HomeAssistant) -> None:
    """Delete what `async_report_change` has raised."""
    for part in Part:
        ir.async_delete_issue(hass, DOMAIN, f"{_CHANGED}_{part}")
