"""Something that a device is to say or play."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

type OpenSpeech = Callable[[], AsyncGenerator[bytes]]
"""Opens signed 16 bit little endian mono PCM at the rate of `DOWNLINK`, in pieces of any size.

It is called when the device's turn has come, and closed in any case. It is not asked for more than the device
takes, so it may be endless. While it pauses, an idle device is sent silence. One that hangs raises.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """Something that a device is to say or play."""

    speech: OpenSpeech
    text: str = ""
    """Text that is said, or the title of media. It is shown sentence by sentence."""
    text_begins: float = 0.0
    """Seconds of `speech` before the text begins."""
    gives_way: bool = False
    """Whether anything else that is to be said ends it."""
    expects_answer: bool = False
    """Whether the device is to listen after it, which only an open channel allows."""
    needs_sound: bool = False
    """Whether its text, shown once, is not enough."""
    stays: bool = False
    """Whether no media player may say it in place of the device."""
    at_announcement_volume: bool = False
    """Whether it is said as loud as the owner wants announcements to be."""
    waits_for_device: bool = False
    """Whether `speech` is to be opened only when an idle device asks for it."""
    on_start: Callable[[], None] = lambda: None
    """Called when the device begins to play it."""
    on_delivered: Callable[[], object] = lambda: None
    """Called when an idle device has all of it, and plays it to its end whatever happens."""

    @property
    def is_message(self) -> bool:
        """Whether its text says the same; the title of music does not."""
        return bool(self.text) and not self.gives_way
