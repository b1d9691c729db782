"""What ends a turn, compared: fixed pauses, early transcripts, and what has been said.

The detector, the judge of sentences and the rules are the product's, in a real Home Assistant. Audio goes
through the device's codec, and the clock is the audio's, so that no load of the computer shows. Speech
recognition is scripted: each recording is given a sentence, of which as many words are heard as time has
passed.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Final

from homeassistant.components.assist_pipeline.audio_enhancer import MicroVadSpeexEnhancer
from homeassistant.components.assist_pipeline.const import BYTES_PER_CHUNK, MS_PER_CHUNK
from homeassistant.components.assist_pipeline.vad import VoiceCommandSegmenter
from homeassistant.components.conversation import HOME_ASSISTANT_AGENT
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.audio.codec import OpusDecoder
from custom_components.xiaozhi.protocol.audio.detector import (
    DetectorSettings,
    SileroDetector,
    SpeechDetector,
    SpeechEnded,
    SpeechEvent,
    SpeechPaused,
    SpeechResumed,
)
from custom_components.xiaozhi.protocol.audio.silero import load_model
from custom_components.xiaozhi.protocol.audio.timeline import silence
from custom_components.xiaozhi.protocol.conversation.patience import (
    EndAfter,
    EndOfTurn,
    Judge,
    Patience,
    PatienceAction,
    Transcribe,
    TranscribeAll,
    UseTranscript,
)
from custom_components.xiaozhi.voice.early_transcripts import ENDS
from custom_components.xiaozhi.voice.engine_trial import EngineKind, Trial
from custom_components.xiaozhi.voice.sentences import Sentences
from custom_components.xiaozhi.voice.speech_detectors import PATIENT
from simulator.audio.opus import FRAME_SAMPLES, UPLINK_RATE, OpusEncoder

from .house import House
from .recordings import CUT_SECONDS, Recording, Scene, read_recordings
from .report import Finding, Row, percentile

__all__ = ["POLICIES", "compare"]

POLICIES: Final = ("fixed", "early", "sentence", "core")
"""A fixed pause; one with an early transcript; what has been said; Home Assistant's own detector."""

