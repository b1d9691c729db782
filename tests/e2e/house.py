"""The demo's house, in which Home Assistant can crash."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
import json
import os
import signal
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from demo.hass import home_assistant_again
from demo.house import switch_lamp_off
from demo.stage import Demo
from simulator import Pace, SimulatedDevice
from tests.e2e.demo_process import marked_processes

COMMAND = "turn on the kitchen light"
PACE = Pace(waits=0.2)
"""A fifth of the firmware's pauses. Sound keeps its speed, and MQTT connects again after 10 s."""


async def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Poll until a condition holds; `what` is named when it does not within `seconds`."""
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, f"{what}: not within {seconds:.0f} s"
        await asyncio.sleep(0.1)


class House:
    """The demo's house, in which Home Assistant can crash."""

    def __init__(self, running: Demo, mark: str, stack: AsyncExitStack) -> None:
        """Use a running demo; what is started later ends with the stack."""
        self.demo = running
        self._mark = mark
        self._stack = stack
        self.config = running.folder / "demo-config"

    def record(self, device: SimulatedDevice) -> dict[str, Any]:
        """Return what is stored on disk of a device."""
        record: dict[str, Any] = {}
        for path in (self.config / ".storage").glob("xiaozhi.*"):
            record |= json.loads(path.read_text())["data"].get(device.mac, {})
        return record

    async def crash(self) -> None:
        """Kill Home Assistant, so that it neither saves anything nor closes connections in order."""
        [hass] = [pid for pid, command in marked_processes(self._mark).items() if "homeassistant" in command]
        os.kill(hass, signal.SIGKILL)
        await until(lambda: hass not in marked_processes(self._mark), 30, "the end of Home Assistant")

    async def start_again(self) -> None:
        """Start Home Assistant again with the files that are left."""
        port = urlsplit(self.demo.url).port
        assert port
        again = home_assistant_again(self.config, port, self.demo.client.token)
        _, client = await self._stack.enter_async_context(again)
        self.demo = replace(self.demo, client=client)

    async def state(self, entity_id: str) -> str:
        """Return the state of an entity."""
        return await self.demo.client.state(entity_id)

    async def becomes(self, entity_id: str, state: str, deadline: float) -> None:
        """Wait until an entity has a state; `deadline` is a monotonic time."""
        while (shown := await self.state(entity_id)) != state:
            assert monotonic() < deadline, f"{entity_id} is still {shown}"
            await asyncio.sleep(0.1)

    async def talk(self, link: str) -> None:
        """Switch on the light by voice."""
        await switch_lamp_off(self.demo.client)
        said = await self.demo.say(COMMAND, link=link)
        assert (said.heard, said.light, said.audible) == (COMMAND, "on", True), f"over {link}: {said}"
