"""What happens when two sounds meet: the table in docs/architecture.md, row by row."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import product
import re
from typing import Any

from homeassistant.components.media_player import MediaPlayerState
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End, Heard
from custom_components.xiaozhi.announcements.utterance import Rank, Utterance
from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.alarms.ring import Bell, Ring, RingEnd, TimerTimeouts
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.util.event_loop import within
from custom_components.xiaozhi.voice.pipelines import chosen_pipeline
from simulator import SimulatedDevice, State
from tests.integration.announcements.big_speaker import SELECT, BigSpeaker
from tests.integration.announcements.sounds import beep, keep_message
from tests.integration.boxes import (
    TWO_DEVICES,
    Speech,
    act,
    alerts,
    call_action,
    choose,
    push_to_talk,
    wait_for_state,
)
from tests.integration.messages.speaking import PROMPT
from tests.integration.names import COMMAND, CONNECTED, MAC, NEW, OLD, SATELLITE, Boot
from tests.paths import ROOT

LINK = LinkKind.MQTT
LOUDSPEAKERS = ("2.4", "2.5", "player")
RINGS = {
    "timer": Ring(is_alarm=False, text="Timer ended."),
    "alarm": Ring(is_alarm=True, text="Alarm"),
    "reminder": Ring(is_alarm=True, text="The bins.", speaks=True),
}
KINDS = ("answer", "announcement", "message", "question", *RINGS, "music")
ACTS = (
    "wake word",
    "button",
    "player gone",
    "player paused",
    "link lost",
    "radio lost",
    "restart",
    "do not disturb",
)
QUIET = "do not disturb"
ASKED = ("question", "message being recorded")
QUESTION = "Shall I close the garage?"
SPOKEN = "tts.speak"
_ANSWER_ROW = re.compile(r"^\| ([a-z., ]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_ROW = re.compile(r"^\| ([a-z, ]+) \| ([a-z, ]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)

# A timer and an alarm ring for a quarter of a minute here, and are given up after half of one.
pytestmark = pytest.mark.timeouts(TimerTimeouts, ring=15, alarm=15, show=15, retry=1)


def cells() -> list[tuple[str, ...]]:
    """Return the cells of the table: what is heard, what comes, on which loudspeaker, and the outcomes."""
    table = (ROOT / "docs/architecture.md").read_text().partition("## When two sounds meet")[2]
    return [
        (first, second, where, cell)
        for running, coming, *found in _ROW.findall(table.partition("\n## ")[0])
        for first, second in product(running.split(", "), coming.split(", "))
        for where, cell in zip(LOUDSPEAKERS, found, strict=True)
    ]


@dataclass
class House:
    """A device, and what can be heard on it."""

    hass: HomeAssistant
    entry: MockConfigEntry
    player: BigSpeaker
    speech: Speech
    ring: asyncio.Task[str] | None = None
    device: SimulatedDevice = field(init=False)

    @property
    def known(self) -> Device:
        found: Device = self.entry.runtime_data.devices[MAC]
        return found

    @property
    def announcer(self) -> Announcer:
        return self.known.part(Announcer)

    def start(self, kind: str) -> Coroutine[Any, Any, str]:
        if kind in RINGS:
            return self.rings(kind)
        if kind == "answer":
            return self.answers()
        if kind == "message":
            return self.sends()
        if kind == SPOKEN:
            return self.speaks()
        return self.asks() if kind == "question" else self.says(kind)

    async def says(self, kind: str) -> str:
        rank = Rank.MUSIC if kind == "music" else Rank.ANNOUNCEMENT
        heard = await self.announcer.say(Utterance(text=f"{kind}.", speech=beep(8), rank=rank))
        return outcome(heard)

    async def speaks(self) -> str:
        """Say a text at the device's media player."""
        said = {"media_player_entity_id": "media_player.kitchen_box_speaker", "message": "Open."}
        await act(self.hass, "tts", "speak", self.speech.voice.entity_id, **said)
        return "heard" if "Open." in self.device.screen.captions else "not heard"

    async def sends(self) -> str:
        """Keep a voice message, and see whether it is heard within a minute."""
        await keep_message(self.known, 8)
        for _ in range(60):
            await asyncio.sleep(1)
            if not self.known.state.owned["messages"]:
                return "heard"
        return "kept"

    async def asks(self) -> str:
        asked: list[bool] = []
        pipeline = chosen_pipeline(self.hass, self.known)
        try:
            await self.announcer.ask("Shall I? " * 9, pipeline, lambda: asked.append(True), lambda _: None)
        except HomeAssistantError:
            return "fails" if asked else "refused"
        return "heard"

    async def is_answered(self, asked: str, devices: list[str]) -> str:
        """Ask, and return whether who asked has got an answer."""
        try:
            if asked == "question":
                target = {"entity_id": SATELLITE, "question": QUESTION}
                answer = await self.hass.services.async_call(
                    DOMAIN, "ask", target, blocking=True, return_response=True
                )
                return "answered" if answer and answer["sentence"] else "nobody"
            await call_action(self.hass, "send_voice_message", [devices[1]], sender=devices[0])
        except HomeAssistantError as err:
            return "nobody" if err.translation_key == "message_not_spoken" else "fails"
        return "sent"

    async def rings(self, kind: str) -> str:
        """Ring as the clock does, which rings again after a restart."""
        while True:
            bell = Bell(self.known, self.announcer)
            stop = bell.start()
            self.ring = asyncio.create_task(self.rings_once(bell, RINGS[kind]))
            try:
                return await asyncio.shield(self.ring)
            except asyncio.CancelledError:
                if not self.ring.cancelled():
                    raise
                await asyncio.sleep(1)
            finally:
                stop()

    async def rings_once(self, bell: Bell, ring: Ring) -> str:
        end = await bell.ring(ring, self.hass.loop.time() + 30)
        return {RingEnd.STOPPED: "stopped", RingEnd.MISSED: "reported"}.get(end, "heard")

    async def answers(self) -> str:
        await self.device.wake()
        self.device.say(self.speech.command)
        await self.device.wait_for(lambda: bool(self.device.screen.captions), 30)
        await self.device.wait_state(State.IDLE, 60)
        return "heard" if any("The end." in text for text in self.device.screen.captions) else "stopped"

    async def open_channel(self) -> None:
        """Have a conversation by the talk button, which leaves the channel open."""
        await push_to_talk(self.device, self.speech.command)
        await self.device.wait_for(lambda: bool(self.device.screen.captions), 30)
        await self.device.wait_state(State.IDLE, 10)
        await asyncio.sleep(1)

    async def is_heard(self) -> None:
        """Wait until something is heard or shown, and two seconds more."""

        def count() -> tuple[int, int, int]:
            return len(self.player.began), round(self.device.played_seconds), len(alerts(self.device))

        before = count()
        await self.device.wait_for(lambda: count() != before, 60)
        await asyncio.sleep(2)

    async def act(self, what: str) -> None:
        device = self.device
        match what:
            case "wake word":
                await device.wake("hello again")
            case "button":
                await device.click()
            case "player gone":
                self.player.show(MediaPlayerState.IDLE, there=False)
            case "player paused":
                self.player.show(MediaPlayerState.PAUSED, self.player.media_content_id)
            case "do not disturb":
                await act(self.hass, "switch", "turn_on", "switch.kitchen_box_do_not_disturb")
            case "link lost":
                self.known.session.link._carrier.publish.__self__.abort()
            case "radio lost":
                device.cut_network()
                self.hass.loop.call_later(40, device.restore_network)
            case _:
                if self.ring is not None:
                    self.ring.cancel()
                assert await self.hass.config_entries.async_reload(self.entry.entry_id)
                await wait_for_state(self.hass, CONNECTED, "on", 15)


