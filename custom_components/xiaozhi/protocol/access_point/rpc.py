"""JSON-RPC 2.0 messages of an access point: one object in each WebSocket message.

Ids are returned exactly as they came: the cloud begins with 0, mcp-endpoint-server uses its own texts.
"""

from dataclasses import dataclass
import json
from typing import Any, Final

from ..messages import JsonObject
from ..untrusted_json import parse_json
from ..untrusted_text import is_encodable

type RequestId = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

# No arguments of a tool come near this; parsing them takes less than a millisecond.
_MAX_MESSAGE: Final = 64 * 1024
_MAX_ID: Final = 256
_MAX_METHOD: Final = 128


@dataclass(frozen=True, slots=True)
class Request:
    """A request, which gets exactly one reply."""

    id: RequestId
    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Fault:
    """A message that is no valid request; `id` is None if it could not be read."""

    code: int
    message: str
    id: RequestId | None = None


def parse(data: bytes) -> Request | Fault | None:
    """Read a message; None for a notification or a reply, which get no answer. Never raises."""
    if len(data) > _MAX_MESSAGE:
        return Fault(INVALID_REQUEST, f"The message is larger than {_MAX_MESSAGE} bytes.")
    try:
        value = parse_json(data)
    except ValueError:
        return Fault(PARSE_ERROR, "The message is not valid JSON.")
    if not isinstance(value, dict):
        return Fault(INVALID_REQUEST, "The message is not a JSON object.")
    return _with_method(value) if "method" in value else _without_method(value)


def result_reply(request_id: RequestId, result: JsonObject) -> JsonObject:
    """Return the reply to a request."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_reply(fault: Fault) -> JsonObject:
    """Return the reply to a message that was not understood or not allowed."""
    return {"jsonrpc": "2.0", "id": fault.id, "error": {"code": fault.code, "message": fault.message}}


def encode(message: JsonObject) -> str:
    """Return a message as compact JSON that can be sent as a text."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text if is_encodable(text) else text.encode(errors="replace").decode()


def _without_method(value: JsonObject) -> Fault | None:
    # mcp-endpoint-server sends errors that nobody asked for, with a result as well.
    if "result" in value or "error" in value:
        return None
    return Fault(INVALID_REQUEST, "The message has no method.")


def _with_method(value: JsonObject) -> Request | Fault | None:
    method = value["method"]
    if not isinstance(method, str) or len(method) > _MAX_METHOD:
        return Fault(INVALID_REQUEST, "The method is not a short text.", _request_id(value.get("id")))
    if "id" not in value:
        return None
    if (request_id := _request_id(value["id"])) is None:
        return Fault(INVALID_REQUEST, "The id is not a number or a short text.")
    params = {} if value.get("params") is None else value["params"]
    if not isinstance(params, dict):
        return Fault(INVALID_PARAMS, "The params are not an object that can be read.", request_id)
    return Request(request_id, method, params)


def _request_id(value: Any) -> RequestId | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return value if len(value) <= _MAX_ID and is_encodable(value) else None
    return value if isinstance(value, int) and abs(value) < 2**63 else None
