"""Speech of a device in a conversation, with its text on the screen: an answer or an announcement.

A media player may say it in place of the device, which then plays silence of the same length, so that it
shows the text, does not listen, can be interrupted as usual and never counts its channel as stale.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from ..device.device import Device
from ..protocol.audio.speech_pauses import SpeechShape
from ..protocol.conversation.captions import Captions
from ..protocol.conversation.conversation import Conversation
from ..protocol.faces import Face
from ..protocol.messages import DOWNLINK, face, tts_caption
from ..timeouts import AnnouncementTimeouts, VoiceTimeouts
from ..util.event_loop import loop_time
from .delivery import Delivery
from .heard import End
from .other_loudspeaker import PIECE, other_loudspeaker, report
from .utterance import Utterance


class Speech:
    """Speech in a conversation, in step with its text. Sending raises `LinkClosedError`."""

    def __init__(self, device: Device, conversation: Conversation, utterance: Utterance) -> None:
        """Take the sound of an utterance, whose text is given by `add` and `complete_text`."""
        self.rank = utterance.rank
        self.text = ""
        """The text, as far as it is known."""
        self.complete = False
        """Whether that is all of it."""
        self.face: Face | None = None
        """The face to show with it."""
        self.shape = SpeechShape(DOWNLINK.sample_rate)
        """Pauses of the sound, if that follows it: the position in the text."""
        self.elsewhere = other_loudspeaker(device) if utterance.may_be_elsewhere else None
        """The other loudspeaker, while that says it."""
        self._device = device
        self._conversation = conversation
        self._open_sound = utterance.speech
        self._begins = utterance.text_begins
        self._captions = Captions()

    def add(self, text: str) -> None:
        """Append a piece of the text."""
        self.text += text
        self._captions.add(text)

    def complete_text(self, text: str, shown: Face | None) -> None:
        """Take the whole text, and its face."""
        self.text, self.complete, self.face = text, True, shown
        self._captions.replace(text)

    def speech(self, how: Delivery) -> AsyncGenerator[bytes]:
        """Open the sound."""
        self.shape = SpeechShape(DOWNLINK.sample_rate)
        return self._open_sound(how)

    async def play(self, how: Delivery, on_packet: Callable[[], None]) -> End:
        """Play it, and return its end when all is sent. `on_packet` is called before each packet."""
        end = End.DONE

        async def before_packet(seconds: float) -> None:
            on_packet()
            await self._show_face()
            seconds -= self._begins
            if seconds >= 0 and (
                due := self._captions.due(seconds, complete=self.complete, resumed=self.shape.resumed)
            ):
                await self._conversation.show(tts_caption(due))

        async def sound() -> AsyncGenerator[bytes]:
            nonlocal end
            if self.elsewhere is not None:
                playback = self.elsewhere.play(self, how, AnnouncementTimeouts.ring_waits)
                try:
                    silent = 0.0
                    if await playback.start():
                        began = loop_time()
                        while not playback.over and (seconds := min(playback.left, PIECE)):
                            yield bytes(2 * round(DOWNLINK.sample_rate * seconds))
                            silent += seconds
                            await playback.wait(began + silent)
                    ended = await playback.ended
                finally:
                    playback.stop(End.WOKEN)
                if isinstance(ended, End):
                    end = ended
                    return
                # It is said anew.
                report(self._device, playback.player, ended)
                self.elsewhere = None
                self._begins += silent
            async with aclosing(self.speech(how)) as pcm:
                async for piece in pcm:
                    yield piece

        async with aclosing(sound()) as pcm:
            await self._conversation.play(pcm, before_packet)
        return end

    async def show_rest(self) -> bool:
        """Show the text that was not shown yet, to be read. Return whether there was any."""
        await self._show_face()
        rest = self._captions.rest()
        for number, caption in enumerate(rest):
            if number:
                await time_to_read(self._conversation)
            await self._conversation.show(tts_caption(caption))
        return bool(rest)

    async def show_unfinished(self) -> None:
        """Show a sentence whose end may never come, if all before it was shown."""
        for caption in self._captions.unfinished():
            await self._conversation.show(tts_caption(caption))

    async def _show_face(self) -> None:
        if (shown := self.face) is not None:
            self.face = None
            await self._conversation.show(face(shown))


async def time_to_read(conversation: Conversation) -> None:
    """Give the user time to read the screen."""
    # It shows nothing while it runs a tool.
    await conversation.main_task.wait_free()
    await asyncio.sleep(VoiceTimeouts.reading)
