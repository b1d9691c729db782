"""What a device's MCP server announces, and what is announced to it."""

from dataclasses import dataclass
from typing import Any, Final, Self

from ..messages import JsonObject
from .model import VisionEndpoint

__all__ = ["Capabilities", "ClientOffer"]

_STOCK_VERSION: Final = "2024-11-05"
_LATEST_VERSION: Final = "2025-11-25"
_VERSIONS: Final = (_STOCK_VERSION, "2025-03-26", "2025-06-18", _LATEST_VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a device's MCP server announces in its answer to `initialize`."""

    version: str = _STOCK_VERSION
    """Version of the protocol."""
    extended: bool = False
    """Whether it is more than stock firmware, and may be sent what that never gets."""
    resources: bool = False
    subscriptions: bool = False
    """Whether changes of a resource can be subscribed to."""
    prompts: bool = False
    completions: bool = False
    """Whether it proposes values for arguments of prompts and of templates."""
    logging: bool = False
    """Whether the level of its log messages can be set."""
    tasks: bool = False
    """Whether a tool can be called as a task, whose result is fetched later."""
    cancels_tasks: bool = False

    @classmethod
    def from_dict(cls, result: JsonObject) -> Self:
        """Read the result of `initialize`; what is missing or wrong is not announced."""
        announced = _object(result, "capabilities")
        version = result.get("protocolVersion")
        resources, tasks = _object(announced, "resources"), _object(announced, "tasks")
        return cls(
            version=version if isinstance(version, str) and version in _VERSIONS else _STOCK_VERSION,
            extended=version in _VERSIONS and (version != _STOCK_VERSION or _is_more_than_stock(announced)),
            resources=_has(announced, "resources"),
            subscriptions=resources.get("subscribe") is True,
            prompts=_has(announced, "prompts"),
            completions=_has(announced, "completions"),
            logging=_has(announced, "logging"),
            tasks=_has(_object(_object(tasks, "requests"), "tools"), "call"),
            cancels_tasks=_has(tasks, "cancel"),
        )

    @classmethod
    def from_storage(cls, data: Any) -> Self:
        """Read the stored form; what is missing or damaged is not announced."""
        stored = data if isinstance(data, dict) else {}
        version = stored.get("version")
        flags = {name: stored.get(name) is True for name in _FLAGS}
        return cls(version=version if version in _VERSIONS else _STOCK_VERSION, **flags)

    def as_dict(self) -> JsonObject:
        """Return the stored form."""
        return {"version": self.version} | {name: getattr(self, name) for name in _FLAGS}


_FLAGS: Final = tuple(name for name in Capabilities.__slots__ if name != "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOffer:
    """What this client announces to one device."""

    vision: VisionEndpoint | None
    """Where the device sends its photos: a capability of the firmware only."""
    sampling: bool = False
    """Whether the device may ask a language model."""
    elicitation: bool = False
    """Whether the device may ask a person."""
    extended: bool = False
    """Whether the device is known to be more than stock firmware."""

    @property
    def latest(self) -> bool:
        """Whether the latest version of the protocol is announced."""
        return self.extended or self.sampling or self.elicitation

    def params(self, client_name: str, client_version: str) -> JsonObject:
        """Return the params of `initialize`."""
        capabilities: JsonObject = {}
        if self.vision:
            token = {"token": self.vision.token} if self.vision.token is not None else {}
            capabilities["vision"] = {"url": self.vision.url, **token}
        if self.sampling:
            capabilities["sampling"] = {}
        if self.elicitation:
            capabilities["elicitation"] = {"form": {}, "url": {}}
        return {
            "protocolVersion": _LATEST_VERSION if self.latest else _STOCK_VERSION,
            "capabilities": capabilities,
            "clientInfo": {"name": client_name, "version": client_version},
        }


def _is_more_than_stock(announced: JsonObject) -> bool:
    """Whether it is more than `{"tools": {}}`, the answer of stock firmware (`main/mcp_server.cc`)."""
    return any(name != "tools" or value != {} for name, value in announced.items())


def _object(source: JsonObject, key: str) -> JsonObject:
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def _has(source: JsonObject, key: str) -> bool:
    return isinstance(source.get(key), dict)
