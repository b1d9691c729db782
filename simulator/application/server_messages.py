"""Handles messages and audio from the server.

Source: the callbacks in `Application::InitializeProtocol` of the firmware's `application.cc`.
"""

from ..board.cjson import JsonObject, find
from ..board.profile import ListeningMode
from ..link.misbehave import Misbehaviour
from ..link.transport import AudioPacket
from .control import Control
from .hardware import Hardware
from .mainloop import MainLoop
from .mcp_server import McpServer
from .notifications import Notifications
from .state import State


class ServerMessages:
    """Handles messages, audio and failures on the network task; schedules effects on the main task."""

    def __init__(
        self,
        hardware: Hardware,
        loop: MainLoop,
        mcp: McpServer,
        notifications: Notifications,
        control: Control,
    ) -> None:
        """`mcp` answers the requests of the server; `notifications` plays what it wants to announce."""
        self.last_error = ""
        """The last failure of the transport, such as `SERVER_TIMEOUT`."""
        self._profile = hardware.profile
        self._screen = hardware.screen
        self._speaker = hardware.speaker
        self._record = hardware.recorder.add
        self._faults = hardware.faults
        self._loop = loop
        self._mcp = mcp
        self._notifications = notifications
        self._control = control

    def message_received(self, message: JsonObject) -> None:
        """Act on a message; unknown ones are ignored."""
        self._record("received", message=message)
        text, emotion = find(message, "text"), find(message, "emotion")
        match find(message, "type"):
            case "tts":
                self._speech(find(message, "state"), text)
            case "stt" if isinstance(text, str):
                self._loop.schedule_call(lambda: self._screen.show_message("user", text))
            case "llm" if isinstance(emotion, str):
                self._loop.schedule_call(lambda: self._screen.show_emotion(emotion))
            case "mcp" if isinstance(payload := find(message, "payload"), dict):
                if self._profile.has_tools and Misbehaviour.NEVER_ANSWER_MCP not in self._faults.what:
                    self._mcp.handle(payload)
            case "system" if find(message, "command") == "reboot":
                self._loop.schedule(self._control.reboot)
            case "alert":
                self._alert_received(message)
            case "notify" if self._profile.has_notify:
                self._notifications.received(message)

    def _speech(self, state: object, text: object) -> None:
        match state:
            case "start":
                self._loop.schedule(self._begin_speaking)
            case "stop":
                self._loop.schedule(self._end_speaking)
            case "sentence_start" if isinstance(text, str):
                self._loop.schedule_call(lambda: self._screen.show_message("assistant", text))

    async def _begin_speaking(self) -> None:
        spoke = self._control.state is State.SPEAKING
        await self._control.set_state(State.SPEAKING)
        if self._control.state is State.SPEAKING and not spoke:
            self._speaker.begin_answer()

    async def _end_speaking(self) -> None:
        if self._control.state is State.SPEAKING:
            manual = self._control.mode is ListeningMode.MANUAL
            await self._control.set_state(State.IDLE if manual else State.LISTENING)

    def _alert_received(self, message: JsonObject) -> None:
        texts = [find(message, key) for key in ("status", "message", "emotion")]
        if all(isinstance(text, str) for text in texts):
            # Not scheduled: the firmware does this on the network task.
            self._alert(*texts)
            if self._profile.alert_clears_queue:
                self._speaker.flush()
            self._speaker.alert()

    def _alert(self, status: str, text: str, emotion: str) -> None:
        self._screen.show_alert(status, text, emotion)
        self._record("sound", name="vibration")

    def audio_received(self, packet: AudioPacket) -> None:
        """Queue a packet; in which states one is taken differs between versions."""
        state, transport = self._control.state, self._control.transport
        anywhere = self._profile.plays_outside_answers and state is not State.LISTENING
        if anywhere or state is State.SPEAKING:
            self._speaker.push(
                packet.payload,
                packet.sample_rate,
                packet.frame_duration,
                on_network_task=transport is not None and transport.name == "websocket",
            )
        else:
            self._speaker.ignored += 1

    def channel_closed(self) -> None:
        """Go idle; queued audio is still played."""
        self._record("channel_closed")
        self._loop.schedule(lambda: self._control.set_state(State.IDLE))

    def failed(self, error: str) -> None:
        """Show an error and go idle."""
        self.last_error = error
        self._record("error", error=error)

        async def show() -> None:
            await self._control.cancel_announcement("an error of the connection")
            await self._control.set_state(State.IDLE)
            self._alert("ERROR", error, "circle_xmark")

        self._loop.schedule(show)
