"""Plays the device's side of a recorded conversation again, in its rhythm.

The format is that of the integration's `protocol/trace.py`. What the firmware does by itself, the simulated
one does; from the recording come the user (wake word, button), the packets of the microphone with their
times, holes of the network, and how long tools take. Without sound, speech of the same length takes the
place of what was said.
"""

import asyncio
from base64 import b64decode
from dataclasses import dataclass
from functools import partial
import json
from pathlib import Path
import sys
from typing import Any, Final, Self

import numpy as np

from .audio.opus import FRAME_SAMPLES, UPLINK_RATE, OpusEncoder
from .device import SimulatedDevice

_FORMAT: Final = "xiaozhi-conversation"
_VERSION: Final = 1
_MAX_BYTES: Final = 8 * 1024 * 1024
_FRAME_SECONDS: Final = FRAME_SAMPLES / UPLINK_RATE
# A stand-in for what was said: vowels, by their first three formants in Hz, 0.12 s each.
_VOWELS: Final = ((730, 1090, 2440), (530, 1840, 2480), (270, 2290, 3010), (570, 840, 2410), (300, 870, 2240))
_VOWEL_SECONDS: Final = 0.12
# In ms: what the firmware sends within this time after a wake word or a press belongs to it.
_TOGETHER: Final = 500
# In ms: a microphone that is on sends a packet each 60 ms.
_HOLE: Final = 500
_AT_ONCE: Final = 20
# In seconds: an answer of a tool that takes no time may be that late.
_SLOW: Final = 0.2

# What lines of a kind must have, and how large their numbers may be: in ms, and of words.
_FIELDS: Final = {
    "in": ("message",),
    "out": ("type",),
    "state": ("state",),
    "speech": ("event",),
    "pipeline": ("event",),
    "end": ("reason",),
}
_MAX_MS: Final = 600_000
_MAX_WORDS: Final = 10_000

type _Line = dict[str, Any]


class RecordingError(ValueError):
    """A file that is no recording, or not a whole one."""


