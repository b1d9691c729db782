"""The sentences of `docs/alarms.md` mean what they say."""

import re
from typing import Any, Final

from hassil import recognize_best
from hassil.intents import Intents
import pytest
import yaml

from tests.paths import ROOT

_BLOCKS: Final = re.findall(
    r"^```yaml\n(language: .*?)^```", (ROOT / "docs/alarms.md").read_text(), re.MULTILINE | re.DOTALL
)
_SENTENCES: Final = {block["language"]: block for block in map(yaml.safe_load, _BLOCKS)}


@pytest.mark.parametrize(
    ("language", "said", "intent", "slots"),
    [
        ("en", "wake me up at 7", "Set", {"hours": 7}),
        (
            "en",
            "Wake me at 7:30 am tomorrow",
            "Set",
            {"hours": 7, "minutes": 30, "period": "am", "day": "tomorrow"},
        ),
        ("en", "set an alarm for 6 on weekdays", "Set", {"hours": 6, "repeat": "weekdays"}),
        ("en", "set an alarm for seven thirty", "Set", {"hours": 7, "minutes": 30}),
        (
            "en",
            "remind me on monday at 6 pm to take the bins out",
            "Set",
            {"hours": 6, "period": "pm", "day": "MO", "text": "take the bins out"},
        ),
        ("en", "what alarms do I have", "List", {}),
        ("en", "delete my alarm at 7", "Delete", {"hours": 7}),
        ("en", "cancel all alarms", "Delete", {"all": "yes"}),
        ("en", "stop the alarm", "Stop", {}),
        ("en", "snooze", "Snooze", {}),
        ("de", "Weck mich morgen um 7 Uhr 30", "Set", {"hours": 7, "minutes": 30, "day": "tomorrow"}),
        ("de", "Stelle einen Wecker werktags auf 6 Uhr", "Set", {"hours": 6, "repeat": "weekdays"}),
        ("de", "Erinnere mich um 18 Uhr an die Mülltonnen", "Set", {"hours": 18, "text": "die Mülltonnen"}),
        ("de", "Lösche den Wecker", "Delete", {}),
        ("de", "Wecker aus", "Stop", {}),
        ("de", "schlummern", "Snooze", {}),
        ("zh-CN", "明早7点叫我起床", "Set", {"hours": 7, "period": "am", "day": "tomorrow"}),
        ("zh-CN", "明早七点叫我起床", "Set", {"hours": 7, "period": "am", "day": "tomorrow"}),
        ("zh-CN", "设一个每天6点30分的闹钟", "Set", {"hours": 6, "minutes": 30, "repeat": "daily"}),
        ("zh-CN", "下午三点提醒我开会", "Set", {"hours": 3, "period": "pm", "text": "开会"}),
        ("zh-CN", "取消所有闹钟", "Delete", {"all": "yes"}),
        ("zh-CN", "停止闹钟", "Stop", {}),
        ("zh-CN", "再睡一会儿", "Snooze", {}),
    ],
)
def test_what_is_said_is_understood(language: str, said: str, intent: str, slots: dict[str, Any]) -> None:
    found = recognize_best(said, Intents.from_dict(_SENTENCES[language]), language=language)
    assert found is not None
    assert found.intent.name.removeprefix("Xiaozhi").removesuffix("Alarm").removesuffix("Alarms") == intent
    assert {name: entity.value for name, entity in found.entities.items()} == slots
