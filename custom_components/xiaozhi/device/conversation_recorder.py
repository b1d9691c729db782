"""Records the next conversation of a device at its owner's request."""

import asyncio

from homeassistant.core import callback

from ..protocol.messages import JsonObject
from ..protocol.trace import Trace
from ..protocol.transport.link import Channel


class ConversationRecorder:
    """Records one conversation at a time. The last one is kept until the gateway stops, in memory only."""

    def __init__(self) -> None:
        """Record nothing until `next_conversation` is awaited."""
        self._wanted: tuple[JsonObject, bool] | None = None
        self._begun = asyncio.Event()
        self._over: asyncio.Future[Trace] | None = None
        self.last: Trace | None = None
        """The last conversation that was recorded."""

    @property
    def busy(self) -> bool:
        """Whether a conversation is awaited or recorded."""
        return self._over is not None

    async def next_conversation(self, head: JsonObject, *, with_sound: bool, patience: float) -> Trace:
        """Record the next conversation, from its hello to its end.

        Raises `TimeoutError` if none begins within `patience` seconds.
        """
        self._wanted = head, with_sound
        self._begun.clear()
        over: asyncio.Future[Trace] = asyncio.get_running_loop().create_future()
        self._over = over
        try:
            async with asyncio.timeout(patience):
                await self._begun.wait()
            return await over
        finally:
            self._wanted = self._over = None

    @callback
    def begin(self, channel: Channel) -> Trace | None:
        """Return the trace of a conversation that begins; None if it is not recorded."""
        if self._wanted is None:
            return None
        head, with_sound = self._wanted
        self._wanted = None
        self._begun.set()
        trace = Trace(head, with_sound=with_sound)
        trace.received(channel.hello)
        return trace

    @callback
    def end(self, trace: Trace, reason: str) -> None:
        """End the recording with the conversation."""
        trace.note("end", reason=reason)
        self.last = trace
        if self._over is not None and not self._over.done():
            self._over.set_result(trace)
