"""How long things may take with media."""

from dataclasses import dataclass

__all__ = ["MediaTimeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaTimeouts:
    """Time-outs of media, in seconds."""

    opening: float = 10
    """For a source to deliver the first sound, from the call of the action."""
    stall: float = 4
    """For a source to go on. A device that plays a stream from us gives up after 5 s without data."""
