"""Home Assistant is killed and started again while its devices stay up: everything works again by itself."""

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
import io
import logging
import os
from pathlib import Path
import random
import secrets
import subprocess
import tarfile
from time import monotonic
from typing import Any

import pytest

from demo.abilities import FIRMWARE_VERSION, put_firmware
from demo.stage import DEVICES
from simulator import State
from simulator.audio.espeak import synthesize
from simulator.audio.opus import UPLINK_RATE
from simulator.audio.sound import likeness
from tests.e2e.house import House, until
from tests.e2e.kills import (
    KILLS,
    ON_MQTT,
    ON_WEBSOCKET,
    OTHER_BRIGHTNESS,
    SEED,
    USABLE_SECONDS,
    Entities,
    Moments,
    alarm_names,
    alerts,
    attribute,
    change_alarm,
    check_recovered,
    entities,
    falls_silent,
    faults,
    pairings,
    set_alarm,
)
from tests.paths import ROOT

_LOGGER = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("socket_enabled"),
]


@pytest.fixture
def seed() -> int:
    """Return the seed of the random moments: a new one, or that of a run to repeat."""
    seed = int(os.environ.get(SEED) or secrets.randbelow(2**32))
    _LOGGER.warning("%s=%d", SEED, seed)
    return seed


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


@pytest.mark.weekly
async def test_a_kill_between_sent_and_delivery_loses_no_message(house: House) -> None:
    """What was acknowledged is on the disk, with its sound; it is heard when somebody wakes the device."""
    box, other = house.demo.devices["mqtt"], house.demo.devices["websocket"]
    command, message = [
        (await asyncio.to_thread(synthesize, text, voice="en-us+f2", sample_rate=UPLINK_RATE))[0]
        for text in ("send a voice message to the living room", "Dinner is ready.")
    ]
    await box.wait_for(lambda: box.state is State.IDLE and box.connected, 60)
    await box.wake(DEVICES["mqtt"].wake_word)
    await box.wait_state(State.LISTENING, 60)
    box.say(command)
    await box.wait_for(lambda: "Speak after the tone." in box.screen.captions, 60)
    await box.wait_state(State.LISTENING, 60)
    box.say(message)
    await box.wait_for(lambda: "Sent." in box.screen.captions, 60)
    await house.crash()
    assert len(house.record(other)["messages"]) == 1
    await house.start_again()
    await other.wait_state(State.IDLE, 60)
    played = len(other.speaker.played)
    await other.wake(DEVICES["websocket"].wake_word)
    await other.wait_for(
        lambda: other.state is State.LISTENING and len(other.speaker.played) > played, USABLE_SECONDS
    )
    assert any(text.startswith("A message from Bedroom") for text in other.screen.captions)
    heard = b"".join(frame.pcm for frame in other.speaker.played[played:])
    assert likeness(message, UPLINK_RATE, heard, other.speaker.rate) > 0.9
    await other.click()
    await other.wait_state(State.IDLE, 60)
    await until(lambda: not house.record(other)["messages"], 60, "the end of the message on the disk")
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
    """Updated, gone back, and updated again. The older one has the same alarms, and hears no more."""
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
    assert await alarm_names(house, box) == ["of the new one", "of the old one"]
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
