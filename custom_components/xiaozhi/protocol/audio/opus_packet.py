"""What the first bytes of an Opus packet state (RFC 6716, section 3)."""

from typing import Final

from ..messages import AudioFormat

# Samples at 48 kHz of a frame, by the configuration number of its packet (RFC 6716, table 2).
_FRAME_SAMPLES: Final = (480, 960, 1920, 2880) * 3 + (480, 960) * 2 + (120, 240, 480, 960) * 4
_SAMPLES_PER_MS: Final = 48


def opus_samples(packet: bytes) -> int | None:
    """Return how many samples at 48 kHz a mono Opus packet lasts; None when it is no mono Opus packet."""
    if not packet or packet[0] & 0x04:
        return None
    match packet[0] & 0x03:
        case 0:
            frames = 1
        case 1 | 2:
            frames = 2
        case _ if len(packet) >= 2:
            frames = packet[1] & 0x3F
        case _:
            return None
    return frames * _FRAME_SAMPLES[packet[0] >> 3]


def is_announced(packet: bytes, audio: AudioFormat) -> bool:
    """Whether a packet lasts as long as its hello has announced; an empty one stands for silence."""
    return not packet or opus_samples(packet) == audio.frame_duration * _SAMPLES_PER_MS
