"""Interruption by speaking: detection of speech during an answer, and of a device's own voice."""

from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
import re
from typing import Final

import audioop

from ..protocol.audio.speech_detector import SpeechBegan
from ..protocol.conversation.conversation import Conversation
from .end_of_turn import INTERRUPTION
from .speech_detectors import SpeechDetectors, TurnDetector

# Measured with answers of 6 s in computed rooms, of which a cancellation that learns for half a second leaves
# 34, 40 or 46 dB less. Of 40 people each, 0.5 to 2 m away, who speak over one, 33, 37 and 36 are heard within
# 1.5 s, and no answer stops by itself.
# Seconds for which the echo cancellation of a device needs to learn a new sound. Without this, 16 answers
# stop.
_LEARNING: Final = 0.5
# A person is louder than the loudest that was left of the answer in the last frames, by 6 dB (with 12 dB, 17,
# 24 and 29 are heard), and at least so loud, of 32,767 (with half of that, 5 answers stop).
_ECHO_FRAMES: Final = 10
_LOUDER: Final = 2
_LOUD: Final = 800
# Chinese and Japanese have no spaces: each character counts as a word.
_IDEOGRAPH: Final = r"[\u3040-\u30ff\u3400-\u9fff]"
_WORD: Final = re.compile(_IDEOGRAPH + r"|(?:(?!" + _IDEOGRAPH + r")[^\W_])+")
# Fewer words may be the choice of one of the answer's own: "the kitchen or the bedroom?" - "The kitchen."
# Nine ideographs are as long: a word has two, or up to four syllables.
_LEAST_WORDS: Final = 3
_LEAST_IDEOGRAPHS: Final = 9
# Share of neighbouring word pairs that an echo has in common with the answer; the rest is misheard.
_ECHOED: Final = 0.7


async def listen_for_interruption(
    conversation: Conversation, hears_only_the_user: Callable[[], bool], detectors: SpeechDetectors
) -> None:
    """Interrupt the answer of a turn when somebody speaks over it. Goes on until it is cancelled."""
    detector: TurnDetector | None = None
    start = 0.0
    echo = _Echo()
    async with aclosing(conversation.barge_in_audio()) as audio:
        async for spoken, frame in audio:
            pcm = echo.removed(frame.pcm)
            if not hears_only_the_user():
                detector = None
                continue
            if spoken < _LEARNING:
                continue
            if detector is None:
                if (detector := await detectors.async_load(INTERRUPTION)) is None:
                    return
                start = frame.at
            for event in await detector.hear(pcm):
                if isinstance(event, SpeechBegan):
                    conversation.spoken_over(start + event.at)


class _Echo:
    """Rest of the answer after the echo cancellation of a device: a soft voice of no person."""

    def __init__(self) -> None:
        self._peaks: deque[int] = deque([0], maxlen=_ECHO_FRAMES)

    def removed(self, pcm: bytes) -> bytes:
        """Return silence in place of a frame in which nobody speaks over the answer."""
        peak = audioop.max(pcm, 2)
        if peak >= max(_LOUD, _LOUDER * max(self._peaks)):
            return pcm
        self._peaks.append(peak)
        return bytes(len(pcm))


def says(text: str, wake_word: str) -> bool:
    """Whether a text contains a wake word. One without a letter, such as an empty one, is in no text."""
    said, words = (_WORD.findall(each.casefold()) for each in (text, wake_word))
    return bool(words) and any(
        said[start : start + len(words)] == words for start in range(len(said) - len(words) + 1)
    )


def is_echo(transcript: str, answer: str) -> bool:
    """Whether a transcript repeats the answer during which it was heard."""
    heard = _WORD.findall(transcript.casefold())
    if len(heard) < (_LEAST_IDEOGRAPHS if re.search(_IDEOGRAPH, transcript) else _LEAST_WORDS):
        return False
    said = set(pairwise(_WORD.findall(answer.casefold())))
    pairs = [*pairwise(heard)]
    return sum(pair in said for pair in pairs) >= _ECHOED * len(pairs)
