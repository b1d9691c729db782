"""What the integration has logged as a problem, without what could be private."""

from collections.abc import Iterable
import re
from typing import Any, Final

from homeassistant.components.diagnostics import REDACTED
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from .protocol.text import one_line

__all__ = ["logged_problems"]

_SYSTEM_LOG: Final = "system_log"
"""Integration that keeps the last warnings and errors, and key of its data."""
_MAX_ENTRIES: Final = 10
_MAX_MESSAGE: Final = 300
_PRIVATE: Final = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"  # UUID
    r"|(?:[0-9a-f]{2}[:-]?){5}[0-9a-f]{2}"  # MAC
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"  # IPv4
    r"|(?:https?|wss?|mqtts?)://\S+",
    re.IGNORECASE,
)


@callback
def logged_problems(hass: HomeAssistant, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the last warnings and errors, the newest first, without addresses and these names."""
    if (log := hass.data.get(_SYSTEM_LOG)) is None:
        return []
    private = [re.compile(re.escape(name), re.IGNORECASE) for name in names if name]
    own = [entry for entry in log.records.to_list() if entry["name"].startswith(f"{__package__}.")]
    return [
        {
            "logger": entry["name"].removeprefix(f"{__package__}."),
            "level": entry["level"],
            "message": _without(private, next(iter(entry["message"]), "")),
            "count": entry["count"],
            "first": dt_util.utc_from_timestamp(entry["first_occurred"]).isoformat(),
            "last": dt_util.utc_from_timestamp(entry["timestamp"]).isoformat(),
        }
        for entry in own[:_MAX_ENTRIES]
    ]


def _without(private: Iterable[re.Pattern[str]], message: str) -> str:
    for pattern in (*private, _PRIVATE):
        message = pattern.sub(REDACTED, message)
    return one_line(message, _MAX_MESSAGE)
