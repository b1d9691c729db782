"""What is fuzzed, and what each input may cost."""

from typing import Final

from .files import archives, firmware
from .mqtt import mqtt
from .pictures import picture_costs, pictures
from .target import Spec
from .texts import check_ins, forms, mcp, messages, status
from .udp import udp
from .websocket import frames, framing, handshakes

__all__ = ["TARGETS"]

_MIB: Final = 1024

TARGETS: Final[dict[str, Spec]] = {
    spec.name: spec
    for spec in (
        Spec(name="mqtt", reader="MQTT packets", open=mqtt, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(name="udp", reader="Audio over UDP", open=udp, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(name="frames", reader="WebSocket frames", open=frames, cpu_seconds=0.5, memory_kib=64 * _MIB),
        Spec(
            name="handshakes",
            reader="WebSocket handshakes",
            open=handshakes,
            one_in=20,
            cpu_seconds=0.5,
            memory_kib=64 * _MIB,
        ),
        Spec(
            name="framing",
            reader="Audio in WebSocket frames",
            open=framing,
            cpu_seconds=0.2,
            memory_kib=32 * _MIB,
        ),
        Spec(name="messages", reader="Messages (JSON)", open=messages, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(name="mcp", reader="Answers of MCP (JSON)", open=mcp, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(name="status", reader="Status texts (JSON)", open=status, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(name="checkins", reader="Check-ins", open=check_ins, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(name="forms", reader="Forms with photos", open=forms, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(name="firmware", reader="Firmware files", open=firmware, cpu_seconds=0.2, memory_kib=32 * _MIB),
        Spec(
            name="archives",
            reader="Firmware archives",
            open=archives,
            cpu_seconds=1,
            memory_kib=128 * _MIB,
        ),
        Spec(
            name="picture_costs",
            reader="Costs of pictures",
            open=picture_costs,
            cpu_seconds=1,
            memory_kib=64 * _MIB,
        ),
        Spec(
            name="pictures",
            reader="Pictures, decoded",
            open=pictures,
            one_in=10,
            cpu_seconds=3,
            memory_kib=192 * _MIB,
        ),
    )
}
