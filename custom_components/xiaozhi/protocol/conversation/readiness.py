"""Readiness of a device to play an answer: its main task has acted on `tts start`.

The firmware runs tool calls on its main task, one at a time, and handles no `tts start`, no `tts stop` and no
button meanwhile; its play queue goes on playing (`main/mcp_server.cc`, `main/application.cc`).
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from ...util.event_loop import log_failure, loop_time, sleep_until
from ..timeouts import ConversationTimeouts

# Time that a free main task takes to act on `tts start`, and then to flush its play queue.
_SETTLING: Final = 0.2
# Answers in a row without a proof, after which a device is not probed for some time.
_MAX_UNPROVEN: Final = 3


class MainTask:
    """The main task of one device, which our calls keep busy."""

    def __init__(self) -> None:
        self.running: dict[asyncio.Event, float] = {}
        """Running calls: the event of the end of each, and the time at which it was sent."""
        self._probing: set[asyncio.Task[bool | None]] = set()
        self._unproven = 0
        self._no_probe_until = float("-inf")

    @property
    def blocked_by_tools(self) -> bool:
        """Whether tools keep it busy. Some firmware runs them on a task of their own."""
        return True

    @property
    def stalled(self) -> bool:
        """Whether something that was sent has not arrived, if the link knows that."""
        return False

    async def probe(self) -> bool | None:
        """Call a tool that takes no time; return whether the device answers, None if nothing shows that."""
        return None

    @contextmanager
    def call(self) -> Generator[None]:
        """Count a call as running, until it is answered or given up."""
        over = asyncio.Event()
        if self.blocked_by_tools:
            self.running[over] = loop_time()
        try:
            yield
        finally:
            self.running.pop(over, None)
            over.set()

    async def wait_free(self) -> None:
        """Wait for the calls that run now, not for later ones."""
        for over in tuple(self.running):
            await over.wait()

    def start_probe(self) -> asyncio.Task[bool | None] | None:
        """Start to `probe`; None while the device counts as one that does not answer it."""
        if loop_time() < self._no_probe_until:
            return None
        probing = asyncio.create_task(self.probe(), name="probe of the main task")
        self._probing.add(probing)
        probing.add_done_callback(self._probed)
        return probing

    def probe_unanswered(self, pause: float) -> None:
        """Count a probe without an answer in time; after three in a row, do not probe for `pause` seconds."""
        self._unproven += 1
        if self._unproven >= _MAX_UNPROVEN:
            self._no_probe_until = loop_time() + pause

    def _probed(self, probing: asyncio.Task[bool | None]) -> None:
        self._probing.discard(probing)
        log_failure(probing)
        if not probing.cancelled() and probing.exception() is None and probing.result():
            # A late answer counts, too: the device was only busy.
            self._unproven = 0
            self._no_probe_until = float("-inf")


class SpeechStart:
    """A `tts start` on its way, until the device accepts sound.

    All firmware with tools answers a call that follows it only when it speaks and has flushed its play queue.
    Without that proof a pause has to do: a call sent before `tts start` delays it, a call that reaches the
    device with it runs before the flush, and later calls change nothing.
    """

    def __init__(self, main_task: MainTask) -> None:
        """Begin when `tts start` is sent."""
        self._main_task = main_task
        self._sent = loop_time()
        self._before = tuple(main_task.running)

    async def wait_taken(self) -> float:
        """Wait until the device plays; return the `loop_time` since when."""
        if await self._proven():
            return loop_time()
        free = self._sent
        for over in self._before:
            await over.wait()
            free = loop_time()
        await sleep_until(free + _SETTLING)
        for over, sent in tuple(self._main_task.running.items()):
            if sent < self._sent + _SETTLING:
                await over.wait()
        return loop_time()

    async def _proven(self) -> bool:
        if (probing := self._main_task.start_probe()) is None:
            return False
        asked = loop_time()
        blocked = True
        while blocked:
            blocked = any(sent <= asked for sent in self._main_task.running.values())
            if (await asyncio.wait((probing,), timeout=ConversationTimeouts.ready))[0]:
                return bool(probing.result())
            # While nothing arrives, sound would be lost.
            blocked |= self._main_task.stalled
        self._main_task.probe_unanswered(ConversationTimeouts.no_probe)
        return False
