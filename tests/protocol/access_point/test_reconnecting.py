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


def rules(*, self_hosted: bool = False, jitter: float = 0.0) -> Reconnecting:
    return Reconnecting(lambda: jitter, self_hosted=self_hosted)


def closed(code: int, **more: Any) -> Ending:
    return Ending(kind=EndingKind.CLOSED, code=code, **more)


def test_pauses_double_up_to_five_minutes() -> None:
    reconnecting = rules()
    pauses = [reconnecting.ended(LOST) for _ in range(12)]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert reconnecting.attempts == 12
    assert reconnecting.problem is None


@pytest.mark.parametrize("ending", [Ending(kind=EndingKind.REFUSED, code=401), closed(1008, lasted=0.1)])
def test_a_refusal_waits_long_at_once(ending: Ending) -> None:
    reconnecting = rules()
    assert reconnecting.ended(ending) == 300
    assert reconnecting.problem is Problem.REFUSED
    # The server is away now, which says nothing about the token.
    assert reconnecting.ended(Ending(kind=EndingKind.UNREACHABLE)) == 2
    assert reconnecting.problem is Problem.REFUSED
    reconnecting.healthy()
    assert reconnecting.problem is None


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
    reconnecting = rules(self_hosted=True)
    assert reconnecting.ended(replaced) == 1
    assert reconnecting.problem is None
    reconnecting.healthy()
    assert reconnecting.proof == 60
    assert reconnecting.ended(replaced) == 300
    assert reconnecting.problem is Problem.USED_ELSEWHERE
    # To be connected for a minute shows nothing: the other client comes back in its own time.
    assert reconnecting.proof == 900
    assert reconnecting.ended(replaced) == 300
    reconnecting.healthy()
    assert reconnecting.problem is None
    assert reconnecting.ended(replaced) == 1
    assert reconnecting.problem is None


@pytest.mark.parametrize("kind", [EndingKind.SILENT, EndingKind.LOST, EndingKind.UNREACHABLE])
def test_a_server_may_be_deaf_after_a_loss(kind: EndingKind) -> None:
    """It notices late that the lost connection is gone, and forgets the newer one with it."""
    reconnecting = rules(self_hosted=True)
    for ending in (Ending(kind=kind), *[Ending(kind=EndingKind.DEAF, lasted=10.0)] * 3):
        reconnecting.ended(ending)
        assert reconnecting.problem is None
    reconnecting.ended(Ending(kind=EndingKind.DEAF, lasted=10.0))
    assert reconnecting.problem is Problem.USED_ELSEWHERE


@pytest.mark.parametrize(
    "ending",
    [
        closed(1000, reason="new connection", lasted=61.0),
        closed(1000, reason="", lasted=1.0),
        closed(1001, reason="restart", lasted=1.0),
        closed(4004, reason="Internal server error", lasted=10.0),
        closed(4004, reason="Internal server error", lasted=70.0, since_list=20.0),
        Ending(kind=EndingKind.UNREACHABLE, code=502),
        LOST,
    ],
)
def test_other_endings_are_nobodys_fault(ending: Ending) -> None:
    """4004 above all: it is the cloud's answer to everything."""
    reconnecting = rules()
    for _ in range(6):
        reconnecting.ended(ending)
    assert reconnecting.problem is None
    assert reconnecting.attempts == 6


def test_three_failures_right_after_the_list_are_too_many_tools() -> None:
    reconnecting = rules()
    ending = closed(4004, lasted=12.0, since_list=10.5)
    pauses = [reconnecting.ended(ending) for _ in range(2)]
    assert reconnecting.problem is None
    pauses.append(reconnecting.ended(ending))
    assert reconnecting.problem is Problem.TOO_MANY_TOOLS
    assert pauses == [1, 2, 4]


def test_a_self_hosted_server_gets_time_to_notice_that_the_network_was_lost() -> None:
    """It stops for all its users when a second connection comes while it believes in the first."""
    silent = Ending(kind=EndingKind.SILENT)
    assert rules(self_hosted=True).ended(silent) == 45
    assert rules(self_hosted=False).ended(silent) == 1
    assert rules(self_hosted=True).ended(LOST) == 1


def test_a_connection_that_we_closed_is_opened_at_once() -> None:
    reconnecting = rules()
    assert reconnecting.ended(Ending(kind=EndingKind.WANTED)) == 0
    assert reconnecting.attempts == 0


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
    reconnecting = rules(self_hosted=self_hosted, jitter=1.0)
    for ending in endings:
        assert 0 <= reconnecting.ended(ending) <= 360
