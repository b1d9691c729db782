"""A real Home Assistant that is killed, and what must be there again afterwards."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
import json
import logging
import os
import random
from time import monotonic
from typing import Any
from urllib.parse import urlencode

from demo.house import Room, pair, set_idle_brightness
from demo.stage import DEVICES
from simulator import SimulatedDevice, State, get_profile
from simulator.audio.espeak import synthesize
from simulator.audio.opus import UPLINK_RATE
from tests.e2e.house import COMMAND, PACE, House, until

_LOGGER = logging.getLogger(__name__)
# Entity ids by domain and unique id: a message on the screen and a picture of it have the same unique id.
type Entities = dict[tuple[str, str], str]
SEED = "XIAOZHI_KILL_SEED"
USABLE_SECONDS = 120
# Of each test with random moments.
KILLS = int(os.environ.get("XIAOZHI_KILLS", "20"))
ON_MQTT = "number.bedroom_mqtt_box_brightness"
ON_WEBSOCKET = "number.living_room_websocket_box_brightness"
OTHER_BRIGHTNESS = 55
NEW_MAC = "02:00:00:c0:ff:03"


class Moments:
    """Brings the house to where Home Assistant is to be killed; the exact moment is drawn."""

    def __init__(self, house: House, draw: random.Random, stack: AsyncExitStack) -> None:
        """What is started is switched off with the stack."""
        self._house = house
        self._draw = draw
        self._stack = stack
        self.boxes = dict(house.demo.devices)

    async def _within(self, seconds: float) -> None:
        delay = self._draw.uniform(0, seconds)
        _LOGGER.warning("%.3f s after it began", delay)
        await asyncio.sleep(delay)

    async def _all_begin_to_say(self, sentence: str) -> None:
        pcm, _ = await asyncio.to_thread(synthesize, sentence, voice="en-us+f2", sample_rate=UPLINK_RATE)
        for link, device in self._house.demo.devices.items():
            # They are different, or Home Assistant would ignore it at the second device.
            await device.wake(DEVICES[link].wake_word)
            await device.wait_state(State.LISTENING, 60)
            sentences = len(device.events("speaking begins"))
            device.say(pcm)
            # A sentence that has not begun would be said in the next conversation, together with that one's.
            await device.wait_for(
                lambda device=device, sentences=sentences: len(device.events("speaking begins")) > sentences
            )

    async def mid_sentence(self) -> None:
        """Both devices are being spoken to.

        The id of the conversation over MQTT is on disk, and so is the state of each device.
        """
        house, box = self._house, self._house.demo.devices["mqtt"]
        await set_idle_brightness(house.demo.client, box, OTHER_BRIGHTNESS)
        # The status is read when a conversation has ended, and all is saved when one over MQTT begins.
        for link in house.demo.devices:
            await house.talk(link)
        earlier = house.record(box).get("session")
        # So long that on a busy machine, too, neither has ended it by then.
        await self._all_begin_to_say(f"{COMMAND} and " * 10)
        await until(lambda: house.record(box).get("session") != earlier, 60, "the conversation on disk")
        assert house.record(box)["status"]["brightness"] == OTHER_BRIGHTNESS
        await self._within(1)

    async def mid_answer(self) -> None:
        """At least one device plays its answer."""
        await self._all_begin_to_say(COMMAND)
        devices = self._house.demo.devices.values()
        await until(lambda: any(device.state is State.SPEAKING for device in devices), 60, "an answer")
        await self._within(0.8)

    async def mid_save(self) -> None:
        """A device was paired, and has had the answer to its check-in; another one was changed."""
        house, client = self._house, self._house.demo.client
        await set_idle_brightness(client, house.demo.devices["mqtt"], self._draw.randrange(40, 60))
        url = f"{house.demo.url}/api/xiaozhi/ota"
        new = SimulatedDevice(get_profile("s3"), url, mac=NEW_MAC, pace=PACE)
        await self._stack.enter_async_context(new)
        await pair(client, new, "New box", Room.KITCHEN)
        self.boxes["new"] = new
        await self._within(1)

    async def mid_install(self) -> None:
        """A device writes a new firmware."""
        house, box = self._house, self._house.demo.devices["mqtt"]
        update = (await entities(house, box))["update", f"{box.mac}_firmware"]
        await house.becomes(update, "on", monotonic() + USABLE_SECONDS)
        installing = asyncio.create_task(house.demo.client.call("update", "install", entity_id=update))
        # Home Assistant, which is killed, does not answer.
        self._stack.push_async_callback(asyncio.gather, installing, return_exceptions=True)
        await box.wait_for(lambda: bool(box.events("upgrade")), 60)
        await self._within(2)


async def entities(house: House, device: SimulatedDevice) -> Entities:
    """Return the entities of a device."""
    return {
        (entity["entity_id"].partition(".")[0], entity["unique_id"]): entity["entity_id"]
        for entity in await house.demo.client.command("config/entity_registry/list")
        if entity["unique_id"].startswith(device.mac)
    }


def pairings(house: House) -> dict[str, dict[str, Any]]:
    """Return what the disk has of paired devices, tokens included, by MAC."""
    stored = json.loads((house.config / ".storage" / "core.config_entries").read_text())
    [gateway] = [each for each in stored["data"]["entries"] if each["domain"] == "xiaozhi"]
    return {each["unique_id"]: each for each in gateway["subentries"]}


def faults(house: House) -> list[str]:
    """Return the lines of Home Assistant's log that tell of an error in the integration."""
    lines = (house.config / "output.log").read_text().splitlines()
    assert any("xiaozhi" in line for line in lines), "the log says nothing of the integration"
    return [
        line
        for line in lines
        if "custom_components/xiaozhi/" in line or ("ERROR" in line and "xiaozhi" in line)
    ]