@pytest.fixture
def house(hass: HomeAssistant, player: BigSpeaker, speech: Speech, linked_entry: MockConfigEntry) -> House:
    return House(hass, linked_entry, player, speech)


def outcome(heard: Heard) -> str:
    match heard.end:
        case End.DONE:
            return "heard"
        case End.WOKEN | End.STOPPED:
            return "stopped"
        case End.REPLACED:
            return "gives way"
    return "refused" if heard.how is Delivery.NONE else "fails"


def marked(cells: list[tuple[str, ...]]) -> list[Any]:
    """Mark cells without a player, and of rings that are like an alarm: all together take minutes."""
    seldom = {"2.4", "2.5", "timer", "reminder"}
    return [pytest.param(*cell, marks=pytest.mark.weekly if seldom & {*cell} else ()) for cell in cells]


@pytest.mark.parametrize(("running", "coming", "loudspeaker", "expected"), marked(cells()))
async def test_meeting(
    boot: Boot,
    house: House,
    running: str,
    coming: str,
    loudspeaker: str,
    expected: str,
) -> None:
    speech = house.speech
    house.device = device = await boot(OLD if loudspeaker == "2.4" else NEW)
    if loudspeaker == "player":
        await choose(house.hass, SELECT, "Big speaker")
    if running == QUIET:
        await house.act(QUIET)
    if loudspeaker == "2.4" and running != "answer" and (running, coming) != (QUIET, "answer"):
        await speech.answer_with("Which light?", heard=[COMMAND])
        await house.open_channel()
    await speech.answer_with("It goes on. " * 8 + "The end.", heard=[COMMAND])
    if running == QUIET:
        assert await house.start(coming) == expected
        return
    first = asyncio.create_task(house.start(running))
    async with asyncio.timeout(60):
        await house.is_heard()
    outcomes: list[str] = []
    if coming in KINDS:
        outcomes.append(await house.start(coming))
    else:
        await house.act(coming)
    outcomes.insert(0, await first)
    assert "; ".join(outcomes) == expected
    await device.wait_for(lambda: device.state is not State.SPEAKING, 60)


