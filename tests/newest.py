"""Lets the newest test package, which belongs to an older Home Assistant, test the newest one.

Pytest loads this module before any other plugin. It goes with the first test package of 2026.11.
"""

from contextlib import suppress

# Home Assistant puts its own HTTP client in the place of httpx, which the test package imports.
import homeassistant  # noqa: F401
from homeassistant.components import logger
from homeassistant.components.logger import helpers

with suppress(AttributeError):
    # Where the test package looks for it.
    logger._clear_logger_overwrites = helpers._clear_logger_overwrites
