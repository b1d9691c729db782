"""One run of the firmware, from switching on to switching off. Source: the firmware's `application.cc`."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from ..audio.microphone import Microphone
from ..board.crash import DeviceCrashed, Restart
from ..board.profile import ListeningMode
from ..board.tools import board_tools
from ..link.http_client import HttpClient
from ..link.misbehave import Misbehaviour
from ..link.mqtt_transport import MqttTransport
from ..link.transport import Transport, TransportContext
from ..link.websocket_transport import WebSocketTransport
from .assets import Assets
from .checkin import CheckIn, TransportKind
from .clock import StatusClock
from .device_tools import DeviceTools
from .hardware import Hardware
from .mainloop import Job, MainLoop
from .mcp_server import McpServer
from .notifications import Notifications
from .server_messages import ServerMessages
from .state import State, StateMachine
from .upgrade import Upgrader

_WAKE_AUDIO_SECONDS: Final = 2
_TRANSPORTS: Final[dict[TransportKind, type[Transport]]] = {
    "mqtt": MqttTransport,
    "websocket": WebSocketTransport,
}


class Application:
    """The firmware while it runs."""

    def __init__(self, hardware: Hardware) -> None:
        profile, pace = hardware.profile, hardware.pace
        self._hardware = hardware
        self._profile = profile
        self._screen = hardware.screen
        self._speaker = hardware.speaker
        self._record = hardware.recorder.add
        self.states = StateMachine(validated=profile.two_stage_states, changed=self._state_changed)
        self.loop = MainLoop(
            pace,
            state_changed=self._apply_state,
            send_audio=self._send_audio,
            passed=hardware.recorder.pulse,
        )
        self.microphone = Microphone(hardware.voice, pace, self.loop.signal_audio)
        http = HttpClient(pace, hardware.network, profile.http_deadlocks)
        upgrade = Upgrader(hardware, self.loop, http, self).run
        self._assets = Assets(hardware, http, self)
        self._clock = StatusClock(hardware.screen, hardware.recorder, lambda: self.state is State.IDLE)
        self.check_in = CheckIn(
            hardware, http, self._clock, idle=lambda: self.state is State.IDLE, upgrade=upgrade
        )
        tools = DeviceTools(
            hardware,
            self.loop,
            http,
            self,
            upgrade=upgrade,
            vision=lambda: (self.mcp.vision_url, self.mcp.vision_token),
        )
        self.mcp: McpServer = McpServer(
            profile,
            hardware.faults.tools(board_tools(profile)),
            reply=self._queue_mcp_reply,
            queue_call=self._queue_tool_call,
            run=tools.run,
            loops=Misbehaviour.LOOPING_CURSOR in hardware.faults.what,
            program=hardware.program,
        )
        self.notifications = Notifications(hardware, self.loop, http, self, self.spawn)
        self.server_messages = ServerMessages(hardware, self.loop, self.mcp, self.notifications, self)
        self.activated = False
        self.transport: Transport | None = None
        self.mode = profile.mode
        self._plays_popup = False
        self._draining: asyncio.Task[None] | None = None
        self._group = asyncio.TaskGroup()

    @property
    def state(self) -> State:
        """The current state; it may not have taken effect yet."""
        return self.states.state

    async def run(self) -> None:
        """Run until the device restarts. Raises `DeviceCrashed`."""
        crash: DeviceCrashed | None = None
        self.states.request(State.STARTING)
        try:
            async with self._group:
                parts = (self.loop, self.microphone, self._speaker, self._clock)
                if self.mcp.program is not None:
                    self.spawn(self.mcp.program.run())
                for work in (*(part.run() for part in parts), self._activate()):
                    self.spawn(work)
        except* Restart:
            pass
        except* DeviceCrashed as group:
            crash = next(err for err in group.exceptions if isinstance(err, DeviceCrashed))
        finally:
            self.microphone.switch_off()
            self._speaker.flush()
            self.notifications.power_off()
            if self.transport is not None:
                self.transport.power_off()
        if crash is not None:
            raise crash

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that ends with this run at the latest."""
        return self._group.create_task(work)

    # Start

    async def _activate(self) -> None:
        self.states.request(State.ACTIVATING)
        await self._assets.check()
        kind = await self.check_in.run()
        self._record("transport", name=kind)
        self.transport = _TRANSPORTS[kind](self._transport_context())
        await self.transport.start()
        self.loop.schedule(self._activation_done)

    def _transport_context(self) -> TransportContext:
        hardware = self._hardware
        return TransportContext(
            profile=hardware.profile,
            identity=hardware.identity,
            nvs=hardware.nvs,
            pace=hardware.pace,
            network=hardware.network,
            recorder=hardware.recorder,
            faults=hardware.faults,
            listener=self.server_messages,
            charset=lambda: self._assets.charset,
            idle=lambda: self.state is State.IDLE,
            schedule=self.loop.schedule,
            spawn=self.spawn,
        )

    @property
    def wake_words(self) -> list[str]:
        """The words of its pack, in lower case."""
        return self._assets.words

    async def _activation_done(self) -> None:
        self.activated = True
        await self.set_state(State.IDLE)
        self._record("sound", name="success")

    # States: since 2.1.0 a change is visible at once, but takes effect in a later pass of the main loop

    async def set_state(self, state: State) -> None:
        """Request a state; in firmware before 2.1.0 it takes effect at once."""
        if self.states.request(state) and not self._profile.two_stage_states:
            await self._apply_state()

    def _state_changed(self, state: State) -> None:
        self._record("state", state=state.value)
        if self._profile.two_stage_states:
            self.loop.signal_state()

    async def _apply_state(self) -> None:
        match self.state:
            case State.IDLE:
                self._screen.show_status("Standby")
                self._screen.clear_messages()
                self._screen.show_emotion("neutral")
                self.microphone.switch_off()
            case State.CONNECTING:
                self._screen.show_status("Connecting...")
                self._screen.show_emotion("neutral")
                self._screen.show_message("system", "")
            case State.LISTENING:
                self._screen.show_status("Listening...")
                self._screen.show_emotion("neutral")
                await self._begin_listening()
            case State.SPEAKING:
                self._screen.show_status("Speaking...")
                if self.mode is not ListeningMode.REALTIME:
                    self.microphone.switch_off()
                self._speaker.flush()
            case State.NOTIFYING:
                self._screen.show_status("Speaking...")
                self.microphone.switch_off()

    async def _begin_listening(self) -> None:
        if self.microphone.on and not self._plays_popup:
            return
        if self.mode is ListeningMode.AUTO and self._profile.drains_before_listening:
            if self._profile.drain_blocks:
                await self._drained()
            elif not self._speaker.empty:
                if self._draining is None or self._draining.done():
                    self._draining = self.spawn(self._listen_when_drained())
                return
        await self._open_microphone()

    async def _listen_when_drained(self) -> None:
        await self._drained()

        async def listen() -> None:
            if self.state is State.LISTENING and not self.microphone.on:
                await self._open_microphone()

        self.loop.schedule(listen)

    async def _drained(self) -> None:
        await self._hardware.recorder.wait_for(lambda: self._speaker.empty, None)

    async def _open_microphone(self) -> None:
        await self._send("listen", state="start", mode=self.mode.value)
        # Before 2.2.2 this cuts off the end of the answer.
        self._speaker.flush()
        self.microphone.switch_on()
        if self._plays_popup:
            self._plays_popup = False
            self._record("sound", name="popup")

    def network_lost(self) -> None:
        """React to the loss of the Wi-Fi: the conversation ends."""
        if self.transport is None:
            return
        self.loop.schedule(lambda: self.cancel_announcement("the loss of the Wi-Fi"))
        self.transport.lose_connection()
        if self.state in {State.CONNECTING, State.LISTENING, State.SPEAKING}:
            self.loop.schedule(self.transport.close_channel)

    # The user

    async def click(self) -> None:
        """Handle a click of the button: start, interrupt or end a conversation."""
        await self.cancel_announcement("the button")
        match self.state:
            case State.ACTIVATING:
                await self.set_state(State.IDLE)
            case State.IDLE if self.transport is not None:
                await self._start(self._profile.mode)
            case State.SPEAKING:
                await self._abort(None)
            case State.LISTENING if self.transport is not None:
                await self.transport.close_channel()

    async def press(self) -> None:
        """Begin push-to-talk."""
        await self.cancel_announcement("the talk button")
        match self.state:
            case State.ACTIVATING:
                await self.set_state(State.IDLE)
            case State.IDLE if self.transport is not None:
                await self._start(ListeningMode.MANUAL)
            case State.SPEAKING:
                await self._abort(None)
                await self._listen(ListeningMode.MANUAL)

    async def release(self) -> None:
        """End push-to-talk."""
        await self.cancel_announcement("the release of the talk button")
        if self.state is State.LISTENING:
            await self._send("listen", state="stop")
            await self.set_state(State.IDLE)

    async def wake_word(self, word: str, sound: bytes | None) -> None:
        """Handle a word that may wake the device; `sound` is 16 kHz PCM that ends with it."""
        if (heard := self._assets.heard(word)) is None:
            self._record("unheard", word=word)
            return
        word = heard
        if self._profile.board.detects_while_playing:
            await self.cancel_announcement("the wake word")
        match self.state:
            case State.ACTIVATING:
                await self.set_state(State.IDLE)
            case State.IDLE if self.transport is not None:
                if not self.transport.channel_open:
                    await self.set_state(State.CONNECTING)
                    self.loop.schedule(lambda: self._continue_wake_word(word, sound))
                elif self._profile.wakes_with_open_channel:
                    await self._announce_wake_word(word, sound)
            case State.SPEAKING if (
                self.mode is not ListeningMode.REALTIME and self._profile.board.detects_while_playing
            ):
                await self._abort("wake_word_detected")
                if self._profile.wake_word_interrupts:
                    self.microphone.packets.clear()
                    self._plays_popup = True
                    await self._listen(self._profile.mode)

    async def type_text(self, text: str) -> None:
        """Send a typed question as some clients do: as a wake word, without opening the microphone."""
        await self.set_state(State.CONNECTING)

        async def go_on() -> None:
            if await self._open_channel():
                await self._send("listen", state="detect", text=text)
                await self.set_state(State.IDLE)

        self.loop.schedule(go_on)

    async def _continue_wake_word(self, word: str, sound: bytes | None) -> None:
        if await self._open_channel():
            await self._announce_wake_word(word, sound)

    async def _announce_wake_word(self, word: str, sound: bytes | None) -> None:
        if self._profile.board.sends_wake_audio and self.transport is not None:
            heard = bytes(_WAKE_AUDIO_SECONDS * 2 * 16000) if sound is None else sound
            for packet in self.microphone.wake_audio(heard):
                await self.transport.send_audio(packet)
            await self._send("listen", state="detect", text=word)
        else:
            self._plays_popup = True
        await self._listen(self._profile.mode)

    async def _start(self, mode: ListeningMode) -> None:
        if self.transport is not None and self.transport.channel_open:
            await self._listen(mode)
            return
        await self.set_state(State.CONNECTING)

        async def go_on() -> None:
            if await self._open_channel():
                await self._listen(mode)

        self.loop.schedule(go_on)

    async def _open_channel(self) -> bool:
        if self.state is not State.CONNECTING or self.transport is None:
            return False
        self.server_messages.last_error = ""
        return self.transport.channel_open or await self.transport.open_channel()

    async def _listen(self, mode: ListeningMode) -> None:
        self.mode = mode
        await self.set_state(State.LISTENING)

    async def _abort(self, reason: str | None) -> None:
        await self._send("abort", **({} if reason is None else {"reason": reason}))

    # Sending: session_id first, then type; values are not escaped

    async def _send(self, kind: str, **fields: str) -> None:
        members = "".join(f',"{name}":"{value}"' for name, value in fields.items())
        await self.send_text(f'{{"session_id":"{self._session_id}","type":"{kind}"{members}}}')

    async def send_text(self, text: str) -> None:
        """Send a text unchanged."""
        if self.transport is not None:
            await self.transport.send_text(text)

    @property
    def _session_id(self) -> str:
        return "" if self.transport is None else self.transport.session_id

    async def _send_audio(self) -> None:
        while self.microphone.packets and self.transport is not None:
            packet = self.microphone.packets.popleft()
            try:
                changed = self._hardware.faults.microphone_packet(packet)
            except ConnectionResetError:
                self.transport.lose_connection()
                return
            if changed is not None:
                await self.transport.send_audio(changed)

    # MCP and restarts

    def _queue_mcp_reply(self, payload: str) -> None:
        self.loop.schedule(
            lambda: self.send_text(f'{{"session_id":"{self._session_id}","type":"mcp","payload":{payload}}}')
        )

    def _queue_tool_call(self, call: Job) -> None:
        if self._profile.tools_on_main_task:
            self.loop.schedule(call)
        else:
            self.spawn(call())

    def close_microphone(self) -> None:
        """Stop recording, and drop what was recorded."""
        self.microphone.switch_off()
        self.microphone.packets.clear()

    async def cancel_announcement(self, reason: str) -> None:
        """End the announcement that is played, if one is."""
        await self.notifications.cancel(reason)

    async def end_conversation(self) -> None:
        """Close the audio channel, if it is open."""
        if self.transport is not None:
            await self.transport.close_channel()

    async def reboot(self) -> None:
        """Close the channel and restart a second later. Raises `Restart`."""
        await self.cancel_announcement("a restart")
        if self.transport is not None:
            await self.transport.close_channel()
            if self._profile.leaves_before_restart:
                self.transport.shut_down()
                self.transport = None
        await self._hardware.pace.wait(1)
        raise Restart