def answers() -> list[tuple[str, ...]]:
    """Return the cells of the second table: what comes, what is asked, and the outcome."""
    table = (ROOT / "docs/architecture.md").read_text().partition("| While it is asked |")[2]
    return [
        (coming, asked, cell)
        for comes, *found in re.findall(_ANSWER_ROW, table.partition("\n\n")[0])
        for coming in comes.split(", ")
        for asked, cell in zip(ASKED, found, strict=True)
    ]


@TWO_DEVICES
@pytest.mark.parametrize(("coming", "asked", "expected"), marked(answers()))
async def test_what_comes_while_something_is_asked(
    boot: Boot, house: House, coming: str, asked: str, expected: str
) -> None:
    """In a conversation: whether the microphone was open for the answer, and who got it."""
    hass, speech = house.hass, house.speech
    house.device = device = await boot(OLD)
    if coming == "player gone":
        await choose(hass, SELECT, "Big speaker")
    await speech.answer_with("It is on.", "It is off.", heard=[COMMAND, "yes"])
    await device.wake()
    asking = asyncio.create_task(house.is_answered(asked, boot.device_ids))
    await asyncio.sleep(0.1)
    device.say(speech.command)
    prompt = QUESTION if asked == "question" else PROMPT
    await device.wait_for(lambda: prompt in device.screen.captions, 30)
    second: asyncio.Task[str] | None = None
    if coming in {*KINDS, SPOKEN}:
        second = asyncio.create_task(house.start(coming))
    else:
        await house.act(coming)
    is_open = await within(15, device.wait_state(State.LISTENING, 60))
    said = device.screen.captions[-1]
    device.say(speech.command)
    outcomes = ["open" if is_open and said == prompt else "closed", await asking]
    if second is not None:
        outcomes.append(await second)
    assert "; ".join(outcomes) == expected
    await device.wait_for(lambda: device.state is not State.SPEAKING, 60)


async def test_the_table_is_complete() -> None:
    """There is a cell for each meeting."""
    comings = ({*KINDS, SPOKEN} - {"answer", "question"}) | {*ACTS} - {"player paused", QUIET}
    assert sorted(cell[:2] for cell in answers()) == sorted(product(comings, ASKED))
    meetings = [*product(KINDS, (*KINDS[1:], *ACTS), LOUDSPEAKERS), *product([QUIET], KINDS, LOUDSPEAKERS)]
    assert sorted(cell[:3] for cell in cells()) == sorted(meetings)
