"""How long things may take when a device is to say something unasked."""

from dataclasses import dataclass

__all__ = ["TimerTimeouts", "UnaskedTimeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaskedTimeouts:
    """Time-outs and pauses, in seconds."""

    sound: float = 30
    """For the first sound from its source."""
    request: float = 5
    """For an idle device to ask for a sound, after it was told where it is."""
    pause: float = 2
    """Of a source, before silence is sent instead: the device gives up after 5 s without data."""
    silence: float = 30
    """Of silence in the place of a source that does not go on."""
    repeat: float = 1
    """Until an idle device that has not asked for the sound is told of it again."""
    stall: float = 15
    """Between two moments at which the device takes something of a stream."""
    look: float = 0.5
    """Between two looks at what the device has taken, while there is more to send: it holds several seconds,
    and each look takes processor time."""
    last_look: float = 0.05
    """The same when all has been sent, and only the end is waited for."""
    closing: float = 15
    """For the device to close the connection, after it has received everything: it plays what it has
    buffered first."""
    pop_up: float = 0.5
    """The sound that the device plays first."""
    read_ahead: float = 1.4
    """What the device holds to be played when it has read everything: 20 packets and 2 decoded frames."""
    margin: float = 0.5
    """For the loudspeaker's buffers and the device's way back to idle."""
    cancelled: float = 5
    """For which a download that the user has ended may keep the device from beginning another one."""
    idle: float = 1
    """For a device to go idle after a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerTimeouts:
    """How long a timer rings, in seconds."""

    ring: float = 60
    """With sound of our own."""
    show: float = 30
    """With alerts, which make a short sound."""
    between_alerts: float = 3
    waking: float = 3
    """From the end of a ring that was ended by waking the device until its conversation begins."""
    unreachable: float = 600
    """For a device that is away to come back."""
