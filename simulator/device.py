"""The simulated device, for its user, the network and an observer."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
import uuid

from .application.announcement import Announcement
from .application.application import Application
from .application.checkin import Outcome
from .application.hardware import Hardware
from .application.mainloop import Job
from .application.mcp_server import ProgramFactory
from .application.state import State
from .audio.microphone import Voice
from .audio.sound import read_wav
from .audio.speaker import Speaker
from .board.crash import DeviceCrashed
from .board.nvs import Nvs
from .board.pace import Pace
from .board.profile import Profile, get_profile
from .board.recorder import Event, Recorder, Screen
from .board.system_info import Identity
from .board.tools import Values, first_values
from .firmware.assets import AssetsPartition
from .firmware.partitions import AppPartitions
from .link.impairment import UdpImpairment
from .link.misbehave import FaultInjector, Misbehaviour
from .link.network import Network

_DEFAULT_MAC: Final = "24:6f:28:aa:bb:01"


class SimulatedDevice:
    """A XiaoZhi, faithful to the stock firmware.

    Everything that waits raises `TimeoutError`, and `DeviceCrashed` when the firmware has aborted. Use it as
    `async with SimulatedDevice(...) as device:`, which switches it off at the end.
    """

    def __init__(  # noqa: PLR0913 - all but the first two are named
        self,
        profile: Profile | None = None,
        ota_url: str = "",
        *,
        mac: str = _DEFAULT_MAC,
        client_id: str | None = None,
        nvs: Nvs | None = None,
        assets: bytes = b"",
        pace: Pace | None = None,
        misbehaviours: tuple[Misbehaviour, ...] = (),
        noise: int = 0,
        echo: float = 0.0,
        impairment: UdpImpairment | None = None,
        program: ProgramFactory | None = None,
    ) -> None:
        """Create a device that is switched off.

        `nvs` and `assets` are the flash of an earlier device. Without `client_id` it has the one from the
        flash, or a new one. `noise` and `echo` are what else its microphone hears (see `Voice`); `impairment`
        applies to its audio over UDP. `program` makes the MCP server of other firmware than the stock one.
        """
        self._recorder = Recorder()
        profile = profile or get_profile()
        if Misbehaviour.BROKEN_CHECK_IN in misbehaviours:
            profile = replace(profile, ssid='The "Home"')
        pace = pace or Pace()
        nvs = nvs or Nvs()
        client_id = client_id or nvs.get_string("board", "uuid") or str(uuid.uuid4())
        nvs.set("board", "uuid", client_id)
        identity = Identity(mac=mac, client_id=client_id)
        voice = Voice(
            noise, echo, lambda: self._recorder.add("said"), lambda: self._recorder.add("speaking begins")
        )
        self._hardware = Hardware(
            profile=profile,
            partitions=AppPartitions(profile.version),
            assets=AssetsPartition(assets),
            identity=identity,
            ota_url=ota_url,
            pace=pace,
            nvs=nvs,
            values=first_values(profile, identity.ip),
            recorder=self._recorder,
            screen=Screen(self._recorder),
            voice=voice,
            speaker=Speaker(
                profile.board.speaker_rate, profile.decode_queue, pace, self._recorder.pulse, voice.play
            ),
            faults=FaultInjector(*misbehaviours),
            network=Network(impairment or UdpImpairment()),
            program=program,
        )
        self.nvs = self._hardware.nvs
        """Its flash."""
        self.screen = self._hardware.screen
        """Its screen."""
        self.speaker = self._hardware.speaker
        """Its loudspeaker, with played and lost packets."""
        self.tool_seconds = self._hardware.tool_seconds
        """How long calls of a tool take, by its name."""
        self.misbehaviours = self._hardware.faults.what
        """Its faults; may be changed at any time."""
        self.announcements = self._hardware.announcements
        """Every `notify` that it has received, and what became of each."""
        self.transcript = self._recorder.events
        """Everything that has happened, in order."""
        self._application: Application | None = None
        self._life: asyncio.Task[None] | None = None
        self._crash: DeviceCrashed | None = None

    async def __aenter__(self) -> Self:
        """Return the device; it is still switched off."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Switch it off."""
        await self.power_off()

    # Power

    async def boot(self, timeout: float = 60) -> None:  # noqa: ASYNC109
        """Switch it on; returns when it is idle, asks to be paired or has failed to check in."""
        if self._life is not None and not self._life.done():
            raise RuntimeError("the device is on")
        self._crash = None
        self._life = asyncio.create_task(self._live(), name="simulated device")
        await self.wait_for(self._settled, timeout)

    async def power_off(self) -> None:
        """Switch it off: its connections end without a goodbye."""
        try:
            await self._end_life()
        finally:
            self._hardware.network.close()

    async def _end_life(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            life.cancel()
            await asyncio.wait([life])
            if not life.cancelled() and (err := life.exception()) is not None:
                raise err
        self._application = None

    async def lose_power(self) -> None:
        """Cut its power: to the server, its connections seem to be open until the next `power_off`."""
        network = self._hardware.network
        network.cut()
        await self._end_life()
        network.forget()

    async def factory_reset(self) -> None:
        """Switch it off and erase its flash: it will have another Client-Id and no settings."""
        await self.power_off()
        hardware = self._hardware
        hardware.nvs.erase()
        identity = Identity(mac=hardware.identity.mac, client_id=str(uuid.uuid4()))
        hardware.nvs.set("board", "uuid", identity.client_id)
        hardware.identity = identity
        hardware.values = first_values(hardware.profile, identity.ip)

    async def _live(self) -> None:
        """Run the firmware, again after every restart."""
        try:
            while True:
                self._hardware.start_firmware()
                application = Application(self._hardware)
                self._application = application
                await application.run()
                self._recorder.add("restart")
        except DeviceCrashed as crash:
            self._crash = crash
            self._application = None
            self._recorder.add("crash", reason=str(crash))
        finally:
            self._recorder.pulse()

    def _settled(self) -> bool:
        application = self._application
        if application is None:
            return False
        return application.activated or application.check_in.outcome in {Outcome.ASKED, Outcome.FAILED}

    # The network

    def cut_network(self) -> None:
        """Lose all packets in both directions, unnoticed by the device; TCP delivers its data late."""
        self._hardware.network.cut()

    def restore_network(self) -> None:
        """Deliver packets again."""
        self._hardware.network.restore()

    def lose_network(self) -> None:
        """Lose the Wi-Fi: like `cut_network`, but the device notices."""
        self._hardware.network.cut()
        self._on.network_lost()

    # For the user

    async def wake(self, word: str = "hi xiaozhi", sound: bytes | None = None) -> None:
        """Say the wake word; returns when the device has heard it and connected, or failed to.

        `sound` is 16 kHz mono PCM of 16 bits that ends with the word; two seconds of silence by default.
        """
        await self._do(lambda: self._on.wake_word(word, sound))

    async def click(self) -> None:
        """Click the button; returns when the device has acted on it."""
        await self._do(self._on.click)

    async def press(self) -> None:
        """Press the talk button and hold it."""
        await self._do(self._on.press)

    async def release(self) -> None:
        """Release the talk button."""
        await self._do(self._on.release)

    async def leave(self) -> None:
        """End the conversation in any state, as boards do by a gesture or a menu."""
        await self._do(self._on.end_conversation)

    async def type(self, text: str) -> None:
        """Send a typed question, which stock firmware cannot; returns when it is sent."""
        await self._do(lambda: self._on.type_text(text))

    def say(self, sound: bytes | Path) -> None:
        """Speak into the microphone: 16 kHz mono PCM of 16 bits, or a WAV file of any rate.

        It is said as soon as the device listens.
        """
        self._hardware.voice.say(sound if isinstance(sound, bytes) else read_wav(sound))

    def play_packets(self, periods: list[list[tuple[float, bytes]]]) -> None:
        """Send these Opus packets in place of what the microphone hears, each time that it is on.

        Each has the seconds since the microphone went on.
        """
        self._hardware.voice.packets.extend(periods)

    def hear(self, room: Callable[[int], bytes] | None) -> None:
        """Let the microphone hear live sound, besides what is said; None ends that.

        `room` returns so many bytes of 16 kHz mono PCM of 16 bits; it is asked while the device listens.
        """
        self._hardware.voice.room = room

    async def wait_said(self, timeout: float = 60) -> None:  # noqa: ASYNC109
        """Wait until all has been said."""
        await self.wait_for(self._hardware.voice.spoken.is_set, timeout)

    def notify(self, method: str, **params: Any) -> None:
        """Send an MCP notification, which stock firmware never does. WebSocket needs an open channel."""
        self._on.mcp.notify(method, params)

    @property
    def _on(self) -> Application:
        if self._crash is not None:
            raise self._crash
        if self._application is None:
            raise RuntimeError("the device is off")
        return self._application

    async def _do(self, job: Job) -> None:
        """Run a job on the main task, and wait for everything that follows from it."""
        loop = self._on.loop
        loop.schedule(job)
        await self.wait_for(lambda: not loop.busy)

    # For an observer

    async def wait_for(self, condition: Callable[[], bool], timeout: float | None = 60) -> None:  # noqa: ASYNC109
        """Wait until `condition` holds; it is evaluated after every event of the device."""

        def met() -> bool:
            if self._crash is not None:
                raise self._crash
            if self._life is not None and self._life.done():
                self._life.result()
            return condition()

        await self._recorder.wait_for(met, timeout)

    async def wait_state(self, state: State, timeout: float = 60) -> None:  # noqa: ASYNC109
        """Wait until the device is in `state`."""
        await self.wait_for(lambda: self.state is state, timeout)

    async def wait_paired(self, timeout: float = 60) -> None:  # noqa: ASYNC109
        """Wait until the server has accepted the device and sent the settings of its link."""
        await self.wait_for(lambda: self._application is not None and self._application.activated, timeout)

    async def wait_played(self, timeout: float = 60) -> None:  # noqa: ASYNC109
        """Wait until nothing is left to play."""
        await self.wait_for(lambda: self.speaker.empty, timeout)

    async def wait_announced(self, number: int = 1, timeout: float = 60) -> Announcement:  # noqa: ASYNC109
        """Wait until the `notify` of that number has been played, or has ended otherwise; return it."""
        announced = self.announcements
        await self.wait_for(lambda: len(announced) >= number and announced[number - 1].over, timeout)
        return announced[number - 1]

    @property
    def state(self) -> State:
        """Its state; unknown while it is off."""
        return State.UNKNOWN if self._application is None else self._application.state

    @property
    def wake_words(self) -> list[str]:
        """The words that wake it; none while it is off, and without a pack, with which any word does."""
        return [] if self._application is None else self._application.wake_words

    @property
    def pairing_code(self) -> str | None:
        """The pairing code that it shows and speaks."""
        return None if self._application is None else self._application.check_in.pairing_code

    @property
    def check_in_error(self) -> str:
        """Why the last check-in failed; empty if it did not."""
        check_in = None if self._application is None else self._application.check_in
        return check_in.error if check_in is not None and check_in.outcome is Outcome.FAILED else ""

    @property
    def last_error(self) -> str:
        """The last error of its connection, such as `SERVER_TIMEOUT`."""
        return "" if self._application is None else self._application.server_messages.last_error

    @property
    def link(self) -> str:
        """`mqtt` or `websocket`, as the server chose at check-in; empty before."""
        transport = None if self._application is None else self._application.transport
        return "" if transport is None else transport.name

    @property
    def connected(self) -> bool:
        """Whether it has a connection to the server, as far as it knows."""
        transport = None if self._application is None else self._application.transport
        return transport is not None and transport.connected

    @property
    def channel_open(self) -> bool:
        """Whether it considers its audio channel open."""
        transport = None if self._application is None else self._application.transport
        return transport is not None and transport.channel_open

    @property
    def listening(self) -> bool:
        """Whether its microphone is on."""
        return self._application is not None and self._application.microphone.on

    @property
    def crash(self) -> str | None:
        """Why the firmware aborted."""
        return None if self._crash is None else str(self._crash)

    @property
    def mac(self) -> str:
        """Its MAC address, lower case with colons."""
        return self._hardware.identity.mac

    @property
    def client_id(self) -> str:
        """Its UUID."""
        return self._hardware.identity.client_id

    @property
    def profile(self) -> Profile:
        """Board and firmware."""
        return self._hardware.profile

    @property
    def next_version(self) -> str:
        """The firmware's version after the next start.

        It differs from that of `profile` after an installation, and until a new firmware is confirmed.
        """
        return self._hardware.partitions.next_version

    @property
    def assets(self) -> bytes:
        """Its `assets` partition: without a pack, any word wakes the device."""
        return bytes(self._hardware.assets.content)

    @property
    def values(self) -> Values:
        """The values of its tools; a test may change them."""
        return self._hardware.values

    @property
    def played(self) -> bytes:
        """The PCM that it has played: mono, 16 bits, `speaker.rate` Hz."""
        return self.speaker.played_pcm

    @property
    def played_seconds(self) -> float:
        """Duration of `played`."""
        return self.speaker.played_seconds

    def seconds_at(self, time: float) -> float:
        """Convert a time of the event loop to the time scale of the transcript."""
        return time - self._recorder.started

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` for every event as it happens."""
        self._recorder.listeners.append(listener)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of the events of one kind."""
        return self._recorder.of(kind)
