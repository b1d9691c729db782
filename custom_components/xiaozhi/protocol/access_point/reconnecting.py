"""Rules of reconnecting, and of problems to report to the owner, without a clock or a socket.

Pauses double from 1 s to 300 s and never end: servers that refuse us get the longest, since only another
attempt shows that they accept us again.
"""

from dataclasses import dataclass
from enum import StrEnum
from random import random
from typing import Final

from ..timeouts import AccessPointTimeouts

# By how much of itself a pause may be longer.
_JITTER: Final = 0.2
# Close codes: RFC 6455, and the cloud's own, which stands for any of its faults.
_NORMAL: Final = 1000
_POLICY_VIOLATION: Final = 1008
_CLOUD_ERROR: Final = 4004
# A self-hosted server notices late that a connection of ours was lost, and then forgets the newer one, too.
_DEAF_AFTER_LOSS: Final = 2


class EndingKind(StrEnum):
    """Why there is no connection."""

    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    """The handshake was refused for good."""
    CLOSED = "closed"
    """The other side closed, with a code."""
    LOST = "lost"
    """The connection ended without a close frame."""
    SILENT = "silent"
    """Our ping was not answered: the other side may believe in the connection for a while."""
    DEAF = "deaf"
    """A self-hosted server does not hand us requests any more, as happens when another client replaces us."""
    REPLACED = "replaced"
    """A self-hosted server hands our requests to another client, which has the same address."""
    WANTED = "wanted"
    """We closed, to connect again at once."""


class Problem(StrEnum):
    """Problem that the owner is to solve."""

    REFUSED = "refused"
    USED_ELSEWHERE = "used_elsewhere"
    TOO_MANY_TOOLS = "too_many_tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a connection, or of an attempt."""

    kind: EndingKind
    detail: str = ""
    code: int | None = None
    """Close code, or HTTP status of a refused handshake."""
    reason: str = ""
    """The other side's own words."""
    lasted: float = 0.0
    since_list: float | None = None
    """Seconds since a list of tools was sent on it; None if none was."""


class Reconnecting:
    """Counts endings, and decides on the next attempt."""

    def __init__(self, *, self_hosted: bool) -> None:
        self.problem: Problem | None = None
        self.attempts = 0
        """Endings since the connection was last healthy."""
        self._self_hosted = self_hosted
        self._pause = AccessPointTimeouts.first_retry
        self._replaced = 0
        """Number of connections in a row that another client has ended within minutes."""
        self._deaf_after_loss = 0
        """Number of deaf connections that a lost one still explains."""
        self._after_list = 0

    @property
    def proof(self) -> float:
        """Seconds that a connection has to last to be healthy."""
        contested = self.problem is Problem.USED_ELSEWHERE
        return AccessPointTimeouts.shared if contested else AccessPointTimeouts.steady

    def healthy(self) -> None:
        """Note that the connection has lasted, or that the owner wants another attempt at once."""
        if self.problem is Problem.USED_ELSEWHERE:
            self._replaced = 0
        self.problem = None
        self.attempts = 0
        self._pause = AccessPointTimeouts.first_retry
        self._after_list = 0

    def ended(self, ending: Ending) -> float:
        """Return the seconds until the next attempt, and set `problem`."""
        if ending.kind is EndingKind.WANTED:
            return 0.0
        self.attempts += 1
        pause, self._pause = self._pause, min(2 * self._pause, AccessPointTimeouts.last_retry)
        if problem := self._problem_of(ending):
            self.problem = problem
        if problem in {Problem.REFUSED, Problem.USED_ELSEWHERE}:
            pause = AccessPointTimeouts.last_retry
        elif ending.kind is EndingKind.SILENT and self._self_hosted:
            pause = max(pause, AccessPointTimeouts.half_open)
        return pause * (1 + _JITTER * random())  # noqa: S311 - no secret

    def _problem_of(self, ending: Ending) -> Problem | None:
        if ending.kind is EndingKind.REFUSED or ending.code == _POLICY_VIOLATION:
            return Problem.REFUSED
        if ending.lasted >= AccessPointTimeouts.shared:
            self._replaced = 0
        if self._is_replaced(ending):
            self._replaced += 1
            return Problem.USED_ELSEWHERE if self._replaced >= 2 else None
        if self._is_after_list(ending):
            self._after_list += 1
            return Problem.TOO_MANY_TOOLS if self._after_list >= 3 else None
        return None

    def _is_replaced(self, ending: Ending) -> bool:
        """Whether another client took our place: a mcp-endpoint-server has one place for each agent."""
        if ending.kind is EndingKind.REPLACED:
            return True
        if ending.kind is EndingKind.DEAF:
            explained = self._deaf_after_loss > 0
            self._deaf_after_loss -= explained
            return not explained
        if ending.kind in {EndingKind.UNREACHABLE, EndingKind.SILENT, EndingKind.LOST}:
            self._deaf_after_loss = _DEAF_AFTER_LOSS
        short = ending.lasted < AccessPointTimeouts.steady
        return ending.kind is EndingKind.CLOSED and ending.code == _NORMAL and bool(ending.reason) and short

    def _is_after_list(self, ending: Ending) -> bool:
        """Whether the cloud failed right after it got our tools."""
        soon = ending.since_list is not None and ending.since_list < AccessPointTimeouts.listed
        return ending.kind is EndingKind.CLOSED and ending.code == _CLOUD_ERROR and soon
