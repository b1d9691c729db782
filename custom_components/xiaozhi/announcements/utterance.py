"""Something that a device is to say or play."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from enum import IntEnum

from .delivery import Delivery

type OpenSpeech = Callable[[Delivery], AsyncGenerator[bytes]]
"""Opens, for a way in which it is heard, 16-bit mono PCM at the rate of `DOWNLINK`, in pieces of any size.

It is called when the device's turn has come, and closed in any case. It is not asked for more than the device
takes, so it may be endless. While it pauses, an idle device is sent silence. One that hangs raises.
"""


class Rank(IntEnum):
    """Kinds of utterances, the most important first."""

    ALARM = 0
    TIMER = 1
    QUESTION = 2
    ANNOUNCEMENT = 3
    ANSWER = 4
    MUSIC = 5

    @property
    def rings(self) -> bool:
        """Whether waking the device only ends it."""
        return self <= Rank.TIMER

    @property
    def disturbs(self) -> bool:
        """Whether nobody there has asked for it."""
        return Rank.QUESTION <= self <= Rank.ANNOUNCEMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """Something that a device is to say or play."""

    speech: OpenSpeech
    text: str = ""
    """Text that is said, or the title of media. It is shown sentence by sentence."""
    text_begins: float = 0.0
    """Seconds of `speech` before the text begins."""
    rank: Rank = Rank.ANNOUNCEMENT
    expects_answer: bool = False
    """Whether the device is to listen after it, which only an open channel allows."""
    status: str = "Home Assistant"
    """Line above its text on the screen."""
    alert_seconds: float = 0.0
    """Seconds for which a device that cannot speak shows it repeatedly with a sound; 0 for once."""
    device_only: bool = False
    """Whether no media player may say it in place of the device."""
    at_announcement_volume: bool = False
    """Whether it is said at the volume of announcements."""
    fetched_lazily: bool = False
    """Whether `speech` is to be opened only when an idle device asks for it."""
    on_start: Callable[[Delivery], None] = lambda _: None
    """Called when it begins to be heard, also when it goes on in another way."""
    on_delivered: Callable[[], object] = lambda: None
    """Called when an idle device has all of it, and plays it to its end whatever happens."""

    @property
    def is_message(self) -> bool:
        """Whether its text has the same content; the title of music has not."""
        return bool(self.text) and self.rank is not Rank.MUSIC

    @property
    def may_be_elsewhere(self) -> bool:
        """Whether a media player may say it in place of the device."""
        return not self.device_only and self.rank is not Rank.MUSIC

    @property
    def rings(self) -> bool:
        """Whether waking the device only ends it."""
        return self.rank.rings
