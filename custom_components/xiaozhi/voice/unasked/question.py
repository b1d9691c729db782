"""A question of an automation, asked as well as a device allows it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.core import HomeAssistant

from ...texts import async_text
from .announcement import text_utterance
from .errors import InterruptedSpeechError, OutOfReachError
from .unasked import Unasked, Way

__all__ = ["ask"]


async def ask(
    hass: HomeAssistant,
    unasked: Unasked,
    question: str,
    pipeline: Pipeline,
    unheard: Callable[[], AbstractContextManager[None]],
) -> None:
    """Ask, and return when the user may answer. Raises `UnaskedError`, and as `Device.send`.

    In a conversation the device listens after the question. Otherwise it cannot, and the user is told how to
    answer. While it is `unheard`, nothing that is said is the answer. A user who interrupts the question
    may be about to answer it.
    """
    if unasked.way is Way.CHANNEL:
        in_conversation = text_utterance(hass, question, pipeline, expects_answer=True)
        # The conversation may be over before there is an occasion.
        with suppress(OutOfReachError):
            with unheard(), suppress(InterruptedSpeechError):
                await unasked.say(in_conversation)
            return
    how = await async_text(hass, "unasked_how_to_answer", pipeline.tts_language or pipeline.language)
    with suppress(InterruptedSpeechError):
        await unasked.say(text_utterance(hass, f"{question} {how}", pipeline))