_COMPARED: Final = (
    "seconds of audio from the end of speech to the transcript, of the sentences that were not cut off: all,"
    " commands that Home Assistant knows, and those that it took for complete; calls of speech recognition"
    " and processor time of the judge for each turn; 'cut' in percent of the recordings, without pauses and"
    " with pauses of so many seconds put in"
)
_FIXED: Final = (0.4, 0.6, 0.8)
_EARLY: Final = 0.6
_FRAME_BYTES: Final = 2 * FRAME_SAMPLES
_FRAME_SECONDS: Final = FRAME_SAMPLES / UPLINK_RATE
# A transcript is made of the sound, of which the last word is known shortly before it ends.
_LAST_WORD: Final = 0.1
# Home Assistant's detector takes the beginning of a stream for silence.
_LEAD_MS: Final = 760
_LANGUAGE: Final = "en"

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
class _Sentence:
    """A recording, as the device sends it, and what is said in it."""

    words: list[str]
    known: bool
    start: float
    end: float
    frames: list[bytes]
    pause: float
    pause_at: float
    judged: list[float] = field(default_factory=list)
    """What the model has said so far, for the next policy."""
    model: Callable[[bytes], float] = field(default_factory=load_model)

    def text(self, until: float) -> str:
        """Return what is heard in the sound up to so many seconds."""
        if until >= self.end - _LAST_WORD:
            return " ".join(self.words)
        spoken = until - self.start - (self.pause if until >= self.pause_at else 0)
        share = max(0.0, spoken / (self.end - self.pause - self.start))
        return " ".join(self.words[: max(1, min(len(self.words) - 1, round(share * len(self.words))))])

    def detector(self, settings: DetectorSettings) -> SpeechDetector:
        """Return a detector, whose model is asked only what it was not asked before."""
        asked = iter(range(1 << 30))

        def judge(chunk: bytes) -> float:
            number = next(asked)
            if number == len(self.judged):
                self.judged.append(self.model(chunk))
            return self.judged[number]

        return SileroDetector(settings, judge)


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How a turn ended. Times are seconds of audio."""

    at: float
    """When it was decided that nothing more is said."""
    transcript_at: float
    by: EndOfTurn = EndOfTurn.PAUSE
    calls: int = 1


@dataclass(slots=True, kw_only=True)
class _Bench:
    """What the policies share."""

    sentences: Sentences
    device_id: str
    """The device that listens, in the living room."""
    seconds: float
    """That a call of the engine takes."""
    slower: float
    """How many times as long an early call takes."""
    trial: Trial = field(default_factory=lambda: Trial(EngineKind.GAINS))
    """What the device finds out about the engine; it may go back to a fixed pause."""
    processor: float = 0.0
    """Seconds of processor time of the judge."""

    async def judge(self, text: str) -> tuple[EndOfTurn, float]:
        """Return what a transcript says, and the seconds that it took to find out."""
        begun = process_time()
        completeness = await self.sentences.judge(
            text, language=_LANGUAGE, agent_id=HOME_ASSISTANT_AGENT, device_id=self.device_id
        )
        taken = process_time() - begun
        self.processor += taken
        return ENDS[completeness], taken


async def compare(
    house: House,
    *,
    recordings: Path,
    every: int,
    policy: Sequence[str],
    engine_seconds: Sequence[float],
    pauses: Sequence[float],
    slower: float,
) -> Finding:
    """Compare what ends a turn, with every so-many-th recording. Raises `ValueError` if there are none."""
    people = (await asyncio.to_thread(read_recordings, recordings))[::every]
    sentences = Sentences(house.hass)
    stages = {
        pause: await asyncio.to_thread(lambda pause=pause: [*_stage(people, pause)])
        for pause in (0.0, *pauses)
    }
    rows: list[Row] = []
    async with house.site(1, None) as site:
        device_id = _furnish(house.hass, site.gateway.entry.entry_id, site.devices[0].mac)
        await sentences.warm(_LANGUAGE, HOME_ASSISTANT_AGENT)
        for name in policy:
            for pause in _FIXED if name == "fixed" else (_EARLY,):
                shown = {"fixed": f"fixed {pause:g} s", "early": f"early, {pause:g} s"}.get(name, name)
                for seconds in engine_seconds:
                    bench = _Bench(sentences=sentences, device_id=device_id, seconds=seconds, slower=slower)
                    found = {
                        added: [await _ended(bench, name, pause, said) for said in stage]
                        for added, stage in stages.items()
                    }
                    rows.append(_row(shown, bench, stages, found))
    return Finding(benchmark="end_of_speech", claim=_COMPARED, rows=rows)


def _row(
    name: str,
    bench: _Bench,
    stages: Mapping[float, list[_Sentence]],
    found: Mapping[float, list[_End | None]],
) -> Row:
    turns = [(said, end) for said, end in zip(stages[0.0], found[0.0], strict=True) if end is not None]
    whole = [(said, end) for said, end in turns if not _cut(said, end)]

    def average(times: list[float]) -> float | None:
        return round(mean(times), 2) if times else None

    waited = [end.transcript_at - said.end for said, end in whole]
    row: Row = {
        "policy": name,
        "engine s": bench.seconds,
        "mean": average(waited),
        "known": average([end.transcript_at - said.end for said, end in whole if said.known]),
        "complete": average(
            [end.transcript_at - said.end for said, end in whole if end.by is EndOfTurn.COMPLETE]
        ),
        "p90": round(percentile(waited, 90) or 0, 2),
        "never": len(found[0.0]) - len(turns),
        "calls": round(mean(end.calls for _, end in turns), 2),
        "judge ms": round(1000 * bench.processor / sum(map(len, found.values())), 1),
    }
    for pause, stage in stages.items():
        cut = [end is not None and _cut(said, end) for said, end in zip(stage, found[pause], strict=True)]
        row[f"cut {pause:g}" if pause else "cut"] = round(100 * mean(cut), 1)
    return row


def _cut(said: _Sentence, end: _End) -> bool:
    return end.at < said.end - CUT_SECONDS


async def _ended(bench: _Bench, policy: str, pause: float, said: _Sentence) -> _End | None:
    match policy:
        case "fixed":
            return _after_pause(bench, DetectorSettings(silence=pause), said)
        case "core":
            return _by_core(bench, said)
        case "early":
            settings = DetectorSettings(silence=pause, pause=PATIENT.pause)
            return await _EarlyTurn(bench, settings, said, judges=False).run()
    if bench.trial.transcribes_early(chosen_by_owner=False):
        return await _EarlyTurn(bench, PATIENT, said, judges=True).run()
    bench.trial.plain(bench.seconds)
    return _after_pause(bench, DetectorSettings(), said)


def _after_pause(bench: _Bench, settings: DetectorSettings, said: _Sentence) -> _End | None:
    detector = said.detector(settings)
    for number, frame in enumerate(said.frames, 1):
        if any(isinstance(event, SpeechEnded) for event in detector.hear(frame)):
            at = number * _FRAME_SECONDS
            return _End(at=at, transcript_at=at + bench.seconds)
    return None


def _by_core(bench: _Bench, said: _Sentence) -> _End | None:
    enhancer, segmenter = MicroVadSpeexEnhancer(0, 0, is_vad_enabled=True), VoiceCommandSegmenter()
    heard = bytearray(silence(_LEAD_MS))
    for number, frame in enumerate(said.frames, 1):
        heard += frame
        while len(heard) >= BYTES_PER_CHUNK:
            chunk = bytes(heard[:BYTES_PER_CHUNK])
            del heard[:BYTES_PER_CHUNK]
            probability = enhancer.enhance_chunk(chunk, 0).speech_probability
            if not segmenter.process(MS_PER_CHUNK / 1000, probability):
                at = number * _FRAME_SECONDS
                return _End(at=at, transcript_at=at + bench.seconds)
    return None


class _EarlyTurn:
    """Follows the rules of `voice/early_transcripts.py` on the clock of the audio; one call at a time."""

    def __init__(self, bench: _Bench, settings: DetectorSettings, said: _Sentence, *, judges: bool) -> None:
        self._bench = bench
        self._said = said
        self._judges = judges
        self._detector = said.detector(settings)
        self._patience = Patience()
        self._coming: list[tuple[float, Callable[[], PatienceAction | None]]] = []
        self._pause = SpeechPaused(0)
        self._ended_at = 0.0
        self._calls = 0
        self._end: _End | None = None

    async def run(self) -> _End | None:
        for number, frame in enumerate(self._said.frames, 1):
            now = number * _FRAME_SECONDS
            while self._coming and (first := min(self._coming, key=itemgetter(0)))[0] <= now:
                self._coming.remove(first)
                await self._do(first[0], first[1]())
            if not self._ended_at:
                for event in self._detector.hear(frame):
                    await self._heard(now, event)
            if self._end is not None:
                break
        return self._end

    async def _heard(self, now: float, event: SpeechEvent) -> None:
        match event:
            case SpeechPaused():
                self._pause = event
                await self._do(now, self._patience.paused(engine_free=True))
            case SpeechResumed():
                self._patience.resumed()
            case SpeechEnded():
                self._ended_at = now
                await self._do(now, self._patience.ended())
                self._bench.trial.ended(late=self._end is None)

    async def _do(self, now: float, action: PatienceAction | None) -> None:
        match action:
            case Transcribe(number):
                self._calls += 1
                text = self._said.text(now)
                taken = self._bench.slower * self._bench.seconds
                self._bench.trial.early(taken)
                self._coming.append((now + taken, lambda: self._patience.transcribed(number, text)))
            case Judge(number, text) if self._judges:
                judgement, taken = await self._bench.judge(text)
                self._coming.append((now + taken, lambda: self._patience.judged(number, judgement)))
            case EndAfter(seconds):
                self._detector.end_after(self._pause, seconds)
            case UseTranscript():
                self._finish(now)
            case TranscribeAll():
                self._calls += 1
                # The engine still works on what was dropped.
                self._finish(max([now, *map(itemgetter(0), self._coming)]) + self._bench.seconds)

    def _finish(self, transcript_at: float) -> None:
        self._end = _End(
            at=self._ended_at, transcript_at=transcript_at, by=self._patience.ending, calls=self._calls
        )


def _stage(recordings: list[Recording], pause: float) -> Iterator[_Sentence]:
    for number, recording in enumerate(recordings):
        pcm, end = recording.played(Scene(pause=pause))
        known = number % 10 < 7
        texts = _KNOWN if known else _UNKNOWN
        bounds = recording.bounds
        encoder, decoder = OpusEncoder(), OpusDecoder(UPLINK_RATE, 60)
        frames = [
            pcm[start : start + _FRAME_BYTES] for start in range(0, len(pcm) - _FRAME_BYTES + 1, _FRAME_BYTES)
        ]
        start = end - pause - (bounds.end - bounds.start)
        yield _Sentence(
            words=texts[number % len(texts)].split(),
            known=known,
            start=start,
            end=end,
            frames=[decoder.decode(encoder.encode(frame)) for frame in frames],
            pause=pause,
            pause_at=start + sum(bounds.gap) / 2 - bounds.start + pause / 2,
        )


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
