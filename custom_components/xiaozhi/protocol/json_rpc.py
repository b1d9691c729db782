"""JSON-RPC 2.0: requests of an access point, and replies to it and to devices.

Ids are returned exactly as they came: the cloud begins with 0, mcp-endpoint-server uses its own texts.
"""

from dataclasses import dataclass
from typing import Final

from ..util.untrusted_json import parse_json
from .messages import JsonObject

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

# No arguments of a tool come near this; parsing them takes less than a millisecond.
_MAX_MESSAGE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """A request, which gets exactly one reply."""

    id: int | str
    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Fault:
    """An invalid request; `id` is None if it could not be read."""

    code: int
    message: str
    id: int | str | None = None


def read_request(data: bytes) -> Request | Fault | None:
    """Read a message; None for a notification or a reply, which get no answer. Never raises."""
    if len(data) > _MAX_MESSAGE:
        return Fault(INVALID_REQUEST, f"The message is larger than {_MAX_MESSAGE} bytes.")
    try:
        value = parse_json(data)
    except ValueError:
        return Fault(PARSE_ERROR, "The message is not valid JSON.")
    match value:
        case {"method": str(method), "id": int() | str() as request_id} if not isinstance(request_id, bool):
            params = {} if value.get("params") is None else value["params"]
            if isinstance(params, dict):
                return Request(request_id, method, params)
            return Fault(INVALID_PARAMS, "The params are not an object.", request_id)
        # mcp-endpoint-server sends errors that nobody asked for, with a result as well.
        case {"method": str()} | {"result": _} | {"error": _} if not ("method" in value and "id" in value):
            return None
    return Fault(INVALID_REQUEST, "The message is not a request with a method and an id.")


def result_reply(request_id: int | str, result: JsonObject) -> JsonObject:
    """Return the reply to a request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_reply(fault: Fault) -> JsonObject:
    """Return the reply to a message that was not understood or not allowed."""
    return {"jsonrpc": "2.0", "id": fault.id, "error": {"code": fault.code, "message": fault.message}}
