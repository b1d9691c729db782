"""Time-outs and pauses of timers and alarms."""


class TimerTimeouts:
    """In seconds."""

    ring: float = 60
    """For which a timer rings with sound of our own."""
    show: float = 30
    """The same with alerts, which make a short sound."""
    retry: float = 5
    """From the end of a ring that was not heard, or not to its end, until it is tried again."""
    unreachable: float = 600
    """For a device that is away to come back."""
    alarm: float = 600
    """For which an alarm rings, with sound or with alerts."""
    snooze: float = 540
    after_stop: float = 120
    """For which a stopped alarm can still be snoozed: to say so, one wakes the device, which stops it."""
    poll: float = 60
    """Between two polls of the clock, which may be set, and of the alarms."""
