"""The whole demo running: speech servers, Home Assistant and its paired devices."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from simulator import Pace, Profile, SimulatedDevice, State, get_profile
from simulator.audio.sound import write_wav
from simulator.conversation import Conversation, converse

from . import house
from .abilities import Owner, put_firmware, set_up_vision
from .client import Client
from .cloud import CloudAssistant, cloud_assistant
from .engines import SPEECH_LOGS, Speech, obstacle, small_speech, speech
from .errors import naming_fault
from .hass import LOG, home_assistant
from .processes import HOST, Child, free_port
from .talk import talk_page
from .unasked import Listener, audible, put_music
from .wake_words import put_pack

_CONFIGURATION: Final = "demo-config"
ANSWER: Final = "answer.wav"
"""File with what was answered last, in the folder of the demo."""
LOGS: Final = (*SPEECH_LOGS, f"{_CONFIGURATION}/{LOG}")
"""Files with what each process wrote, in the folder of the demo."""

type Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A device of the demo."""

    name: str
    room: house.Room
    mac: str
    wake_word: str
    """Only this device has it: of two that hear the same word within two seconds, only the first answers."""
    link: str = "mqtt"
    profile: Profile


DEVICES: Final = {
    "mqtt": _Box(
        name="MQTT box",
        room=house.Room.BEDROOM,
        mac="02:00:00:c0:ff:01",
        wake_word="hi xiaozhi",
        profile=get_profile("rover"),
    ),
    "websocket": _Box(
        name="WebSocket box",
        room=house.Room.LIVING_ROOM,
        mac="02:00:00:c0:ff:02",
        wake_word="hi esp",
        link="websocket",
        profile=get_profile(),
    ),
    "announcer": _Box(
        name="Announcer",
        room=house.Room.HALL,
        mac="02:00:00:c0:ff:04",
        wake_word="hi jason",
        profile=get_profile(version="2.5.0"),
    ),
}
"""The devices; the gateway offers MQTT, and each device is then given its link.

None is in the kitchen: for a command about its own room, a device gets a sound as the answer, not speech.
"""
LINKED: Final = ("mqtt", "websocket")
"""A device on each link, with firmware that can speak only in a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Words of a conversation, and its result."""

    said: str
    light: str
    """State of the kitchen light afterwards."""
    account: Conversation

    @property
    def heard(self) -> str:
        """Home Assistant's transcript of all of it; empty for none."""
        return " ".join(self.account.heard)

    @property
    def answer(self) -> str:
        """Words of the answer."""
        return " ".join(self.account.answers)

    @property
    def audible(self) -> bool:
        """Whether there was something to hear."""
        return audible(self.account.played)

    def as_json(self) -> dict[str, Any]:
        """Return the result for `--check`."""
        texts = {"said": self.said, "heard": self.heard, "light": self.light, "answer": self.answer}
        times = ("played_seconds", "reply_ms", "first_audio_ms", "late_percent")
        return texts | {key: getattr(self.account, key) for key in times}


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """The running demo."""

    url: str
    folder: Path
    client: Client
    owners: dict[str, Owner]
    """The users of those of `DEVICES` that were asked for."""
    children: list[Child]
    speech: Speech
    cloud: CloudAssistant | None = None
    """An assistant in a simulated cloud, if it was asked for."""

    async def say(self, *texts: str, link: str) -> Said:
        """Wake a device, say a text to it, and each other one after an answer, in one conversation.

        Stays until the last answer has been played; the answers go into `ANSWER`. Raises `DemoError` when
        there is no conversation.
        """
        sounds = [await self.speech.person(text) for text in texts]
        with naming_fault(f"the conversation with the {DEVICES[link].name} failed"):
            # On its page, its owner may have chosen another one.
            device = self.devices[link]
            word = (device.wake_words or [self.owners[link].wake_word])[0]
            if device.state is State.NOTIFYING:
                # What rings is ended first.
                await self.owners[link].start_conversation(partial(device.wake, word))
            account = await converse(device, *sounds, word=word)
        await asyncio.to_thread(write_wav, self.folder / ANSWER, account.played, account.sample_rate)
        return Said(said=" ".join(texts), light=await self.client.state(house.LAMP), account=account)

    @property
    def listener(self) -> Listener:
        """The user of the devices when Home Assistant speaks to them unasked."""
        announcer, older = self.owners["announcer"], self.owners["mqtt"]
        return Listener(client=self.client, announcer=announcer, older=older, speak=self.speech.person)

    @property
    def devices(self) -> dict[str, SimulatedDevice]:
        """The devices themselves."""
        return {box: owner.device for box, owner in self.owners.items()}

    def talk_page(self, port: int) -> AbstractAsyncContextManager[str]:
        """Serve the page to talk to the devices; the block gets its address."""
        small, person = self.speech.small, self.speech.person
        return talk_page(self.owners, port, home=self.url, small=small, person=person)

    async def wait_for_failure(self) -> None:
        """Wait until a process has ended that should keep running; then raise `DemoError`."""
        waiting = {asyncio.create_task(child.wait()): child for child in self.children}
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        raise waiting[done.pop()].failure("has ended")


