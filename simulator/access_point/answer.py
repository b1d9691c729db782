"""Result of a tool call for the model or the user."""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The end of a tool call."""

    text: str
    """Text for the model, or spoken text."""
    spoken: bool = False
    """Whether it goes past the model and is spoken to the user as it is."""
    timed_out: bool = False
    reply: dict[str, Any] | None = None
    """The whole JSON-RPC reply, None if there was none."""
    milliseconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the model got no result: no reply, or one that is an error."""
        result = (self.reply or {}).get("result")
        return not isinstance(result, dict) or bool(result.get("isError"))


class ToolCaller(Protocol):
    """Something through which a model calls tools."""

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The tools that the model knows, by name."""

    async def call(self, name: str, arguments: object) -> Answer:
        """Call a tool."""
