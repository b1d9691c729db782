"""Home Assistant is killed and started again while its devices stay up: everything works again by itself."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
import io
import json
import logging
import os
from pathlib import Path
import random
import secrets
import subprocess
import tarfile
from time import monotonic
from typing import Any
from urllib.parse import urlencode

import pytest

from demo.abilities import FIRMWARE_VERSION, put_firmware
from demo.house import Room, pair, set_idle_brightness
from demo.stage import DEVICES
from simulator import SimulatedDevice, State, get_profile
from simulator.audio.espeak import synthesize
from simulator.audio.opus import UPLINK_RATE
from tests.e2e.house import COMMAND, PACE, House, until
from tests.paths import ROOT

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]

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


@pytest.fixture
def seed() -> int:
    """Return the seed of the random moments: a new one, or that of a run to repeat."""
    seed = int(os.environ.get(SEED) or secrets.randbelow(2**32))
    _LOGGER.warning("%s=%d", SEED, seed)
    return seed


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
        await box.wait_for(lambda: bool(box.events("upgrade")), 60)
        await self._within(2)
        # Home Assistant, which is killed, does not answer.
        self._stack.push_async_callback(asyncio.gather, installing, return_exceptions=True)


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


@pytest.mark.parametrize(
    "kind",
    [
        "mid_sentence",
        *(pytest.param(kind, marks=pytest.mark.weekly) for kind in ("mid_answer", "mid_install", "mid_save")),
    ],
)
async def test_a_kill_at_any_moment_loses_no_device_and_hangs_no_answer(
    house: House, kind: str, seed: int
) -> None:
    """`mid_save` comes last, since the device that it pairs stays."""
    async with AsyncExitStack() as stack:
        moments = Moments(house, random.Random(seed), stack)
        websocket = house.demo.devices["websocket"].mac
        # Home Assistant writes later.
        await until(
            lambda: pairings(house)[websocket]["data"]["link"] == "websocket", 60, "the changed link on disk"
        )
        paired = pairings(house)
        known: Entities = {}
        for box in moments.boxes.values():
            known |= await entities(house, box)
        assert known
        await getattr(moments, kind)()
        assert faults(house) == []
        await house.crash()
        if kind == "mid_sentence":
            # It loses its conversation with the connection; one on MQTT does not notice.
            await house.demo.devices["websocket"].wait_state(State.IDLE, 60)
            assert house.demo.devices["mqtt"].state is State.LISTENING
        await house.start_again()
        if kind == "mid_sentence":
            # A device on MQTT connects again and tells its state; one on WebSocket keeps its last one.
            assert await house.state(ON_WEBSOCKET) == "75"
            assert await house.state(ON_MQTT) in {"unavailable", str(OTHER_BRIGHTNESS)}
            await house.becomes(ON_MQTT, str(OTHER_BRIGHTNESS), monotonic() + USABLE_SECONDS)
        await check_recovered(house, moments.boxes, known, paired)
        box = house.demo.devices["mqtt"]
        update = known["update", f"{box.mac}_firmware"]
        assert box.profile.version in {"2.4.2", FIRMWARE_VERSION}
        attributes = (await house.demo.client.get(f"/api/states/{update}"))["attributes"]
        assert (attributes["installed_version"], attributes["in_progress"]) == (box.profile.version, False)


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


@pytest.mark.parametrize(
    "kind",
    ["it rings", *(pytest.param(kind, marks=pytest.mark.weekly) for kind in ("a second before", "the stop"))],
)
async def test_a_kill_loses_no_alarm_and_none_rings_that_was_stopped(house: House, kind: str) -> None:
    """One that rang rings again: better twice than not at all."""
    box = house.demo.devices["mqtt"]
    rung = alerts(box)
    # Far enough for a busy machine to have it set by then.
    begin = await set_alarm(house, box, "Tea", 12)
    stop = (await entities(house, box))["button", f"{box.mac}_stop_alarm"]
    pressing: asyncio.Task[Any] | None = None
    if kind == "a second before":
        await asyncio.sleep((begin - datetime.now(UTC)).total_seconds() - 1)
    else:
        await box.wait_for(lambda: alerts(box) > rung + 1, 60)
    if kind == "the stop":
        pressing = asyncio.create_task(house.demo.client.call("button", "press", entity_id=stop))
        await asyncio.sleep(random.uniform(0, 0.05))
    was_told = pressing is not None and pressing.done()
    await house.crash()
    if pressing is not None:
        await asyncio.gather(pressing, return_exceptions=True)
    is_stored = bool(house.record(box)["alarms"])
    assert is_stored or kind == "the stop"
    assert not (is_stored and was_told)
    rung = alerts(box)
    await house.start_again()
    if is_stored:
        await box.wait_for(lambda: alerts(box) > rung + 1, 60)
        await house.demo.client.call("button", "press", entity_id=stop)
    else:
        await box.wait_for(lambda: box.connected, 60)
    await falls_silent(box)
    assert not house.record(box)["alarms"]
    assert faults(house) == []


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


@pytest.mark.weekly
@pytest.mark.timeout(3600)
async def test_kills_at_random_moments_lose_and_double_no_alarm(house: House, seed: int) -> None:
    draw = random.Random(seed)
    box = house.demo.devices["mqtt"]
    known: list[str] = []
    for number in range(KILLS):
        kind = draw.choice(["set", "edit", "ring", "snooze"])
        name, rung = f"{kind} {number}", alerts(box)
        work: Any = None
        match kind:
            case "set":
                work = set_alarm(house, box, name, 86400)
            case "edit":
                await set_alarm(house, box, name, 86400)
                work = change_alarm(house, box, name, f"{name}, edited")
            case _:
                await set_alarm(house, box, name, 12)
                await box.wait_for(lambda rung=rung: alerts(box) > rung, 60)
                if kind == "snooze":
                    snooze = (await entities(house, box))["button", f"{box.mac}_snooze_alarm"]
                    work = house.demo.client.call("button", "press", entity_id=snooze)
        doing = asyncio.create_task(work) if work else None
        delay = draw.uniform(0, 0.15 if work else 3)
        await asyncio.sleep(delay)
        was_told = doing is not None and doing.done()
        await house.crash()
        if doing is not None:
            await asyncio.gather(doing, return_exceptions=True)
        alarms = [alarm for alarm in house.record(box)["alarms"].values() if alarm["name"].startswith(name)]
        _LOGGER.warning("%s: killed after %.3f s, told: %s, stored: %s", name, delay, was_told, alarms)
        assert len(alarms) == 1 or (kind == "set" and not was_told and not alarms)
        if was_told:
            assert alarms[0]["name"] == (f"{name}, edited" if kind == "edit" else name)
            assert bool(alarms[0]["snoozed"]) == (kind == "snooze")
        known += [alarm["name"] for alarm in alarms]
        await house.start_again()
        await box.wait_for(lambda: box.connected, 60)
        stored = [alarm["name"] for alarm in house.record(box)["alarms"].values()]
        assert sorted(stored) == sorted(known)
        if kind in {"ring", "snooze"}:
            if not alarms[0]["snoozed"]:
                rung = alerts(box)
                await box.wait_for(lambda rung=rung: alerts(box) > rung, 60)
            await change_alarm(house, box, name, None)
            known.remove(name)
        assert await alarm_names(house, box) == sorted(known)
    for name in known:
        await change_alarm(house, box, name, None)
    assert faults(house) == []


def previous_release(folder: Path) -> None:
    """Put the code of the release before this one into a folder."""
    manifest = "custom_components/xiaozhi/manifest.json"
    command = ["git", "log", "-1", "--format=%H", '-G"version":', "--", manifest]
    began = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    archive = ["git", "archive", f"{began}~1", "custom_components/xiaozhi"]
    packed = subprocess.run(archive, cwd=ROOT, capture_output=True, check=False)
    if not began or packed.returncode:
        pytest.skip("the history of the repository is not here")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")


@pytest.mark.weekly
async def test_the_release_before_this_one_leaves_alone_what_owners_have_made(
    house: House, tmp_path: Path
) -> None:
    """Updated, gone back, and updated again. The older one rings no alarm of this one, nor hears more."""
    box = house.demo.devices["mqtt"]
    await asyncio.to_thread(previous_release, tmp_path)
    installed = house.config / "custom_components" / "xiaozhi"
    releases = {"new": installed.readlink(), "old": tmp_path / "custom_components" / "xiaozhi"}

    async def change_to(release: str) -> None:
        # In order, so that what is written a minute later is written.
        await house.demo.client.post("/api/events/homeassistant_final_write")
        await asyncio.sleep(2)
        await house.crash()
        installed.unlink()
        installed.symlink_to(releases[release])
        await house.start_again()
        await box.wait_for(lambda: box.connected, USABLE_SECONDS)

    microphone = (await entities(house, box))["switch", f"{box.mac}_microphone"]
    await change_to("old")
    await set_alarm(house, box, "of the old one", 86400)
    await change_to("new")
    assert await alarm_names(house, box) == ["of the old one"]
    await set_alarm(house, box, "of the new one", 86400)
    await house.demo.client.call("switch", "turn_off", entity_id=microphone)
    await change_to("old")
    assert await alarm_names(house, box) == []
    assert await house.state(microphone) == "off"
    await set_alarm(house, box, "meanwhile", 86400)
    await change_to("new")
    names = ["meanwhile", "of the new one", "of the old one"]
    assert await alarm_names(house, box) == names
    assert await house.state(microphone) == "off"
    # Stored when the call has returned.
    await house.demo.client.call("switch", "turn_on", entity_id=microphone)
    assert house.record(box)["microphone"]
    for name in names:
        await change_alarm(house, box, name, None)
    assert faults(house) == []


WORDS = {"Jarvis": "jarvis", "original": "hi xiaozhi"}


@pytest.mark.weekly
@pytest.mark.timeout(3600)
async def test_kills_while_a_wake_word_is_chosen_leave_the_one_that_is_shown(house: House, seed: int) -> None:
    """It is the old one, or what was chosen; the device is without any only until it is connected again."""
    draw = random.Random(seed)
    box = house.demo.devices["mqtt"]
    select = (await entities(house, box))["select", f"{box.mac}_wake_word"]
    await house.demo.client.call("select", "select_option", entity_id=select, option="original")
    seen = set[tuple[str, bool]]()
    for number in range(KILLS):
        option = [*WORDS][number % 2]
        choosing = asyncio.create_task(
            house.demo.client.call("select", "select_option", entity_id=select, option=option)
        )
        await asyncio.sleep(draw.uniform(0, 4))
        was_told = choosing.done() and choosing.exception() is None
        await house.crash()
        await asyncio.gather(choosing, return_exceptions=True)
        await house.start_again()
        deadline = monotonic() + USABLE_SECONDS
        while (shown := await house.state(select)) not in WORDS:
            assert monotonic() < deadline, f"{select} is still {shown}, seed {seed}"
            await asyncio.sleep(0.5)
        assert shown == option or not was_told
        seen.add((shown, was_told))
        await box.wait_for(lambda: box.connected and box.state is State.IDLE, USABLE_SECONDS)
        for word in sorted(WORDS.values(), key=lambda word: word == WORDS[shown]):
            await box.wake(word)
            assert (box.state is not State.IDLE) == (word == WORDS[shown]), f"{word}, seed {seed}"
        await box.click()
        await box.wait_state(State.IDLE, 60)
    _LOGGER.warning("after a kill: %s", seen)
    assert faults(house) == []


@pytest.mark.weekly
@pytest.mark.timeout(3600)
async def test_kills_while_firmware_is_installed_leave_one_that_runs(house: House, seed: int) -> None:
    """It is the old one or the new one, as Home Assistant says, and what the owner has made is there."""
    draw = random.Random(seed)
    box, client = house.demo.devices["mqtt"], house.demo.client
    update = (await entities(house, box))["update", f"{box.mac}_firmware"]
    await set_alarm(house, box, "kept", 86400)
    seen = set[tuple[bool, bool]]()
    for number in range(KILLS):
        version = f"2.4.{number + 10}"
        await asyncio.to_thread(put_firmware, house.config, box.profile.board, version)
        await client.call("homeassistant", "update_entity", entity_id=update)
        await attribute(house, update, "latest_version", version)
        installing = asyncio.create_task(house.demo.client.call("update", "install", entity_id=update))
        await asyncio.sleep(draw.uniform(0, 8))
        was_answered = installing.done() and installing.exception() is None
        await house.crash()
        await asyncio.gather(installing, return_exceptions=True)
        await house.start_again()
        client = house.demo.client
        await box.wait_for(lambda: box.connected and box.state is State.IDLE, USABLE_SECONDS)
        assert box.profile.version == version or not was_answered, f"seed {seed}"
        await attribute(house, update, "installed_version", box.profile.version)
        assert await alarm_names(house, box) == ["kept"]
        seen.add((box.profile.version == version, was_answered))
    _LOGGER.warning("installed, and answered: %s", seen)
    await change_alarm(house, box, "kept", None)
    assert faults(house) == []


async def attribute(house: House, entity_id: str, name: str, value: str) -> None:
    """Wait until an attribute has a value."""
    deadline = monotonic() + USABLE_SECONDS
    while (found := (await house.demo.client.attributes(entity_id)).get(name)) != value:
        assert monotonic() < deadline, f"{name} of {entity_id} is {found}, not {value}"
        await asyncio.sleep(0.5)
