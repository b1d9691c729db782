"""What the owner of an access point is to mend, as repair issues."""

from datetime import datetime, timedelta
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..protocol.access_point.reconnecting import Problem
from .settings import AccessPointSettings

_NOTICE: Final = timedelta(days=30)

_EXPIRING: Final = "access_point_expiring"
_EXPIRED: Final = "access_point_expired"
_API_GONE: Final = "access_point_api_gone"
_OF_PROBLEM: Final = {
    Problem.REFUSED: "access_point_refused",
    Problem.USED_ELSEWHERE: "access_point_used_elsewhere",
    Problem.TOO_MANY_TOOLS: "access_point_too_many_tools",
}
_ALL: Final = (_EXPIRING, _EXPIRED, _API_GONE, *_OF_PROBLEM.values())


@callback
def async_update_issues(
    hass: HomeAssistant,
    subentry_id: str,
    settings: AccessPointSettings,
    problem: Problem | None,
    missing: tuple[str, ...],
) -> None:
    """Raise the issues that there are, and delete the others."""
    expires = settings.address.expires
    about = {
        "name": settings.name,
        "host": settings.address.host,
        "apis": ", ".join(missing),
        "date": "" if expires is None else dt_util.as_local(expires).date().isoformat(),
    }
    wanted = set()
    if (expiry := _expiry(expires)) is not None:
        wanted.add(expiry)
    # A server refuses an expired token: one message is enough.
    if problem is not None and not (problem is Problem.REFUSED and expiry == _EXPIRED):
        wanted.add(_OF_PROBLEM[problem])
    if missing:
        wanted.add(_API_GONE)
    for key in _ALL:
        if key in wanted:
            ir.async_create_issue(
                hass,
                DOMAIN,
                f"{key}_{subentry_id}",
                is_fixable=False,
                severity=ir.IssueSeverity.WARNING if key == _EXPIRING else ir.IssueSeverity.ERROR,
                translation_key=key,
                translation_placeholders=about,
            )
        else:
            ir.async_delete_issue(hass, DOMAIN, f"{key}_{subentry_id}")


@callback
def async_clear_issues(hass: HomeAssistant, subentry_id: str) -> None:
    """Delete all issues of an access point."""
    for key in _ALL:
        ir.async_delete_issue(hass, DOMAIN, f"{key}_{subentry_id}")


def _expiry(expires: datetime | None) -> str | None:
    if expires is None:
        return None
    left = expires - dt_util.utcnow()
    if left <= timedelta():
        return _EXPIRED
    return _EXPIRING if left < _NOTICE else None
