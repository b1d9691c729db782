"""Log messages of a device, in the log of Home Assistant."""

import json
import logging
from typing import Any, Final

from homeassistant.core import callback
from homeassistant.util import slugify

from ..device.device import Device
from ..protocol.limits import HourlyLimit
from ..protocol.messages import JsonObject
from ..protocol.untrusted_text import clean_data, label, one_line

_METHOD: Final = "notifications/message"
_PREFIX: Final = "custom_components.xiaozhi.messages."
_MAX_NAME: Final = 64
_MAX_TEXT: Final = 500

# The levels of MCP are those of syslog.
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


class DeviceLog:
    """Writes the log messages of one device, in bounded numbers."""

    def __init__(self, device: Device) -> None:
        self._clock = device.hass.loop.time
        self.logger = logging.getLogger(_PREFIX + (slugify(device.name) or "device"))
        self._limit = HourlyLimit()
        self._limit_logged = False
        device.notification_handlers[_METHOD] = self.write

    @callback
    def write(self, params: JsonObject) -> None:
        """Write the params of `notifications/message`, of bounded size, on one line."""
        level = params.get("level")
        number = _LEVELS.get(level, logging.INFO) if isinstance(level, str) else logging.INFO
        if not self.logger.isEnabledFor(number):
            return
        if self._limit.take(self._clock()):
            source = label(params.get("logger"), _MAX_NAME)
            self.logger.log(number, "%s%s", f"{source}: " if source else "", _text(params.get("data")))
        elif not self._limit_logged:
            self._limit_logged = True
            self.logger.warning("The device logs too much: from now on, one message a minute is kept")


def _text(data: Any) -> str:
    shown = data if isinstance(data, str) else json.dumps(clean_data(data), ensure_ascii=False)
    return one_line(shown, _MAX_TEXT)
