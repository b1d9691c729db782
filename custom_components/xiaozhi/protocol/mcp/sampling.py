"""A device's question to a language model (`sampling/createMessage`)."""

from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from ..messages import JsonObject
from ..text import clean_text
from .content import ImageContent, parse_image
from .incoming import RequestError
from .model import McpProtocolError

__all__ = ["SamplingMessage", "SamplingRequest"]

_MAX_MESSAGES: Final = 32
_MAX_TEXT: Final = 16 * 1024
_MAX_IMAGES: Final = 4
_MAX_TOKENS: Final = 4096
_IMAGE_TYPES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingMessage:
    """A text of the conversation that the device wants to be continued."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """A question with texts and images."""

    messages: tuple[SamplingMessage, ...]
    images: tuple[ImageContent, ...]
    system_prompt: str
    max_tokens: int

    @classmethod
    def from_dict(cls, params: JsonObject) -> Self:
        """Read the params. Raises `RequestError` for what is not served: tools, audio, too much."""
        if params.get("tools") or params.get("toolChoice"):
            raise RequestError("Tools are not supported")
        listed, max_tokens = params.get("messages"), params.get("maxTokens")
        if not isinstance(listed, list) or not 0 < len(listed) <= _MAX_MESSAGES:
            raise RequestError(f"1 to {_MAX_MESSAGES} messages are supported")
        if type(max_tokens) is not int or max_tokens < 1:
            raise RequestError("maxTokens is no positive number")
        messages: list[SamplingMessage] = []
        images: list[ImageContent] = []
        for message in listed:
            texts = []
            role, parts = _parts(message)
            for part in parts:
                read = _read(part)
                if isinstance(read, str):
                    texts.append(read)
                else:
                    images.append(read)
            messages.append(SamplingMessage(role=role, text="\n".join(texts)))
        if sum(len(message.text) for message in messages) > _MAX_TEXT or len(images) > _MAX_IMAGES:
            raise RequestError(f"At most {_MAX_TEXT} characters and {_MAX_IMAGES} images are supported")
        prompt = params.get("systemPrompt")
        return cls(
            messages=tuple(messages),
            images=tuple(images),
            system_prompt=clean_text(prompt, _MAX_TEXT) if isinstance(prompt, str) else "",
            max_tokens=min(max_tokens, _MAX_TOKENS),
        )


def _parts(message: Any) -> tuple[Literal["user", "assistant"], list[Any]]:
    match message:
        case {"role": "user" | "assistant" as role, "content": [*parts]}:
            return role, parts
        case {"role": "user" | "assistant" as role, "content": {} as part}:
            return role, [part]
    raise RequestError("A message has no role or no content")


def _read(part: Any) -> str | ImageContent:
    match part:
        case {"type": "text", "text": str(text)}:
            return clean_text(text, _MAX_TEXT + 1)
        case {"type": "image", "data": str(), "mimeType": mime_type} if mime_type in _IMAGE_TYPES:
            try:
                return parse_image(part)
            except McpProtocolError as err:
                raise RequestError("An image cannot be read") from err
    raise RequestError("Texts and images only are supported")
