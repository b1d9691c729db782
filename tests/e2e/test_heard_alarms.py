"""What Whisper writes of phrases in Piper's voice means the alarms of the table."""

from collections.abc import Callable
import json
from pathlib import Path

import pytest

from demo.engines import hear, obstacle, speech
from demo.house import NAMES
from tests.paths import ROOT
from tests.rules.spoken.recognizer import understood

_OURS = ("set", "remind", "list", "next", "delete", "skip", "snooze", "stop")


@pytest.mark.weekly
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("socket_enabled")
@pytest.mark.skipif(bool(obstacle()), reason="Whisper and Piper are not installed")
async def test_phrases_are_heard_as_they_are_meant(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Four of five at least by the smallest Whisper, to which Piper never sounds twice the same."""
    table: dict[str, str] = json.loads((ROOT / "tests/rules/spoken/phrases/en.json").read_text("utf-8"))
    phrases = [phrase for phrase, meaning in table.items() if meaning.startswith(_OURS)]
    assert len(phrases) >= 30
    async with speech(tmp_path, prompt=NAMES) as engines:
        heard = {phrase: await hear(engines.hearing, await engines.person(phrase)) for phrase in phrases}
    lost = {
        phrase: text
        for phrase, text in heard.items()
        if understood("en", text).casefold() != table[phrase].casefold()
    }
    record_property("understood", f"{len(phrases) - len(lost)} of {len(phrases)}")
    assert len(lost) <= len(phrases) // 5, lost
