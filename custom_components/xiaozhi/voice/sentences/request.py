"""What the judge of sentences is asked."""

from dataclasses import dataclass

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """A transcript, and who would answer it."""

    text: str
    """Empty to prepare for what follows."""
    language: str
    agent_id: str | None
    prefer_local_intents: bool
    device_id: str | None
    deadline: float
    """In seconds of `time.monotonic`."""
