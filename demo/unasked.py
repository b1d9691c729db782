"""Sounds of Home Assistant's own accord, as the demo's user hears them.

Each is started as the web page or the user starts it, then checked on the device. A wrong result raises
`DemoError`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final, override

import av
import numpy as np

from simulator import Announcement, Outcome, SimulatedDevice, State
from simulator.audio.opus import UPLINK_RATE
from simulator.audio.sound import likeness
from simulator.audio.speaker import Played
from simulator.cli import line_of

from .abilities import Owner
from .client import Client, Json
from .engines import plain
from .errors import DemoError, naming_fault
from .hass import MEDIA
from .house import has_state

_MESSAGE: Final = "Dinner is ready."
_ALARM: Final = "Tea"
_ALARM_SECONDS: Final = 5
_TIMER: Final = "set a timer for fifteen seconds"
_MUSIC: Final = "play jazz"
_QUESTION: Final = "Shall I open the window?"
_ANSWER: Final = "never mind"
_ANSWERS: Final = ({"id": "yes", "sentences": ["yes"]}, {"id": "no", "sentences": ["no", _ANSWER]})
_TO_ANNOUNCER: Final = "send a voice message to the announcer"
_TO_OLDER: Final = "send a voice message to the bedroom"
_SPOKEN: Final = "Dinner is ready. Please come to the table."
_PROMPT: Final = "Speak after the tone."
# Correlation of what was said and what was heard, after Opus twice each way.
_ALIKE: Final = 0.9
_TUNE: Final = "jazz.flac"
_TUNE_SECONDS: Final = 12.0
_RATE: Final = 24000
_NOTES: Final = (262, 330, 392, 466, 440, 392, 330, 294)
_NOTE_SECONDS: Final = 0.96
# A frame is one of the tune if this share of its energy is at one frequency; of speech, less is.
_PURITY: Final = 0.9
# Root mean square of 16 bit samples; speech is at some thousands, a hum of the codec below 10.
_AUDIBLE: Final = 200
_QUIET_VOLUME: Final = 30
# A loaded machine takes long.
_WAIT_SECONDS: Final = 60.0
# Of music or ringing, before the user ends it.
_ENOUGH_SECONDS: Final = 2.0


def put_music(configuration: Path) -> None:
    """Put a tune into the media library of a Home Assistant."""
    samples = np.arange(int(_RATE * _TUNE_SECONDS))
    notes = np.array(_NOTES)[(samples / _RATE / _NOTE_SECONDS).astype(int) % len(_NOTES)]
    wave = (6000 * np.sin(2 * np.pi * np.cumsum(notes / _RATE))).astype("<i2")
    with av.open(str(configuration / MEDIA / _TUNE), "w") as file:
        stream = file.add_stream("flac", rate=_RATE, layout="mono", format="s16")
        frame = av.AudioFrame.from_ndarray(wave.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = _RATE, Fraction(1, _RATE), 0
        for packet in (*stream.encode(frame), *stream.encode(None)):
            file.mux(packet)


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation of a device, from an event of its transcript on."""

    device: SimulatedDevice
    first: int

    @property
    def answers(self) -> list[str]:
        """The captions of the answers."""
        messages = [event.data.get("message", {}) for event in self.device.transcript[self.first :]]
        return [message["text"] for message in messages if message.get("state") == "sentence_start"]

    @override
    def __str__(self) -> str:
        """Tell what has happened since, for an error."""
        lines = filter(None, map(line_of, self.device.transcript[self.first :]))
        return f"since then: {', '.join(lines) or 'nothing'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Hears what Home Assistant says and plays on its own."""

    client: Client
    announcer: Owner
    """Of the device that can play while it is idle."""
    older: Owner
    """Of a device that can play only in a conversation."""
    speak: Callable[[str], Awaitable[bytes]]
    """Returns a text as the user says it."""

    async def hear_announcement(self) -> Json:
        """Have something announced to the idle device."""
        satellite = await self.announcer.entity("assist_satellite")
        earlier = len(self.announcer.device.announcements)
        await self._call("assist_satellite", "announce", entity_id=satellite, message=_MESSAGE)
        announced = await self._played(earlier)
        shown = " ".join(text for _, text in announced.shown)
        if _MESSAGE not in shown:
            raise DemoError(f"the announcement {_MESSAGE!r} was shown as {shown!r}")
        return {"entity_id": satellite, "shown": shown, "seconds": _seconds(announced.played)}

    async def hear_timer(self) -> Json:
        """Set a timer by voice; when it rings, wake the device, which only ends the ringing."""
        device = self.announcer.device
        earlier = len(device.announcements)
        talk = await self._say(self.announcer, _TIMER)
        await self._rests(device, f"{_TIMER!r} is not answered")
        answer = talk.answers
        ring = await self._ringing(earlier, f"a timer of 15 s does not ring; {talk}")
        await device.wake(self.announcer.wake_word)
        await self._rests(device, "after the ringing it does not rest")
        return {"said": _TIMER, "answer": answer, "seconds": _seconds(ring.played)}

    async def hear_alarm(self) -> Json:
        """Set an alarm on the older device, which rings through the announcer; waking it ends the ring."""
        device, loud = self.older.device, self.announcer.device
        select = await self.older.entity("select", "loudspeaker")
        options = (await self.client.attributes(select))["options"]
        [player] = [option for option in options if self.announcer.name in option]
        earlier = len(loud.announcements)
        await self.client.call("select", "select_option", entity_id=select, option=player)
        try:
            await self.older.set_alarm(_ALARM_SECONDS, _ALARM)
            event = await self.older.entity("event", "alarm")
            ring = await self._ringing(earlier, "the alarm does not ring")
            shown = device.screen.system_text
            await device.wake(self.older.wake_word)
            await self._until(loud, lambda: ring.over, "it rings on")
            await self._rests(device, "after the alarm it does not rest")
        finally:
            await self.client.call("select", "select_option", entity_id=select, option="this_device")
        event_type = (await self.client.attributes(event))["event_type"]
        if _ALARM not in shown or event_type != "alarm_stopped":
            raise DemoError(
                f"the alarm was shown as {shown!r}, and its last event is {event_type} after it was stopped"
            )
        return {"firmware": device.profile.version, "shown": shown, "seconds": _seconds(ring.played)}

    async def hear_file(self) -> Json:
        """Play a file of the media library on the idle device."""
        player = await self.announcer.entity("media_player")
        earlier = len(self.announcer.device.announcements)
        media = f"media-source://media_source/local/{_TUNE}"
        await self._call(
            "media_player", "play_media", entity_id=player, media_content_id=media, media_content_type="music"
        )
        played = await self._played(earlier)
        seconds = _tune_seconds(played.played)
        if seconds < _TUNE_SECONDS - 1:
            raise DemoError(f"of a tune of {_TUNE_SECONDS:g} s the device has played {seconds} s")
        return {"entity_id": player, "seconds": seconds}

    async def hear_music(self) -> Json:
        """Ask the older device for music; it plays in the conversation, until the button ends it."""
        device = self.older.device
        player = await self.older.entity("media_player")
        first = len(device.speaker.played)
        talk = await self._say(self.older, _MUSIC)
        await self._until(
            device,
            lambda: (
                device.state is State.IDLE or _tune_seconds(device.speaker.played[first:]) > _ENOUGH_SECONDS
            ),
            f"after {_MUSIC!r} there is no music",
        )
        if device.state is State.IDLE:
            played = _tune_seconds(device.speaker.played[first:])
            raise DemoError(f"after {_MUSIC!r} there was no music, but {played} s of it; {talk}")
        await has_state(self.client, player, "playing")
        await device.click()
        await self._until(device, lambda: device.state is not State.SPEAKING, "the button does not end music")
        if device.state is State.LISTENING:
            await device.click()
        await self._rests(device, "after the music it does not rest")
        await has_state(self.client, player, "idle")
        return {"said": _MUSIC, "entity_id": player, "seconds": _tune_seconds(device.speaker.played[first:])}

    async def hear_message(self) -> Json:
        """Speak a message to the older device, and hear it from the announcer."""
        loud = self.announcer.device
        earlier = len(loud.announcements)
        spoken, sent = await self._send(self.older, _TO_ANNOUNCER)
        heard = await self._played(earlier)
        seconds = round(heard.played[0].time - sent, 2)
        return {"said": _TO_ANNOUNCER, "first_sound": seconds, "alike": _alike(spoken, _pcm(heard.played))}

    async def keep_message(self) -> Json:
        """Speak a message to the announcer for the older device, which may not disturb before it is woken."""
        device = self.older.device
        switch = await self.older.entity("switch", "do_not_disturb")
        await self.client.call("switch", "turn_on", entity_id=switch)
        first = len(device.speaker.played)
        spoken, _ = await self._send(self.announcer, _TO_OLDER)
        await self.client.call("switch", "turn_off", entity_id=switch)
        if device.state is not State.IDLE or _seconds(device.speaker.played[first:]):
            raise DemoError(f"the {self.older.name} was disturbed by a message")
        talk = _Talk(device, len(device.transcript))
        await device.wake(self.older.wake_word)
        await self._until(
            device,
            lambda: bool(talk.answers) and device.state is State.LISTENING,
            f"woken, it plays no message; {talk}",
        )
        heard = _pcm(device.speaker.played[first:])
        await device.click()
        await self._rests(device, "after the message it does not rest")
        return {"said": _TO_OLDER, "shown": talk.answers[0], "alike": _alike(spoken, heard)}

    async def _send(self, owner: Owner, text: str) -> tuple[bytes, float]:
        """Ask a device to record a message, and speak it; return its sound, and when it was sent."""
        device = owner.device
        talk = await self._say(owner, text)
        await self._until(
            device,
            lambda: _PROMPT in talk.answers and device.state is State.LISTENING,
            f"{text!r} has no message recorded; {talk}",
        )
        spoken = await self.speak(_SPOKEN)
        device.say(spoken)
        await self._until(device, lambda: "Sent." in talk.answers, f"the message is not sent; {talk}")
        sent = asyncio.get_running_loop().time()
        await self._rests(device, "after the message it does not rest")
        return spoken, sent

    async def _call(self, domain: str, action: str, **data: str) -> None:
        """Call an action for the announcer; the error of a refusal also says what the device knows of it."""
        try:
            await self.client.call(domain, action, **data)
        except DemoError as err:
            known = [(each.outcome, each.reason) for each in self.announcer.device.announcements]
            raise DemoError(f"{err}; the {self.announcer.name}: {known or 'was not told to play'}") from err

    async def answer_question(self) -> Json:
        """Have the idle device ask something, and answer it in the next conversation."""
        device = self.announcer.device
        satellite = await self.announcer.entity("assist_satellite")
        earlier = len(device.announcements)
        asking = asyncio.create_task(
            self.client.ask("xiaozhi", "ask", entity_id=satellite, question=_QUESTION, answers=_ANSWERS)
        )
        try:
            await self._until(device, lambda: len(device.announcements) > earlier, "no question is asked")
            asked = await self._played(earlier)
            talk = await self._say(self.announcer, _ANSWER)
            with naming_fault(f"the action does not return the answer {_ANSWER!r}; {talk}"):
                async with asyncio.timeout(_WAIT_SECONDS):
                    reply = await asking
        finally:
            asking.cancel()
        if (reply["id"], plain(reply["sentence"])) != ("no", _ANSWER):
            raise DemoError(f"{_ANSWER!r}, said after {_QUESTION!r}, was taken for {reply}; {talk}")
        await self._rests(device, "after the answer it does not rest")
        return {"question": " ".join(text for _, text in asked.shown), "answer": reply}

    async def keep_quiet(self) -> Json:
        """Have the idle device not disturb: nothing is announced, its volume is low, and comes back."""
        device = self.announcer.device
        switch = await self.announcer.entity("switch", "do_not_disturb")
        satellite = await self.announcer.entity("assist_satellite")
        usual, earlier = device.values["volume"], len(device.announcements)
        await self.client.call("switch", "turn_on", entity_id=switch)
        refusal = ""
        try:
            await self._until(device, lambda: device.values["volume"] <= _QUIET_VOLUME, "it stays loud")
            await self.client.call("assist_satellite", "announce", entity_id=satellite, message=_MESSAGE)
        except DemoError as err:
            refusal = str(err)
        finally:
            await self.client.call("switch", "turn_off", entity_id=switch)
        if "disturb" not in refusal or len(device.announcements) > earlier:
            raise DemoError(
                f"it is not to disturb, and announces {_MESSAGE!r}: {refusal or 'it is not refused'}"
            )
        await self._until(device, lambda: device.values["volume"] == usual, "its volume does not come back")
        return {"entity_id": switch, "refused": refusal}

    async def _say(self, owner: Owner, text: str) -> _Talk:
        """Wake a device and begin to say something to it."""
        device = owner.device
        sound = await self.speak(text)
        talk = _Talk(device, len(device.transcript))
        await device.wake(owner.wake_word)
        if device.state is State.IDLE:
            raise DemoError(
                f"the device could not connect: {device.last_error or 'the server hung up'}; {talk}"
            )
        device.say(sound)
        return talk

    async def _played(self, earlier: int) -> Announcement:
        """Return the announcement after so many earlier ones, once it has been played to its end."""
        device = self.announcer.device
        await self._until(device, lambda: len(device.announcements) > earlier, "it is told to play nothing")
        announced = device.announcements[earlier]
        await self._until(device, lambda: announced.over, "what it plays does not end")
        if announced.outcome is not Outcome.PLAYED:
            raise DemoError(f"the {self.announcer.name} has not played it: {announced.reason}")
        if not audible(_pcm(announced.played)):
            raise DemoError(f"the {self.announcer.name} has played {_seconds(announced.played)} s of silence")
        return announced

    async def _ringing(self, earlier: int, fault: str) -> Announcement:
        """Return what rings on the announcer, once enough of it was heard."""
        device = self.announcer.device
        await self._until(device, lambda: len(device.announcements) > earlier, fault)
        ring = device.announcements[earlier]
        await self._until(
            device, lambda: ring.over or _seconds(ring.played) > _ENOUGH_SECONDS, "the ringing is not heard"
        )
        if ring.over or not audible(_pcm(ring.played)):
            raise DemoError(f"the ringing is silent or too short: {ring.outcome} {ring.reason}")
        return ring

    async def _until(self, device: SimulatedDevice, condition: Callable[[], bool], fault: str) -> None:
        with naming_fault(fault):
            await device.wait_for(condition, _WAIT_SECONDS)

    async def _rests(self, device: SimulatedDevice, fault: str) -> None:
        await self._until(device, lambda: device.state is State.IDLE, fault)


