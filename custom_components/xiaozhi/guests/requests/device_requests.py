"""Voice messages, *Do not disturb* and the microphone, asked for in words."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from homeassistant.exceptions import HomeAssistantError

from ...assist_satellite import satellite_of
from ...errors import InputError, UserError
from ..messages.kept_messages import KeptMessages
from ..messages.sending import async_send_voice_message, names, recipients
from ..quiet.do_not_disturb import DoNotDisturb
from ..spoken.understanding import Meaning
from .speaker import Answer, Handler, Speaker

# No event reports that an answer was said.
_POLL: Final = 0.2
_MOST_POLLS: Final = 100


async def _send_message(speaker: Speaker, meaning: Meaning) -> Answer:
    if (device := speaker.device) is None:
        raise InputError("message_elsewhere")
    satellite = satellite_of(device.hass, device)
    meant = [each.part(KeptMessages) for each in speaker.at(meaning.place)]
    to = recipients(device, meant)
    satellite.questions.check_free()

    async def record() -> None:
        # The device says why nothing was sent.
        with suppress(HomeAssistantError):
            await async_send_voice_message(satellite, meant)

    device.create_task(record(), "voice message")
    return "message_to", {"to": names(to)}


async def _hear_messages(speaker: Speaker, _meaning: Meaning) -> Answer:
    kept = speaker.here.part(KeptMessages)
    kept.play()
    count = str(len(kept.messages))
    return ("messages_waiting", {"count": count}) if kept.messages else ("no_messages", {})


async def _disturb(speaker: Speaker, meaning: Meaning) -> Answer:
    devices = speaker.at(meaning.place)
    for device in devices:
        await device.part(DoNotDisturb).async_switch(False)
    if kept := sum(len(device.part(KeptMessages).messages) for device in devices):
        return "messages_kept", {"count": str(kept)}
    return "do_not_disturb_off", {}


async def _be_quiet(speaker: Speaker, meaning: Meaning) -> Answer:
    for device in speaker.at(meaning.place):
        await device.part(DoNotDisturb).async_switch(True)
    return "do_not_disturb_on", {}


async def _mute_microphone(speaker: Speaker, _meaning: Meaning) -> Answer:
    device, conversation = speaker.here, speaker.here.conversation

    async def switch() -> None:
        # That ends the conversation, in which the answer is said first.
        for _ in range(_MOST_POLLS):
            if conversation is None or device.conversation is not conversation or not conversation.answering:
                break
            await asyncio.sleep(_POLL)
        with suppress(UserError):
            await device.async_switch_microphone(False)

    device.create_task(switch(), "microphone off")
    return "microphone_off", {}


DEVICE_ACTIONS: Final[Mapping[str, Handler]] = {
    "message": _send_message,
    "messages": _hear_messages,
    "quiet": _be_quiet,
    "disturb": _disturb,
    "microphone": _mute_microphone,
}
"""Handlers by the names in the data of the languages. They raise `UserError`."""
