"""The parts of a device on MQTT and UDP that the tests of its links need."""

import json
from typing import Any

MAC = "02:00:00:00:00:01"
OTHER_MAC = "02:00:00:00:00:02"
HELLO: dict[str, Any] = {
    "type": "hello",
    "version": 3,
    "features": {"mcp": True},
    "transport": "udp",
    "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
}
# Without the id of a conversation, so that it can be sent at any time; stock firmware sends the id.
LISTEN: dict[str, Any] = {"type": "listen", "state": "start", "mode": "auto"}


def encoded(message: Any) -> bytes:
    return json.dumps(message).encode()
