"""The prompts of a device's MCP server: texts with arguments, for a language model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, override

from ..messages import MAX_MESSAGE_BYTES, JsonObject
from ..text import clean_text, is_encodable
from .content import CONTENT_TYPES, Named, is_content_bounded
from .model import McpProtocolError

__all__ = [
    "Prompt",
    "PromptArgument",
    "PromptArgumentError",
    "PromptMessage",
    "PromptResult",
    "check_prompt_arguments",
]

_MAX_ARGUMENTS: Final = 32
_MAX_MESSAGES: Final = 64
_MAX_DESCRIPTION: Final = 1024
_MAX_VALUE_BYTES: Final = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument(Named):
    """An argument of a prompt. Its values are texts."""

    required: bool = False

    @classmethod
    @override
    def from_dict(cls, data: Any) -> Self | None:
        """Read an argument; None if it is malformed."""
        if (named := Named.from_dict(data)) is None:
            return None
        return cls(
            name=named.name,
            title=named.title,
            description=named.description,
            required=data.get("required") is True,
        )

    @override
    def as_dict(self) -> JsonObject:
        """Return the form that `from_dict` reads."""
        return Named.as_dict(self) | {"required": self.required}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Named):
    """A prompt that a device has listed."""

    arguments: tuple[PromptArgument, ...] = ()

    @classmethod
    @override
    def from_dict(cls, data: Any) -> Self | None:
        """Read a prompt from a page of the list or from storage; None if it is malformed or too large."""
        if (named := Named.from_dict(data)) is None:
            return None
        listed = data.get("arguments", [])
        if not isinstance(listed, list) or len(listed) > _MAX_ARGUMENTS:
            return None
        arguments = tuple(PromptArgument.from_dict(item) for item in listed)
        known = tuple(argument for argument in arguments if argument is not None)
        if len(known) < len(listed):
            return None
        return cls(name=named.name, title=named.title, description=named.description, arguments=known)

    @override
    def as_dict(self) -> JsonObject:
        """Return the form that `from_dict` reads."""
        return Named.as_dict(self) | {"arguments": [argument.as_dict() for argument in self.arguments]}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """A message of a prompt."""

    role: Literal["user", "assistant"]
    text: str | None = None
    item: JsonObject | None = field(default=None, hash=False)
    """Content other than text, in the standard's form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptResult:
    """A prompt with its arguments put in."""

    description: str
    messages: tuple[PromptMessage, ...]

    @classmethod
    def from_dict(cls, result: JsonObject) -> Self:
        """Read the result of `prompts/get`. Raises `McpProtocolError`."""
        listed = result.get("messages")
        if not isinstance(listed, list) or len(listed) > _MAX_MESSAGES or not is_content_bounded(listed):
            raise McpProtocolError(f"the prompt has no messages, over {_MAX_MESSAGES}, or too large ones")
        description = result.get("description")
        return cls(
            description=clean_text(description, _MAX_DESCRIPTION) if isinstance(description, str) else "",
            messages=tuple(_message(message) for message in listed),
        )


def _message(message: Any) -> PromptMessage:
    match message:
        case {"role": "user" | "assistant" as role, "content": {"type": "text", "text": str(text)}}:
            return PromptMessage(role=role, text=clean_text(text, MAX_MESSAGE_BYTES))
        case {"role": "user" | "assistant" as role, "content": {"type": str(kind)} as content}:
            if kind in CONTENT_TYPES:
                return PromptMessage(role=role, item=content)
    raise McpProtocolError("a message of the prompt has no role or no content")


class PromptArgumentError(ValueError):
    """An argument that the prompt does not have, lacks, or that cannot be sent."""

    def __init__(self, name: str, reason: Literal["unknown", "missing", "too_long"]) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def check_prompt_arguments(prompt: Prompt, arguments: Mapping[str, str]) -> None:
    """Check the arguments of a prompt. Raises `PromptArgumentError`."""
    known = {argument.name for argument in prompt.arguments}
    for name, value in arguments.items():
        if name not in known:
            raise PromptArgumentError(name, "unknown")
        if not is_encodable(value) or len(value.encode()) > _MAX_VALUE_BYTES:
            raise PromptArgumentError(name, "too_long")
    for argument in prompt.arguments:
        if argument.required and argument.name not in arguments:
            raise PromptArgumentError(argument.name, "missing")