def audible(pcm: bytes) -> bool:
    """Return whether there is something to hear in PCM of 16 bits."""
    samples = np.frombuffer(pcm, "<i2").astype(float)
    return bool(samples.size and np.sqrt(np.mean(samples**2)) > _AUDIBLE)


def _alike(spoken: bytes, heard: bytes) -> float:
    """Return how much alike a message is to what was heard. Raises `DemoError` if that is another sound."""
    found = round(likeness(spoken, UPLINK_RATE, heard, _RATE), 3)
    if found < _ALIKE:
        raise DemoError(f"the message was heard as another sound: a correlation of {found}")
    return found


def _pcm(frames: Sequence[Played]) -> bytes:
    return b"".join(frame.pcm for frame in frames)


def _seconds(frames: Sequence[Played]) -> float:
    return round(len(_pcm(frames)) / 2 / _RATE, 2)


def _tune_seconds(frames: Sequence[Played]) -> float:
    """Return how much of it is one note at a time."""
    return _seconds([frame for frame in frames if audible(frame.pcm) and _is_note(frame.pcm)])


def _is_note(pcm: bytes) -> bool:
    samples = np.frombuffer(pcm, "<i2").astype(float)
    energy = np.abs(np.fft.rfft(samples * np.hanning(len(samples)))) ** 2
    peak = int(np.argmax(energy))
    return bool(energy[max(0, peak - 3) : peak + 4].sum() > _PURITY * energy.sum())
