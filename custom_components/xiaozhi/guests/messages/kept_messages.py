"""The voice messages for one device: kept on the disk until they are heard."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
import logging
from pathlib import Path
from typing import Final, override

from homeassistant.core import callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.storage import STORAGE_DIR
from homeassistant.util import dt as dt_util
from homeassistant.util.file import WriteError, write_utf8_file_atomic
from homeassistant.util.ulid import ulid_now

from ...announcements.announcement_errors import sound_error
from ...announcements.announcement_speech import text_utterance, voice_language
from ...announcements.announcer import Announcer
from ...announcements.delivery import Delivery
from ...announcements.heard import End
from ...announcements.utterance import OpenSpeech, Rank, Utterance
from ...const import DOMAIN
from ...device.device import Device
from ...device.guest import DevicePart, in_file_name
from ...errors import InputError, UserError
from ...protocol.audio.loudness import as_loud_as
from ...protocol.audio.speech_decoder import SpeechError, decode_speech
from ...protocol.conversation.conversation import Conversation
from ...protocol.messages import DOWNLINK
from ...texts.translated import async_text
from ...voice.pipelines import chosen_pipeline
from ..alarms.spoken_alarm import async_language, described_moment
from ..quiet.do_not_disturb import MAY_DISTURB_AGAIN
from .voice_message import MESSAGES, VoiceMessage

_LOGGER = logging.getLogger(__name__)

EVENT_VOICE_MESSAGE: Final = "xiaozhi_voice_message"
_FOLDER: Final = (STORAGE_DIR, f"{DOMAIN}_messages")
_MOST: Final = 10
_MOST_OF_ONE: Final = 3
_MOST_BYTES: Final = 512 * 1024
_KEPT_FOR: Final = timedelta(days=7)
_INTERVAL: Final = timedelta(hours=1)
# Seconds.
_KEPT_AFTER: Final = 5
# Each piece of a sound is encoded in one go.
_PIECE: Final = 2 * DOWNLINK.sample_rate


class MessageEvent(StrEnum):
    """Kinds of events of a voice message."""

    SENT = "voice_message_sent"
    HEARD = "voice_message_heard"
    UNHEARD = "voice_message_unheard"
    """It was deleted, because it was unheard for too long."""


class KeptMessages(DevicePart):
    """The voice messages for one device.

    A new one is played at once where that is possible. What was not heard to its end is played again when
    somebody wakes the device, before anything else.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._hass = device.hass
        self._announcer = device.part(Announcer)
        self._folder = Path(device.hass.config.path(*_FOLDER, in_file_name(device.mac)))
        self._playing, self._storing = asyncio.Lock(), asyncio.Lock()
        self._interrupted_by: Conversation | None = None
        """The conversation that has interrupted a message, which waits for the next one."""

    @property
    def messages(self) -> Mapping[str, VoiceMessage]:
        """The messages, by id."""
        return MESSAGES.of(self.device.state)

    def is_full_for(self, sender: str) -> bool:
        """Whether no more messages of a sender can be kept."""
        senders = [message.sender for message in self.messages.values()]
        return len(senders) >= _MOST or senders.count(sender) >= _MOST_OF_ONE

    @override
    @callback
    def start(self) -> None:
        """Begin to delete old messages."""
        every_hour = async_track_time_interval(
            self._hass, self._clean, _INTERVAL, name="xiaozhi old messages", cancel_on_shutdown=True
        )
        self._ends = [every_hour, self.device.record.listen([MAY_DISTURB_AGAIN], self._disturbed_again)]
        self.device.create_task(self._clean(), "old messages")

    @callback
    def _disturbed_again(self) -> None:
        self.device.create_task(self._say_kept(), "say what was kept")

    async def _say_kept(self) -> None:
        """Say the number of messages, after the announcement for which *Do not disturb* was switched off."""
        await asyncio.sleep(_KEPT_AFTER)
        if self._ends and self.messages and self.device.quiet_levels is None:
            pipeline, count = chosen_pipeline(self._hass, self.device), str(len(self.messages))
            text = await async_text(self._hass, "messages_kept", voice_language(pipeline), count=count)
            await self._announcer.say(replace(text_utterance(self._hass, text, pipeline), rank=Rank.ANSWER))

    @override
    async def described_loss(self) -> list[str]:
        count = str(len(self.messages))
        return [await async_text(self._hass, "messages_unheard", count=count)] if self.messages else []

    async def async_keep(self, message: VoiceMessage, sound: bytes) -> None:
        """Keep a message with its sound, Ogg Opus, and play it if it can be heard now.

        Raises `UserError` if it is not on the disk then.
        """
        uid = ulid_now()
        if len(sound) > _MOST_BYTES:
            raise UserError("message_not_stored")
        try:
            async with self._storing:
                self._check_may_keep(message.sender)
                await self._hass.async_add_executor_job(_write, self._file(uid), sound)
                self._check_may_keep(message.sender)
                self.device.record.update(messages={**self.messages, uid: message})
            await self.device.record.async_save()
        except (OSError, WriteError, UserError) as err:
            await self._async_delete([uid])
            if isinstance(err, InputError):
                raise
            _LOGGER.warning("A voice message for %s could not be stored: %s", self.device.name, err)
            raise UserError("message_not_stored") from err
        self.device.create_task(self._play([uid]), "play message")

    @callback
    def _check_may_keep(self, sender: str) -> None:
        """Check again what may have changed while a message was recorded or written. Raises `UserError`."""
        if not self._ends:
            raise InputError("message_receiver_gone", name=self.device.name)
        if self.is_full_for(sender):
            raise InputError("message_full", names=self.device.name)

    async def async_delete_all(self) -> None:
        """Delete all, unheard."""
        await self._async_delete(self.messages)

    @override
    async def before_first_turn(self, conversation: Conversation) -> bool:
        """Play all to who has woken the device; return whether there is anything that can be said now."""
        if (
            not self.messages
            or conversation is self._interrupted_by
            or self._playing.locked()
            or self._announcer.is_busy
        ):
            return False
        await self._play(self.messages)
        return True

    @callback
    def play(self) -> None:
        """Play all for somebody who asks for them."""
        self.device.create_task(self._play(self.messages), "play messages")

    async def _play(self, uids: Collection[str]) -> None:
        """Play messages one after the other, until one is not heard to its end."""
        async with self._playing:
            for uid in tuple(uids):
                message = self.messages.get(uid)
                if message is None or self.device.quiet_levels is not None:
                    continue
                heard = await self._announcer.say(await self._utterance(uid, message))
                if heard.end is not End.DONE or heard.how is Delivery.TEXT:
                    if uid not in self.messages:
                        # Its sound is damaged.
                        continue
                    if heard.end is End.WOKEN:
                        self._interrupted_by = self.device.conversation
                    _LOGGER.debug("%s keeps a message: %s", self.device.name, heard.error)
                    return
                async_report(self.device, MessageEvent.HEARD, message.sender)
                # The next one is to follow without a pause.
                self.device.create_task(self._async_delete([uid]), "delete message")

    async def _utterance(self, uid: str, message: VoiceMessage) -> Utterance:
        hass, pipeline = self._hass, chosen_pipeline(self._hass, self.device)
        language = voice_language(pipeline)
        key, when = "message_from", {}
        if dt_util.utcnow() - message.sent > timedelta(minutes=1):
            words = await async_language(hass, language)
            key, when = "message_kept", {"when": described_moment(words, message.sent)}
        text = await async_text(hass, key, language, sender=message.sender, **when)
        if message.cut_off:
            text += " " + await async_text(hass, "message_cut_off", language)
        spoken = text_utterance(hass, text, pipeline)
        return Utterance(speech=self._after(spoken, uid), text=text, at_announcement_volume=True)

    def _after(self, words: Utterance, uid: str) -> OpenSpeech:
        """Return the sound of a message after words that say where it is from, and as loud as these."""

        async def speak(how: Delivery) -> AsyncGenerator[bytes]:
            said = bytearray()
            try:
                async with aclosing(words.speech(how)) as pcm:
                    async for piece in pcm:
                        said += piece
                        yield piece
            except Exception as err:  # noqa: BLE001 - speech engines may raise anything
                # The message can be heard without them. Failures are logged there.
                sound_error(err, self.device)
            stored = await self._hass.async_add_executor_job(self._file(uid).read_bytes)
            decoded = decode_speech(_once(stored), sample_rate=DOWNLINK.sample_rate, extension="ogg")
            try:
                async with aclosing(decoded):
                    sound = b"".join([piece async for piece in decoded])
            except SpeechError:
                _LOGGER.warning("The sound of a voice message for %s is damaged", self.device.name)
                await self._async_delete([uid])
                raise
            sound = await self._hass.async_add_executor_job(as_loud_as, sound, bytes(said))
            for start in range(0, len(sound), _PIECE):
                yield sound[start : start + _PIECE]

        return speak

    async def _async_delete(self, uids: Collection[str]) -> None:
        gone = set(uids)
        kept = {uid: each for uid, each in self.messages.items() if uid not in gone}
        self.device.record.update(messages=kept)
        with suppress(UserError):
            await self.device.record.async_save()
        await self._hass.async_add_executor_job(_delete, [self._file(uid) for uid in gone])

    async def _clean(self, _now: object = None) -> None:
        """Delete messages that are too old, and the rest of a crash: files or messages alone."""
        oldest = dt_util.utcnow() - _KEPT_FOR
        async with self._storing:
            files = await self._hass.async_add_executor_job(_uids, self._folder)
            messages = self.messages
            kept = {uid for uid in files & messages.keys() if messages[uid].sent > oldest}
            for message in (messages[uid] for uid in messages.keys() - kept):
                if message.sent <= oldest:
                    async_report(self.device, MessageEvent.UNHEARD, message.sender)
                else:
                    _LOGGER.error("The sound of a voice message for %s is missing", self.device.name)
            if gone := (files | messages.keys()) - kept:
                await self._async_delete(gone)

    def _file(self, uid: str) -> Path:
        return self._folder / f"{uid}.ogg"


@callback
def async_report(device: Device, event: MessageEvent, place: str) -> None:
    """Report a message to automations and Activity: its receivers or its origin, never its content."""
    device.events.fire(event, place=place)
    device.events.report(EVENT_VOICE_MESSAGE, kind=event.value, place=place)


def _uids(folder: Path) -> set[str]:
    return {file.stem for file in folder.glob("*.ogg")}


def _write(file: Path, sound: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_utf8_file_atomic(str(file), sound, private=True, mode="wb")


def _delete(files: Collection[Path]) -> None:
    for file in files:
        # It is tried again at the next start.
        with suppress(OSError):
            file.unlink()


async def _once(stored: bytes) -> AsyncGenerator[bytes]:
    yield stored
