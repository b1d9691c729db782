"""Speech of a device in a conversation, which a media player may say in its place.

The device then plays silence of the same length, so that it shows the text, does not listen, can be
interrupted as usual and never counts its channel as stale.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from ..device.device import Device
from ..protocol.messages import DOWNLINK
from ..timeouts import AnnouncementTimeouts
from ..util.event_loop import loop_time
from .delivery import Delivery
from .heard import End
from .room_player import PIECE, RoomPlayback, report
from .room_sound import Said


class Speech:
    """Speech of a device: it plays it itself, or is silent while the player of the room says it."""

    def __init__(self, device: Device, said: Said, how: Delivery, *, device_only: bool = False) -> None:
        """Say a text. With `device_only`, the device plays it in any case."""
        self._device = device
        self._said = said
        self._how = how
        self.elsewhere = not device_only and device.settings.loudspeaker is not None
        """True while the player of the room says it."""
        self.begins = 0.0
        """Seconds of silence before the speech."""
        self.end = End.DONE
        """The end of it."""

    async def pcm(self) -> AsyncGenerator[bytes]:
        """Yield silence; all of the speech if the player does not say it, or not to its end."""
        if self.elsewhere:
            patience = AnnouncementTimeouts.ring_waits
            playback = RoomPlayback(self._device, self._said, self._how, patience)
            try:
                silent = 0.0
                if await playback.start():
                    began = loop_time()
                    while not playback.over and (seconds := min(playback.left, PIECE)):
                        yield bytes(2 * round(DOWNLINK.sample_rate * seconds))
                        silent += seconds
                        await playback.wait(began + silent)
                end = await playback.ended
            finally:
                playback.stop(End.WOKEN)
            if isinstance(end, End):
                self.end = end
                return
            report(self._device, playback.player, end)
            self.begins, self.elsewhere = silent, False
        async with aclosing(self._said.speech(self._how)) as speech:
            async for piece in speech:
                yield piece
