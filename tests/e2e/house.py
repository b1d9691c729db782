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
from demo.stage import Demo
from simulator import Pace, SimulatedDevice
from tests.e2e.demo_process import marked_processes

__all__ = ["COMMAND", "PACE", "House", "until"]

COMMAND = "turn on the kitchen light"
PACE = Pace(waits=0.2)
"""Devices wait 2 s instead of 10 until they connect again, for example. Their sound is as slow as it is."""


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
        self.config = running.folder / "demo-config"

    def record(self, device: SimulatedDevice) -> dict[str, Any]:
        """Return what the disk has of a device."""
        for path in (self.config / ".storage").glob("xiaozhi.*"):
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
        _, client = await self._stack.enter_async_context(home_assistant_again(self.config, port))
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
