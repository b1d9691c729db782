"""Life in a large house: what the integration alone costs, and how long one step of it holds up the others.

Thirty devices, half of them on each link, of which ten speak at once; 80 media players that come and go, 60
areas, 3,000 entities of others that are exposed to Assist and change 50 times a second, 100 alarms and
timers on each of five devices with ten kept messages each, a cloud with 60 tools, the owner's page, and the
recorder.
Steps are those of the event loop, in ms of processor time inside our code (`steps.py`).
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from datetime import timedelta
from math import inf
from time import monotonic, process_time
from typing import Any, Final

from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.const import EVENT_STATE_CHANGED, MATCH_ALL
from homeassistant.core import Event, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, intent
from homeassistant.util import dt as dt_util

from benchmarks.fleet import Fleet, fleet
from benchmarks.house import House, Site
from benchmarks.report import Row
from benchmarks.speech import after, spoken
from custom_components.xiaozhi.const import DOMAIN, OTA_PATH
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.diagnostics import async_get_config_entry_diagnostics
from custom_components.xiaozhi.guests.alarms.alarm import wall_time
from custom_components.xiaozhi.guests.alarms.device_clock import DeviceClock
from custom_components.xiaozhi.guests.messages.kept_messages import KeptMessages
from custom_components.xiaozhi.guests.messages.voice_message import VoiceMessage
from custom_components.xiaozhi.protocol.audio.ogg import OggOpusEncoder
from custom_components.xiaozhi.protocol.messages import DOWNLINK

from .home import access_point, busy, furnish, owner_token, place
from .people import Boxes, OtherCloud, Page
from .steps import SlowStep, Steps

_DEVICES: Final = 30
# Of each three devices one has alarms and messages, if it is on MQTT as every other one is, and the others
# are spoken to by turns.
_GROUPS: Final = 3
_ALARMS: Final = 80
_TIMERS: Final = 20
_MESSAGES: Final = 10
_RULES: Final = ("", "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "FREQ=WEEKLY;BYDAY=SA,SU")
COMPONENTS: Final = ("config", "diagnostics", "history", "logbook", "media_player", "recorder")
"""What a Home Assistant with a page has, beside what the others need."""

_ASKED: Final = (
    "could you please tell me what I should wear tomorrow because it was raining all day today and I have to"
    " be at the station at half past seven and do not want to carry an umbrella all the time"
)
_ANSWER: Final = (
    "Tomorrow will be dry in the morning, with some clouds and up to twelve degrees. In the evening there may"
    " be a shower, so that a light jacket is a good idea. You do not need an umbrella before six."
)
_DAY: Final = 86_400
_SLOWEST: Final = 8


async def measure(house: House, *, quick: bool, minutes: float = 10) -> list[Row]:
    """Live for some minutes."""
    share = 0.05 if quick else 1
    number = 6 if quick else _DEVICES
    hass = house.hass
    house.engines.recognize = after(inf, _ASKED)
    house.engines.notices_end = False
    house.engines.wav = spoken(_ANSWER)
    hass.config.internal_url = house.check_in_url.removesuffix(OTA_PATH)
    await async_update_pipeline(hass, async_get_pipelines(hass)[0], prefer_local_intents=True)
    players = await furnish(hass, share=share)
    async with (
        fleet(Boxes) as boxes,
        fleet(Page) as page,
        fleet(OtherCloud) as cloud,
        busy(hass, players),
    ):
        url = house.check_in_url.removesuffix(OTA_PATH).replace("http", "ws", 1)
        await page.do(Page.open, f"{url}/api/websocket", await owner_token(hass))
        address = await cloud.do(OtherCloud.start)
        life = _Life(house, boxes, minutes * 60 * share if quick else minutes * 60, number)
        processor = process_time()
        with life.steps.measured():
            life.steps.phase = "start"
            async with house.site(number, None, access_point(address)) as site:
                figures: Row = {
                    "devices": number,
                    "start, s": round(site.set_up_seconds, 2),
                    "start, s of processor time": round(process_time() - processor, 2),
                }
                await life.run(site)
    figures |= life.figures()
    return [{"figure": name, "value": value} for name, value in figures.items()]


class _Life:
    """What happens in the house, one after the other."""

    def __init__(self, house: House, boxes: Fleet[Boxes], seconds: float, number: int) -> None:
        self.steps = Steps()
        self._house = house
        self._hass = house.hass
        self._boxes = boxes
        self._seconds = seconds
        self._number = number
        self._at_once = number // _GROUPS
        self._with_alarms = range(0, self._at_once, 2)
        self._took = Counter[str]()
        self._process = Counter[str]()
        self._written = Counter[str]()
        self._packets = Counter[str]()
        self._refused = Counter[str]()

    async def run(self, site: Site) -> None:
        """Do everything once."""
        self._site = site
        place(self._hass, site.gateway.entry.entry_id)
        await self._do("messages", self._keep_messages())
        await self._do("link", self._boxes.do(Boxes.boot, self._house.check_in_url, site.devices))
        await self._linked()
        await self._do("alarms", self._set_alarms())
        await self._do("settle", asyncio.sleep(self._seconds / 20))
        self._stop = self._hass.bus.async_listen(MATCH_ALL, self._wrote)
        await self._do("idle", asyncio.sleep(self._seconds / 5))
        self._stop()
        await self._do("conversations", self._talk(3))
        await self._do("announcement", self._announce())
        await self._do("broadcast", self._broadcast())
        await self._do("calendar", self._calendar())
        await self._do("ring", self._ring())
        await self._do("diagnostics", self._diagnose())
        await self._do("reload", self._reload())
        await self._do("reload in conversations", self._reload_meanwhile())
        while sum(self._took.values()) < self._seconds:
            await self._do("conversations", self._talk(3))
        await self._boxes.do(Boxes.power_off)

    def figures(self) -> Row:
        """Return what was found."""
        slow = sorted(self.steps.slow, key=lambda step: -step.seconds)
        idle, talk = self._took["idle"], self._took["conversations"]
        per_day = _DAY / idle / self._number if idle else 0
        each = 1000 / self._number
        found: Row = {
            f"steps of more than {limit} ms": sum(step.seconds * 1000 > limit for step in slow)
            for limit in (10, 20, 50)
        }
        found["steps of more than 10 ms while somebody speaks"] = sum(
            step.seconds > 0.01 and "conversations" in step.phase for step in slow
        )
        found["steps of more than 20 ms of others while somebody speaks"] = sum(
            times for phase, times in self.steps.slow_of_others.items() if "conversations" in phase
        )
        places = dict[str, SlowStep]()
        for step in slow:
            places.setdefault(step.place, step)
        for where, step in [*places.items()][:_SLOWEST]:
            found[f"ms of the slowest step in {where} ({step.phase})"] = round(1000 * step.seconds)
        found |= {
            "packets of answers": self._packets["packets"],
            "packets of answers, late": self._packets["late"],
            "packets of answers, late after a step of more than 5 ms": self._packets["late by us"],
            "pauses heard": self._packets["pauses"],
            "ms a second of ours for each device, idle": round(each * self.steps.ours["idle"] / idle, 3),
            "ms a second of ours for each device that speaks": round(
                1000 * self.steps.ours["conversations"] / talk / self._at_once, 2
            ),
            "% of a core, all of Home Assistant, idle": round(100 * self._process["idle"] / idle, 1),
            "% of a core, all of Home Assistant, a third speak": round(
                100 * self._process["conversations"] / talk, 1
            ),
            "states a day for each idle device": round(self._written["states"] * per_day),
            "events a day for each idle device": round(self._written["events"] * per_day),
        }
        return found | {f"actions refused ({phase})": times for phase, times in self._refused.items()}

    async def _do(self, phase: str, doing: Awaitable[object]) -> None:
        self.steps.phase = phase
        clock, processor = monotonic(), process_time()
        await doing
        self._took[phase] += monotonic() - clock
        self._process[phase] += process_time() - processor
        self.steps.phase = "between"

    @callback
    def _wrote(self, event: Event[Any]) -> None:
        """Count what the recorder writes of ours."""
        if event.event_type == EVENT_STATE_CHANGED:
            entry = er.async_get(self._hass).async_get(event.data["entity_id"])
            if entry is not None and entry.platform == DOMAIN:
                self._written["states"] += 1
        elif str(event.event_type).startswith(DOMAIN):
            self._written["events"] += 1

    async def _keep_messages(self) -> None:
        """Keep messages for some devices, which are not there yet."""
        sound = await asyncio.to_thread(OggOpusEncoder().encode_whole, bytes(2 * DOWNLINK.sample_rate))
        for device in self._with_much():
            for number in range(_MESSAGES):
                message = VoiceMessage(sender=f"Attic {number}", sent=dt_util.utcnow())
                await self._tried(device.part(KeptMessages).async_keep(message, sound))

    async def _set_alarms(self) -> None:
        """Set alarms and timers on some devices."""
        now = dt_util.utcnow()
        for device in self._with_much():
            clock = device.part(DeviceClock).alarms
            for alarm in range(_ALARMS):
                start = wall_time(now + timedelta(hours=2 + alarm, minutes=alarm))
                await self._tried(clock.async_set(start, f"Alarm {alarm}", "", _RULES[alarm % len(_RULES)]))
            for timer in range(_TIMERS):
                slots = {"hours": {"value": 1 + timer}, "name": {"value": f"timer {timer}"}}
                await self._tried(
                    intent.async_handle(
                        self._hass, DOMAIN, intent.INTENT_START_TIMER, slots, device_id=device.registry_id
                    )
                )

    def _with_much(self) -> list[Device]:
        """Return the devices with alarms and messages."""
        return [self._site.gateway.devices[self._site.devices[number].mac] for number in self._with_alarms]

    async def _tried(self, doing: Awaitable[object]) -> None:
        """Do what the device may refuse, as one does that is out of reach."""
        try:
            await doing
        except HomeAssistantError, intent.IntentError:
            self._refused[self.steps.phase] += 1

    async def _talk(self, rounds: int) -> None:
        """Have ten devices at once ask something, by turns."""
        accounts = await self._boxes.do(Boxes.talk, "is anybody there", self._at_once, rounds)
        for account in accounts:
            self._packets["packets"] += len(account.arrivals)
            self._packets["late"] += len(account.late)
            self._packets["late by us"] += sum(self.steps.slow_between(*late) for late in account.late)
            self._packets["pauses"] += account.pauses

    def _satellites(self) -> list[str]:
        return [
            self._site.entity_id("assist_satellite", "_assist_satellite", device)
            for device in self._site.devices
        ]

    async def _announce(self) -> None:
        """Say something on each device that can be reached."""
        calls = (
            self._tried(
                self._hass.services.async_call(
                    "assist_satellite",
                    "announce",
                    {"entity_id": entity_id, "message": "Dinner is ready."},
                    blocking=True,
                )
            )
            for entity_id in self._satellites()
        )
        await asyncio.gather(*calls)

    async def _broadcast(self) -> None:
        slots = {"message": {"value": "Dinner is ready."}}
        await self._tried(intent.async_handle(self._hass, DOMAIN, intent.INTENT_BROADCAST, slots))
        await asyncio.sleep(5)

    async def _calendar(self) -> None:
        """Open the page of calendars over a year, of all that have alarms."""
        now = dt_util.utcnow()
        devices = [self._site.devices[number] for number in self._with_alarms]
        ids = [self._site.entity_id("calendar", "_alarms", device) for device in devices]
        data = {"entity_id": ids, "start_date_time": now, "end_date_time": now + timedelta(days=365)}
        await self._hass.services.async_call(
            "calendar", "get_events", data, blocking=True, return_response=True
        )

    async def _ring(self) -> None:
        """Ring on a device of each floor, and stop it after some seconds."""
        gateway, clocks = self._site.gateway, []
        for paired in self._site.devices[self._at_once :: 2][:4]:
            clock = gateway.devices[paired.mac].part(DeviceClock)
            clocks.append(clock)
            start = wall_time(dt_util.utcnow() + timedelta(seconds=2))
            await self._tried(clock.alarms.async_set(start, "Now", "", ""))
        await asyncio.sleep(8)
        for clock in clocks:
            await self._tried(clock.async_stop())

    async def _diagnose(self) -> None:
        await async_get_config_entry_diagnostics(self._hass, self._site.gateway.entry)

    async def _reload(self) -> None:
        await self._hass.config_entries.async_reload(self._site.gateway.entry.entry_id)
        await self._linked()

    async def _reload_meanwhile(self) -> None:
        """Reload while ten speak, whose conversations end by that."""
        talking = asyncio.create_task(self._talk(1))
        await asyncio.sleep(3)
        await self._reload()
        await talking

    async def _linked(self) -> None:
        """Wait until the devices on MQTT are back."""
        gateway = self._site.gateway.entry.runtime_data
        async with asyncio.timeout(120):
            # The objects in the condition have no events to wait for
            while sum(one.state.linked for one in gateway.devices.values()) < self._number // 2:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
