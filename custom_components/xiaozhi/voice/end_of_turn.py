"""The pauses that end a turn, by the owner's choice of *End of speech*.

A fixed pause is either slow, or cuts off people who hesitate. With *By what was said* the words decide: a
command that Home Assistant understands ends the turn at once, anything else after a second.
`early_transcripts.py` transcribes it, `understood_commands.py` asks whether it is understood. Tuned with
`benchmarks/end_of_speech.py`.
"""

from enum import StrEnum
from math import inf
from typing import Final

from homeassistant.components.assist_pipeline import VadSensitivity

from ..protocol.audio.speech_detector import DetectorSettings


class EndOfTurn(StrEnum):
    """Reason for the end of a turn."""

    UNDERSTOOD = "complete_command"
    """Home Assistant understands the command."""
    PAUSE = "pause"
    """The pause was long enough for anything."""


NOTICED_PAUSE: Final = 0.2
"""Seconds of silence after which speech is transcribed that may still go on."""
UNDERSTOOD_PAUSE: Final = 0.35
"""Seconds of silence that end a turn when Home Assistant understands the command."""
FIXED_PAUSE: Final = 0.6
"""Seconds of silence that end a turn whose words are unknown."""

QUICK_AND_PATIENT: Final = DetectorSettings(silence=1.0, pause=NOTICED_PAUSE)
"""For a detector that reports each pause, so that a command can end the turn sooner."""
FIXED_PAUSES: Final = {
    VadSensitivity.AGGRESSIVE: DetectorSettings(silence=0.38),
    VadSensitivity.DEFAULT: DetectorSettings(silence=FIXED_PAUSE),
    VadSensitivity.RELAXED: DetectorSettings(silence=1.0),
}
"""The other choices."""
SHORTEST_WORD: Final = 0.15
"""Seconds of speech that count where a single word is expected, such as "no". No command is as short."""
ANSWER_TO_QUESTION: Final = DetectorSettings(silence=FIXED_PAUSE, pause=NOTICED_PAUSE, begin=SHORTEST_WORD)
"""An answer to a question is no command, and nothing shows whether it is complete."""
MESSAGE: Final = DetectorSettings(silence=1.5, begin=SHORTEST_WORD)
"""A voice message to somebody, who hears the pauses, too."""
UNTIL_RELEASED: Final = DetectorSettings(silence=inf, begin=SHORTEST_WORD)
"""For speech that a button ends: it only has to begin."""
INTERRUPTION: Final = DetectorSettings(begin=0.35, maybe_speech=0.6, speech=0.6)
"""For speech during an answer. The device also hears the rest of its own echo."""
