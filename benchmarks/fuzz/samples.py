"""Valid texts of devices, from which inputs are made."""

import json
from typing import Any, Final


def _tool(
    name: str, description: str, arguments: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": arguments or {}}
    if arguments:
        schema["required"] = list(arguments)
    return {"name": name, "description": description, "inputSchema": schema, **more}


def _number(most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": most}


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


STATUS: Final = _dump(
    {
        "audio_speaker": {"volume": 70},
        "screen": {"brightness": 75, "theme": "light"},
        "battery": {"level": 80, "charging": True},
        "network": {"type": "wifi", "ssid": "Home", "signal": "strong", "ip": "192.168.1.20"},
        "chip": {"temperature": 41.5},
    }
)

_AUDIO: Final = {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60}
_ANSWER: Final = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
_CHANGE: Final = {
    "jsonrpc": "2.0",
    "method": "notifications/state_changed",
    "params": {"newState": "idle", "oldState": "connecting"},
}

MESSAGES: Final = tuple(
    map(
        _dump,
        (
            {
                "type": "hello",
                "version": 1,
                "features": {"mcp": True, "aec": True},
                "transport": "websocket",
                "audio_params": _AUDIO,
            },
            {"session_id": "a1", "type": "listen", "state": "start", "mode": "auto"},
            {"session_id": "a1", "type": "listen", "state": "detect", "text": "你好小智"},
            {"session_id": "a1", "type": "listen", "state": "stop"},
            {"session_id": "a1", "type": "abort", "reason": "wake_word_detected"},
            {"session_id": "a1", "type": "goodbye"},
            {"session_id": "a1", "type": "mcp", "payload": _ANSWER},
            {"session_id": "a1", "type": "mcp", "payload": _CHANGE},
        ),
    )
)

_TOOLS: Final = (
    [
        _tool("self.audio_speaker.set_volume", "Set the volume.", {"volume": _number(100)}),
        _tool("self.light.turn_on", "On."),
        _tool("self.light.turn_off", "Off."),
        _tool("self.light.set_rgb", "Colour", {colour: _number(255) for colour in "rgb"}),
    ],
    [
        _tool("self.fan.get_speed", "速度"),
        _tool(
            "self.fan.set_mode",
            "mode: `eco`, `turbo` or `night`",
            {
                "mode": {"type": "string", "default": "eco", "enum": ["eco", "turbo"]},
                "on": {"type": "boolean"},
            },
            title="Fan",
            annotations={"audience": ["user"], "readOnlyHint": False},
        ),
    ],
)
_PICTURE: Final = {"type": "image", "mimeType": "image/jpeg", "data": "/9j/4AAQ"}
_RESULTS: Final = (
    {"content": [{"type": "text", "text": STATUS}], "isError": False},
    {"content": [{"type": "text", "text": "true"}, {"type": "text", "text": "[1,2]"}], "isError": True},
    {"content": [{"type": "image", "image": _dump(_PICTURE)}], "isError": False},
    {
        "content": [
            _PICTURE,
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "b"}},
        ],
        "structuredContent": {"a": [1, {"b": 2.5}]},
        "isError": False,
    },
)
_SERVER: Final = {"name": "box", "version": "2.2.6"}


def _answers(*results: Any) -> tuple[str, ...]:
    return tuple(_dump({"id": 1, "result": result}) for result in results)


ANSWERS: Final = {
    "initialize": _answers({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": _SERVER}),
    "tools/list": _answers({"tools": _TOOLS[0]}, {"tools": _TOOLS[1], "nextCursor": ""}),
    "tools/call": _answers(*_RESULTS),
}
"""Answers by the method of the request."""

ERROR: Final = _dump({"id": 1, "error": {"code": -32601, "message": 'Unknown tool: "x"\n'}})

CHECK_IN: Final = _dump(
    {
        "version": 2,
        "language": "en-US",
        "flash_size": 16777216,
        "minimum_free_heap_size": "8318916",
        "mac_address": "02:00:00:00:00:01",
        "uuid": "8a7c3a1e-6f0b-4f0e-9a55-0a9b6f6a2d11",
        "chip_model_name": "esp32s3",
        "application": {"name": "xiaozhi", "version": "2.2.6"},
        "partition_table": [{"label": "ota_0", "type": 0, "subtype": 16, "size": 4194304}],
        "ota": {"label": "ota_0"},
        "display": {"monochrome": False, "width": 240, "height": 240},
        "board": {"type": "a", "name": "a", "ssid": "Home", "rssi": -50, "channel": 1, "ip": "192.168.1.20"},
    }
)
BROKEN_CHECK_IN: Final = '{"board":{"ssid":"The "Home""}}'

HEADERS: Final = (
    b"Device-Id: 02:00:00:00:00:01\r\nClient-Id: 8a7c3a1e-6f0b-4f0e-9a55-0a9b6f6a2d11\r\n"
    b"User-Agent: bread-compact-wifi/2.2.6\r\nAccept-Language: en-US\r\nActivation-Version: 2\r\n"
    b"Serial-Number: A-1\r\n\r\n"
)
FORM: Final = (
    b'--B\r\nContent-Disposition: form-data; name="question"\r\n\r\nWhat is this?\r\n'
    b'--B\r\nContent-Disposition: form-data; name="file"; filename="camera.jpg"\r\n'
    b"Content-Type: image/jpeg\r\n\r\n\xff\xd8\xff\xe0\x00\x10JFIF\r\n--B--\r\n"
)
