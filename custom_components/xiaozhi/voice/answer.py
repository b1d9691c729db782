"""The answer of a turn: its text and face on the screen, its voice on the loudspeaker."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from contextlib import aclosing, suppress
import logging
from typing import Any, Final

from homeassistant.components import tts
from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..announcements.conversation_speech import Speech
from ..announcements.delivery import Delivery
from ..announcements.utterance import Rank
from ..device.device import Device
from ..protocol import messages
from ..protocol.audio.speech_decoder import SpeechError, decode_speech
from ..protocol.audio.speech_pauses import SpeechShape
from ..protocol.conversation.captions import Captions
from ..protocol.conversation.conversation import Conversation
from ..protocol.faces import Face, face_of
from ..protocol.transport.link import LinkClosedError
from ..timeouts import VoiceTimeouts

_LOGGER = logging.getLogger(__name__)

# The answers of language models are of this kind, too, whether they did something or not.
_DONE: Final = "action_done"
_ERROR: Final = "error"
ASKS_BACK: Final = "asks_back"
"""Mark in the data of an intent's speech: the next words answer it."""


class Answer:
    """One answer on one conversation. Sending raises `LinkClosedError`."""

    rank = Rank.ANSWER
    _stream: tts.ResultStream

    def __init__(
        self,
        device: Device,
        conversation: Conversation,
        sounds: Callable[[], None],
        speaks: Callable[[], None],
    ) -> None:
        """`sounds` is called with each piece of its sound, and `speaks` before each packet."""
        self._device = device
        self._hass = device.hass
        self._conversation = conversation
        self._sounds, self._speaks = sounds, speaks
        self._captions = Captions()
        self._shape = SpeechShape(messages.DOWNLINK.sample_rate)
        self._spoken: Speech | None = None
        self._face: Face | None = None
        self._prepared = False
        self._dry: asyncio.TimerHandle | None = None
        self.begun = False
        """Whether the user has been understood."""
        self.complete = False
        """Whether the text of the answer is complete."""
        self.asks_back = False
        self.text = ""
        """Text of the answer so far."""

    async def prepare(self) -> None:
        """Make the device ready to speak, as soon as the user has finished; do nothing the second time."""
        if not self._prepared:
            self._prepared = True
            await self._conversation.begin_answer()
            await self._conversation.show(messages.face(Face.THINKING))

    async def begin(self, transcript: str) -> None:
        """Show the transcript."""
        self.begun = True
        await self._conversation.show(messages.transcript(transcript))
        await self.prepare()

    @callback
    def add(self, text: str) -> None:
        """Append a piece of the assistant's text."""
        self.text += text
        self._captions.add(text)
        if text and self._dry is not None:
            self._wait_for_more()

    @callback
    def understood(self, output: dict[str, Any]) -> None:
        """Take the whole answer: the `intent_output` of the pipeline."""
        response = output.get("response") or {}
        plain = (response.get("speech") or {}).get("plain") or {}
        # Home Assistant's own assistant has no way to ask.
        asks = ASKS_BACK in (plain.get("extra_data") or {})
        self.asks_back = asks or output.get("continue_conversation") is True
        speech = plain.get("speech") or ""
        self.text = speech
        self._captions.replace(speech)
        self.complete = self._conversation.loudspeaker.text_complete = True
        self._face = face_of(speech) or _face_of_response(response)

    async def speak(self, token: str, *, as_it_is: bool) -> bool:
        """Play the speech of a text-to-speech token. Return False, and log the reason, if that fails.

        With `as_it_is`, the engine is asked for no other format than its own.
        """
        if (stream := tts.async_get_stream(self._hass, token)) is None:
            return False
        if as_it_is:
            # Where all that was switched is in the same area, a short sound takes the place of the answer. It
            # comes from a file; to convert it would take ffmpeg.
            stream.options = {}
        await self.prepare()
        self._stream, self._spoken = stream, Speech(self._device, self, Delivery.CONVERSATION)
        try:
            async with aclosing(self._spoken.pcm()) as speech:
                await self._conversation.play(self._heard(speech), self._before_packet)
        except (SpeechError, HomeAssistantError) as err:
            _LOGGER.warning("The answer could not be spoken: %s", err)
            return False
        except LinkClosedError:
            raise
        except Exception:
            # Speech engines may raise anything.
            _LOGGER.exception("The answer could not be spoken")
            return False
        finally:
            self._stop_waiting()
        return True

    def speech(self, _how: Delivery) -> AsyncGenerator[bytes]:
        """Open the sound of the answer."""
        self._shape = SpeechShape(messages.DOWNLINK.sample_rate)
        return decode_speech(
            self._stream.async_stream_result(),
            sample_rate=messages.DOWNLINK.sample_rate,
            extension=self._stream.extension,
            shape=self._shape,
        )

    @callback
    def _wait_for_more(self) -> None:
        """Show an unfinished sentence when text and sound have run dry: its end may never come."""
        self._stop_waiting()
        self._dry = self._hass.loop.call_later(VoiceTimeouts.dry, self._run_dry)

    @callback
    def _stop_waiting(self) -> None:
        if self._dry is not None:
            self._dry.cancel()
            self._dry = None

    @callback
    def _run_dry(self) -> None:
        self._dry = None
        self._device.create_task(self._show_written(), "show caption")

    async def _show_written(self) -> None:
        with suppress(LinkClosedError):
            for caption in self._captions.unfinished():
                await self._conversation.show(messages.tts_caption(caption))

    async def _heard(self, speech: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        async for pcm in speech:
            self._sounds()
            yield pcm

    async def show_rest(self) -> bool:
        """Show the text that was not shown during the speech, to be read. Return whether there was any."""
        await self._show_face()
        rest = self._captions.rest()
        for number, caption in enumerate(rest):
            if number:
                await time_to_read(self._conversation)
            await self._conversation.show(messages.tts_caption(caption))
        return bool(rest)

    async def _before_packet(self, seconds: float) -> None:
        self._speaks()
        self._wait_for_more()
        await self._show_face()
        seconds -= self._spoken.begins if self._spoken else 0
        if seconds >= 0 and (
            caption := self._captions.due(seconds, complete=self.complete, resumed=self._shape.resumed)
        ):
            await self._conversation.show(messages.tts_caption(caption))

    async def _show_face(self) -> None:
        if self._face is not None:
            face, self._face = self._face, None
            await self._conversation.show(messages.face(face))


async def time_to_read(conversation: Conversation) -> None:
    """Give the user time to read the screen."""
    # It shows nothing while it runs a tool.
    await conversation.main_task.wait_free()
    await asyncio.sleep(VoiceTimeouts.reading)


def _face_of_response(response: dict[str, Any]) -> Face:
    kind = response.get("response_type")
    if kind == _ERROR:
        return Face.CONFUSED
    done = (response.get("data") or {}).get("success")
    return Face.HAPPY if kind == _DONE and done else Face.NEUTRAL
