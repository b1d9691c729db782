"""Home Assistant is killed and started again while its devices stay up: all goes on without a hand."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
import json
import os
import signal
from time import monotonic
from typing import Any
from urllib.parse import urlsplit
import uuid

import pytest
import pytest_asyncio
import pytest_socket

from demo.hass import home_assistant_again
from demo.house import set_idle_volume
from demo.stage import Demo, demo
from simulator import SimulatedDevice, State
from tests.e2e.demo_process import MARK, marked_processes

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]

# Of which the firmware itself waits 10 until it tries to connect again.
USABLE_SECONDS = 90
COMMAND = "turn on the kitchen light"
ON_MQTT = "number.bedroom_mqtt_box_volume"
ON_WEBSOCKET = "number.living_room_websocket_box_volume"


async def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for something that only looking can tell."""
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, f"{what}: not within {seconds:.0f} s"
        await asyncio.sleep(0.1)


class House:
    """The demo's house, in which Home Assistant can crash."""

    def __init__(self, running: Demo, mark: str, stack: AsyncExitStack) -> None:
        """Take over a demo that runs; what is started in it ends with the stack."""
        self.demo = running
        self._mark = mark
        self._stack = stack
        self._config = running.folder / "demo-config"

    def record(self, device: SimulatedDevice) -> dict[str, Any]:
        """Return what the disk has of a device."""
        for path in (self._config / ".storage").glob("xiaozhi.*"):
            record: dict[str, Any] = json.loads(path.read_text())["data"].get(device.mac, {})
            return record
        return {}

    async def crash(self) -> None:
        """Kill Home Assistant: nothing is saved, nobody is told."""
        [hass] = [pid for pid, command in marked_processes(self._mark).items() if "homeassistant" in command]
        os.kill(hass, signal.SIGKILL)
        await until(lambda: hass not in marked_processes(self._mark), 5, "the end of Home Assistant")

    async def start_again(self) -> None:
        """Start Home Assistant on the files that it has left."""
        port = urlsplit(self.demo.url).port
        assert port
        _, client = await self._stack.enter_async_context(home_assistant_again(self._config, port))
        self.demo = replace(self.demo, client=client)

    async def state(self, entity_id: str) -> str:
        """Return what Home Assistant shows."""
        return await self.demo.client.state(entity_id)

    async def becomes(self, entity_id: str, state: str, deadline: float) -> None:
        """Wait until Home Assistant shows something."""
        while (shown := await self.state(entity_id)) != state:
            assert monotonic() < deadline, f"{entity_id} is still {shown}"
            await asyncio.sleep(0.1)

    async def talk(self, link: str) -> None:
        """Switch on the light by voice."""
        await self.demo.switch_lamp_off()
        said = await self.demo.say(COMMAND, link)
        assert (said.heard, said.light, said.audible) == (COMMAND, "on", True), f"over {link}: {said}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[House]:
    """A house with a device on each link."""
    # Before each test the plugin forbids sockets; those of this fixture outlive a test.
    pytest_socket.enable_socket()
    mark = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, mark)
        async with (
            demo(tmp_path_factory.mktemp("house"), lambda _text: None) as running,
            AsyncExitStack() as stack,
        ):
            house = House(running, mark, stack)
            # What is new, such as its areas, Home Assistant writes minutes later, or when it stops.
            await running.children[-1].stop()
            await house.start_again()
            yield house
    assert not marked_processes(mark)


async def test_after_a_crash_everything_is_known_and_usable_again(house: House) -> None:
    """A device on MQTT comes back by itself; one on WebSocket, which is away anyway, keeps its last state."""
    box = house.demo.devices["mqtt"]
    await house.talk("websocket")
    await set_idle_volume(house.demo.client, box, 55)
    # All that is known is saved when a conversation over MQTT begins.
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
