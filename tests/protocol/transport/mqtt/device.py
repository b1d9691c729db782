"""A device that talks MQTT and UDP, as far as the tests of its links need one."""

import json
from typing import Any

from custom_components.xiaozhi.protocol.messages import AudioFormat

MAC = "02:00:00:00:00:01"
OTHER_MAC = "02:00:00:00:00:02"
DOWNLINK = AudioFormat(24000, 60)
HELLO: dict[str, Any] = {
    "type": "hello",
    "version": 3,
    "features": {"mcp": True},
    "transport": "udp",
    "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
}
# Names no conversation, so that it can be said at any time; that of stock firmware does.
LISTEN: dict[str, Any] = {"type": "listen", "state": "start", "mode": "auto"}


def encoded(message: Any) -> bytes:
    """Encode a message."""
    return json.dumps(message).encode()
