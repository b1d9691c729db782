"""Raises repair issues for the owner."""

from contextlib import AbstractContextManager
from enum import StrEnum
import logging
from types import TracebackType
from typing import Final, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN
from ..util.text import plain_name
from .translated import known_text

_LOGGER = logging.getLogger(__name__)

TURN_FAILED: Final = "turn_failed"
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
    """Raise an issue with the text `key`, by default that of its id.

    Placeholders are plain texts: Markdown in them is shown as it is.
    """
    ir.async_create_issue(
        hass,
        DOMAIN,
        issue_id,
        is_fixable=False,
        severity=severity,
        learn_more_url=learn_more_url,
        translation_key=key or issue_id,
        translation_placeholders={name: plain_name(text) for name, text in placeholders.items()} or None,
    )


class Part(StrEnum):
    """Parts of Home Assistant that it does not promise: the rows of the table in `docs/architecture.md`."""

    RUNS = "runs"
    RECOGNIZER = "recognizer"
    ANNOUNCEMENTS = "announcements"
    EXPOSURE = "exposure"
    PREFERENCES = "preferences"
    AUTOMATIONS = "automations"
    DETECTOR = "detector"


_MISSED: Final = frozenset({Part.RUNS, Part.RECOGNIZER, Part.AUTOMATIONS})
"""Parts whose loss an owner notices."""
_REPORTED: Final = HassKey[set[Part]](f"{DOMAIN}_changed_parts")


class Unpromised(AbstractContextManager[None, bool]):
    """Context of a use of such a part: an error ends it, is reported once, and goes no further."""

    def __init__(self, hass: HomeAssistant, part: Part) -> None:
        self._hass = hass
        self._part = part

    @override
    def __exit__(
        self, _kind: type[BaseException] | None, err: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        if not isinstance(err, Exception):
            return False
        async_report_change(self._hass, self._part, err)
        return True


@callback
def has_changed(hass: HomeAssistant, part: Part) -> bool:
    """Whether a part of Home Assistant was found changed since the gateway started."""
    return part in hass.data.get(_REPORTED, ())


@callback
def async_report_change(hass: HomeAssistant, part: Part, err: Exception) -> None:
    """Report once that a part of Home Assistant has changed, and the effects until an update."""
    if has_changed(hass, part):
        return
    hass.data.setdefault(_REPORTED, set()).add(part)
    _LOGGER.warning("Home Assistant has changed inside, and XiaoZhi does without it: %s", part, exc_info=err)
    if part in _MISSED:
        missing = known_text(hass, f"changed_{part}")
        async_raise_issue(hass, f"{_CHANGED}_{part}", _CHANGED, missing=missing)


@callback
def async_delete_changes(hass: HomeAssistant) -> None:
    """Forget the reports of `async_report_change`."""
    hass.data.pop(_REPORTED, None)
    for part in _MISSED:
        ir.async_delete_issue(hass, DOMAIN, f"{_CHANGED}_{part}")
    ir.async_delete_issue(hass, DOMAIN, TURN_FAILED)
