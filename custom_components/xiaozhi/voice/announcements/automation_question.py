"""A question of an automation, asked as well as a device allows it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.core import HomeAssistant

from ...texts.translated import async_text
from .announcement_speech import text_utterance
from .announcer import Announcer
from .refusals import AnnouncementInterruptedError, AnnouncementRefusedError, Delivery


async def ask(
    hass: HomeAssistant,
    announcer: Announcer,
    question: str,
    pipeline: Pipeline,
    may_be_answered: Callable[[], None],
) -> None:
    """Ask, and return when the user may answer. Raises `AnnouncementError`, and as `DeviceCommands.send`.

    `may_be_answered` is called when what is said from then on may be the answer. In a conversation the device
    listens after the question. Otherwise it cannot, and the question says how to answer. A user who
    interrupts the question may be about to answer it.
    """
    if announcer.delivery is Delivery.CONVERSATION:
        in_conversation = text_utterance(hass, question, pipeline, expects_answer=True)
        # The conversation may be over before there is an occasion.
        with suppress(AnnouncementRefusedError):
            with suppress(AnnouncementInterruptedError):
                await announcer.say(in_conversation)
            may_be_answered()
            return
    how = await async_text(hass, "question_how_to_answer", pipeline.tts_language or pipeline.language)

    def begun() -> None:
        # A conversation that has begun meanwhile ends after the question.
        if announcer.delivery is not Delivery.CONVERSATION:
            may_be_answered()

    while_idle = text_utterance(hass, f"{question} {how}", pipeline)
    with suppress(AnnouncementInterruptedError):
        await announcer.say(replace(while_idle, on_start=begun))
        await announcer.in_conversation.wait_over()
    may_be_answered()
