"""Who uses a large house, each in a process of their own: its devices, the owner's page, a cloud."""

import asyncio
from itertools import batched
from typing import Any

import aiohttp

from benchmarks.devices import Account, NewDevices
from simulator.access_point import Cloud


class Boxes(NewDevices):
    """Devices, of which some speak at once, by turns."""

    async def talk(self, text: str, at_once: int, rounds: int) -> list[Account]:
        """Have so many devices at once ask something, then as many others, but never the first of them."""
        sound = await self._sound(text)
        groups = [*batched(self._devices[at_once:], at_once, strict=False)]
        accounts: list[Account] = []
        for number in range(rounds):
            group = groups[number % len(groups)]
            accounts += await asyncio.gather(*(self._converse(device, sound) for device in group))
        return accounts


class Page:
    """The owner's page, with all states."""

    def __init__(self) -> None:
        """Start closed."""
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, url: str, token: str) -> None:
        """Connect as the page does, and follow everything."""
        connected = asyncio.Event()
        self._tasks.append(asyncio.create_task(self._follow(url, token, connected)))
        async with asyncio.timeout(60):
            await connected.wait()

    async def _follow(self, url: str, token: str, connected: asyncio.Event) -> None:
        async with aiohttp.ClientSession() as session, session.ws_connect(url, max_msg_size=0) as page:
            await page.receive_json()
            await page.send_json({"type": "auth", "access_token": token})
            await page.receive_json()
            asked: list[dict[str, Any]] = [
                {"type": "subscribe_entities"},
                {"type": "config/entity_registry/list_for_display"},
                {"type": "config/device_registry/list"},
                {"type": "config/area_registry/list"},
                {"type": "subscribe_events", "event_type": "entity_registry_updated"},
            ]
            for number, command in enumerate(asked, 1):
                await page.send_json({"id": number, **command})
            connected.set()
            async for _ in page:
                pass


class OtherCloud:
    """A cloud that has the tools of the house."""

    async def start(self) -> str:
        """Begin; return the address for an access point."""
        self._cloud = Cloud()
        await self._cloud.start()
        return self._cloud.url(self._cloud.token())
