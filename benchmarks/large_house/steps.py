"""How long each step of the event loop spends in the integration, measured from inside the loop.

While a step lasts, nothing is sent or heard. Its time counts as ours while our code runs, with what that
calls of Home Assistant's helpers and of libraries; what an Assist pipeline does on our behalf, as on that of
any satellite, counts as Home Assistant's. All are seconds of the thread's processor time, which a busy
computer does not lengthen; collecting garbage is left out.
"""

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
import gc
from pathlib import Path
import sys
from threading import get_ident
from time import monotonic, thread_time
from types import CodeType
from typing import Any, Final

from homeassistant.components import assist_pipeline

import custom_components.xiaozhi as integration

_OURS: Final = str(Path(integration.__file__).parent)
_PIPELINE: Final = str(Path(assist_pipeline.__file__).parent)
_TOOL: Final = sys.monitoring.PROFILER_ID
_EVENTS: Final = sys.monitoring.events
# Deeper calls are not timed, to measure and not to slow down.
_TIMED_DEPTH: Final = 4
_REPORTED: Final = 0.005
_SLOW_OF_OTHERS: Final = 0.02


@dataclass(frozen=True, slots=True)
class SlowStep:
    """A step that was long in our code."""

    seconds: float
    place: str
    """The innermost function of ours, of the outer ones, that took most of it."""
    phase: str
    ended: float
    """Monotonic time."""


@dataclass(slots=True)
class Steps:
    """The steps of the event loop that runs in this thread."""

    phase: str = ""
    """What happens in the house now."""
    ours: Counter[str] = field(default_factory=Counter)
    """Seconds of our code by phase."""
    all: Counter[str] = field(default_factory=Counter)
    """Seconds of all steps by phase."""
    slow: list[SlowStep] = field(default_factory=list)
    slow_of_others: Counter[str] = field(default_factory=Counter)
    """Steps of more than 20 ms outside of our code, with garbage collection, by phase."""
    _thread: int = field(default_factory=get_ident)
    _mine: bool = False
    _since: float = 0.0
    _spent: float = 0.0
    _collecting: float = 0.0
    _stack: list[tuple[bool, CodeType, float]] = field(default_factory=list)
    _places: list[tuple[float, str]] = field(default_factory=list)

    @contextmanager
    def measured(self) -> Generator[None]:
        """Measure while the block runs."""
        run, steps = asyncio.Handle._run, self  # noqa: SLF001 - what the loop calls for each step

        def timed(handle: asyncio.Handle) -> None:
            if get_ident() != steps._thread:
                run(handle)
                return
            phase, begun = steps.phase, steps._begin()
            run(handle)
            steps._end(phase, begun)

        watched = {
            _EVENTS.PY_START: self._entered,
            _EVENTS.PY_RESUME: self._entered,
            _EVENTS.PY_THROW: self._thrown,
            _EVENTS.PY_RETURN: self._left,
            _EVENTS.PY_YIELD: self._left,
            _EVENTS.PY_UNWIND: self._unwound,
        }
        sys.monitoring.use_tool_id(_TOOL, "large house")
        for event, called in watched.items():
            sys.monitoring.register_callback(_TOOL, event, called)
        asyncio.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
        gc.callbacks.append(self._collected)
        sys.monitoring.restart_events()
        sys.monitoring.set_events(_TOOL, sum(watched))
        try:
            yield
        finally:
            sys.monitoring.set_events(_TOOL, 0)
            sys.monitoring.free_tool_id(_TOOL)
            gc.callbacks.remove(self._collected)
            asyncio.Handle._run = run  # type: ignore[method-assign]  # noqa: SLF001

    def slow_between(self, earlier: float, later: float) -> bool:
        """Whether a step of more than 5 ms in our code ended between two monotonic times."""
        return any(earlier < step.ended <= later for step in self.slow)

    def _begin(self) -> float:
        self._stack.clear()
        self._places.clear()
        self._mine, self._spent = False, 0.0
        return thread_time()

    def _end(self, phase: str, begun: float) -> None:
        now = thread_time()
        if self._mine:
            self._spent += now - self._since
            self._mine = False
        self.all[phase] += now - begun
        self.ours[phase] += self._spent
        self.slow_of_others[phase] += now - begun - self._spent > _SLOW_OF_OTHERS
        if self._spent >= _REPORTED:
            most = max((took for took, _ in self._places), default=0)
            place = next((name for took, name in self._places if took >= 0.7 * most), "?")
            self.slow.append(SlowStep(self._spent, place, phase, monotonic()))

    def _enter(self, code: CodeType, *, mine: bool) -> None:
        now, stack = 0.0, self._stack
        if mine is not self._mine or (mine and len(stack) < _TIMED_DEPTH):
            now = thread_time()
            if self._mine:
                self._spent += now - self._since
            self._since = now
        stack.append((self._mine, code, now if mine else 0.0))
        self._mine = mine

    def _leave(self) -> None:
        if not self._stack:
            return
        before, code, begun = self._stack.pop()
        if begun or before is not self._mine:
            now = thread_time()
            if self._mine:
                self._spent += now - self._since
            self._since = now
            if begun and now - begun >= _REPORTED / 2:
                # Those that were called come before those that have called them.
                name = f"{Path(code.co_filename).relative_to(_OURS)}:{code.co_qualname}"
                self._places.append((now - begun, name))
        self._mine = before

    def _entered(self, code: CodeType, _offset: int) -> object:
        name = code.co_filename
        if not (mine := name.startswith(_OURS)) and not name.startswith(_PIPELINE):
            return sys.monitoring.DISABLE
        if get_ident() == self._thread:
            self._enter(code, mine=mine)
        return None

    def _left(self, code: CodeType, _offset: int, _value: object) -> object:
        if not code.co_filename.startswith((_OURS, _PIPELINE)):
            return sys.monitoring.DISABLE
        if get_ident() == self._thread:
            self._leave()
        return None

    # Of these two, Python reports all, wherever they happen.
    def _thrown(self, code: CodeType, offset: int, _error: BaseException) -> None:
        if code.co_filename.startswith((_OURS, _PIPELINE)):
            self._entered(code, offset)

    def _unwound(self, code: CodeType, offset: int, _error: BaseException) -> None:
        if code.co_filename.startswith((_OURS, _PIPELINE)):
            self._left(code, offset, None)

    def _collected(self, phase: str, _info: dict[str, Any]) -> None:
        """Leave out the time of the garbage collection."""
        if get_ident() != self._thread:
            return
        if phase == "start":
            self._collecting = thread_time()
        elif self._mine:
            self._since += thread_time() - self._collecting