@asynccontextmanager
async def demo(
    folder: Path,
    tell: Tell,
    *preferred_ports: int,
    pace: Pace | None = None,
    boxes: Iterable[str] = tuple(DEVICES),
    with_cloud: bool = False,
    small: bool = False,
) -> AsyncGenerator[Demo]:
    """Start everything, with all files in `folder`; `tell` is called with progress messages.

    `preferred_ports` are those tried first for the web page; `pace` is that of the devices, `boxes` which of
    `DEVICES` there are, `with_cloud` whether there is an access point of a simulated cloud, `small` whether
    PocketSphinx and espeak-ng are used also where Whisper and Piper run.
    Raises `DemoError`.
    """
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        if not small and (reason := obstacle()):
            tell(f"Whisper and Piper do not run here: {reason}.")
            small = True
        tell(f"Starting {'PocketSphinx and espeak-ng' if small else 'Whisper and Piper'} ...")
        engines = await enter(small_speech(folder) if small else speech(folder, prompt=house.NAMES))
        tell("Starting Home Assistant ...")
        port = free_port(*preferred_ports)
        configuration = folder / _CONFIGURATION
        hass, client = await enter(home_assistant(configuration, port))
        await asyncio.to_thread(put_firmware, configuration, DEVICES["mqtt"].profile.board)
        await asyncio.to_thread(put_music, configuration)
        packs = {
            key: await asyncio.to_thread(put_pack, configuration, box.profile, box.wake_word)
            for key, box in DEVICES.items()
        }
        tell("Setting up rooms, speech and the XiaoZhi gateway ...")
        await house.furnish(client)
        await house.set_up_speech(client, engines)
        await set_up_vision(client)
        await house.check_assistant(client)
        await house.set_up_gateway(client)
        url = f"http://{HOST}:{port}"
        # Where a media player fetches what it is to say.
        await client.command("config/core/update", internal_url=url)
        tell("Pairing the simulated devices ...")
        owners: dict[str, Owner] = {}
        for key in boxes:
            box = DEVICES[key]
            device = SimulatedDevice(
                box.profile, f"{url}/api/xiaozhi/ota", mac=box.mac, assets=packs[key], pace=pace
            )
            await enter(device)
            owners[key] = Owner(client=client, device=device, name=box.name, wake_word=box.wake_word)
        # At the same time: each waits for seconds between its check-ins, and the cloud for its connection.
        pairing = [_pair(owner, DEVICES[key]) for key, owner in owners.items()]
        cloud = None
        if with_cloud:
            tell("Adding an access point of a simulated cloud ...")
            cloud, *_ = await asyncio.gather(enter(cloud_assistant(client)), *pairing)
        else:
            await asyncio.gather(*pairing)
        yield Demo(
            url=url,
            folder=folder,
            client=client,
            owners=owners,
            children=[engines.hearing.child, engines.speaking.child, hass],
            speech=engines,
            cloud=cloud,
        )


async def _pair(owner: Owner, box: _Box) -> None:
    await house.pair(owner.client, owner.device, box.name, box.room)
    if owner.device.link != box.link:
        await house.change_link(owner.client, owner.device, box.link)
