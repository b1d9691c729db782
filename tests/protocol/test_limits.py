"""Bounds on rates and on connections of strangers, and which addresses are of the home network."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.transport.local_network import is_local
from custom_components.xiaozhi.util.limits import FloodError, FloodGuard, PendingConnections, TokenBucket


def test_a_bucket_allows_its_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=2, burst=3)
    assert [bucket.take(100.0) for _ in range(4)] == [True, True, True, False]
    assert not bucket.take(100.4)
    assert bucket.take(100.5)
    assert not bucket.take(100.9)
    assert [bucket.take(500.0) for _ in range(4)] == [True, True, True, False]


@given(pauses=st.lists(st.floats(0, 3), max_size=200))
def test_a_bucket_never_allows_more_than_burst_plus_rate(pauses: list[float]) -> None:
    bucket, now, taken = TokenBucket(rate=5, burst=10), 0.0, 0
    for pause in pauses:
        now += pause
        taken += bucket.take(now)
        assert taken <= 10 + 5 * now + 1e-6


def test_a_conversation_is_no_flood() -> None:
    """An hour of 20 ms packets, two seconds of wake word at once, and a message every second pass.

    Nor are five seconds that the network held back and that come at once.
    """
    guard = FloodGuard()
    for _ in range(5 * 50):
        guard.packet(-60.0)
    for _ in range(33):
        guard.packet(0.0)
    for index in range(50 * 3600):
        guard.packet(index / 50)
        if index % 50 == 0:
            guard.message(index / 50, 8000)


def test_few_messages_that_are_long_are_a_flood_too() -> None:
    guard = FloodGuard()
    for index in range(10):
        guard.message(index / 10, 60_000)
    with pytest.raises(FloodError, match="128 KiB"):
        guard.message(1, 60_000)


def test_a_flood_from_all_other_addresses_leaves_a_device_its_place() -> None:
    """Of 256 connections from 254 addresses, one that is the only one of its address is never displaced."""
    pending = PendingConnections[tuple[int, int]](256)
    assert pending.enter((0, 0), "10.0.0.1") is None
    displaced = [
        pending.enter((round_, host), f"10.0.0.{host}") for round_ in range(4) for host in range(2, 255)
    ]
    assert (0, 0) not in displaced
    assert len(pending.close()) == 256


def test_a_flood_displaces_itself_before_an_address_known_from_before() -> None:
    """But one that opens many connections displaces its own."""
    pending = PendingConnections[str](3)
    assert pending.enter("first", "10.0.0.1") is None
    pending.let_in("first")
    assert pending.enter("again", "10.0.0.1") is None
    assert pending.enter("flood 1", "10.0.1.1") is None
    assert pending.enter("flood 2", "10.0.1.2") is None
    assert pending.enter("flood 3", "10.0.1.3") == "flood 1"
    for number in range(4, 8):
        assert pending.enter(f"flood {number}", f"10.0.1.{number}") == f"flood {number - 2}"
    assert pending.enter("again and again", "10.0.0.1") == "flood 6"
    assert pending.enter("too often", "10.0.0.1") == "flood 7"
    assert pending.enter("far too often", "10.0.0.1") == "again"


def test_no_connection_is_admitted_after_closing() -> None:
    pending = PendingConnections[str](2)
    assert pending.enter("one", "10.0.0.1") is None
    assert pending.close() == ["one"]
    assert pending.enter("two", "10.0.0.1") == "two"
    assert pending.close() == []


HOME = ("127.0.0.1", "127.0.0.2", "10.1.2.3", "172.16.0.9", "192.168.178.20", "169.254.7.7", "fd00::1", "::1")
AWAY = ("8.8.8.8", "172.32.0.1", "192.169.0.1", "100.64.0.1", "0.0.0.0", "2001:4860::8888", "", "home")


@pytest.mark.parametrize("address", [*HOME, *AWAY])
def test_who_is_at_home_is_heard_and_nobody_else(address: str) -> None:
    assert is_local(address) is (address in HOME)
