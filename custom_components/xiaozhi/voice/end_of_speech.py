"""What Home Assistant's voice detector needs to find the end of speech."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from ..protocol.audio.timeline import silence
from ..protocol.conversation.turn import Turn

__all__ = ["audio_for_detector", "endless_pause"]

# The detector gives no valid answer for the first 760 ms of a stream and takes that for silence, so that the
# end of a short command would never be heard. Leading silence costs no time.
_LEAD_MS: Final = 760


async def audio_for_detector(turn: Turn) -> AsyncGenerator[bytes]:
    """Yield a lead of silence, then the turn's 16 kHz mono 16-bit PCM."""
    yield silence(_LEAD_MS)
    async with aclosing(turn.audio()) as audio:
        async for pcm in audio:
            yield pcm


def endless_pause(turn: Turn) -> float:
    """Return seconds of silence that the detector finds in no turn: only the button ends the speech."""
    return 2 * turn.longest
