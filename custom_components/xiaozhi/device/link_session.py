"""One link of a device: routes its messages, calls its tools and holds its conversation."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
import logging
from typing import Any, Final, override

from homeassistant.core import callback

from ..protocol import messages
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.state_table import ConversationState
from ..protocol.mcp.client import McpClient, McpOwner
from ..protocol.mcp.model import McpError, McpNoAnswerError, RequestHandler
from ..protocol.messages import (
    Abort,
    DeviceMessage,
    JsonObject,
    ListenDetect,
    ListenMode,
    ListenStart,
    McpMessage,
)
from ..protocol.transport.link import Channel, Link, LinkClosedError, LinkHandler
from ..timeouts import SessionTimeouts
from ..tools.stock_tools import STATUS_TOOL
from .bounds import LINKS, MODES, NOTIFICATION_EVENTS, NOTIFICATIONS
from .events import ConversationEvent
from .handshake_and_readings import HandshakeAndReadings
from .paired_device import PairedDevice
from .presence import Presence
from .state import HELLO, DeviceState
from .tool_calls import ToolCalls

_LOGGER = logging.getLogger(__name__)

_STATE_CHANGED: Final = "notifications/state_changed"


class LinkSession(LinkHandler, McpOwner):
    """Handles one link of a device, from its attachment to its end."""

    def __init__(self, device: PairedDevice, link: Link, gone: Callable[[str], None]) -> None:
        """Take over a link; `start` begins."""
        self.device = device
        self.link = link
        self._gone = gone
        self.over = False
        """Whether it has ended, or a newer one has taken its place: its state is not the device's now."""
        self.conversation: Conversation | None = None
        self._has_holder = False
        """Whether the conversation is, or was, taken by anybody."""
        self._record = device.record
        self.presence = Presence(self)
        self.mcp = McpClient(self)
        """Client of the device's MCP server. Tools are called with `calls`."""
        self.calls = ToolCalls(device, self.mcp)
        self.readings = HandshakeAndReadings(self)
        self._notified_state = ConversationState.IDLE
        self._tasks: set[asyncio.Task[None]] = set()
        self._talked = False
        self._hanging_up: asyncio.Task[None] | None = None
        self._held_back: tuple[JsonObject, bool] | None = None
        """The last state that the device reported, if a bound holds it back, and whether it was published."""
        self._shows_later = False

    @callback
    def start(self, *, can_answer: bool) -> None:
        """Show the link. If it stays connected, end the last conversation, and start the MCP handshake.

        A device that cannot answer yet is sent nothing before its hello: it would sound an alarm for each
        answer that it cannot send.
        """
        self.presence.begin(can_answer=can_answer)
        state = replace(self.device.state, link=self.link.kind)
        self.show(state if state.lingers else state.after_contact())
        if self.link.stays_connected and can_answer:
            self._hanging_up = self.create_task(self._hang_up(self.device.state.session_id), "hang up")
            self.readings.start()

    @property
    def conversation_state(self) -> ConversationState:
        """State of the device: by its conversation, or else as it last notified."""
        return self.conversation.state if self.conversation else self._notified_state

    @property
    def listening(self) -> bool:
        """Whether the device listens to its user now."""
        return self.conversation_state is ConversationState.LISTENING

    @override
    @callback
    def channel_opened(self, channel: Channel) -> None:
        self._talked = True
        if channel.hello.supports_mcp:
            self.readings.start()
        self._notified_state = ConversationState.IDLE
        self.link.trace = self.device.conversations.traced(channel)
        self.conversation = Conversation(
            self.link,
            channel,
            self.device.state.firmware_version,
            self.device.main_task,
            self._on_conversation_state,
            is_program=self.device.state.is_program,
        )
        if not self.conversation.resting:
            self.readings.quiet.clear()
        self.show()
        self._has_holder = self.device.conversations.begin(self.conversation)
        if not self._has_holder:
            _LOGGER.debug("%s: no voice satellite to hold this conversation", self._record.short_mac)
            self.device.create_task(self.conversation.end(), "end conversation")
        self._record.set_state(self.device.state.after_contact())
        self._record.notify(HELLO)
        if self.link.stays_connected:
            self._record.update(session_id=channel.session_id)

    @override
    @callback
    def message_received(self, message: DeviceMessage) -> None:
        if self.link.trace is not None:
            self.link.trace.received(message)
        if isinstance(message, McpMessage):
            if "method" not in message.payload:
                self.presence.answered()
            if reply := self.mcp.receive(message.payload):
                self.create_task(self._send_quietly(messages.mcp(reply)), "reply")
        elif self.conversation is not None:
            # Conversation traffic proves that our hello arrived.
            self.presence.answered()
            match message:
                # While it listens, a text is a question that was typed.
                case ListenDetect(text) if not self.listening:
                    self.device.events.fire(ConversationEvent.WAKE_WORD, text)
                case ListenStart(mode) if mode is not ListenMode.MANUAL:
                    realtime = mode is ListenMode.REALTIME
                    changes = realtime is not self.device.state.listens_while_speaking
                    if changes and self.device.bounds.take(MODES):
                        self._record.update(listens_while_speaking=realtime)
                case Abort():
                    self.device.events.fire(ConversationEvent.INTERRUPTED)
            self.conversation.message_received(message)

    @override
    @callback
    def message_too_long(self) -> None:
        """Fail the call that it has most likely answered."""
        self.mcp.message_too_long()

    @override
    @callback
    def audio_received(self, packet: bytes, missing: int) -> None:
        if self.conversation is not None:
            self.presence.answered()
            if self.link.trace is not None:
                self.link.trace.packet("up", packet, missing=missing)
            self.conversation.audio_received(packet, missing)

    @override
    @callback
    def channel_closed(self, reason: str) -> None:
        conversation, self.conversation = self.conversation, None
        if conversation is not None:
            _LOGGER.debug("%s: conversation ended: %s", self._record.short_mac, reason)
            if self.link.stays_connected and (alerts := conversation.loudspeaker.take_alerts()):
                self.create_task(self._show_later(alerts), "show alerts")
            conversation.channel_closed(lost=self.link.lost)
            if (trace := self.link.trace) is not None:
                self.link.trace = None
                trace.finish("end", reason=reason)
            self.readings.quiet.set()
            if self._has_holder:
                self.device.events.fire(ConversationEvent.ENDED)
            self.show()

    @override
    @callback
    def link_closed(self, reason: str) -> None:
        self.mcp.close(reason)
        for task in self._tasks:
            task.cancel()
        self.end(reason)

    @callback
    def end(self, reason: str) -> None:
        """Show the device as gone, unless the session is over already."""
        if not self.over:
            self.over = True
            self._gone(reason)
            state = self.device.state
            flaps = (state.linked or state.lingers) and self.link.stays_connected
            lingers = flaps and not self.device.bounds.take(LINKS)
            gone = replace(state, linked=False, lingers=lingers, conversation=ConversationState.IDLE)
            self._record.set_state(gone if lingers else gone.after_contact())
            if lingers:
                self.device.create_task(self._leave(), "leave")

    @callback
    def show(self, state: DeviceState | None = None) -> None:
        """Show the state of the link and the conversation, and a new `state` of the device with it."""
        if not self.over:
            linked, conversation = self.presence.linked, self.conversation_state
            state = state or self.device.state
            self._record.set_state(replace(state, linked=linked, conversation=conversation))

    async def _leave(self) -> None:
        """Show a device that comes and goes as it is, if it stays so."""
        ends = self.device.bounds.exceeded[LINKS.name]
        await asyncio.sleep(SessionTimeouts.away)
        if self.device.bounds.exceeded[LINKS.name] == ends:
            self._record.update(lingers=False)

    async def read_at_rest(self) -> None:
        """Read the status, and tools that are due, after the last answer.

        Between conversations the device may be out of reach.
        """
        if self.link.stays_connected or self.conversation is None or not self.readings.started:
            return
        try:
            await self.readings.read_before_end()
        finally:
            if self.conversation is not None:
                self.readings.quiet.clear()

    async def send(self, message: JsonObject) -> None:
        """Send a message that has no answer. Raises `LinkClosedError`."""
        if message["type"] == "notify" and self._hanging_up is not None:
            # After a goodbye, a sound would have no captions, and nobody at the device could end it.
            await asyncio.wait((self._hanging_up,))
        # An alert's sound goes through the same queue as an answer.
        if message["type"] == "alert" and self.conversation is not None:
            await self.conversation.loudspeaker.alert(message)
        else:
            await self.link.send(message)

    @callback
    def restart(self) -> None:
        """Repeat the handshake with a device that has restarted unnoticed by its link.

        Until it answers, it counts as away: nothing reaches it before it has connected again.
        """
        self.presence.begin(can_answer=False)
        self.show()
        self.readings.start_again()
        self.create_task(self.link.close_channel(), "close channel")

    @override
    @callback
    def notified(self, method: str, params: JsonObject) -> None:
        # Before the limit, so that the last change of the tools is not missed.
        if method == "notifications/tools/list_changed":
            self.readings.list_again()
        published = self.device.bounds.take(NOTIFICATIONS)
        shown = published and self._show_notification(method, params)
        if method == _STATE_CHANGED:
            self._held_back = None if shown else (params, published)
            if not shown and not self._shows_later:
                self._shows_later = True
                self.create_task(self._show_held_back(), "show state")

    @callback
    def _show_notification(self, method: str, params: JsonObject, *, published: bool = False) -> bool:
        match method, params:
            # During a conversation, its own state is faster and more reliable.
            case "notifications/state_changed", {"state": str(state)} if (
                state in ConversationState and self.conversation is None
            ):
                self._notified_state = ConversationState(state)
                self.show()
        self._record.update(notified=True)
        return self.device.events.fire_notification(method, params, published=published)

    async def _show_held_back(self) -> None:
        """Show the last state of a burst when the bounds allow that."""
        while (held := self._held_back) is not None:
            params, published = held
            bound = NOTIFICATION_EVENTS if published else NOTIFICATIONS
            await asyncio.sleep(self.device.bounds.delay(bound))
            if self._held_back is held and (published or self.device.bounds.take(bound)):
                shown = self._show_notification(_STATE_CHANGED, params, published=published)
                self._held_back = None if shown else (params, True)
        self._shows_later = False

    @callback
    def _on_conversation_state(self, state: ConversationState) -> None:
        if state is ConversationState.IDLE:
            self.readings.quiet.set()
            # At once: the link may end next, and the device would be unavailable before it was shown as idle.
            self.show()
        else:
            self.readings.quiet.clear()
            # Showing a state takes time, so what is about to be sent to the device goes first.
            asyncio.get_running_loop().call_soon(self.show)

    async def _show_later(self, alerts: list[JsonObject]) -> None:
        await asyncio.sleep(SessionTimeouts.idle)
        for alert in alerts:
            await self._send_quietly(alert)

    async def _hang_up(self, session_id: str | None) -> None:
        """End the last conversation, in which the device may still listen after a lost connection or a crash.

        It keeps the last session id until its next hello is answered, so an immediate goodbye could end a
        conversation that has just begun.
        """
        if session_id is None:
            return
        await asyncio.sleep(SessionTimeouts.hang_up)
        if not self._talked:
            await self._send_quietly(messages.goodbye(session_id))
            # What it is sent meanwhile may be acted on before it goes idle.
            await asyncio.sleep(SessionTimeouts.idle)

    async def probe_main_task(self) -> bool | None:
        """Have a tool run at once, behind what the device was sent before; return whether it did.

        None if that remains unknown.
        """
        if not self.readings.started or STATUS_TOOL not in self.device.state.tools.by_name:
            return None
        try:
            await self.mcp.call_tool(STATUS_TOOL)
        except (McpError, LinkClosedError) as err:
            _LOGGER.debug("%s: no proof that it speaks: %s", self._record.short_mac, err)
            return False if isinstance(err, (McpNoAnswerError, LinkClosedError)) else None
        return True

    @property
    @override
    def request_handlers(self) -> Mapping[str, RequestHandler]:
        return self.device.handshake.handlers

    @override
    async def send_payload(self, payload: JsonObject) -> None:
        await self.link.send(messages.mcp(payload))

    async def _send_quietly(self, message: JsonObject) -> None:
        try:
            await self.send(message)
        except LinkClosedError as err:
            _LOGGER.debug("%s: message not sent: %s", self._record.short_mac, err)

    @override
    @callback
    def create_task(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        task = self.device.create_task(work, what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
