"""Repair issues of access points."""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.util import dt as dt_util

from ...const import DOMAIN
from ...protocol.access_point.reconnecting import Problem
from ...texts.issues import async_raise_issue

if TYPE_CHECKING:
    from .access_point import AccessPoint

_NOTICE: Final = timedelta(days=30)

_EXPIRING: Final = "access_point_expiring"
_EXPIRED: Final = "access_point_expired"
_API_GONE: Final = "access_point_api_gone"
_OF_PROBLEM: Final = {
    Problem.REFUSED: "access_point_refused",
    Problem.USED_ELSEWHERE: "access_point_used_elsewhere",
    Problem.TOO_MANY_TOOLS: "access_point_too_many_tools",
}
# Where Home Assistant lets assistants see entities.
_EXPOSE_PAGE: Final = "/config/voice-assistants/expose"
_ALL: Final = (_EXPIRING, _EXPIRED, _API_GONE, *_OF_PROBLEM.values())


@callback
def async_update_issues(hass: HomeAssistant, point: AccessPoint) -> None:
    """Raise the issues that there are, and delete the others."""
    expires, problem = point.settings.address.expires, point.client.reconnecting.problem
    about = {
        "name": point.name,
        "host": point.settings.address.host,
        "apis": ", ".join(point.missing),
        "page": _EXPOSE_PAGE,
        "date": "" if expires is None else dt_util.as_local(expires).date().isoformat(),
    }
    left = None if expires is None else expires - dt_util.utcnow()
    expired = left is not None and left <= timedelta()
    wanted = {
        _EXPIRED: expired,
        _EXPIRING: left is not None and not expired and left < _NOTICE,
        _API_GONE: bool(point.missing),
        **{key: problem is each for each, key in _OF_PROBLEM.items()},
    }
    if expired:
        # A server refuses an expired token: one message is enough.
        wanted[_OF_PROBLEM[Problem.REFUSED]] = False
    for key, is_wanted in wanted.items():
        if is_wanted:
            severity = ir.IssueSeverity.WARNING if key == _EXPIRING else ir.IssueSeverity.ERROR
            async_raise_issue(hass, f"{key}_{point.subentry_id}", key, severity=severity, **about)
        else:
            ir.async_delete_issue(hass, DOMAIN, f"{key}_{point.subentry_id}")


@callback
def async_clear_issues(hass: HomeAssistant, subentry_id: str) -> None:
    """Delete all issues of an access point."""
    for key in _ALL:
        ir.async_delete_issue(hass, DOMAIN, f"{key}_{subentry_id}")
