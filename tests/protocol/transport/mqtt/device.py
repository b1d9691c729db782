"""The parts of a device on MQTT and UDP that the tests of its links need."""

import json
from typing import Any

from tests.protocol.transport.websocket import peer as websocket

MAC = "02:00:00:00:00:01"
OTHER_MAC = "02:00:00:00:00:02"
HELLO: dict[str, Any] = websocket.HELLO | {"version": 3, "transport": "udp"}
# Without the id of a conversation, so that it can be sent at any time; stock firmware sends the id.
LISTEN: dict[str, Any] = {"type": "listen", "state": "start", "mode": "auto"}


def encoded(message: Any) -> bytes:
    return json.dumps(message).encode()
