"""Frames that no well-behaved cloud sends, and what may come of each."""

import asyncio
from dataclasses import dataclass
import json
from typing import Final, Literal

from .link import ABSENT, Frame, Json, Link, LinkClosedError, RawText

type Outcome = int | Literal["result", "nothing", "closed"]
"""Outcome of a frame: a JSON-RPC error's code, a result, no answer, or the end of the connection."""

_PARSE, _INVALID, _METHOD, _PARAMS = -32700, -32600, -32601, -32602


@dataclass(frozen=True, slots=True)
class Garbage:
    """A frame, and what a tool side may do about it. In every case the process goes on as before."""

    frame: Frame
    outcomes: frozenset[Outcome]


def _garbage(frame: Json | Frame, *outcomes: Outcome) -> Garbage:
    text = json.dumps(frame) if isinstance(frame, dict) else frame
    return Garbage(text, frozenset(outcomes))


def _request(**changes: object) -> Json:
    request = {"jsonrpc": "2.0", "id": 77, "method": "ping"} | changes
    return {key: value for key, value in request.items() if value is not ABSENT}


_PING: Final = json.dumps(_request())

GARBAGE: Final[dict[str, Garbage]] = {
    "not JSON": _garbage("{", _PARSE),
    "empty": _garbage("", _PARSE, "nothing"),
    "only white space": _garbage(" \n", _PARSE, "nothing"),
    "white space around": _garbage(f"\n {_PING} \r\n", "result"),
    "byte order mark": _garbage(f"\ufeff{_PING}", "result", _PARSE),
    "NUL at the end": _garbage(f"{_PING}\0", _PARSE),
    "NUL in the method": _garbage(_request(method="ping\0"), _METHOD),
    "two objects": _garbage(_PING * 2, _PARSE),
    "not a number": _garbage(_PING.replace("77", "NaN"), _PARSE, _INVALID),
    "a very long integer": _garbage(_PING.replace("77", "7" * 5000), _PARSE, _INVALID, "result"),
    "deeply nested": _garbage("[" * 100_000, _PARSE, _INVALID),
    "array": _garbage("[]", _INVALID),
    "batch": _garbage(f"[{_PING}]", _INVALID),
    "number": _garbage("7", _INVALID),
    "text": _garbage('"ping"', _INVALID),
    "null": _garbage("null", _INVALID),
    "id null": _garbage(_request(id=None), _INVALID, "nothing"),
    "id float": _garbage(_request(id=1.5), _INVALID, "result"),
    "id object": _garbage(_request(id={}), _INVALID),
    "id array": _garbage(_request(id=[1]), _INVALID),
    "id true": _garbage(_request(id=True), _INVALID),
    "id empty text": _garbage(_request(id=""), _INVALID, "result"),
    "id negative": _garbage(_request(id=-1), _INVALID, "result"),
    "id with a lone surrogate": _garbage(_request(id="\ud800"), _PARSE, _INVALID, "result"),
    "id very long": _garbage(_request(id="x" * 100_000), _INVALID, "result"),
    "missing method": _garbage(_request(method=ABSENT), _INVALID),
    "method number": _garbage(_request(method=7), _INVALID),
    "method with a lone surrogate": _garbage(_request(method="\ud800"), _PARSE, _METHOD),
    "empty object": _garbage({}, _INVALID),
    "missing version of JSON-RPC": _garbage(_request(jsonrpc=ABSENT), _INVALID, "result"),
    "wrong version of JSON-RPC": _garbage(_request(jsonrpc="1.0"), _INVALID, "result"),
    "params number": _garbage(_request(params=7), _INVALID, _PARAMS, "result"),
    "unknown method": _garbage(_request(method="tools/destroy"), _METHOD),
    "prompts": _garbage(_request(method="prompts/list", params={}), _METHOD),
    "resources": _garbage(_request(method="resources/list", params={}), _METHOD),
    "unknown notification": _garbage(_request(id=ABSENT, method="notifications/x"), "nothing"),
    "call as a notification": _garbage(
        _request(id=ABSENT, method="tools/call", params={"name": "x", "arguments": {}}), "nothing"
    ),
    "unknown protocol version": _garbage(
        _request(method="initialize", params={"protocolVersion": "1999-01-01"}), "result"
    ),
    "protocol version number": _garbage(
        _request(method="initialize", params={"protocolVersion": 7}), "result", _PARAMS
    ),
    "initialize without params": _garbage(_request(method="initialize"), "result", _PARAMS),
    "fragmented": _garbage((_PING[:9], _PING[9:20], _PING[20:]), "result"),
    "fragmented binary": _garbage((_PING[:9].encode(), _PING[9:].encode()), "result", "nothing", _PARSE),
    "binary": _garbage(_PING.encode(), "result", "nothing", _PARSE),
    "binary noise": _garbage(bytes(range(256)), "nothing", _PARSE),
    "not UTF-8": _garbage(RawText(b"\xff\xfe{}"), "closed", _PARSE),
    "200 kB": _garbage("x" * 200_000, _INVALID, _PARSE),
    "2 MiB": _garbage(_request(params={"x": "x" * 2**21}), "closed"),
    "result never asked for": _garbage({"jsonrpc": "2.0", "id": 99, "result": {}}, "nothing"),
    "error never asked for": _garbage(
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "x"}}, "nothing"
    ),
    "result and error": _garbage({"jsonrpc": "2.0", "id": 1, "result": None, "error": {}}, "nothing"),
}
"""By name; section 12 (10) and the replies of (11)."""


def odd_calls(tool: str) -> dict[str, tuple[Json, frozenset[Outcome]]]:
    """Return unusual parameters of `tools/call` for a tool without required arguments, by name."""
    result, either = frozenset[Outcome](("result",)), frozenset[Outcome](("result", _PARAMS))
    wrong = frozenset[Outcome]((_PARAMS,))
    return {
        "unknown tool": ({"name": "no_such_tool", "arguments": {}}, wrong),
        "name missing": ({"arguments": {}}, wrong),
        "name null": ({"name": None, "arguments": {}}, wrong),
        "name list": ({"name": [tool], "arguments": {}}, wrong),
        "arguments missing": ({"name": tool}, result),
        "arguments null": ({"name": tool, "arguments": None}, result),
        "arguments text": ({"name": tool, "arguments": "{}"}, either),
        "arguments list": ({"name": tool, "arguments": []}, either),
        "unknown argument": ({"name": tool, "arguments": {"\0": [{}]}}, either),
        "unknown keys": ({"name": tool, "arguments": {}, "serialNumber": "SN1", "x": [1]}, result),
    }


async def provoke(link: Link, frame: Json | Frame, *, patience: float = 5) -> Outcome:
    """Send a frame and return what came of it, after so many seconds at the latest."""
    before = len(link.replies)
    try:
        await link.send(frame)
        reply = await link.request("ping", request_id="are you there?", seconds=patience)
        begin = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() < begin + patience:
            others = [other for other in [*link.replies][before:] if other is not reply]
            if others:
                return int(others[0]["error"]["code"]) if "error" in others[0] else "result"
            await asyncio.sleep(patience / 20)
    except LinkClosedError:
        return "closed"
    return "nothing"
