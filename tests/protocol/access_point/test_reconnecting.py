"""When to connect again, and what to tell the owner."""

from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.access_point.reconnecting import (
    Ending,
    EndingKind,
    Problem,
    Reconnecting,
)

LOST = Ending(kind=EndingKind.LOST)
ELSEWHERE = Problem.USED_ELSEWHERE


def closed(code: int, **more: Any) -> Ending:
    return Ending(kind=EndingKind.CLOSED, code=code, **more)


DEAF = Ending(kind=EndingKind.DEAF, lasted=10.0)
SILENT = Ending(kind=EndingKind.SILENT)
AWAY = Ending(kind=EndingKind.UNREACHABLE, code=502)
FAILED = closed(4004, lasted=12.0, since_list=10.5)


@pytest.mark.parametrize(
    ("self_hosted", "walk"),
    [
        # Pauses double up to five minutes.
        (False, [(LOST, min(2**number, 300), None) for number in range(12)]),
        # A refusal waits long at once. The server that is away then says nothing about the token.
        (
            False,
            [(Ending(kind=EndingKind.REFUSED, code=401), 300, Problem.REFUSED), (AWAY, 2, Problem.REFUSED)],
        ),
        (False, [(closed(1008, lasted=0.1), 300, Problem.REFUSED), (AWAY, 2, Problem.REFUSED)]),
        # A self-hosted server notices late that a connection is lost, and forgets the newer one with it.
        *(
            (
                True,
                [
                    (loss, pause, None),
                    (DEAF, 2, None),
                    (DEAF, 4, None),
                    (DEAF, 8, None),
                    (DEAF, 300, ELSEWHERE),
                ],
            )
            for loss, pause in ((SILENT, 45), (LOST, 1), (AWAY, 1))
        ),
        # It stops for all its users when a second connection comes while it believes in the first.
        (False, [(SILENT, 1, None)]),
        # Three failures right after the list are too many tools.
        (False, [(FAILED, 1, None), (FAILED, 2, None), (FAILED, 4, Problem.TOO_MANY_TOOLS)]),
        # A connection that we closed is opened at once.
        (False, [(Ending(kind=EndingKind.WANTED), 0, None), (LOST, 1, None)]),
        # Nobody's fault: 4004 above all, which is the cloud's answer to everything.
        *(
            (False, [(ending, 2**number, None) for number in range(6)])
            for ending in (
                closed(1000, reason="new connection", lasted=61.0),
                closed(1000, reason="", lasted=1.0),
                closed(1001, reason="restart", lasted=1.0),
                closed(4004, reason="Internal server error", lasted=10.0),
                closed(4004, reason="Internal server error", lasted=70.0, since_list=20.0),
                AWAY,
            )
        ),
    ],
)
def test_each_ending_has_its_pause_and_some_a_problem(
    self_hosted: bool, walk: list[tuple[Ending, float, Problem | None]]
) -> None:
    reconnecting = Reconnecting(self_hosted=self_hosted)
    for ending, pause, problem in walk:
        assert pause <= reconnecting.ended(ending) <= 1.2 * pause
        assert reconnecting.problem == problem
    assert reconnecting.attempts == sum(ending.kind is not EndingKind.WANTED for ending, _, _ in walk)
    reconnecting.healthy()
    assert (reconnecting.problem, reconnecting.attempts) == (None, 0)


@pytest.mark.parametrize(
    "replaced",
    [
        closed(1000, reason="new connection", lasted=1.0),
        Ending(kind=EndingKind.REPLACED, lasted=70.0),
        Ending(kind=EndingKind.DEAF, lasted=5.0),
        Ending(kind=EndingKind.DEAF, lasted=670.0),
    ],
)
def test_two_clients_with_one_token_do_not_throw_each_other_out_for_ever(replaced: Ending) -> None:
    reconnecting = Reconnecting(self_hosted=True)
    assert reconnecting.ended(replaced) < 2
    assert reconnecting.problem is None
    reconnecting.healthy()
    assert reconnecting.proof == 60
    assert reconnecting.ended(replaced) >= 300
    assert reconnecting.problem is ELSEWHERE
    # To be connected for a minute shows nothing: the other client comes back in its own time.
    assert reconnecting.proof == 900
    assert reconnecting.ended(replaced) >= 300
    reconnecting.healthy()
    assert reconnecting.problem is None
    assert reconnecting.ended(replaced) < 2
    assert reconnecting.problem is None


@given(
    st.lists(
        st.builds(
            Ending,
            kind=st.sampled_from(EndingKind),
            code=st.none() | st.integers(0, 5000),
            reason=st.sampled_from(["", "why"]),
            lasted=st.floats(0, 1e6),
            since_list=st.none() | st.floats(0, 1e6),
        ),
        max_size=30,
    ),
    st.booleans(),
)
def test_no_ending_is_the_last(endings: list[Ending], self_hosted: bool) -> None:
    reconnecting = Reconnecting(self_hosted=self_hosted)
    for ending in endings:
        assert 0 <= reconnecting.ended(ending) <= 360
