"""Shows in Activity which tools of a device a person or the assistant has called, without arguments."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from homeassistant.core import Context

from ..const import EVENT_TOOL_CALL
from ..errors import UserError
from .device import Device


@contextmanager
def logged_call(
    device: Device,
    tool: str,
    context: Context | None,
    by: Literal["assistant", "person"] = "person",
    *,
    only_failures: bool = False,
) -> Iterator[None]:
    """Show in Activity the calls of a tool that are made in this block, and whether they failed.

    With `only_failures`, Home Assistant itself logs a success, as the state of an entity. Polls do not belong
    into the logbook.
    """
    outcome = "failed"
    try:
        yield
        outcome = "done"
    except UserError as err:
        # The device has taken its photo; only nobody could look at it.
        if err.key == "photo_not_answered":
            outcome = "done"
        raise
    finally:
        if outcome == "failed" or not only_failures:
            words = device.commands.words_for(tool)
            device.events.report(EVENT_TOOL_CALL, context, tool=words, by=by, outcome=outcome)
