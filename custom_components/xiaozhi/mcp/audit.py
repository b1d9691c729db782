"""Tells the logbook which tools of a device an action or the assistant has called, without arguments."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from homeassistant.const import ATTR_NAME
from homeassistant.core import Context

from ..const import EVENT_TOOL_CALL
from ..device.device import Device
from ..tools.naming import tool_words

__all__ = ["told_to_logbook"]


@contextmanager
def told_to_logbook(
    device: Device, tool: str, context: Context | None, by: Literal["assistant", "person"] = "person"
) -> Iterator[None]:
    """Tell the logbook of the calls of a tool that are made in this block, and whether they failed.

    What entities do is in the logbook by itself, and what is only polled does not belong there.
    """
    known = device.tools.get(tool)
    outcome = "failed"
    try:
        yield
        outcome = "done"
    finally:
        data = {
            "device_id": device.registry_id,
            ATTR_NAME: device.name,
            "tool": tool_words(device.hass, tool, (known.title if known else None) or ""),
            "by": by,
            "outcome": outcome,
        }
        device.hass.bus.async_fire(EVENT_TOOL_CALL, data, context=context)
