"""The system information that a device posts at check-in. Source: the firmware's `boards/common/board.cc`.

The firmware builds it by concatenating strings, and escapes nothing.
"""

from dataclasses import dataclass
from typing import Final

from ..firmware.image import CHIP_IDS, PROJECT
from ..firmware.partitions import APP_PARTITION_BYTES
from .profile import Profile

_CHIP_MODELS: Final = CHIP_IDS | {"esp32": 1}
_PARTITIONS: Final = (
    ("nvs", 1, 2, 36864, 16384),
    ("otadata", 1, 0, 53248, 8192),
    ("phy_init", 1, 1, 61440, 4096),
    ("ota_0", 0, 16, 131072, APP_PARTITION_BYTES),
    ("ota_1", 0, 17, 4259840, APP_PARTITION_BYTES),
    ("assets", 1, 130, 8388608, 8388608),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who the device is on the network."""

    mac: str
    """Lower case with colons."""
    client_id: str
    """UUID, kept in flash; another one after a factory reset."""
    ip: str = "192.168.1.77"


def system_info(profile: Profile, identity: Identity, partition: str) -> str:
    """Return the body of a check-in: JSON, unless a name in it holds a quote or a backslash.

    `partition` is where the running firmware is.
    """
    board = profile.board
    partitions = ",".join(
        f'{{"label":"{label}","type":{kind},"subtype":{subtype},"address":{address},"size":{size}}}'
        for label, kind, subtype, address, size in _PARTITIONS
    )
    heap = f'"{board.free_memory}"' if profile.heap_is_text else str(board.free_memory)
    display = ""
    if profile.number >= (2, 0, 1):
        monochrome = str(board.monochrome).lower()
        display = f'"display":{{"monochrome":{monochrome},"width":{board.width},"height":{board.height}}},'
    return (
        f'{{"version":2,"language":"{profile.language}","flash_size":16777216,'
        f'"minimum_free_heap_size":{heap},"mac_address":"{identity.mac}","uuid":"{identity.client_id}",'
        f'"chip_model_name":"{board.chip}",'
        f'"chip_info":{{"model":{_CHIP_MODELS[board.chip]},"cores":2,"revision":2,"features":18}},'
        f'"application":{{"name":"{PROJECT}","version":"{profile.version}",'
        '"compile_time":"Aug  8 2026T10:21:33Z","idf_version":"v5.5.2",'
        '"elf_sha256":"3b1f9a5de21c8a5b0c1f0bfb6a8d7c55e0a1e3b1f9a5de21c8a5b0c1f0bfb6a8"},'
        f'"partition_table":[{partitions}],"ota":{{"label":"{partition}"}},{display}'
        f'"board":{_board(profile, identity)}}}'
    )


def _board(profile: Profile, identity: Identity) -> str:
    manufacturer = '"manufacturer":"",' if profile.number >= (2, 4, 2) else ""
    head = f'{{"type":"{profile.board.type}","name":"{profile.board.name}",{manufacturer}'
    if profile.board.network == "ethernet":
        return f'{head}"network":"ethernet","ip":"{identity.ip}","mac":"{identity.mac}"}}'
    return (
        f'{head}"ssid":"{profile.ssid}","rssi":{profile.rssi},"channel":6,"ip":"{identity.ip}",'
        f'"mac":"{identity.mac}"}}'
    )
