"""An event loop whose clock stands still while anything happens, and otherwise jumps to the next timer.

A test of a time-out of a minute takes no time, and a busy machine makes nothing late. How it works: when
the loop would sleep until its next timer, the selector here first looks for what may still happen without
time:

1. sockets and pipes that are ready: no time passes;
2. child processes, which are real: it waits in real time until they sleep, as they do when they want more
   data;
3. calls in threads, which are real, too: it waits until they end, or sleep because they wait for the loop;
4. packets on the loopback interface that a busy kernel has not handed over: a real millisecond. What a
   socket without `TCP_NODELAY` holds back until the packet before is acknowledged comes too late.

Only then the clock jumps. It is the loop's `time()` alone: `time.monotonic` and the date go on as usual,
and so do other processes than the loop's own children. Tests in which those have a part are marked
`real_time`.

Whether a thread or a child sleeps is read from `/proc`, which Linux has. Elsewhere each is given a fixed
real time (`_UNKNOWN_SECONDS`) before the clock jumps: tests take longer, and a busy machine can make them
fail.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import Context
from pathlib import Path
import selectors
import threading
from typing import Any, override

from homeassistant.util.executor import InterruptibleThreadPoolExecutor

# A packet is on the other side of the loopback interface at once, but for a busy kernel. So the clock goes on
# for so much of virtual time at most without a wait of some real seconds.
_VIRTUAL_SECONDS = 0.02
_IO_SECONDS = 0.001
# Real seconds for which the clock waits for work in a thread or a child process at most.
_WORK_SECONDS = 60.0
# Real seconds for threads that wait for the loop, and for child processes, on systems that do not tell
# whether they sleep.
_UNKNOWN_SECONDS = 0.1
_SYSTEM_TELLS = Path("/proc/self/task").is_dir()
# As of Home Assistant.
_THREADS = "SyncWorker"
_MAX_THREADS = 64


class RealTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that waits for its threads to end, however busy the machine is."""

    @override
    def set_default_executor(self, executor: Executor) -> None:
        """Use plain threads: Home Assistant interrupts those of its own that a busy machine delays."""
        if isinstance(executor, InterruptibleThreadPoolExecutor):
            executor = ThreadPoolExecutor(thread_name_prefix=_THREADS, max_workers=_MAX_THREADS)
        super().set_default_executor(executor)


class VirtualTimeLoop(RealTimeLoop):
    """An event loop in which time passes only while it waits for nothing but time."""

    def __init__(self) -> None:
        """Begin at a time that is no special one."""
        self.calls: dict[object, bool] = {}
        """Calls in threads, and whether each has handed something to the loop: it may wait for an answer."""
        self._threads: dict[object, int] = {}
        """The threads of these calls, while they run."""
        self._in_thread = threading.local()
        self._children: set[asyncio.SubprocessTransport] = set()
        self._now = 1000.0
        super().__init__(_Selector(self))

    @override
    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, but keep `time`, which Home Assistant replaces by `time.monotonic`."""
        if name != "time":
            super().__setattr__(name, value)

    @override
    def time(self) -> float:
        """Return virtual seconds."""
        return self._now

    def pass_time(self, seconds: float) -> None:
        """Let the clock jump."""
        self._now += seconds

    @override
    def run_in_executor[*Ts, T](
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run a call in a thread, and know of it meanwhile."""
        call = object()

        def run(*args: *Ts) -> T:
            self._in_thread.call = call
            self._threads[call] = threading.get_native_id()
            try:
                return func(*args)
            finally:
                self._threads.pop(call)
                self._in_thread.call = None

        self.calls[call] = False
        future = super().run_in_executor(executor, run, *args)
        future.add_done_callback(lambda _: self.calls.pop(call))
        return future

    def sleeping_threads(self) -> list[str]:
        """Return how often each thread has run, if all of them sleep and the system tells."""
        running = tuple(self._threads.values())
        if len(running) < len(self.calls):
            return []
        try:
            return [_runs_of_sleeping(thread) for thread in running]
        except OSError, _AwakeError:
            return []

    @override
    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        """Start a child process, and know of it."""
        transport, protocol = await super().subprocess_exec(*args, **options)
        self._children.add(transport)
        return transport, protocol

    def working_children(self) -> dict[int, list[str]]:
        """Return how often each thread of the child processes has run; nothing for a child that is awake."""
        self._children = {child for child in self._children if child.get_returncode() is None}
        return {pid: _runs_of_sleeping_child(pid) for child in self._children if (pid := child.get_pid())}

    @override
    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """End the threads, which takes as long as it takes: `timeout` would be of virtual time.

        A call whose caller does not wait for it any more may still run in one.
        """
        self.calls[self] = False
        try:
            await super().shutdown_default_executor()
        finally:
            self.calls.pop(self)

    @override
    def call_soon_threadsafe[*Ts](
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Take what a thread hands over."""
        if (call := getattr(self._in_thread, "call", None)) in self.calls:
            self.calls[call] = True
        return super().call_soon_threadsafe(callback, *args, context=context)


class _Selector(selectors.DefaultSelector):
    """Waits for sockets, threads and then, at once, for time."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        """Let the clock of this loop jump."""
        super().__init__()
        self._loop = loop
        self._unchecked = 0.0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; when that is nothing, `timeout` has passed on the loop's clock."""
        if ready := super().select(0 if timeout is not None else None):
            return ready
        if timeout is None or timeout <= 0:
            return ready
        self._unchecked += timeout
        if ready := self._wait_for_children():
            return ready
        if self._loop.calls or self._unchecked >= _VIRTUAL_SECONDS:
            self._unchecked = 0.0
            if ready := self._wait():
                return ready
        self._loop.pass_time(timeout)
        return ready

    def _wait_for_children(self) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait in real time for child processes to fall asleep: for more data, or because enough was read."""
        before = self._loop.working_children()
        if before and not _SYSTEM_TELLS:
            return super().select(_UNKNOWN_SECONDS)
        for _ in range(round(_WORK_SECONDS / _IO_SECONDS)) if before else ():
            if ready := super().select(_IO_SECONDS):
                return ready
            if all((now := self._loop.working_children()).values()) and now == before:
                break
            before = now
        return []

    def _wait(self) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait in real time for what the kernel and the threads may be about to hand over."""
        if not (calls := tuple(self._loop.calls.values())):
            return super().select(_IO_SECONDS)
        if not all(calls):
            return super().select(_WORK_SECONDS)
        if not _SYSTEM_TELLS:
            return super().select(_UNKNOWN_SECONDS)
        before = self._loop.sleeping_threads()
        for _ in range(round(_WORK_SECONDS / _IO_SECONDS)):
            if ready := super().select(_IO_SECONDS):
                return ready
            # A thread that waited for the interpreter has run meanwhile; one that has not waits for us. One
            # that has work is awake, even if a busy machine gives it no processor.
            if (now := self._loop.sleeping_threads()) and now == before:
                break
            before = now
        return []


class _AwakeError(Exception):
    """A thread has something to do."""


def _runs_of_sleeping_child(pid: int) -> list[str]:
    try:
        return [_runs_of_sleeping(int(task.name), pid) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError, _AwakeError:
        return []


def _runs_of_sleeping(thread: int, process: int | str = "self") -> str:
    """Return how long and how often a thread has run. Raises `_AwakeError` and `OSError`."""
    folder = Path(f"/proc/{process}/task/{thread}")
    if (folder / "stat").read_text().rpartition(") ")[2][0] != "S":
        raise _AwakeError
    return (folder / "schedstat").read_text()
