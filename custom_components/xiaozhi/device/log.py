"""Log messages of a device, in the log of Home Assistant."""

import json
import logging
from typing import Any, Final

from homeassistant.util import slugify

from ..protocol.messages import JsonObject
from ..protocol.text import clean_data, label, one_line

__all__ = ["log_level", "log_message", "logger_of"]

_PREFIX: Final = "custom_components.xiaozhi.messages."
_MAX_NAME: Final = 64
_MAX_TEXT: Final = 500

# The levels of MCP (those of syslog), the lowest first.
_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}


def logger_of(name: str) -> logging.Logger:
    """Return the logger for the messages of the device with this name."""
    return logging.getLogger(_PREFIX + (slugify(name) or "device"))


def log_level(logger: logging.Logger) -> str:
    """Return the lowest level of MCP that a logger takes."""
    threshold = logger.getEffectiveLevel()
    return next((name for name, level in _LEVELS.items() if level >= threshold), "emergency")


def log_message(logger: logging.Logger, params: JsonObject) -> None:
    """Log the params of `notifications/message`, of bounded size, on one line."""
    level = params.get("level")
    number = _LEVELS.get(level, logging.INFO) if isinstance(level, str) else logging.INFO
    if logger.isEnabledFor(number):
        source = label(params.get("logger"), _MAX_NAME)
        logger.log(number, "%s%s", f"{source}: " if source else "", _text(params.get("data")))


def _text(data: Any) -> str:
    shown = data if isinstance(data, str) else json.dumps(clean_data(data), ensure_ascii=False)
    return one_line(shown, _MAX_TEXT)
