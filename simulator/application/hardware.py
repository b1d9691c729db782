"""What of a device outlives a restart of its firmware, and what its surroundings see of it."""

from dataclasses import dataclass, field, replace

from ..audio.microphone import Voice
from ..audio.speaker import Speaker
from ..board.nvs import Nvs
from ..board.pace import Pace
from ..board.profile import Profile
from ..board.recorder import Recorder, Screen
from ..board.system_info import Identity
from ..board.tools import Values
from ..firmware.partitions import AppPartitions
from ..link.network import Network
from .misbehave import Mischief

__all__ = ["Hardware"]


@dataclass(slots=True, kw_only=True)
class Hardware:
    """The device as a thing."""

    profile: Profile
    """Of the firmware that runs, or that ran last."""
    partitions: AppPartitions
    identity: Identity
    ota_url: str
    """The address that the owner typed in."""
    pace: Pace
    nvs: Nvs
    values: Values
    """What its tools store: volume, brightness, lamp, ..."""
    recorder: Recorder
    screen: Screen
    voice: Voice
    speaker: Speaker
    mischief: Mischief
    network: Network
    tool_seconds: dict[str, float] = field(default_factory=dict)
    """How long the calls of a tool take; at once when it is not here."""

    def start_firmware(self) -> None:
        """Have the boot loader choose the firmware."""
        self.partitions.start()
        self.profile = replace(self.profile, version=self.partitions.version)
