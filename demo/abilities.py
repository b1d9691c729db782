"""The abilities of a device besides conversations, as the demo's owner uses them.

Each ability is used through Home Assistant as its web page does, then checked on the device. A wrong result
raises `DemoError`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
import random
from time import monotonic
from typing import Any, Final

from simulator import Board, DeviceCrashed, SimulatedDevice, State, build_image

from .client import Client, Json, until
from .errors import DemoError, naming_fault
from .house import entity_id_of

_DOMAIN: Final = "xiaozhi"
_MODEL: Final = "ai_task.demo_vision"
_KNOWN_SECONDS: Final = 60
_CONNECTING_SECONDS: Final = 60
# Within which Home Assistant ends a conversation that was begun to end a ring.
_REFUSED_SECONDS: Final = 0.5
_EVENT: Final = "xiaozhi_notification"
_METHOD: Final = "notifications/message"
_QUESTION: Final = "What do you see?"
_COLOUR: Final = (255, 96, 0)
FIRMWARE_VERSION: Final = "2.4.3"
"""Version of the firmware that is offered to the device; newer than its own."""
# A device takes two seconds to write them.
_FIRMWARE_BYTES: Final = 300_000

VIEWS: Final = {
    "blue": (20, 40, 230),
    "green": (10, 220, 40),
    "purple": (150, 10, 190),
    "red": (230, 30, 20),
    "yellow": (240, 230, 30),
}
"""Colours before the camera, by the word that the answer must contain."""


async def set_up_vision(client: Client) -> None:
    """Use the model that describes pictures for the photos of devices."""
    await client.command("ai_task/preferences/set", gen_data_entity_id=_MODEL)


def put_firmware(configuration: Path, board: Board, version: str = FIRMWARE_VERSION) -> None:
    """Put a firmware for a board where the integration looks for it; its code is random data."""
    folder = configuration / "xiaozhi" / "firmware"
    folder.mkdir(parents=True, exist_ok=True)
    image = build_image(version=version, chip=board.chip, size=_FIRMWARE_BYTES)
    (folder / f"{board.name}_{version}.bin").write_bytes(image)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Uses a device that is idle and connected."""

    client: Client
    device: SimulatedDevice
    name: str
    wake_word: str

    async def call(self, domain: str, action: str, name: str = "", **data: Any) -> None:
        """Call an action for the entity of a domain whose unique id ends with a name."""
        await self.client.call(domain, action, entity_id=await self.entity(domain, name), **data)

    async def start_conversation(self, start: Callable[[], Awaitable[None]]) -> None:
        """Have it listen, after a press or its wake word; one that rings for itself takes two."""
        device = self.device
        for _ in range(2):
            if device.state is not State.LISTENING:
                await start()
            await device.wait_for(lambda: device.state in {State.LISTENING, State.IDLE}, _CONNECTING_SECONDS)
            await asyncio.sleep(_REFUSED_SECONDS)
            if device.state is State.LISTENING:
                return

    async def set_alarm(self, seconds: float, name: str) -> None:
        """Have it ring so many seconds from now."""
        begin = datetime.now(UTC) + timedelta(seconds=seconds)
        end = begin + timedelta(minutes=1)
        times = {"start_date_time": begin.isoformat(), "end_date_time": end.isoformat()}
        await self.call("calendar", "create_event", "alarms", summary=name, **times)

    async def colour_light(self) -> Json:
        """Set the colour of the device's light."""
        light = await self.entity("light")
        await self.client.call("light", "turn_on", entity_id=light, rgb_color=_COLOUR)
        values = self.device.values
        shown = tuple(values.get(f"led_{part}", 0) for part in ("red", "green", "blue"))
        state = await self.client.get(f"/api/states/{light}")
        told = tuple(state["attributes"].get("rgb_color") or ())
        if shown != _COLOUR:
            raise DemoError(f"the {self.name} was to light up as {_COLOUR} and shows {shown}")
        if told != _COLOUR or state["state"] != "on":
            raise DemoError(f"{light} is {state['state']} as {told}, but the device shows {shown}")
        return {"entity_id": light, "colour": shown}

    async def take_photo(self) -> Json:
        """Ask about a photo of a random colour."""
        seen = random.choice(sorted(VIEWS))
        self.device.values["view"] = VIEWS[seen]
        try:
            reply = await self.client.ask(
                _DOMAIN, "take_photo", device_id=await self.device_id(), question=_QUESTION
            )
        finally:
            self.device.values["view"] = None
        if seen not in (reply["answer"] or ""):
            raise DemoError(
                f"the {self.name} saw {seen}, and the answer to {_QUESTION!r} was {reply['answer']!r}"
            )
        return {"question": _QUESTION, "seen": seen, "answer": reply["answer"]}

    def notify(self, text: str) -> None:
        """Have the device send a notification, as custom firmware may. Raises `DemoError`."""
        try:
            self.device.notify(_METHOD, **_params(text))
        except (DeviceCrashed, RuntimeError) as err:
            raise DemoError(f"the {self.name} does not run: {err}") from err

    async def hear_notification(self) -> Json:
        """Have the device send a notification; expect it on the bus."""
        text = f"Bump {random.randrange(1000)}"
        method, params = _METHOD, _params(text)
        device_id = await self.device_id()
        async with self.client.listening(_EVENT) as next_event:
            self.notify(text)
            with naming_fault(f"a notification of the {self.name} does not become an event"):
                async with asyncio.timeout(_KNOWN_SECONDS):
                    event = await next_event()
        expected = {"device_id": device_id, "method": method, "params": params}
        if event["data"] != expected:
            raise DemoError(f"the notification {expected} became the event {event['data']}")
        return {"event": _EVENT, "method": method, "data": text}

    async def install_firmware(self) -> Json:
        """Install the offered firmware, and check that the device runs it afterwards."""
        entity = await self.entity("update", "firmware")
        before = await until(
            partial(self._update_offered, entity), f"{entity} does not offer firmware {FIRMWARE_VERSION}"
        )
        percentages: set[int] = set()
        start = monotonic()
        installing = asyncio.create_task(self.client.call("update", "install", entity_id=entity))

        async def installed() -> bool:
            percentages.add((await self.client.attributes(entity))["update_percentage"] or 0)
            return installing.done()

        def fault() -> str:
            reasons = ", ".join(event["error"] for event in self.device.events("upgrade_failed"))
            return f"{FIRMWARE_VERSION} is not installed; the {self.name} says: {reasons or 'nothing'}"

        try:
            await until(installed, fault)
        finally:
            installing.cancel()
        await installing
        after = await self.client.attributes(entity)
        versions = {self.device.profile.version, after["installed_version"], FIRMWARE_VERSION}
        if len(versions) > 1:
            raise DemoError(
                f"firmware {FIRMWARE_VERSION} was installed; {entity} says {after['installed_version']}, and "
                f"the {self.name} runs {self.device.profile.version}"
            )
        if percentages.isdisjoint(range(1, 100)):
            raise DemoError(f"{entity} has shown no progress but {sorted(percentages)}")
        return {
            "entity_id": entity,
            "from": before,
            "to": FIRMWARE_VERSION,
            "seconds": round(monotonic() - start, 1),
            "steps": len(percentages),
        }

    async def _update_offered(self, entity: str) -> str | None:
        """Return the version that is installed while the firmware in the folder is offered."""
        update = await self.client.attributes(entity)
        offered = update["latest_version"] == FIRMWARE_VERSION != update["installed_version"]
        return str(update["installed_version"]) if offered else None

    async def device_id(self) -> str:
        """Return its id in Home Assistant."""
        devices = await self.client.command("config/device_registry/list")
        own = [_DOMAIN, self.device.mac]
        [device_id] = (str(device["id"]) for device in devices if own in device["identifiers"])
        return device_id

    async def entity(self, domain: str, name: str = "") -> str:
        """Return the entity of a domain whose unique id ends with a name; waits until it is available."""
        entity_id = await entity_id_of(self.client, self.device.mac, domain, name)

        async def usable() -> bool:
            return await self.client.state(entity_id) != "unavailable"

        await until(usable, f"the {entity_id} of the {self.name} is unavailable")
        return entity_id


def _params(text: str) -> dict[str, str]:
    return {"level": "info", "data": text}
