"""Downlink time: when the next packet may be sent.

The device queues 40 packets and drops those that do not fit (`main/audio/audio_service.cc`); the queue is
played to its end also when the user interrupts. So a short lead is sent at once, enough for the jitter of
Wi-Fi, and everything after it in real time.
"""

from typing import Final

from ..messages import DOWNLINK

_FRAME: Final = DOWNLINK.frame_duration / 1000
_LEAD: Final = 0.36


class DownlinkPacer:
    """Schedules the packets of an answer, so that the device never holds more than the lead.

    A packet sent late does not delay those after it. If the source is slower than real time the device runs
    dry and the schedule moves with it; later packets may only fill up the lead again.

    All times are seconds of one monotonic clock.
    """

    def __init__(self) -> None:
        self._not_before = 0.0
        self.playback_end = 0.0
        """Time at which the device has played all that was sent, if packets reach it without delay."""

    def start(self, at: float) -> None:
        """Begin an answer whose first packet may be sent at `at`, after the sound that still plays."""
        self._not_before = at

    def next_send_time(self) -> float:
        """Return when the next packet may be sent; a time that has passed means at once."""
        return max(self._not_before, self.playback_end + _FRAME - _LEAD)

    def add_sound(self, now: float, seconds: float = _FRAME) -> None:
        """Note that the device has queued a packet at `now`, or a sound of its own, before later packets."""
        self.playback_end = max(self.playback_end, now) + seconds
