"""A voice message on its way: recorded on one device, and kept for others until it is heard there."""

import asyncio
from collections.abc import Collection
from typing import Final

from homeassistant.core import callback
from homeassistant.util import dt as dt_util

from ...announcements.delivery import woken
from ...device.device import Device
from ...device.paired_device import area_name
from ...errors import InputError, UserError
from ...protocol.audio.ogg import OggOpusEncoder
from ...protocol.audio.opus_codec import resampled
from ...protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE
from ...protocol.messages import DOWNLINK
from ...texts.translated import async_text
from ...util.event_loop import within
from ...voice.pipelines import spoken_language
from ...voice.questions import AskedTurn
from ...voice.satellite_states import SatelliteStates
from .kept_messages import KeptMessages, MessageEvent, async_report
from .voice_message import VoiceMessage

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


async def async_send_voice_message(satellite: SatelliteStates, meant: Collection[KeptMessages]) -> None:
    """Record the next words to a satellite, and keep them for others. Raises `UserError` if that fails.

    An idle device says that it is to be woken, and nothing more is said than that if nobody does.
    """
    sender, hass = satellite.device, satellite.hass
    to, language = names(recipients(sender, meant)), spoken_language(hass, sender)
    key = "message_question" if sender.conversation is None else "message_prompt"
    prompt = await async_text(hass, key, language, to=to)
    async with satellite.next_turn(prompt, _PATIENCE, is_recorded=True) as turn:
        if turn is None:
            raise UserError("message_not_spoken", name=sender.name)
        try:
            missed = await _async_keep(sender, turn, meant)
        except UserError as err:
            key = "message_cancelled" if err.key == "message_not_spoken" else err.key
            turn.reply.append((key, err.placeholders))
            raise
        turn.reply.append(("message_sent_except" if missed else "message_sent", {"names": missed}))
        if turn.cut_off:
            turn.reply.append(("message_cut_off", {}))
            # The device may be out of reach.
            sender.create_task(_report_at_next_wake(satellite, turn), "report a message")


async def _report_at_next_wake(satellite: SatelliteStates, turn: AskedTurn) -> None:
    """Say the reply in the next conversation, if that comes soon."""
    sender = satellite.device
    if (conversation := sender.conversation) is not None:
        await conversation.closed.wait()
    with woken(sender) as is_woken:
        if await within(_TOLD_WITHIN, is_woken.wait()):
            await satellite.announcer.say(await turn.reply_by(sender))


async def _async_keep(sender: Device, turn: AskedTurn, meant: Collection[KeptMessages]) -> str:
    """Keep a message for others, and return the names of those who cannot have it. Raises `UserError`."""
    if not turn.sound:
        raise UserError("message_not_spoken", name=sender.name)
    to = recipients(sender, meant)
    sound = await sender.hass.async_add_executor_job(_ogg, turn.sound)
    message = VoiceMessage(sender=_place(sender), sent=dt_util.utcnow(), cut_off=turn.cut_off)
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
