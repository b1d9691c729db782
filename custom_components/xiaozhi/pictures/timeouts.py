"""How long things may take with a picture."""

from dataclasses import dataclass

__all__ = ["PictureTimeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureTimeouts:
    """Time-outs for pictures and files, in seconds."""

    slot: float = 5
    """Until one of the pictures that are being received is done. A device waits 30 s for the answer to its
    photo."""
    upload: float = 20
    """For a picture, which the device sends while it compresses it."""
    answer: float = 25
    """For the vision model. The device gives up after 30 s."""
    fetch: float = 15
    """For a picture from the web."""
    stall: float = 60
    """For a device to take the next part of a file. It writes some 64 KiB a second into its flash."""
