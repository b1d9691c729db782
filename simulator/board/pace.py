"""How fast the simulated device's time runs."""

import asyncio
from dataclasses import dataclass

__all__ = ["Pace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Factors on the firmware's times; the defaults are the real device.

    Values other than 1 are not faithful. They exist so that tests need not wait.
    """

    waits: float = 1.0
    """Factor on the firmware's pauses: back-off, polls, reboot, MQTT's 10 s before it tries again, the 120 s
    after which a channel is stale."""
    timeouts: float = 1.0
    """Factor on its network time-outs: 30 s for HTTP, 10 s to connect and for a hello, MQTT's keep-alive."""
    uplink: float = 1.0
    """Speed of the microphone: 5 sends five seconds of sound in one."""
    downlink: float = 1.0
    """Speed of the loudspeaker."""
    flash: float = 1.0
    """Speed at which a firmware is written, at 150 kB/s."""
    main_loop_delay: float = 0.005
    """Seconds that the main task is busy before each pass; 0 to 0.3 is what real devices show."""

    async def wait(self, seconds: float) -> None:
        """Pause for `seconds` of the device's time."""
        await asyncio.sleep(seconds * self.waits)

    async def write_flash(self, seconds: float) -> None:
        """Wait while flash is written that takes `seconds` of the device's time."""
        await asyncio.sleep(seconds / self.flash)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Return a time-out after `seconds` of the device's time; raises `TimeoutError`."""
        return asyncio.timeout(seconds * self.timeouts)
