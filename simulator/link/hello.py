"""The hello that opens a conversation, the same over both transports.

Source: `GetHelloMessage` of the firmware's `websocket_protocol.cc` and `mqtt_protocol.cc`.
"""

from ..board.cjson import JsonObject
from ..board.profile import Profile


def device_hello(profile: Profile, *, version: int, transport: str, charset: str) -> JsonObject:
    """Return the device's hello, with the characters of its font. It has no session_id."""
    features: JsonObject = {"mcp": True}
    message: JsonObject = {"type": "hello", "version": version}
    if profile.has_tools:
        message["features"] = features
    if profile.number >= (2, 4, 0):
        features["glyph_push"] = profile.glyph_push
        if profile.glyph_push:
            message["text_font"] = {"bundle": "noto-v1", "charset": charset, "size": 16, "bpp": 4}
    message["transport"] = transport
    message["audio_params"] = {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60}
    return message