@dataclass(frozen=True, slots=True)
class Press:
    """Something that the user did."""

    action: str
    """A method of the simulated device: `wake`, `click`, `press`, `release` or `leave`."""
    after: int
    """How many beginnings and ends of answers the device had been told of."""
    delay: float
    """Seconds after the last of them."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded conversation."""

    head: _Line
    lines: list[_Line]

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read a file, with or without a byte order mark. Raises as `read`, and `OSError`."""
        with path.open("rb") as file:
            return cls.read(file.read(_MAX_BYTES + 1).decode("utf-8-sig", errors="replace"))

    @classmethod
    def read(cls, text: str) -> Self:
        """Read JSON lines, or diagnostics that hold them. Raises `RecordingError` with the reason."""
        if len(text) > _MAX_BYTES:
            raise RecordingError(
                f"The file is larger than {_MAX_BYTES // 1024**2} MiB, which no recording is."
            )
        lines: list[_Line] = []
        for number, line in enumerate(_raw_lines(text), 1):
            try:
                lines.append(dict(json.loads(line)))
            except (ValueError, TypeError, RecursionError) as err:
                raise RecordingError(f"Line {number} is damaged: {str(line)[:40]!r}") from err
        head, *rest = lines or [{}]
        if head.get("format") != _FORMAT:
            raise RecordingError("The file is not a recording of a conversation.")
        if head.get("version") != _VERSION:
            raise RecordingError(f"The recording has version {head.get('version')}; this reads version 1.")
        if type(head.get("sound")) is not bool or head.get("link") not in {"websocket", "mqtt"}:
            raise RecordingError("The recording does not say how it was made.")
        if not all(isinstance(line.get("ms"), int) and isinstance(line.get("kind"), str) for line in rest):
            raise RecordingError("A line has no time or no kind.")
        for number, line in enumerate(rest, 2):
            if not _is_sound(line, with_sound=head["sound"]):
                raise RecordingError(f"Line {number} says what no recording says.")
        if not rest or rest[-1]["kind"] not in {"end", "full"}:
            raise RecordingError("The recording has no end: the file was cut off.")
        return cls(head, rest)

    def of(self, kind: str) -> list[_Line]:
        """Return the lines of a kind."""
        return [line for line in self.lines if line["kind"] == kind]

    def messages(self, name: str) -> list[_Line]:
        """Return the messages of the device by their name, such as `ListenStart`."""
        return [line for line in self.of("in") if line["message"] == name]

    def holes(self) -> list[tuple[float, float]]:
        """Return when the network was away while the microphone was on: seconds since the hello."""
        listening, last, holes = False, 0, []
        for line in self.lines:
            if line["kind"] not in {"in", "up"}:
                continue
            if listening and line["ms"] - last >= _HOLE and line.get("message") != "ListenStop":
                holes.append((last / 1000, line["ms"] / 1000))
            listening = line["kind"] == "up" or line.get("message") == "ListenStart"
            last = line["ms"]
        return holes

    @property
    def presses(self) -> list[Press]:
        """Actions of the user, in order. The first one began the conversation."""
        presses: list[Press] = []
        received, last = 0, 0
        by_user = -_TOGETHER
        for index, line in enumerate(self.lines):
            if line["kind"] == "out" and _begins_or_ends(line):
                received, last = received + 1, line["ms"]
            elif (action := self._action(index, by_user)) is not None:
                presses.append(Press(action, received, (line["ms"] - last) / 1000))
                by_user = line["ms"]
        return presses

    def _action(self, index: int, by_user: int) -> str | None:
        """Return what the user did to cause a line; None if the firmware did it by itself."""
        line, before, after = self.lines[index], self.lines[:index], self.lines[index + 1 :]
        action: str | None = None
        match line:
            case {"message": "ListenDetect"} if line["ms"] - by_user >= _TOGETHER:
                action = "wake"
            case {"message": "ListenStart", "mode": mode} if line["ms"] - by_user >= _TOGETHER:
                # After an answer, the device listens again by itself.
                again = any(each.get("type") == "tts" for each in before)
                action = "press" if mode == "manual" else None if again else "click"
            case {"message": "ListenStop"}:
                action = "release"
            case {"message": "Abort"}:
                # After a click, the firmware waits for `tts stop`; otherwise it listens at once.
                follows = (each for each in after if each.get("message") == "ListenStart" or _stops(each))
                action = {None: "click", "manual": "press"}.get(next(follows, {}).get("mode"), "wake")
            case {"kind": "end", "reason": str(reason)} if reason.startswith("the device"):
                states = [each["state"] for each in before if each["kind"] == "state"]
                action = "click" if states[-1:] == ["listening"] else "leave"
            case {"kind": "full"}:
                action = "leave"
        return action

    def tool_seconds(self) -> dict[str, float]:
        """Return how long tools took that took long, by name."""
        calls = {line["id"]: line for line in self.of("out") if "tool" in line and "id" in line}
        answers = [
            (calls[line["id"]], line) for line in self.messages("McpMessage") if line.get("id") in calls
        ]
        took = {call["tool"]: (answer["ms"] - call["ms"]) / 1000 for call, answer in answers}
        return {} if self.holes() else {tool: each for tool, each in took.items() if each >= _SLOW}

    def periods(self) -> list[list[tuple[float, bytes]]]:
        """Return the packets of each time that the microphone was on: seconds since then, and Opus."""
        begun = [index for index, line in enumerate(self.lines) if line.get("message") == "ListenStart"]
        return [
            self._packets(self.lines[start], self.lines[start + 1 : end])
            for start, end in zip(begun, [*begun[1:], len(self.lines)], strict=True)
        ]

    def _packets(self, start: _Line, lines: list[_Line]) -> list[tuple[float, bytes]]:
        ups = [line for line in lines if line["kind"] == "up"]
        times = [(line["ms"] - start["ms"]) / 1000 for line in ups]
        for begins, ends in self.holes():
            # What a hole has held back came at once.
            held = [number for number, line in enumerate(ups) if 0 <= line["ms"] - 1000 * ends <= _AT_ONCE]
            for late, number in enumerate(held, 1):
                times[number] = begins - start["ms"] / 1000 + late * _FRAME_SECONDS
        if self.head["sound"] or not ups:
            return [(at, b64decode(line["opus"])) for at, line in zip(times, ups, strict=True)]
        numbers = [round((at - times[0]) / _FRAME_SECONDS) for at in times]
        speech = [line for line in lines if line["kind"] == "speech"]
        frames = self._stand_in(speech, ups[0]["ms"], numbers)
        encoder, silence = OpusEncoder(), bytes(2 * FRAME_SAMPLES)
        packets = [encoder.encode(frames.get(number, silence)) for number in range(numbers[-1] + 1)]
        return [(at, packets[number]) for at, number in zip(times, numbers, strict=True)]

    def _stand_in(self, speech: list[_Line], begun: int, sent: list[int]) -> dict[int, bytes]:
        """Return the frames in which somebody spoke, by their number, of those that were `sent`."""
        count = sent[-1] + 1
        spoken: list[range] = []
        since: float | None = None
        for line in (*speech, {"event": "SpeechEnded", "at": 1000 * count * _FRAME_SECONDS}):
            match line["event"]:
                case "SpeechBegan":
                    since = line["at"] / 1000
                case "SpeechResumed":
                    since = (line["ms"] - begun) / 1000 - 2 * _FRAME_SECONDS
                case "SpeechPaused" | "SpeechEnded" if since is not None:
                    # A detector hears the end a frame later, since Opus lets the voice die away.
                    until = round(line["at"] / 1000 / _FRAME_SECONDS) - 1
                    # What a hole cuts off was spoken up to it.
                    until = next((each for each in range(until, until + 4) if each not in sent), until)
                    spoken.append(range(max(0, int(since / _FRAME_SECONDS) - 1), until))
                    since = None
        pcm = _voice(count)
        size = 2 * FRAME_SAMPLES
        return {number: pcm[number * size : (number + 1) * size] for each in spoken for number in each}


def _voice(count: int) -> bytes:
    """Return as many frames of vowels, always the same: speech for a detector, without a pause."""
    time = np.arange(count * FRAME_SAMPLES) / UPLINK_RATE
    pitch = 180 + 15 * np.sin(2 * np.pi * 2.3 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / UPLINK_RATE
    formants = np.array(_VOWELS)[(time / _VOWEL_SECONDS).astype(int) % len(_VOWELS)]
    sound = np.zeros_like(time)
    for harmonic in range(1, 22):
        distances = (harmonic * pitch[:, None] - formants) / (120, 160, 200)
        sound += (np.exp(-(distances**2)) @ (1, 0.6, 0.3) + 0.02) * np.sin(harmonic * phase)
    sound *= 0.5 + 0.5 * np.sin(2 * np.pi * 4 * time) ** 2
    samples: bytes = (sound / np.abs(sound).max(initial=1) * 15000).astype("<i2").tobytes()
    return samples


async def replay(recording: Recording, device: SimulatedDevice, seconds: float = 120) -> None:
    """Play the device's side, from the wake word or button on; return when the conversation is over.

    Raises `TimeoutError` if that is not so within `seconds` of the loop's clock.
    """
    device.play_packets(recording.periods())
    device.tool_seconds |= recording.tool_seconds()
    # Of earlier conversations.
    before = _received(device)
    async with asyncio.TaskGroup() as group:
        group.create_task(_leave_holes(recording, device))
        for press in recording.presses:
            await device.wait_for(partial(_has_received, device, before + press.after), seconds)
            await asyncio.sleep(press.delay)
            await getattr(device, press.action)()
        await device.wait_for(lambda: not device.channel_open, seconds)


async def _leave_holes(recording: Recording, device: SimulatedDevice) -> None:
    """Let the network be away when it was."""
    await device.wait_for(lambda: device.channel_open, None)
    hello = asyncio.get_running_loop().time()
    for begins, ends in recording.holes():
        await asyncio.sleep(hello + begins - asyncio.get_running_loop().time())
        device.cut_network()
        await asyncio.sleep(hello + ends - asyncio.get_running_loop().time())
        device.restore_network()


def _stops(line: _Line) -> bool:
    return line["kind"] == "out" and line.get("state") == "stop"


def _has_received(device: SimulatedDevice, number: int) -> bool:
    return _received(device) >= number


def _received(device: SimulatedDevice) -> int:
    return sum(_begins_or_ends(event["message"]) for event in device.events("received"))


def _begins_or_ends(message: _Line) -> bool:
    """Whether a message begins or ends an answer: there are as many of them whatever is shown meanwhile."""
    return message.get("type") == "tts" and message.get("state") in {"start", "stop"}


def _raw_lines(text: str) -> list[Any]:
    if text.lstrip().startswith('{"format"'):
        return text.splitlines()
    try:
        return [*json.loads(text)["data"]["recording"]]
    except (ValueError, TypeError, KeyError, RecursionError) as err:
        raise RecordingError("The file is neither a recording nor diagnostics with one.") from err


def _is_sound(line: _Line, *, with_sound: bool) -> bool:
    """Whether a line has what lines of its kind have, within bounds."""
    numbers = [(0, line["ms"], _MAX_MS), (0, line.get("at", 0), _MAX_MS), (0, line.get("id", 0), 2**32)]
    numbers += [(0, count, _MAX_WORDS) for name, count in line.items() if name.endswith("_words")]
    texts = (*_FIELDS.get(line["kind"], ()), *({"text", "mode", "tool"} & line.keys()))
    if line["kind"] == "up" and with_sound:
        try:
            b64decode(line["opus"], validate=True)
        except KeyError, TypeError, ValueError:
            return False
    return all(isinstance(line.get(name), str) for name in texts) and all(
        isinstance(number, int | float) and low <= number <= high for low, number, high in numbers
    )


def printable(text: str) -> str:
    """Return a text for a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def main(path: str) -> int:
    """Say whether a file can be played again, and if not, why; return the exit code."""
    try:
        recording = Recording.from_file(Path(path))
    except (OSError, RecordingError) as err:
        sys.stderr.write(f"{printable(str(err))}\n")
        return 1
    head = recording.head
    device = f"{head.get('board')} with firmware {head.get('firmware')} on {head.get('link')}"
    versions = f"XiaoZhi {head.get('integration')}, Home Assistant {head.get('home_assistant')}"
    sys.stdout.write(f"{printable(f'{device}, {versions}')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
