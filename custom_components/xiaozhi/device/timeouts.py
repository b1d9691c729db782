"""How long things may take on a device's link, and until what is known of it is saved."""

from dataclasses import dataclass

__all__ = ["SessionTimeouts", "StoreTimeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTimeouts:
    """Time-outs and pauses of the session of a link, in seconds."""

    poll: float = 60
    """Between two readings of the status."""
    starting: float = 3
    """From a device's check-in to its connection to the broker."""
    idle: float = 1.0
    """Until a device that goes idle has cleared its screen: alerts are shown after that."""
    listing: float = 0.5
    """Tools are listed once after several changes in a row, however often the device says that they have
    changed."""
    resource: float = 2.0
    """Between two readings of a resource, however often the device says that it has changed."""
    ai_answer: float = 120.0
    """For a language model that a device asks."""
    person_answers: float = 300.0
    """For a person whom a device asks."""
    hang_up: float = 1.0
    """Until the last conversation is ended: a device that connects because it was woken must send its hello
    first."""
    refresh: float = 0.5
    """Changes within this time are read back together."""
    status_at_end: float = 2.0
    """How long the end of a conversation waits for the status."""
    tools_at_end: float = 10.0
    """How long the end of a conversation waits for tools, after the status."""
    status_in_pause: float = 0.3
    """How long the next question waits for the status: less than the device still plays then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTimeouts:
    """Pauses before the states of devices are saved, in seconds."""

    change: float = 60
    """After a change. A device that talks changes its record often; a lost minute of it is found again at the
    next handshake."""
    soon: float = 1
    """After what would be missed after a crash."""
    contact: float = 15 * 60
    """After a sign of life only. A device that shows once a minute that it is there must not wear out a
    memory card."""
    disk: float = 0.5
    """For a save that a person waits for."""
