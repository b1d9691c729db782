"""A small client of Home Assistant: its REST and WebSocket interfaces, and the forms of its config flows."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from itertools import count
import json
from typing import Any, Final, Self

import aiohttp

from .errors import DemoError

_FLOWS: Final = "/api/config/config_entries/flow"
_ENTRIES: Final = "/api/config/config_entries/entry"
_SUBENTRY_FLOWS: Final = "/api/config/config_entries/subentries/flow"

type Json = dict[str, Any]


async def until[Found](
    look: Callable[[], Awaitable[Found | None]], fault: str | Callable[[], object], seconds: int = 60
) -> Found:
    """Look until something is found, and return it. Raises `DemoError`, which tells the fault."""
    for _ in range(seconds * 10):
        if found := await look():
            return found
        await asyncio.sleep(0.1)
    raise DemoError(f"after {seconds} s {fault if isinstance(fault, str) else fault()}")


class Client:
    """Talks to Home Assistant as a user. Refused requests raise `DemoError`."""

    def __init__(
        self, session: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse, token: str
    ) -> None:
        """Use an authenticated connection."""
        self._session = session
        self._socket = socket
        self.token = token
        self._ids = count(1)
        # Home Assistant hangs up on a client that does not answer its pings, which only one that reads does.
        self._reader = asyncio.create_task(self._read())
        self._received: defaultdict[int, asyncio.Queue[Json | None]] = defaultdict(asyncio.Queue)
        """Messages that were not read yet, by their command; None is the end of the connection."""

    @classmethod
    async def connect(cls, session: aiohttp.ClientSession, token: str) -> Self:
        """Log in with an access token."""
        socket = await session.ws_connect("/api/websocket", max_msg_size=0)
        await socket.receive_json()
        await socket.send_json({"type": "auth", "access_token": token})
        answer = await socket.receive_json()
        if answer["type"] != "auth_ok":
            raise DemoError(f"Home Assistant refuses the login: {answer.get('message', answer['type'])}")
        return cls(session, socket, token)

    async def close(self) -> None:
        """Close the WebSocket."""
        with suppress(aiohttp.ClientError):
            await self._socket.close()
        await self._reader

    async def command(self, kind: str, **fields: Any) -> Any:
        """Send a WebSocket command; return its result."""
        number, result = await self._command(kind, fields)
        del self._received[number]
        return result

    @asynccontextmanager
    async def listening(self, event_type: str) -> AsyncGenerator[Callable[[], Awaitable[Json]]]:
        """Subscribe to events of the bus; yields a function that waits for the next one."""
        number, _ = await self._command("subscribe_events", {"event_type": event_type})

        async def next_event() -> Json:
            event: Json = (await self._receive(number, f"waiting for {event_type}"))["event"]
            return event

        try:
            yield next_event
        finally:
            await self.command("unsubscribe_events", subscription=number)
            del self._received[number]

    async def _command(self, kind: str, fields: Json) -> tuple[int, Any]:
        number = next(self._ids)
        try:
            await self._socket.send_json({"id": number, "type": kind} | fields)
        except aiohttp.ClientError as err:
            raise DemoError(f"Home Assistant hung up during {kind}") from err
        message = await self._receive(number, kind)
        if not message["success"]:
            raise DemoError(f"Home Assistant refuses {kind}: {message['error']['message']}")
        return number, message["result"]

    async def _receive(self, number: int, what: str) -> Json:
        """Receive the next message that belongs to a command."""
        received = self._received[number]
        message = None if self._reader.done() and received.empty() else await received.get()
        if message is None:
            raise DemoError(f"Home Assistant hung up during {what}")
        return message

    async def _read(self) -> None:
        """Receive until the connection ends."""
        async for message in self._socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                content = message.json()
                self._received[content["id"]].put_nowait(content)
        for received in self._received.values():
            received.put_nowait(None)

    async def get(self, path: str) -> Any:
        """GET a REST resource."""
        return await self._request("GET", path)

    async def post(self, path: str, body: Json | None = None) -> Any:
        """POST to a REST resource."""
        return await self._request("POST", path, body or {})

    async def state(self, entity_id: str) -> str:
        """Return the state of an entity."""
        state: str = (await self.get(f"/api/states/{entity_id}"))["state"]
        return state

    async def attributes(self, entity_id: str) -> Json:
        """Return the attributes of an entity."""
        attributes: Json = (await self.get(f"/api/states/{entity_id}"))["attributes"]
        return attributes

    async def call(self, domain: str, action: str, **data: Any) -> None:
        """Call an action."""
        await self.post(f"/api/services/{domain}/{action}", data)

    async def ask(self, domain: str, action: str, **data: Any) -> Json:
        """Call an action; return its response."""
        reply = await self.post(f"/api/services/{domain}/{action}?return_response", data)
        answer: Json = reply["service_response"]
        return answer

    async def remove_entries(self, domain: str) -> None:
        """Remove all entries of an integration."""
        for entry in await self.command("config_entries/get", domain=domain):
            await self._request("DELETE", f"{_ENTRIES}/{entry['entry_id']}")

    async def form(self, handler: str | list[str], **fields: str) -> Json:
        """Start a flow; return its first form.

        `handler` is an integration for *Add integration*, or an entry and the kind of a subentry, to add one,
        or with its `subentry_id` to change it.
        """
        flows = _SUBENTRY_FLOWS if isinstance(handler, list) else _FLOWS
        form: Json = await self.post(flows, {"handler": handler} | fields)
        return form

    async def flows(self, domain: str, source: str) -> list[Json]:
        """Return the flows in progress of an integration, such as discoveries."""
        flows = await self.command("config_entries/flow/progress")
        return [flow for flow in flows if flow["handler"] == domain and flow["context"]["source"] == source]

    async def open_flow(self, flow: Json) -> Json:
        """Open a waiting flow; return its form."""
        form: Json = await self.get(f"{_FLOWS}/{flow['flow_id']}")
        return form

    async def submit(self, form: Json, *, warned: Collection[str] = (), **answers: Any) -> Json:
        """Fill in a form; return the next one, or the end of the flow.

        Errors in `warned` are warnings: the form is returned with them, to be submitted again.
        """
        if form["type"] != "form":
            raise DemoError(f"{form['handler']} shows no form, but {form.get('reason', form['type'])}")
        # The handler of a subentry's flow is its entry and its kind.
        flows = _SUBENTRY_FLOWS if isinstance(form["handler"], list) else _FLOWS
        after: Json = await self.post(f"{flows}/{form['flow_id']}", answers)
        if not set((after.get("errors") or {}).values()) <= set(warned):
            raise DemoError(f"{form['handler']} refuses {sorted(answers)}: {after['errors']}")
        return after

    async def finish(self, form: Json, outcome: str, **answers: Any) -> None:
        """Fill in the last form of a flow, which is to end with this reason, or with `create_entry`."""
        end = await self.submit(form, **answers)
        if (ended := end.get("reason", end["type"])) != outcome:
            raise DemoError(f"{form['handler']} does not end with {outcome}, but with {ended}")

    async def _request(self, method: str, path: str, body: Json | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            async with self._session.request(method, path, json=body, headers=headers) as response:
                if not response.ok:
                    raise DemoError(f"Home Assistant refuses {path}: {_reason(await response.text())}")
                return await response.json()
        except aiohttp.ClientError as err:
            raise DemoError(f"{method} {path}: {err}") from err


def _reason(answer: str) -> str:
    """Return the message of an error response, or the response itself, cut to 300 characters."""
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(answer)["message"])
    return answer[:300]
