"""The parts of a device that outlive a restart of its firmware."""

from dataclasses import dataclass, field, replace

from ..audio.microphone import Voice
from ..audio.speaker import Speaker
from ..board.nvs import Nvs
from ..board.pace import Pace
from ..board.profile import Profile
from ..board.recorder import Recorder, Screen
from ..board.system_info import Identity
from ..board.tools import Values
from ..firmware.assets import AssetsPartition
from ..firmware.partitions import AppPartitions
from ..link.misbehave import FaultInjector
from ..link.network import Network
from .announcement import Announcement
from .mcp_server import ProgramFactory


@dataclass(slots=True, kw_only=True)
class Hardware:
    """The hardware under the application."""

    profile: Profile
    """Describes the firmware that runs, or ran last."""
    partitions: AppPartitions
    assets: AssetsPartition
    identity: Identity
    ota_url: str
    """The address that the owner typed into the device."""
    pace: Pace
    nvs: Nvs
    values: Values
    """The values of its tools: volume, brightness, lamp, ..."""
    recorder: Recorder
    screen: Screen
    voice: Voice
    speaker: Speaker
    faults: FaultInjector
    network: Network
    tool_seconds: dict[str, float] = field(default_factory=dict)
    """How long calls take, by tool; others take no time."""
    program: ProgramFactory | None = None
    """The MCP server of other firmware than the stock one."""
    announcements: list[Announcement] = field(default_factory=list)
    """Every `notify` that was received, in order."""

    def start_firmware(self) -> None:
        """Let the boot loader choose the firmware to run."""
        self.partitions.start()
        self.profile = replace(self.profile, version=self.partitions.version)
        self.speaker.queue = self.profile.decode_queue
