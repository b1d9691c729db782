"""Home Assistant is killed and started again while its devices stay up: all goes on without a hand."""

from time import monotonic

import pytest

from demo.house import set_idle_volume
from simulator import State
from tests.e2e.house import House, until

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]

# Of which the firmware itself waits 10 until it tries to connect again.
USABLE_SECONDS = 90
ON_MQTT = "number.bedroom_mqtt_box_volume"
ON_WEBSOCKET = "number.living_room_websocket_box_volume"


async def test_after_a_crash_everything_is_known_and_usable_again(house: House) -> None:
    """A device on MQTT comes back by itself; one on WebSocket, which is away anyway, keeps its last state."""
    box = house.demo.devices["mqtt"]
    await house.talk("websocket")
    await set_idle_volume(house.demo.client, box, 55)
    # The status is read when a conversation has ended, and all is saved when one over MQTT begins.
    await house.talk("mqtt")
    await house.talk("mqtt")
    await until(lambda: house.record(box).get("status", {}).get("volume") == 55, 5, "the volume on disk")

    await house.crash()
    deadline = monotonic() + USABLE_SECONDS
    await house.start_again()
    assert await house.state(ON_WEBSOCKET) == "70"
    assert await house.state(ON_MQTT) in {"unavailable", "55"}
    await house.becomes(ON_MQTT, "55", deadline)
    await set_idle_volume(house.demo.client, box, 30)
    await house.talk("mqtt")
    await house.talk("websocket")
    assert monotonic() < deadline


async def test_a_crash_in_mid_conversation_leaves_no_device_listening(house: House) -> None:
    """A device on WebSocket loses its conversation with the connection; one on MQTT does not notice."""
    box, other = house.demo.devices["mqtt"], house.demo.devices["websocket"]
    earlier = house.record(box).get("session")
    await box.wake()
    await other.wake("hello")
    await box.wait_state(State.LISTENING, 5)
    await other.wait_state(State.LISTENING, 5)
    await until(lambda: house.record(box).get("session") != earlier, 5, "the conversation on disk")

    await house.crash()
    deadline = monotonic() + USABLE_SECONDS
    await other.wait_state(State.IDLE, 5)
    assert box.state is State.LISTENING
    await house.start_again()
    await box.wait_state(State.IDLE, deadline - monotonic())
    await house.becomes("sensor.bedroom_mqtt_box_conversation", "idle", deadline)
    await house.talk("mqtt")
    await house.talk("websocket")
    assert monotonic() < deadline
