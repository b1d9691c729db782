"""The answer of a turn: its text and face on the screen, its voice on the loudspeaker."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
import logging
from typing import Any, Final

from homeassistant.components import tts
from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..announcements.announcement_speech import decoded
from ..announcements.conversation_speech import Speech
from ..announcements.delivery import Delivery
from ..announcements.utterance import Rank, Utterance
from ..device.device import Device
from ..protocol import messages
from ..protocol.audio.speech_decoder import SpeechError
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

    _stream: tts.ResultStream

    def __init__(
        self,
        device: Device,
        conversation: Conversation,
        sounds: Callable[[], None],
        speaks: Callable[[], None],
    ) -> None:
        """`sounds` is called with each piece of its sound, and `speaks` before each packet."""
        self.speech = Speech(device, conversation, Utterance(speech=self._open, rank=Rank.ANSWER))
        self._device = device
        self._conversation = conversation
        self._sounds, self._speaks = sounds, speaks
        self._prepared = False
        self._dry: asyncio.TimerHandle | None = None
        self.begun = False
        """Whether the user has been understood."""
        self.asks_back = False

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
        self.speech.add(text)
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
        text = plain.get("speech") or ""
        self.speech.complete_text(text, face_of(text) or _face_of_response(response))
        self._conversation.loudspeaker.text_complete = True

    async def speak(self, token: str, *, as_it_is: bool) -> bool:
        """Play the speech of a text-to-speech token. Return False, and log the reason, if that fails.

        With `as_it_is`, the engine is asked for no other format than its own.
        """
        if (stream := tts.async_get_stream(self._device.hass, token)) is None:
            return False
        if as_it_is:
            # Where all that was switched is in the same area, a short sound takes the place of the answer. It
            # comes from a file; to convert it would take ffmpeg.
            stream.options = {}
        await self.prepare()
        self._stream = stream
        try:
            await self.speech.play(Delivery.CONVERSATION, self._packet_is_due)
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

    async def _open(self, _how: Delivery) -> AsyncGenerator[bytes]:
        async with aclosing(decoded(self._stream, self.speech.shape)) as speech:
            async for pcm in speech:
                self._sounds()
                yield pcm

    @callback
    def _packet_is_due(self) -> None:
        self._speaks()
        self._wait_for_more()

    @callback
    def _wait_for_more(self) -> None:
        """Show an unfinished sentence when text and sound have run dry: its end may never come."""
        self._stop_waiting()

        @callback
        def show() -> None:
            self._dry = None
            self._device.create_task(self._show_unfinished(), "show caption")

        self._dry = self._device.hass.loop.call_later(VoiceTimeouts.dry, show)

    @callback
    def _stop_waiting(self) -> None:
        if self._dry is not None:
            self._dry.cancel()
            self._dry = None

    async def _show_unfinished(self) -> None:
        with suppress(LinkClosedError):
            await self.speech.show_unfinished()


def _face_of_response(response: dict[str, Any]) -> Face:
    kind = response.get("response_type")
    if kind == _ERROR:
        return Face.CONFUSED
    done = (response.get("data") or {}).get("success")
    return Face.HAPPY if kind == _DONE and done else Face.NEUTRAL
