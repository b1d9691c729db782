"""Tool calls that keep a device's main task busy.

The firmware runs tool calls on its main task, one at a time, and handles no `tts start`, no `tts stop` and no
button meanwhile; what is queued to play goes on playing (`main/mcp_server.cc`, `main/application.cc`).
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, Final

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

    def __init__(
        self, *, blocked_by_tools: bool = True, ask: Callable[[], Coroutine[Any, Any, bool]] | None = None
    ) -> None:
        """Some firmware runs tools on a task of their own: they keep nothing waiting.

        `ask` calls a tool that takes no time, and returns whether the device has run it. None for a device
        without such a tool.
        """
        self.ask = ask
        """Asks for an answer of the main task; None if the device has no tool for that."""
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

    All firmware with tools answers a call that follows it only when it speaks and has flushed its play queue.
    Without that proof a pause has to do: a call sent before `tts start` delays it, a call that reaches the
    device with it runs before the flush, and later calls change nothing.
    """

    def __init__(self, main_task: MainTask, *, patience: float) -> None:
        """Begin when `tts start` is sent.

        A device that does not prove within `patience` seconds that it speaks, though it runs no tool, is not
        asked for proof again.
        """
        self._main_task = main_task
        self._patience = patience
        self._sent = loop_time()
        self._before = main_task.running

    async def wait_taken(self) -> float:
        """Wait until the device plays what it is sent; return since when, in seconds of `loop_time`."""
        if await self._proven():
            return loop_time()
        await sleep_until(self._sent + _SETTLING)
        together = [call for call in self._main_task.running if call.sent < self._sent + _SETTLING]
        for call in (*self._before, *together):
            await call.over.wait()
        taken = max((self._sent, *(call.ended or 0.0 for call in self._before))) + _SETTLING
        await sleep_until(taken)
        return taken

    async def _proven(self) -> bool:
        if (ask := self._main_task.ask) is None:
            return False
        asked = loop_time()
        asking = asyncio.create_task(ask())
        try:
            blocked = True
            while blocked:
                blocked = any(call.sent <= asked for call in self._main_task.running)
                if (await asyncio.wait((asking,), timeout=self._patience))[0]:
                    return asking.result()
            self._main_task.ask = None
            return False
        finally:
            asking.cancel()
