"""The firmware's main task. Source: `Application::Run` of the firmware's `application.cc`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ..board.pace import Pace

type Job = Callable[[], Coroutine[Any, Any, None]]


class MainLoop:
    """Runs passes: each applies the state first, then sends audio, then runs the scheduled jobs."""

    def __init__(
        self, pace: Pace, *, state_changed: Job, send_audio: Job, passed: Callable[[], None]
    ) -> None:
        """`state_changed` applies the current state, `send_audio` sends the queued audio.

        `passed` is called after every pass.
        """
        self._pace = pace
        self._apply_state = state_changed
        self._send_audio = send_audio
        self._passed = passed
        self._in_pass = False
        self._jobs: list[Job] = []
        self._wake = asyncio.Event()
        self._state_changed = False
        self._has_audio = False

    @property
    def busy(self) -> bool:
        """Whether a pass runs, or anything but audio is scheduled."""
        return self._in_pass or self._state_changed or bool(self._jobs)

    def schedule(self, job: Job) -> None:
        """Run `job` in a later pass, after all jobs that were scheduled before."""
        self._jobs.append(job)
        self._wake.set()

    def schedule_call(self, function: Callable[[], None]) -> None:
        """Call a function in a later pass."""

        async def job() -> None:
            function()

        self.schedule(job)

    def signal_state(self) -> None:
        """Apply the state in the next pass."""
        self._state_changed = True
        self._wake.set()

    def signal_audio(self) -> None:
        """Send the queued audio in the next pass."""
        self._has_audio = True
        self._wake.set()

    async def run(self) -> None:
        """Run until cancelled. Raises what a job raises."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(self._pace.main_loop_delay)
            self._wake.clear()
            self._in_pass = True
            if self._state_changed:
                self._state_changed = False
                await self._apply_state()
            if self._has_audio:
                self._has_audio = False
                await self._send_audio()
            jobs, self._jobs = self._jobs, []
            for job in jobs:
                await job()
            self._in_pass = False
            self._passed()
