"""Stays connected to an access point, and answers its requests."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat
import logging
import ssl
from typing import Final

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from ...util.event_loop import LogAndGoOn, log_failure, loop_time, within
from ...util.limits import TokenBucket
from ..messages import encode
from ..timeouts import AccessPointTimeouts
from .address import AccessPointAddress
from .dialling import DialError, dial, ending_of, self_test
from .dispatcher import AccessPointOwner, Dispatcher
from .reconnecting import Ending, EndingKind, Reconnecting

_LOGGER = logging.getLogger(__name__)

# A cloud asks once a minute, and a server some messages for each device that begins to talk.
_MESSAGES_A_SECOND: Final = 20
# Answers that are pending or not taken by the other side. Each keeps its message.
_MAX_WAITING: Final = 100
_LIST_CHANGED: Final = encode({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


class AccessPointClient:
    """Stays connected while it runs, and never gives up."""

    def __init__(
        self,
        address: AccessPointAddress,
        owner: AccessPointOwner,
        *,
        version: str,
        tls: ssl.SSLContext,
    ) -> None:
        """Prepare; `start` begins to connect.

        `version` is ours, for the other side. `tls` verifies the server of a wss:// address.
        """
        self.address = address
        self.connections = 0
        self.failures = 0
        """Unwanted endings and failed attempts."""
        self.dispatcher = Dispatcher(owner, version=version)
        self.last_ending: Ending | None = None
        self._tls = tls
        self._owner = owner
        self._go_on = LogAndGoOn(_LOGGER, f"Unexpected error on the connection to {address}")
        self.reconnecting = Reconnecting(self_hosted=address.self_hosted)
        """State of the connection's rules, with the problem that the owner is to solve."""
        self._connection: ClientConnection | None = None
        self._connected_since = 0.0
        self._closing: EndingKind | None = None
        """Why we close the connection ourselves."""
        self._again = asyncio.Event()
        """Set to end a pause."""
        self._answers: set[asyncio.Task[None]] = set()
        self._renewal: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether requests can come."""
        return self._connection is not None

    def start(self) -> None:
        """Connect, and again whenever the connection is lost."""
        self._task = asyncio.create_task(self._stay_connected(), name="xiaozhi access point")

    async def close(self) -> None:
        """Close the connection and end everything, running actions too. Does nothing when not started."""
        if self._task is None:
            return
        task, self._task = self._task, None
        tasks = {task, *self._answers, *({self._renewal} if self._renewal else ())}
        for running in tasks:
            running.cancel()
        await asyncio.gather(*tasks, self.dispatcher.close(), return_exceptions=True)

    async def reconnect(self) -> None:
        """Connect again at once, without waiting for the end of the pause."""
        self.reconnecting.healthy()
        await self._hang_up(EndingKind.WANTED)
        self._again.set()

    async def refresh(self) -> None:
        """Make the list again, and notify the other side if it was sent another one.

        A cloud may not read it again before the next connection (no server is known to act on the
        notification). So there the connection is renewed, when no call has come for a while. Raises as
        `Dispatcher.list_tools`.
        """
        self.dispatcher.forget()
        tools = await self.dispatcher.list_tools()
        connection, listed = self._connection, self.dispatcher.listed
        if connection is None or listed is None or tools == listed:
            return
        with suppress(ConnectionClosed):
            await connection.send(_LIST_CHANGED)
        is_to_be_renewed = self._connection is connection and not self.address.self_hosted
        if is_to_be_renewed and (self._renewal is None or self._renewal.done()):
            self._renewal = asyncio.create_task(self._renew(connection), name="xiaozhi renew access point")

    async def _renew(self, connection: ClientConnection) -> None:
        while True:
            last = max(self._connected_since, self.dispatcher.last_call or 0.0)
            rest = last + AccessPointTimeouts.quiet - loop_time()
            if rest <= 0 and not self.dispatcher.running:
                break
            await asyncio.sleep(max(1.0, rest))
        if self._connection is connection:
            await self._hang_up(EndingKind.WANTED)

    async def _hang_up(self, why: EndingKind) -> None:
        if (connection := self._connection) is not None:
            self._closing = why
            await connection.close(CloseCode.NORMAL_CLOSURE)

    async def _stay_connected(self) -> None:
        while True:
            ending = Ending(kind=EndingKind.UNREACHABLE, detail="internal error; the log has its details")
            with self._go_on:
                ending = await self._connect_and_serve()
            await within(self._ended(ending), self._again.wait())
            self._again.clear()

    def _changed(self) -> None:
        with self._go_on:
            self._owner.changed()

    def _ended(self, ending: Ending) -> float:
        if ending.kind is not EndingKind.WANTED:
            self.failures += 1
            # One line when it is lost; the attempts after that are not news.
            lost = self.reconnecting.attempts == 0
            log = _LOGGER.info if lost else _LOGGER.debug
            log("%s: not connected: %s", self.address, ending.detail)
        self.last_ending = ending
        pause = self.reconnecting.ended(ending)
        self._changed()
        return pause

    async def _connect_and_serve(self) -> Ending:
        """Connect, and answer for as long as the connection lasts; return why it has ended."""
        try:
            connection = await dial(self.address.url, self._tls)
        except DialError as err:
            return Ending(kind=err.kind, detail=err.detail, code=err.status)
        self.connections += 1
        self._connection, self._closing = connection, None
        # The requested connection is there: it does not cut the next pause short.
        self._again.clear()
        self._connected_since = loop_time()
        self.dispatcher.listed_at = None
        if self.reconnecting.attempts:
            _LOGGER.info("%s: connected again", self.address)
        health = asyncio.get_running_loop().call_later(self.reconnecting.proof, self._note_health)
        tests = asyncio.create_task(self._test_regularly(), name="xiaozhi test access point")
        tests.add_done_callback(log_failure)
        try:
            self._changed()
            return await self._serve(connection)
        finally:
            self._connection = None
            health.cancel()
            tests.cancel()
            if self._renewal is not None:
                # It may still wait for a quiet moment, and would block the renewal of the next connection.
                self._renewal.cancel()
            await asyncio.gather(tests, return_exceptions=True)
            await connection.close()

    async def _serve(self, connection: ClientConnection) -> Ending:
        messages = TokenBucket(rate=_MESSAGES_A_SECOND, burst=500)
        try:
            while True:
                data = await connection.recv(decode=False)
                if not messages.take(loop_time()) or len(self._answers) >= _MAX_WAITING:
                    await connection.close(CloseCode.POLICY_VIOLATION, "too many messages")
                    return Ending(kind=EndingKind.LOST, detail="too many messages")
                answer = asyncio.create_task(self._answer(connection, data), name="xiaozhi answer")
                self._answers.add(answer)
                answer.add_done_callback(self._answers.discard)
        except ConnectionClosed as closed:
            ending = ending_of(closed, self.address)
        now, listed = loop_time(), self.dispatcher.listed_at
        lasted, since_list = now - self._connected_since, None if listed is None else now - listed
        if (kind := self._closing) is not None:
            ending = replace(ending, kind=kind, code=None, detail=kind.value)
        return replace(ending, lasted=lasted, since_list=since_list)

    async def _answer(self, connection: ClientConnection, data: bytes) -> None:
        listed = self.dispatcher.listed_at
        if (reply := await self.dispatcher.answer(data)) is not None:
            with suppress(ConnectionClosed):
                await connection.send(reply)
        if self.dispatcher.listed_at != listed:
            self._changed()

    def _note_health(self) -> None:
        self.reconnecting.healthy()
        self._changed()

    async def _test_regularly(self) -> None:
        """Test a self-hosted server for deafness."""
        if (url := self.address.agent_side_url) is None:
            return
        first = (AccessPointTimeouts.first_self_test, AccessPointTimeouts.second_self_test)
        for pause in chain(first, repeat(AccessPointTimeouts.self_test)):
            await asyncio.sleep(pause)
            asked = self.dispatcher.requests
            answered = await self_test(url, self._tls)
            if answered is not None and (not answered or self.dispatcher.requests == asked):
                await self._hang_up(EndingKind.REPLACED if answered else EndingKind.DEAF)
                return
