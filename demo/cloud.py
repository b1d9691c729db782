"""An assistant in a simulated XiaoZhi cloud, which uses the home's tools through an access point."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from simulator.access_point import Cloud, CloudAgent, LinkClosedError, Spoken, ask

from . import house
from .client import Client, Json
from .errors import DemoError, naming_fault

_NAME: Final = "Simulated cloud"
_SENTENCE: Final = "turn on the kitchen light"
_CONNECTED_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudAssistant:
    """A scripted language model in the simulated cloud."""

    client: Client
    agent: CloudAgent

    async def ask(self, sentence: str) -> Spoken:
        """Say a sentence to it; it calls a tool of the home. Raises `DemoError`."""
        try:
            spoken = await ask(self.agent, sentence)
        except LinkClosedError as err:
            raise DemoError(f"the access point of the cloud is not connected: {err}") from err
        if spoken.answer is None:
            raise DemoError(f"the cloud's assistant knows no tool for {sentence!r}")
        return spoken

    async def switch_lamp_on(self) -> Json:
        """Have it switch the kitchen light on; return what it called. Raises `DemoError`."""
        await house.switch_lamp_off(self.client)
        spoken = await self.ask(_SENTENCE)
        state = await self.client.state(house.LAMP)
        if spoken.answer is None or spoken.answer.failed or state != "on":
            told = spoken.answer and spoken.answer.text
            raise DemoError(f"the cloud called {spoken.called} and heard {told}, but the light is {state}")
        return {
            "tools": len(self.agent.tools),
            "called": spoken.called,
            "milliseconds": round(spoken.answer.milliseconds, 1),
        }


@asynccontextmanager
async def cloud_assistant(client: Client) -> AsyncGenerator[CloudAssistant]:
    """Run a simulated cloud, and give its access point to Home Assistant. Raises `DemoError`."""
    async with Cloud() as cloud:
        await house.add_access_point(client, _NAME, cloud.url())
        agent = cloud.agent()
        with naming_fault("Home Assistant does not connect to the access point"):
            async with asyncio.timeout(_CONNECTED_SECONDS):
                await _connected(cloud)
        yield CloudAssistant(client=client, agent=agent)


async def _connected(cloud: Cloud) -> None:
    """Wait for a connection that stays; the first one was the form's test of the address."""
    number = 2
    while True:
        try:
            await (await cloud.session(number)).ready()
        except LinkClosedError:
            number += 1
        else:
            return
