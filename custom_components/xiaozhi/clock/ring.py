"""The ring of a timer or an alarm, as loud and as long as the device can."""

from array import array
import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
import logging
from typing import Final

from homeassistant.components import persistent_notification
from homeassistant.core import CALLBACK_TYPE, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util.ulid import ulid_now

from ..announcements.announcement_errors import (
    AnnouncementInterruptedError,
    AnnouncementRefusedError,
    AnnouncementStoppedError,
    SoundError,
)
from ..announcements.announcement_speech import text_utterance
from ..announcements.announcer import Announcer
from ..announcements.delivery import Delivery
from ..announcements.utterance import Utterance
from ..const import DOMAIN
from ..device.device import Device
from ..device.state import STATUS_READ
from ..protocol.audio.timer_sound import TIMER_SOUND_SECONDS, timer_sound
from ..protocol.clock import loop_time
from ..protocol.conversation.conversation import Conversation
from ..protocol.faces import Face
from ..protocol.messages import DOWNLINK
from ..protocol.transport.link import LinkKind
from ..protocol.untrusted_text import plain_name
from ..texts.translated import async_text
from ..timeouts import TimerTimeouts
from ..tools.stock_tools import STATUS_TOOL
from ..voice.pipelines import chosen_pipeline, spoken_language

_LOGGER = logging.getLogger(__name__)

# What may let a device ring that could not. A ring that was refused is tried again when the status is read.
_FOLLOWED: Final = ("linked", "link", "firmware", "conversation", STATUS_READ)
# Loudness of an alarm from its beginning on, and seconds for which each lasts.
_STEPS: Final = (0.25, 0.5, 0.75, 1.0)
_STEP_SECONDS: Final = 15
# Of a reminder, which is said several times.
_REPETITIONS: Final = 3
_PAUSE_SECONDS: Final = 12


class RingEnd(StrEnum):
    """How a ring has ended."""

    STOPPED = "stopped"
    """By the user."""
    SAID = "said"
    """It was said to a user in a conversation."""
    OVER = "over"
    """It has rung long enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A timer or alarm that is to ring."""

    is_alarm: bool
    """Whether it is an alarm or a reminder, and at the volume of announcements."""
    text: str
    """On the screen, and said in a conversation."""
    speaks: bool = False
    """Whether the text is said also while the device is idle, instead of ringing on and on."""
    on_start: Callable[[], None] = lambda: None
    """Called whenever the device begins to ring."""

    @property
    def wakes(self) -> bool:
        """Whether it rings long, and louder and louder, up to the volume of announcements."""
        return self.is_alarm and not self.speaks


@callback
def can_ring_idle(device: Device) -> bool:
    """Whether something can ring while a device is idle: an idle one on WebSocket cannot be reached."""
    return device.state.link is not LinkKind.WEBSOCKET or device.settings.loudspeaker is not None


