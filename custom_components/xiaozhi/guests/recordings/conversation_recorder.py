"""Records the next conversation of a device at its owner's request."""

import asyncio
from typing import Any, Final, override

from homeassistant.core import callback

from ...device.device import Device
from ...device.guest import DevicePart
from ...protocol.messages import JsonObject
from ...protocol.trace import Trace
from ...protocol.transport.link import Channel, LinkClosedError
from ...util.event_loop import within

_MAX_SECONDS: Final = 120


class ConversationRecorder(DevicePart):
    """Records one conversation at a time. The last one is kept until the gateway stops, in memory only."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._begun: asyncio.Future[Trace] | None = None
        self._wanted: tuple[JsonObject, bool] = {}, False
        self.last: Trace | None = None

    @override
    @callback
    def start(self) -> None:
        self.device.conversations.traced = self.begin

    @override
    @callback
    def end(self) -> None:
        """Wait for no conversation any more."""
        if self._begun is not None and not self._begun.done():
            self._begun.set_exception(LinkClosedError("the gateway stops"))

    @override
    def describe(self) -> dict[str, Any]:
        return {} if self.last is None else {"recording": self.last.lines}

    @property
    def busy(self) -> bool:
        """Whether a conversation is awaited or recorded."""
        return self._begun is not None

    async def next_conversation(self, head: JsonObject, *, with_sound: bool, patience: float) -> Trace:
        """Record the next conversation, from its hello to its end, or until the recording is full.

        Raises `TimeoutError` if none begins within `patience` seconds, and `LinkClosedError` at its `end`.
        """
        self._wanted = head, with_sound
        begun: asyncio.Future[Trace] = asyncio.get_running_loop().create_future()
        self._begun = begun
        try:
            async with asyncio.timeout(patience):
                trace = await begun
            if not await within(_MAX_SECONDS, trace.over.wait()):
                trace.finish("full")
        finally:
            self._begun = None
        self.last = trace
        return trace

    @callback
    def begin(self, channel: Channel) -> Trace | None:
        """Return the trace of a conversation that begins; None if it is not recorded."""
        if self._begun is None or self._begun.done():
            return None
        head, with_sound = self._wanted
        trace = Trace(head, with_sound=with_sound)
        trace.received(channel.hello)
        self._begun.set_result(trace)
        return trace
