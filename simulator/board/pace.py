"""How fast the simulated device's time runs."""

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Factors on the firmware's times; the defaults are those of the real device.

    Other values than the defaults are not faithful; they make tests faster.
    """

    waits: float = 1.0
    """Factor on the firmware's pauses: back-off, polls, reboot, the 120 s after which a channel is stale."""
    timeouts: float = 1.0
    """Factor on its network time-outs: 30 s for HTTP, 10 s to connect and for a hello, MQTT's keep-alive."""
    uplink: float = 1.0
    """Speed of the microphone: 5 sends five seconds of sound in one."""
    downlink: float = 1.0
    """Speed of the loudspeaker."""
    flash: float = 1.0
    """Speed at which a firmware is written, at 150 kB/s."""
    main_loop_delay: float = 0.005
    """Seconds of work of the main task before each pass; 0 to 0.3 on real devices."""

    async def wait(self, seconds: float) -> None:
        """Pause for `seconds` of the device's time."""
        await asyncio.sleep(seconds * self.waits)

    async def write_flash(self, seconds: float) -> None:
        """Wait for a write to flash that takes `seconds` of the device's time."""
        await asyncio.sleep(seconds / self.flash)

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Return a time-out after `seconds` of the device's time; raises `TimeoutError`."""
        return asyncio.timeout(seconds * self.timeouts)
