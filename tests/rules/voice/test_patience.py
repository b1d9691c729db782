"""How long a device waits for people who pause."""

import pytest

from custom_components.xiaozhi.voice.patience import after_cut, after_turn, describe, patience


@pytest.mark.parametrize(
    ("pauses", "seconds"),
    [
        ((), 1.0),
        # Nothing is known of so few turns.
        ((0,) * 19, 1.0),
        ((0,) * 20, 0.6),
        ((0,) * 19 + (55,), 0.7),
        # Of a hundred turns, two may be longer.
        ((0,) * 97 + (60, 70, 80), 0.75),
        ((30,) * 50 + (95,) * 50, 1.1),
        ((130,) * 100, 1.3),
    ],
)
def test_it_covers_the_pauses_of_nearly_all_turns(pauses: tuple[int, ...], seconds: float) -> None:
    assert patience(pauses) == pytest.approx(seconds)


def test_a_cut_makes_it_grow_at_once_and_it_shrinks_slowly() -> None:
    pauses = after_cut(after_turn((0,) * 100, 0.25))
    assert pauses == (0,) * 99 + (-60,)
    assert patience(pauses) == pytest.approx(0.75)
    seen = [patience(pauses := after_turn(pauses, 0)) for _ in range(30)]
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == pytest.approx(0.745)
    assert seen[-1] == pytest.approx(0.6)
    for _ in range(9):
        pauses = after_cut(after_turn(pauses, 0))
    assert patience(pauses) == 1.3


def test_it_is_described_once_there_are_turns() -> None:
    assert describe(()) == {}
    assert describe(after_cut((0,) * 100)) == {"patience": 0.75, "cut_off": 1}