class Bell:
    """Rings on one device, for one thing at a time."""

    def __init__(self, device: Device, announcer: Announcer) -> None:
        self._hass = device.hass
        self._device = device
        self._announcer = announcer
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()

    @callback
    def start(self) -> CALLBACK_TYPE:
        """Follow whether the device can ring. Returns a function that ends this."""
        return self._device.record.listen(_FOLLOWED, self._changed.set)

    async def ring(self, ring: Ring, deadline: float) -> RingEnd:
        """Ring, as soon as the device can. Raises `TimeoutError` if it cannot until `deadline`."""
        async with self._turn:
            try:
                return await self._ring(ring, deadline)
            finally:
                # What rings no more would stay on the screen until somebody wakes the device.
                if self._device.conversation is None:
                    with suppress(HomeAssistantError):
                        await self._device.commands.clear_screen()

    async def _ring(self, ring: Ring, deadline: float) -> RingEnd:
        while True:
            self._changed.clear()
            if (delivery := self._announcer.delivery) is not Delivery.NONE:
                try:
                    if delivery is not Delivery.TEXT:
                        with suppress(AnnouncementRefusedError):
                            return await self._sound(ring)
                    return await self._show(ring)
                except HomeAssistantError as err:
                    _LOGGER.debug("%s did not ring: %s", self._device.name, err)
            # Nothing tells when a media player is there that speaks in its place.
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(deadline, loop_time() + TimerTimeouts.look)):
                    await self._changed.wait()
            if loop_time() >= deadline:
                raise TimeoutError

    async def _sound(self, ring: Ring) -> RingEnd:
        """Ring with sound. Raises as `Announcer.say`."""
        woken = asyncio.Event()
        in_conversation = False
        with ExitStack() as refusal:

            @callback
            def started() -> None:
                nonlocal in_conversation
                ring.on_start()
                if self._announcer.delivery is not Delivery.CONVERSATION:
                    refusal.callback(self._refuse_conversations(woken))
                else:
                    in_conversation = True

            utterance = Utterance(
                text=ring.text,
                speech=partial(self._ring_sound, ring),
                text_begins=TIMER_SOUND_SECONDS,
                needs_sound=True,
                on_start=started,
                at_announcement_volume=ring.is_alarm,
            )
            try:
                await self._announcer.say(utterance)
            except AnnouncementInterruptedError:
                # Waking the device has ended the ring; the conversation that follows is not meant.
                with suppress(TimeoutError):
                    async with asyncio.timeout(TimerTimeouts.waking):
                        await woken.wait()
                return RingEnd.STOPPED
            except AnnouncementStoppedError:
                # By the media player.
                return RingEnd.STOPPED
            except SoundError as err:
                # The bell was played, and the text is on the screen.
                _LOGGER.warning("What rings could not be spoken: %s", err)
        return RingEnd.SAID if in_conversation else RingEnd.OVER

    def _refuse_conversations(self, woken: asyncio.Event) -> CALLBACK_TYPE:
        """Notify `woken` of conversations, and hold none. Returns a function that ends this."""

        def refuse(_conversation: Conversation) -> bool:
            woken.set()
            return False

        return self._device.conversations.hold(refuse)

    async def _ring_sound(self, ring: Ring) -> AsyncGenerator[bytes]:
        """In a conversation, ring once and say the text; otherwise ring on, or say it several times."""
        strikes = await self._hass.async_add_executor_job(_strikes, ring.wakes)
        in_conversation = self._announcer.delivery is Delivery.CONVERSATION
        if in_conversation or ring.speaks:
            spoken = text_utterance(self._hass, ring.text, chosen_pipeline(self._hass, self._device))
            for number in range(1 if in_conversation else _REPETITIONS):
                # A second at a time: each piece is encoded in one go.
                for _ in range(_PAUSE_SECONDS if number else 0):
                    yield bytes(2 * DOWNLINK.sample_rate)
                yield strikes[-1]
                async with aclosing(spoken.speech()) as speech:
                    async for pcm in speech:
                        yield pcm
            return
        seconds = TimerTimeouts.alarm if ring.wakes else TimerTimeouts.ring
        for number in range(round(seconds / TIMER_SOUND_SECONDS)):
            step = int(number * TIMER_SOUND_SECONDS / _STEP_SECONDS)
            yield strikes[min(step, len(strikes) - 1)]

    async def _show(self, ring: Ring) -> RingEnd:
        """Show it with the sound of an alert, repeatedly, until the user wakes the device."""
        status_key = "alarm" if ring.is_alarm else "timer"
        status = await async_text(self._hass, status_key, spoken_language(self._hass, self._device))
        seconds = TimerTimeouts.alarm if ring.wakes else TimerTimeouts.show
        woken = asyncio.Event()
        with ExitStack() as refusal:
            refusal.callback(self._refuse_conversations(woken))
            for number in range(round(seconds / TimerTimeouts.between_alerts)):
                await self._device.commands.show(status=status, message=ring.text, emotion=Face.HAPPY)
                if number == 0:
                    if STATUS_TOOL in self._device.tools:
                        # Nothing else shows that the device has not lost its power.
                        await self._device.commands.call_tool(STATUS_TOOL)
                    ring.on_start()
                with suppress(TimeoutError):
                    async with asyncio.timeout(TimerTimeouts.between_alerts):
                        await woken.wait()
                        return RingEnd.STOPPED
        return RingEnd.OVER


async def async_report(device: Device, key: str, what: Iterable[str]) -> None:
    """Notify the owner of what nobody has heard, described in Markdown, with texts of a key."""
    hass = device.hass
    named = {key.partition("_")[0]: ", ".join(what)}
    persistent_notification.async_create(
        hass,
        await async_text(hass, key, name=plain_name(device.name), **named),
        title=await async_text(hass, f"{key}_title"),
        notification_id=f"{DOMAIN}_{key}_{device.mac}_{ulid_now()}",
    )


def _strikes(rises: bool) -> list[bytes]:
    """Return the sound of the bell, or the same at each step of loudness."""
    strike = timer_sound(DOWNLINK.sample_rate)
    if not rises:
        return [strike]
    samples = array("h", strike)
    return [array("h", (round(sample * step) for sample in samples)).tobytes() for step in _STEPS]
