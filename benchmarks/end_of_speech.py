"""How soon, and how rightly, *By what was said* and Home Assistant's detector find the end of a sentence.

The detector, the recogniser of commands and the pauses are the product's, in a real Home Assistant. Audio
goes through the device's codec, and the clock is the audio's, so that no load of the computer shows. Speech
recognition is scripted: each recording is given a sentence, of which as many words are heard as time has
passed.

Times are seconds from the end of speech to the transcript, on average, of the sentences that were not cut
off: of all, and of commands that Home Assistant knows. Then calls of speech recognition for each turn, and
the percentage cut off of the recordings as they are and with pauses of so many seconds put in.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Final

from homeassistant.components.assist_pipeline import Pipeline, async_get_pipelines
from homeassistant.components.assist_pipeline.audio_enhancer import MicroVadSpeexEnhancer
from homeassistant.components.assist_pipeline.const import BYTES_PER_CHUNK, MS_PER_CHUNK
from homeassistant.components.assist_pipeline.vad import VadSensitivity, VoiceCommandSegmenter
from homeassistant.components.conversation import HOME_ASSISTANT_AGENT
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.audio.opus_codec import OpusDecoder
from custom_components.xiaozhi.protocol.audio.silero import load_model
from custom_components.xiaozhi.protocol.audio.speech_detector import (
    DetectorSettings,
    SpeechDetector,
    SpeechEnded,
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
)
from custom_components.xiaozhi.protocol.audio.uplink_timeline import silence
from custom_components.xiaozhi.voice.end_of_turn import (
    FIXED_PAUSES,
    QUICK_AND_PATIENT,
    UNDERSTOOD_PAUSE,
)
from custom_components.xiaozhi.voice.understood_commands import UnderstoodCommands
from simulator.audio.opus import FRAME_SAMPLES, UPLINK_RATE, OpusEncoder

from .house import House
from .recordings import CUT_SECONDS, Recording, read_recordings
from .report import Row

_QUICK_AND_PATIENT: Final = "quick and patient"
_CORE: Final = "Home Assistant's"
_FIXED: Final = "fixed, "
_ENDS: Final = (_QUICK_AND_PATIENT, *(_FIXED + name for name in FIXED_PAUSES), _CORE)
_ENGINE_SECONDS: Final = (0.05, 0.3, 0.8)
_PAUSES: Final = (0.0, 0.3, 0.5, 0.7)

_FRAME_BYTES: Final = 2 * FRAME_SAMPLES
FRAME_SECONDS: Final = FRAME_SAMPLES / UPLINK_RATE
"""Length of what a device sends at a time."""
# A transcript is made of the sound, of which the last word is known shortly before it ends.
_LAST_WORD: Final = 0.1
# Home Assistant's detector takes the beginning of a stream for silence.
_LEAD_MS: Final = 760
# No policy, learned patience included, waits for so many seconds of silence.
_LONGEST_PAUSE: Final = 3.0
# As of a turn of `voice/early_transcripts.py`.
_MOST_EARLY_CALLS: Final = 2
_AREAS: Final = {
    "Kitchen": {"light.kitchen_light": "Kitchen light", "switch.coffee_machine": "Coffee machine"},
    "Bedroom": {"light.bedroom_lamp": "Bedroom lamp", "fan.bedroom_fan": "Bedroom fan"},
    "Living room": {"light.floor_lamp": "Floor lamp", "media_player.television": "Television"},
    "Garage": {"cover.garage_door": "Garage door", "light.garage_light": "Garage light"},
}
# 70 % of the recordings: commands that Home Assistant knows.
_KNOWN: Final = (
    "turn on the kitchen light",
    "turn off the bedroom lamp",
    "turn on the lights in the living room",
    "turn off all lights in the kitchen",
    "set the bedroom lamp to 50 percent",
    "what time is it",
    "set a timer for 5 minutes",
    "open the garage door",
    "turn on the bedroom fan",
    "turn off the coffee machine",
    "is the kitchen light on",
    "set a 10 minute timer",
    "turn off the lights",
    "close the garage door",
    "turn up the volume of the television",
    "turn off the television",
    "turn on the light in the bedroom",
    "set the floor lamp to red",
    "turn on the garage light",
    "cancel the timer",
    "never mind",
)
# The others: for a language model.
_UNKNOWN: Final = (
    "who was the first person on the moon",
    "tell me a story about a dragon",
    "how many people live in Norway",
    "what can I cook with rice and beans",
    "why is the sky blue",
    "I am cold and the movie starts in a minute",
    "explain how a heat pump works",
    "make it cosy in here",
    "what should I wear tomorrow",
)


@dataclass(slots=True, kw_only=True)
class Sentence:
    """A recording, as the device sends it, and what is said in it."""

    words: list[str]
    known: bool
    start: float
    end: float
    frames: list[bytes]
    pause: float
    pause_at: float
    judged: list[float] = field(default_factory=list)
    """What the model has said, until speech has ended for every policy."""

    def text(self, until: float) -> str:
        """Return what is heard in the sound up to so many seconds."""
        if until >= self.end - _LAST_WORD:
            return " ".join(self.words)
        spoken = until - self.start - (self.pause if until >= self.pause_at else 0)
        share = max(0.0, spoken / (self.end - self.pause - self.start))
        return " ".join(self.words[: max(1, min(len(self.words) - 1, round(share * len(self.words))))])

    def detector(self, settings: DetectorSettings) -> SpeechDetector:
        """Return a detector that takes the model's answers from a list."""
        judged = iter(self.judged)
        return SpeechDetector(settings, lambda _: next(judged))

    def judge(self) -> None:
        """Ask the model once, which takes 6 MiB while it is there."""
        model = load_model()

        def ask(chunk: bytes) -> float:
            self.judged.append(model(chunk))
            return self.judged[-1]

        ends = _after_pause(SpeechDetector(replace(QUICK_AND_PATIENT, silence=_LONGEST_PAUSE), ask))
        any(map(ends, self.frames))


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How a turn ended. Times are seconds of audio."""

    at: float
    """When it was decided that nothing more is said."""
    transcript_at: float
    calls: int = 1


@dataclass(slots=True, kw_only=True)
class _Bench:
    """What the turns of one row share."""

    commands: UnderstoodCommands
    pipeline: Pipeline
    device_id: str
    """The device that listens, in the living room."""
    seconds: float
    """That a call of the engine takes."""

    async def is_understood(self, text: str) -> tuple[bool, float]:
        """Return whether a transcript is understood, and the seconds that it took to find out."""
        begun = process_time()
        understood = await self.commands.async_is_understood(text, self.pipeline, self.device_id)
        return understood, process_time() - begun


async def measure(house: House, *, recordings: Path, every: int = 1) -> list[Row]:
    """Find the end of every so-many-th recording. Raises `ValueError` if there are none."""
    people = (await asyncio.to_thread(read_recordings, recordings))[::every]
    stages = {pause: await asyncio.to_thread(stage, people, pause) for pause in _PAUSES}
    rows: list[Row] = []
    async with house.site(1, None) as site:
        device_id = _furnish(house.hass, site.gateway.entry.entry_id, site.devices[0].mac)
        commands = UnderstoodCommands(house.hass)
        pipeline = replace(async_get_pipelines(house.hass)[0], conversation_engine=HOME_ASSISTANT_AGENT)
        for end in _ENDS:
            for seconds in _ENGINE_SECONDS:
                bench = _Bench(commands=commands, pipeline=pipeline, device_id=device_id, seconds=seconds)
                found = {
                    pause: [await _ended(bench, end, said) for said in stage]
                    for pause, stage in stages.items()
                }
                rows.append(_row(end, bench, stages, found))
    return rows


def _row(
    name: str,
    bench: _Bench,
    stages: Mapping[float, list[Sentence]],
    found: Mapping[float, list[_End | None]],
) -> Row:
    turns = [(said, end) for said, end in zip(stages[0.0], found[0.0], strict=True) if end is not None]
    waited = [(said, end.transcript_at - said.end) for said, end in turns if not is_cut(said, end.at)]
    row: Row = {
        "the end is found by": name,
        "engine s": bench.seconds,
        "mean": _average([seconds for _, seconds in waited]),
        "known": _average([seconds for said, seconds in waited if said.known]),
        "never": len(found[0.0]) - len(turns),
        "calls": round(mean(end.calls for _, end in turns), 2) if turns else None,
    }
    for pause, stage in stages.items():
        cut = [
            end is not None and is_cut(said, end.at) for said, end in zip(stage, found[pause], strict=True)
        ]
        row[f"cut {pause:g}" if pause else "cut"] = round(100 * mean(cut), 1)
    return row


def _average(times: list[float]) -> float | None:
    return round(mean(times), 2) if times else None


def is_cut(said: Sentence, at: float) -> bool:
    """Whether a turn that ended at so many seconds of audio was cut off."""
    return at < said.end - CUT_SECONDS


async def _ended(bench: _Bench, end: str, said: Sentence) -> _End | None:
    if end == _QUICK_AND_PATIENT:
        return await _QuickAndPatientTurn(bench, said).run()
    if end == _CORE:
        ends = _core_detector()
    else:
        ends = _after_pause(said.detector(FIXED_PAUSES[VadSensitivity(end.removeprefix(_FIXED))]))
    for number, frame in enumerate(said.frames, 1):
        if ends(frame):
            at = number * FRAME_SECONDS
            return _End(at=at, transcript_at=at + bench.seconds)
    return None


def _after_pause(detector: SpeechDetector) -> Callable[[bytes], bool]:
    """Return what says whether speech has ended with a frame."""
    return lambda frame: any(isinstance(event, SpeechEnded) for event in detector.hear(frame))


def _core_detector() -> Callable[[bytes], bool]:
    enhancer, segmenter = MicroVadSpeexEnhancer(0, 0, is_vad_enabled=True), VoiceCommandSegmenter()
    heard = bytearray(silence(_LEAD_MS))

    def ends(frame: bytes) -> bool:
        heard.extend(frame)
        while len(heard) >= BYTES_PER_CHUNK:
            chunk = bytes(heard[:BYTES_PER_CHUNK])
            del heard[:BYTES_PER_CHUNK]
            probability = enhancer.enhance_chunk(chunk, 0).speech_probability
            if not segmenter.process(MS_PER_CHUNK / 1000, probability):
                return True
        return False

    return ends


@dataclass(frozen=True, slots=True)
class _Call:
    """An early call of the engine."""

    pause: SpeechPaused
    text: str
    ends_at: float


class _QuickAndPatientTurn:
    """Follows the rules of `voice/early_transcripts.py`, with an engine for one call at a time."""

    def __init__(self, bench: _Bench, said: Sentence) -> None:
        self._bench = bench
        self._said = said
        self._detector = said.detector(QUICK_AND_PATIENT)
        self._pause: SpeechPaused | None = None
        self._transcribed: SpeechPaused | None = None
        self._call: _Call | None = None
        self._understood: tuple[SpeechPaused, float] | None = None
        self._calls = 0

    async def run(self) -> _End | None:
        for number, frame in enumerate(self._said.frames, 1):
            now = number * FRAME_SECONDS
            await self._work(now)
            for event in self._detector.hear(frame):
                if isinstance(event, SpeechEnded):
                    return self._end(now)
                self._heard(now, event)
        return None

    async def _work(self, now: float) -> None:
        """Do what the engine and the recogniser have finished up to now."""
        if self._call is not None and self._call.ends_at <= now:
            call, self._call = self._call, None
            if call.pause == self._pause:
                self._transcribed = call.pause
                understood, taken = await self._bench.is_understood(call.text)
                if understood:
                    self._understood = call.pause, call.ends_at + taken
            else:
                self._begin_call(call.ends_at)
        if self._understood is not None and self._understood[1] <= now:
            self._detector.end_after(self._understood[0], UNDERSTOOD_PAUSE)

    def _heard(self, now: float, event: SpeechEvent) -> None:
        match event:
            case SpeechPaused():
                self._pause = event
                self._begin_call(now)
            case SpeechResumed():
                self._pause = self._understood = None

    def _begin_call(self, now: float) -> None:
        if self._pause is not None and self._call is None and self._calls < _MOST_EARLY_CALLS:
            self._calls += 1
            self._call = _Call(self._pause, self._said.text(now), now + self._bench.seconds)

    def _end(self, now: float) -> _End:
        late = self._call is not None and self._call.pause == self._pause
        if self._pause is not None and self._transcribed == self._pause:
            return _End(at=now, transcript_at=now, calls=self._calls)
        # The engine still works on this call, or on one that was dropped.
        free_at = now if self._call is None else self._call.ends_at
        if late:
            return _End(at=now, transcript_at=free_at, calls=self._calls)
        return _End(at=now, transcript_at=free_at + self._bench.seconds, calls=self._calls + 1)


def stage(recordings: list[Recording], pause: float) -> list[Sentence]:
    """Return the recordings as a device sends them, with a pause of so many seconds put into each."""
    stage: list[Sentence] = []
    for number, recording in enumerate(recordings):
        pcm, end = recording.played(pause)
        known = number % 10 < 7
        texts = _KNOWN if known else _UNKNOWN
        bounds = recording.bounds
        encoder, decoder = OpusEncoder(), OpusDecoder(60)
        frames = [
            pcm[start : start + _FRAME_BYTES] for start in range(0, len(pcm) - _FRAME_BYTES + 1, _FRAME_BYTES)
        ]
        start = end - pause - (bounds.end - bounds.start)
        sentence = Sentence(
            words=texts[number % len(texts)].split(),
            known=known,
            start=start,
            end=end,
            frames=[decoder.decode(encoder.encode(frame)) for frame in frames],
            pause=pause,
            pause_at=start + sum(bounds.gap) / 2 - bounds.start + pause / 2,
        )
        sentence.judge()
        stage.append(sentence)
    return stage


def _furnish(hass: HomeAssistant, entry_id: str, mac: str) -> str:
    """Give the home what the sentences speak of; return the id of a device in its living room."""
    areas, entities = ar.async_get(hass), er.async_get(hass)
    for name, things in _AREAS.items():
        area = areas.async_get_or_create(name)
        for entity_id, friendly_name in things.items():
            domain, _, object_id = entity_id.partition(".")
            entities.async_get_or_create(
                domain, "benchmark", object_id, suggested_object_id=object_id, original_name=friendly_name
            )
            entities.async_update_entity(entity_id, area_id=area.id)
            hass.states.async_set(entity_id, "off", {"friendly_name": friendly_name})
            async_expose_entity(hass, "conversation", entity_id, True)
    devices = dr.async_get(hass)
    device = devices.async_get_device_by_identifier((DOMAIN, mac), entry_id)
    if device is None:
        raise LookupError(f"{mac} is not in the device registry")
    devices.async_update_device(device.id, area_id=areas.async_get_or_create("Living room").id)
    return device.id
