"""Lets a device ask one question at a time, and only so many in the long run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ..protocol.limits import TokenBucket
from ..protocol.mcp.client import RequestError

__all__ = ["QuestionLimit"]

_BUSY: Final = -32000


class QuestionLimit:
    """The questions of one kind of one device."""

    def __init__(self, clock: Callable[[], float], *, rate: float, burst: int) -> None:
        """Let `rate` questions a second through in the long run, and `burst` at once; `clock` in seconds."""
        self._clock = clock
        self._bucket = TokenBucket(rate=rate, burst=burst)
        self._busy = False

    @contextmanager
    def question(self) -> Iterator[None]:
        """Let a question through in this block. Raises `RequestError` for one too many."""
        if self._busy or not self._bucket.take(self._clock()):
            raise RequestError("Too many questions: ask again later", _BUSY)
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
