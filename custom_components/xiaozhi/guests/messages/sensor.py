"""The sensor of unheard voice messages."""

from dataclasses import asdict
from typing import Final

from ...entity import DescribedEntities
from ...sensor import XiaozhiSensor, XiaozhiSensorDescription
from .voice_message import MESSAGES

_WAITING: Final = XiaozhiSensorDescription(
    key="voice_messages",
    translation_key="voice_messages",
    entity_category=None,
    value=lambda device: len(MESSAGES.of(device.state)),
    hidden_without_value=True,
    follows=(MESSAGES.key,),
    exists=lambda device: bool(MESSAGES.of(device.state)),
    attributes=lambda device: {
        "waiting": [
            asdict(each) | {"sent": each.sent.isoformat()} for each in MESSAGES.of(device.state).values()
        ]
    },
)
ENTITIES: Final = (DescribedEntities(XiaozhiSensor, [_WAITING], _WAITING.follows),)
