"""What keeps a device's main task busy.

The firmware runs tool calls on its main task, one at a time, and handles no `tts start`, no `tts stop` and no
button meanwhile; what is queued to play goes on playing (`main/mcp_server.cc`, `main/application.cc`).
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from ..clock import loop_time, sleep_until

__all__ = ["MainTask", "SpeechStart", "ToolCall"]

# What a free main task takes to act on `tts start`, and to flush its play queue after that.
_SETTLING: Final = 0.2


class ToolCall:
    """A tool call that the device has been sent."""

    def __init__(self) -> None:
        """Begin when it is sent."""
        self.sent = loop_time()
        """Seconds of `loop_time`."""
        self.ended: float | None = None
        """When it was answered or given up; None while it runs."""
        self.over = asyncio.Event()


class MainTask:
    """The main task of one device, as far as the calls of one link keep it busy."""

    def __init__(self, *, blocked_by_tools: bool = True) -> None:
        """Some firmware runs tools on a task of their own: they keep nothing waiting."""
        self._blocked_by_tools = blocked_by_tools
        self._running: list[ToolCall] = []

    @property
    def running(self) -> tuple[ToolCall, ...]:
        """Calls that keep the main task busy now."""
        return tuple(self._running)

    @contextmanager
    def call(self) -> Generator[None]:
        """Count a call as running, until it is answered or given up."""
        call = ToolCall()
        if self._blocked_by_tools:
            self._running.append(call)
        try:
            yield
        finally:
            if self._blocked_by_tools:
                self._running.remove(call)
            call.ended = loop_time()
            call.over.set()

    async def wait_free(self) -> None:
        """Wait for the calls that run now, not for later ones."""
        for call in self.running:
            await call.over.wait()


class SpeechStart:
    """A `tts start` on its way: when the device will take what is to be played.

    A call sent before it delays it. A call that reaches the device with it runs before the play queue is
    flushed. Later calls change nothing: the device speaks already.
    """

    def __init__(self, main_task: MainTask) -> None:
        """Begin when `tts start` is sent."""
        self._main_task = main_task
        self._sent = loop_time()
        self._before = main_task.running

    async def wait_taken(self) -> float:
        """Wait until the device plays what it is sent; return since when, in seconds of `loop_time`."""
        await sleep_until(self._sent + _SETTLING)
        together = [call for call in self._main_task.running if call.sent < self._sent + _SETTLING]
        for call in (*self._before, *together):
            await call.over.wait()
        taken = max((self._sent, *(call.ended or 0.0 for call in self._before))) + _SETTLING
        await sleep_until(taken)
        return taken
