"""Triggers: a voice message was sent or heard."""

from typing import ClassVar, Final

from ...actions.triggers import EventTrigger
from .kept_messages import MessageEvent


class _MessageTrigger(EventTrigger):
    """An event of a voice message."""

    kinds: ClassVar = {"voice_message_sent": MessageEvent.SENT, "voice_message_heard": MessageEvent.HEARD}


TRIGGERS: Final = dict.fromkeys(_MessageTrigger.kinds, _MessageTrigger)
