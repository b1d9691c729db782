"""A voice message on its way: recorded on one device, and kept for others until it is heard there."""

import asyncio
from collections.abc import Collection
from typing import Final

from homeassistant.core import callback
from homeassistant.util import dt as dt_util

from ...announcements.announcement_speech import text_utterance, voice_language
from ...announcements.announcer import Announcer
from ...announcements.delivery import woken
from ...announcements.utterance import Utterance
from ...device.device import Device, area_name
from ...device.events import MessageEvent
from ...device.state import VoiceMessage
from ...errors import InputError, UserError
from ...protocol.audio.ogg import OggOpusEncoder
from ...protocol.audio.opus_codec import resampled
from ...protocol.audio.timer_sound import tone
from ...protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE
from ...protocol.messages import DOWNLINK
from ...texts.translated import async_text
from ...util.event_loop import first_of, within
from ...voice.pipelines import chosen_pipeline
from ...voice.questions import Recording
from ...voice.satellite_states import SatelliteStates
from .kept_messages import KeptMessages, async_report

# Seconds in which an idle device may be woken to speak.
_PATIENCE: Final = 120.0
# Seconds in which the next wake of the device reports a message that was cut off.
_TOLD_WITHIN: Final = 600.0


@callback
def recipients(sender: Device, meant: Collection[KeptMessages]) -> list[KeptMessages]:
    """Return the meant devices that can get a message. Raises `InputError` if there are none."""
    others = [each for each in meant if each.device is not sender]
    if not others:
        raise InputError("message_to_itself", name=sender.name)
    if not (free := [each for each in others if not each.is_full_for(_place(sender))]):
        raise InputError("message_full", names=names(others))
    return free


@callback
def names(to: Collection[KeptMessages]) -> str:
    """Return what recipients are called."""
    return ", ".join(sorted(each.device.name for each in to))


async def async_send_voice_message(
    satellite: SatelliteStates, announcer: Announcer, meant: Collection[KeptMessages]
) -> None:
    """Record the next words to a satellite, and keep them for others. Raises `UserError` if that fails.

    An idle device says that it is to be woken, and nothing more is said than that if nobody does.
    """
    sender, recording, text = satellite.device, Recording(), ""
    hass, pipeline = sender.hass, chosen_pipeline(sender.hass, sender)
    language = voice_language(pipeline)
    to = names(recipients(sender, meant))

    async def ask() -> None:
        key = "message_question" if sender.conversation is None else "message_prompt"
        prompt = await async_text(hass, key, language, to=to)
        async with satellite.speaking() as on_start:
            await announcer.ask(
                prompt,
                pipeline,
                lambda: recording.was_asked(sender.conversation),
                on_start,
                tone(DOWNLINK.sample_rate),
            )

    try:
        with satellite.questions.asking(recording):
            # Somebody may have interrupted it to speak, and waits for the outcome.
            async with first_of(ask(), recording.transcript) as (asking, _):
                if asking.done():
                    asking.result()
            await satellite.questions.answer(recording, _PATIENCE)
        missed = await _async_keep(sender, recording, meant)
        key = "message_sent_except" if missed else "message_sent"
        text = await async_text(hass, key, language, names=missed)
        if recording.cut_off:
            text += " " + await async_text(hass, "message_cut_off", language)
            # The device may be out of reach.
            report = _report_at_next_wake(sender, announcer, text_utterance(hass, text, pipeline))
            sender.create_task(report, "report a message")
    except UserError as err:
        key = "message_cancelled" if err.key == "message_not_spoken" else err.key
        text = await async_text(hass, key, language, **err.placeholders)
        raise
    finally:
        recording.thanked.set_result(text)


async def _report_at_next_wake(sender: Device, announcer: Announcer, said: Utterance) -> None:
    """Say something in the next conversation, if that comes soon."""
    if (conversation := sender.conversation) is not None:
        await conversation.closed.wait()
    with woken(sender) as is_woken:
        if await within(_TOLD_WITHIN, is_woken.wait()):
            await announcer.say(said)


async def _async_keep(sender: Device, recording: Recording, meant: Collection[KeptMessages]) -> str:
    """Keep a message for others, and return the names of those who cannot have it. Raises `UserError`."""
    if not recording.sound:
        raise UserError("message_not_spoken", name=sender.name)
    to = recipients(sender, meant)
    sound = await sender.hass.async_add_executor_job(_ogg, bytes(recording.sound))
    message = VoiceMessage(sender=_place(sender), sent=dt_util.utcnow(), cut_off=recording.cut_off)
    results = await asyncio.gather(*(each.async_keep(message, sound) for each in to), return_exceptions=True)
    kept = [each for each, error in zip(to, results, strict=True) if error is None]
    if not kept:
        raise next(error for error in results if error is not None)
    async_report(sender, MessageEvent.SENT, names(kept))
    return names([each for each in meant if each.device is not sender and each not in kept])


def _place(sender: Device) -> str:
    return area_name(sender.hass, sender.area_id) or sender.name


def _ogg(pcm: bytes) -> bytes:
    return OggOpusEncoder().encode_whole(resampled(pcm, UPLINK_SAMPLE_RATE, DOWNLINK.sample_rate))
