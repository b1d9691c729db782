"""A recorded conversation beside the same one, played again."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from typing import Any

from custom_components.xiaozhi.protocol.conversation.caption_text import speaking_time
from simulator.replay import Recording, printable
from tests.integration.boxes import Speech

# What two turns may differ by, in ms, with sound: a packet; and without: how much sooner or later a detector
# hears the end of what stands for the speech.
_TOLERANCE = {True: 60, False: 240}
type Line = dict[str, Any]

_ENGINES = {"run-start", "stt-end", "intent-end", "tts-end", "error"}


@dataclass(frozen=True, slots=True)
class Moment:
    """Something in a conversation that an owner would notice, or that explains it."""

    kind: str
    what: str
    ms: int
    since: int
    """Milliseconds since the device last began to listen."""


def moments(recording: Recording) -> list[Moment]:
    """Return the moments that count: the device's states, messages, texts, end of speech, engines."""
    found: list[Moment] = []
    begun = [0, *(line["ms"] for line in recording.messages("ListenStart"))]

    def add(kind: str, what: str, ms: int) -> None:
        found.append(Moment(kind, what.strip(), ms, ms - max(each for each in begun if each <= ms)))

    for line in recording.lines:
        match line:
            case {"kind": "state", "state": what} | {"kind": "end", "reason": what}:
                add(line["kind"], what, line["ms"])
            case {"kind": "speech", "event": what}:
                add("speech", f"{what} {line.get('reason', '')}", line["ms"])
            case {"kind": "pipeline", "event": what} if what in _ENGINES:
                add("pipeline", what, line["ms"])
            case {"kind": "in", "message": what} if what != "McpMessage":
                add("in", what, line["ms"])
            case {"kind": "out", "type": what} if what not in {"mcp", "llm"}:
                text = line.get("text", line.get("text_words", ""))
                add("out", f"{what} {line.get('state', '')} {text}", line["ms"])
    for downs, _ in _answers(recording):
        add("sound", "first packet", downs[0]["ms"])
        add("sound", "last packet", downs[-1]["ms"])
    return sorted(found, key=lambda moment: (moment.kind, moment.ms))


def differences(before: Recording, after: Recording) -> list[str]:
    """Return both side by side, a line for each moment; those that differ are marked."""
    lines: list[str] = []
    for was, now in _aligned(moments(before), moments(after)):
        same = (
            was
            and now
            and was.what == now.what
            and abs(was.since - now.since) <= _TOLERANCE[before.head["sound"]]
        )
        both = (printable(f"{each.ms:6} {each.kind:8} {each.what}") if each else "" for each in (was, now))
        shown = (each[:50] for each in both)
        lines.append(f"{'  ' if same else '! '}{next(shown):52}{next(shown)}")
    return lines


def _aligned(before: list[Moment], after: list[Moment]) -> Iterator[tuple[Moment | None, Moment | None]]:
    """Pair the moments: one more or less shifts none of those that follow."""
    names = [[(each.kind, each.what) for each in moments] for moments in (before, after)]
    for _, begin, end, also_begin, also_end in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        yield from zip_longest(before[begin:end], after[also_begin:also_end])


def prepare(speech: Speech, recording: Recording) -> None:
    """Let the engines answer as they did, as late as they did. Without texts, with as many words."""
    turns = [line for line in recording.of("pipeline") if line["event"] == "stt-end"]
    speech.recognizer.lines = [_text(turn) for turn in turns]
    said = [_said(recording, *answer) for answer in _answers(recording)]
    speech.agent.lines = said or [""]
    speech.recognizer.delay = _delay(recording, "SpeechEnded", "stt-end")
    # It takes a moment for each sentence by itself.
    speech.agent.delay = max(0, _delay(recording, "intent-start", "intent-end") - 0.05)


def _answers(recording: Recording) -> list[tuple[list[Line], list[Line]]]:
    """Return the packets and the captions of each answer: a caption may come before the first packet."""
    answers: list[tuple[list[Line], list[Line]]] = []
    for line in recording.lines:
        match line:
            case {"kind": "out", "state": "start"}:
                answers.append(([], []))
            case {"kind": "down"} if answers:
                answers[-1][0].append(line)
            case {"kind": "out", "state": "sentence_start"} if answers:
                answers[-1][1].append(line)
    return [(downs, captions) for downs, captions in answers if downs]


def _said(recording: Recording, downs: list[Line], captions: list[Line]) -> str:
    """Return the text of an answer; where it was not recorded, sentences that take as long to say."""
    if recording.head["sound"]:
        return " ".join(line.get("text", "") for line in captions)
    # The encoder looks 6.5 ms ahead. Without pauses, a caption is shown by the usual pace.
    letters = int(20 * (0.06 * len(downs) - 0.0065))
    begun = [line["ms"] for line in captions]
    shares = [round((end - at) / 1000 / speaking_time("a")) for at, end in pairwise(begun)]
    sentences = [
        _sentence(max(1, line.get("text_words", 1)), share)
        for line, share in zip(captions, [*shares, letters - sum(shares)], strict=False)
    ]
    said = " ".join(sentences) or _sentence(1, letters)
    after = (line for line in recording.lines if line["ms"] >= downs[-1]["ms"] and _ends_answer(line))
    # Only after a question the device was to listen again.
    return said if next(after, {}).get("state") != "stop" else f"{said[:-1]}?"


def _sentence(words: int, letters: int) -> str:
    """Return a sentence of so many words; the space before it is one of its letters."""
    letters = max(2 * words, letters)
    each = letters // words - 1
    said = " ".join(["a" * (letters - (words - 1) * (each + 1)), *["a" * each] * (words - 1)])
    return f"{said[:-1].capitalize()}."


def _ends_answer(line: Line) -> bool:
    return line["kind"] == "end" or line.get("message") == "Abort" or line.get("state") == "stop"


def _text(line: Line) -> str:
    return line.get("text") or " ".join(["word"] * line.get("text_words", 0))


def _delay(recording: Recording, begins: str, ends: str) -> float:
    """Return the seconds between two events, the first time that both are there."""
    times = {line["event"]: line["ms"] for line in reversed(recording.lines) if "event" in line}
    return max(0, times.get(ends, 0) - times.get(begins, 0)) / 1000 if {begins, ends} <= times.keys() else 0
