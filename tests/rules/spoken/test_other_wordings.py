"""Three wordings of each kind of sentence that stand on no page, and what becomes of them.

They were written before anything was made to understand them. "nothing" is left to a language model, and an
intent of Home Assistant's is its own.
"""

import json
from pathlib import Path
from typing import Any, Final

from hassil.intents import TextSlotList
import pytest

from .recognizer import understood

_TABLE: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "other_wordings.json").read_text(encoding="utf-8")
)
# Of 81 about alarms, messages and the device itself.
_NOT_UNDERSTOOD: Final = {"en": 3, "de": 6, "zh-Hans": 1}


@pytest.mark.parametrize("code", list(_TABLE))
def test_other_wordings_mean_what_the_table_says(code: str) -> None:
    light, *rooms = _TABLE[code]["home"]
    home = {
        "name": TextSlotList.from_tuples([(light, light, {"domain": "light"})]),
        "area": TextSlotList.from_tuples([(room, room, {}) for room in rooms]),
        "floor": TextSlotList.from_tuples([("attic", "attic", {})]),
    }
    ours, theirs = _TABLE[code]["ours"], _TABLE[code]["theirs"]
    for groups in (ours, theirs):
        found = {
            name: {each: understood(code, each, home, rooms[-1]) for each in group}
            for name, group in groups.items()
        }
        assert found == groups
        assert {len(group) for group in groups.values()} == {3}
    lacking = sum(meaning == "nothing" for group in ours.values() for meaning in group.values())
    assert (len(ours), lacking) == (27, _NOT_UNDERSTOOD[code])
