"""Clouds in a process of their own: they call the tools of access points, and break connections."""

import asyncio
from time import monotonic

from simulator.access_point import Cloud, CloudSession, LinkClosedError

from .commands import serve

__all__ = ["Clouds"]


class Clouds:
    """One cloud with many agents."""

    def __init__(self) -> None:
        """Listen with `start`."""
        self._cloud = Cloud()

    async def start(self, count: int) -> list[str]:
        """Begin to listen; return the addresses of this many agents."""
        await self._cloud.start()
        return [self._cloud.url(self._cloud.token(number)) for number in range(1, count + 1)]

    async def go_away(self) -> None:
        """Stop listening."""
        await self._cloud.stop()

    async def come_back(self) -> None:
        """Listen again."""
        await self._cloud.start()

    async def wait_ready(self, count: int) -> None:
        """Wait until this many agents have a connection whose tools are listed."""
        for number in range(1, count + 1):
            await self._ready(number)

    async def call(self, agent: int, ending: str, name: str) -> float:
        """Call the tool whose name ends so; return the milliseconds until the answer was here."""
        session = self._cloud.agent(agent).sessions[-1]
        tool = min((known for known in session.tools if known.endswith(ending)), key=len)
        begun = monotonic()
        answer = await session.call(tool, {"name": name})
        milliseconds = 1000 * (monotonic() - begun)
        if answer.failed or "error" in answer.text:
            raise RuntimeError(f"the call failed: {answer.text}")
        return milliseconds

    async def rest(self, seconds: float) -> None:
        """Let connections become healthy."""
        await asyncio.sleep(seconds)

    async def drop(self, count: int, seconds: float) -> list[float]:
        """Drop all connections, stay away for some seconds, and return how long each agent took to list then.

        The seconds count from the moment at which the cloud is back.
        """
        known = len(self._cloud.sessions)
        await self.go_away()
        await asyncio.sleep(seconds)
        await self.come_back()
        begun = monotonic()

        async def back(agent: int) -> float:
            await self._ready(agent, after=known)
            return monotonic() - begun

        return await asyncio.gather(*(back(agent) for agent in range(1, count + 1)))

    async def power_off(self) -> None:
        """Stop."""
        await self._cloud.stop()

    async def _ready(self, agent: int, after: int = 0) -> CloudSession:
        while True:
            count = len(self._cloud.sessions)
            for session in self._cloud.sessions[after:]:
                if session.agent == agent and session.open:
                    try:
                        return await session.ready()
                    except LinkClosedError:
                        continue
            await self._cloud.session(count + 1)


if __name__ == "__main__":
    asyncio.run(serve(Clouds()))