async def check_recovered(
    house: House, boxes: dict[str, SimulatedDevice], known: Entities, paired: dict[str, Any]
) -> None:
    """All is as before: every device is there and idle, and answers over its link."""
    deadline = monotonic() + USABLE_SECONDS
    [gateway] = await house.demo.client.command("config_entries/get", domain="xiaozhi")
    assert gateway["state"] == "loaded"
    assert paired.items() <= pairings(house).items()
    assert {box.mac for box in boxes.values()} == pairings(house).keys()

    await boxes["websocket"].wait_state(State.IDLE, deadline - monotonic())
    await house.talk("websocket")
    for link, box in boxes.items():
        await box.wait_for(
            lambda box=box, link=link: (
                box.state is State.IDLE and not box.listening and (box.connected or link == "websocket")
            ),
            deadline - monotonic(),
        )
        assert box.pairing_code is None
        shown = await entities(house, box)
        await house.becomes(shown["assist_satellite", f"{box.mac}_assist_satellite"], "idle", deadline)
    await house.talk("mqtt")

    assert await house.demo.client.flows("xiaozhi", "integration_discovery") == []
    for link in ("mqtt", "websocket"):
        deadline = monotonic() + USABLE_SECONDS
        wanted = {found for found in known.items() if found[0][1].startswith(boxes[link].mac)}
        while gone := wanted - (await entities(house, boxes[link])).items():
            assert monotonic() < deadline, f"gone: {gone}"
            _LOGGER.warning("not there yet: %s", gone)
            await asyncio.sleep(0.5)
        assert boxes[link].state is State.IDLE
    assert all(house.record(house.demo.devices[link]) for link in ("mqtt", "websocket"))
    assert faults(house) == []


def alerts(box: SimulatedDevice) -> int:
    """Return how many alerts a device has had: its alarm gives one each three seconds."""
    return sum(each["message"].get("type") == "alert" for each in box.events("received"))


async def falls_silent(box: SimulatedDevice) -> None:
    """Wait until no alert has come for longer than two: one may be on its way still."""
    deadline = monotonic() + 60
    rung = -1
    while rung != (rung := alerts(box)):
        assert monotonic() < deadline, "it rings on"
        await asyncio.sleep(7)


async def alarm_names(house: House, box: SimulatedDevice) -> list[str]:
    """Return the names that the calendar shows, of alarms within a week."""
    calendar = (await entities(house, box))["calendar", f"{box.mac}_alarms"]
    now = datetime.now(UTC) - timedelta(minutes=1)
    times = {"start": now.isoformat(), "end": (now + timedelta(days=7)).isoformat()}
    listed = await house.demo.client.get(f"/api/calendars/{calendar}?{urlencode(times)}")
    return sorted(event["summary"] for event in listed)


async def set_alarm(house: House, box: SimulatedDevice, name: str, seconds: float) -> datetime:
    """Set one, and return when it rings."""
    calendar = (await entities(house, box))["calendar", f"{box.mac}_alarms"]
    begin = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)
    times = {"start_date_time": begin.isoformat(), "end_date_time": (begin + timedelta(hours=1)).isoformat()}
    await house.demo.client.call("calendar", "create_event", entity_id=calendar, summary=name, **times)
    return begin


async def change_alarm(house: House, box: SimulatedDevice, name: str, new: str | None) -> None:
    """Rename an alarm, and let it ring in a day; or delete it."""
    calendar = (await entities(house, box))["calendar", f"{box.mac}_alarms"]
    (uid,) = [uid for uid, alarm in house.record(box)["alarms"].items() if alarm["name"] == name]
    if new is None:
        await house.demo.client.command("calendar/event/delete", entity_id=calendar, uid=uid)
        return
    begin = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)
    event = {"summary": new, "dtstart": begin.isoformat(), "dtend": (begin + timedelta(hours=1)).isoformat()}
    await house.demo.client.command("calendar/event/update", entity_id=calendar, uid=uid, event=event)


async def attribute(house: House, entity_id: str, name: str, value: str) -> None:
    """Wait until an attribute has a value."""
    deadline = monotonic() + USABLE_SECONDS
    while (found := (await house.demo.client.attributes(entity_id)).get(name)) != value:
        assert monotonic() < deadline, f"{name} of {entity_id} is {found}, not {value}"
        await asyncio.sleep(0.5)
