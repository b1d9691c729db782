"""How long things may take at the owner's broker."""

from dataclasses import dataclass

__all__ = ["BrokerTimeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTimeouts:
    """Time-outs and pauses of a client of the broker, in seconds."""

    answer: float = 5.0
    """For the broker to answer, the connection included."""
    hang_up: float = 0.1
    """For a disconnect, whose arrival does not matter."""
    push: float = 0.5
    """For a message to a client that never subscribes."""
    first_retry: float = 1.0
    """Until the next attempt to connect. Each pause is twice as long as the one before."""
    last_retry: float = 15.0
    """Between two attempts at most. Devices themselves look for a broker that was away every ten seconds."""
    steady: float = 60.0
    """A broker that has held us for less may only have let us in to throw us out: the pauses do not get short
    again."""
    first_probe: float = 1.0
    """Until the first probe of a device that may be connected already. Each pause is twice as long as the one
    before: some devices download files first, or have a slow network."""
    first_probe_after_check_in: float = 3.0
    """Until the first probe of a device that has just checked in."""
    last_probe: float = 60.0
    """Between two probes at most."""
    probe_spread: float = 0.1
    """Between two devices, so that many do not answer at the same moment."""
    ban: float = 60.0
    """For which a device that floods is not heard: it would otherwise get a new link by its next message."""
