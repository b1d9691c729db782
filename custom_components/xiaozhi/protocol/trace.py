"""A recording of one conversation for a fault report: events with their times, in JSON lines.

Its head is `{"format": "xiaozhi-conversation", "version": 1, ...}`; each other line has `ms`, milliseconds
since the device's hello, and `kind`:

| Kind | Is |
|---|---|
| `in`, `out` | a message of the device, a message to it; texts as their number of words |
| `up` | an Opus packet of the device: its bytes, and how many packets before it are `missing` |
| `down` | an Opus packet to it: its bytes, `late` by so many ms, with so many bytes `held` by the network |
| `table` | an event for the conversation's state table, the state after it, the actions that it asks for |
| `state` | the state of the device |
| `speech` | speech began, paused, went on or ended at so many ms of the turn's audio |
| `pipeline` | an event of the Assist pipeline |
| `end`, `full` | why the conversation ended; that nothing more was recorded |

With sound, packets and texts are in it as they were. What identifies a house or grants access is never in it:
of messages, only known fields are kept, and of MCP only the method, the id and the size.
"""

import asyncio
from base64 import b64encode
from dataclasses import fields
import json
import logging
import re
from typing import Any, Final, Literal

from ..util.event_loop import LogAndGoOn, loop_time
from .messages import ConversationMessage, DeviceHello, JsonObject, McpMessage

_LOGGER = logging.getLogger(__name__)

FORMAT: Final = "xiaozhi-conversation"
VERSION: Final = 1

_MAX_PACKETS: Final = 5000
_MAX_BYTES: Final = 4 * 1024 * 1024
_KEPT: Final = frozenset({"type", "state", "mode", "emotion", "command", "transport", "version", "reason"})
_TEXTS: Final = frozenset({"text", "message", "status", "question"})
# Names of methods and of stock tools; others could say anything.
_PLAIN: Final = re.compile(r"(?:self\.)?[a-zA-Z_]{1,40}(?:[./][a-zA-Z_]{1,40}){0,3}")


class Trace:
    """Records one conversation, at most 5,000 packets and 4 MiB of it. Its methods raise nothing."""

    def __init__(self, head: JsonObject, *, with_sound: bool) -> None:
        """`head` describes the circumstances: versions, board, link and settings."""
        self._with_sound = with_sound
        self._began = loop_time()
        self._packets = self._bytes = 0
        self._go_on = LogAndGoOn(_LOGGER, "An event of a conversation could not be recorded")
        self.over = asyncio.Event()
        """Set when the conversation has ended or a bound is reached: nothing more is recorded."""
        self.lines: list[str] = []
        self._add({"format": FORMAT, "version": VERSION, "sound": with_sound, **head})

    @property
    def milliseconds(self) -> int:
        """Length of the recording so far."""
        return round(1000 * (loop_time() - self._began))

    def note(self, kind: str, **what: Any) -> None:
        """Record an event with JSON values."""
        if self.over.is_set():
            return
        if self._bytes > _MAX_BYTES or self._packets > _MAX_PACKETS:
            self.finish("full")
            return
        with self._go_on:
            self._add({"ms": self.milliseconds, "kind": kind, **what})

    def finish(self, kind: Literal["end", "full"], **what: str) -> None:
        """Record the last event, unless that is done."""
        if not self.over.is_set():
            self.over.set()
            self._add({"ms": self.milliseconds, "kind": kind, **what})

    def text(self, kind: str, text: str | None, **what: Any) -> None:
        """Record an event with a spoken text, if there is one."""
        with self._go_on:
            self.note(kind, **what, **({} if text is None else self._words("text", text)))

    def received(self, message: object) -> None:
        """Record a message of the device."""
        with self._go_on:
            self.note("in", **self._described(message))

    def sent(self, message: JsonObject) -> None:
        """Record a message to the device."""
        with self._go_on:
            self.note("out", **self._shown(message))

    def packet(self, kind: str, packet: bytes, **what: int) -> None:
        """Record an Opus packet, `up` or `down`."""
        self._packets += 1
        sound = {"opus": b64encode(packet).decode()} if self._with_sound else {}
        self.note(kind, bytes=len(packet), **{name: count for name, count in what.items() if count}, **sound)

    def _described(self, message: object) -> JsonObject:
        what: JsonObject = {"message": type(message).__name__}
        match message:
            case McpMessage(payload):
                what |= _outline(payload)
            case DeviceHello():
                what |= {"version": message.version, "mcp": message.supports_mcp}
                what |= {each.name: getattr(message.audio, each.name) for each in fields(message.audio)}
            case ConversationMessage():
                what |= self._shown({each.name: getattr(message, each.name) for each in fields(message)})
        return what

    def _shown(self, message: JsonObject) -> JsonObject:
        shown: JsonObject = {}
        for name, value in message.items():
            if name == "payload":
                shown |= _outline(value)
            elif name in _TEXTS and isinstance(value, str):
                shown |= self._words(name, value)
            elif name in _KEPT and isinstance(value, str | int):
                shown[name] = value
        return shown

    def _words(self, name: str, text: str) -> JsonObject:
        return {name: text} if self._with_sound else {f"{name}_words": len(text.split())}

    def _add(self, line: JsonObject) -> None:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        self._bytes += len(text.encode(errors="replace"))
        self.lines.append(text)


def _outline(payload: JsonObject) -> JsonObject:
    params, named = payload.get("params"), {"method": payload.get("method")}
    if isinstance(params, dict):
        named["tool"] = params.get("name")
    outline: JsonObject = {
        key: name for key, name in named.items() if isinstance(name, str) and _PLAIN.fullmatch(name)
    }
    if isinstance(number := payload.get("id"), int):
        outline["id"] = number
    if "method" not in payload:
        outline["answer"] = "error" if "error" in payload else "result"
    return outline | {"size": len(json.dumps(payload, default=str))}
