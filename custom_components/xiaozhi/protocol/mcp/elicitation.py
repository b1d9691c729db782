"""A device's question to a person (`elicitation/create`): a flat form, or a page to open."""

from collections.abc import Mapping
from dataclasses import dataclass
import re
from typing import Any, Final, Literal, Self

from ..messages import JsonObject
from ..text import clean_text, label
from .incoming import RequestError

__all__ = ["FormField", "FormRequest", "PageRequest", "parse_elicitation"]

_MAX_FIELDS: Final = 16
_MAX_NAME: Final = 64
_MAX_CHOICES: Final = 64
_MAX_MESSAGE: Final = 1000
_MAX_DESCRIPTION: Final = 200
_MAX_VALUE: Final = 1000
_MAX_URL: Final = 2048
_BIG: Final = 2**53
_URL: Final = re.compile(r"https?://[^\s`<>\"]+")
# A form must not ask for these: the standard forbids it, and people type what a form asks for.
_SECRET: Final = re.compile(
    r"pass(?:word|wort|phrase|code)|kennwort|contraseña|mot de passe|密码|口令|\bpin\b|\bsecret|\btoken\b|"
    r"(?:api|private|access|secret)[ _-]?key|credential|credit[ _-]?card|card number|\bcvv\b|\biban\b|"
    r"\bssn\b|social security|one[ -]time code|\botp\b",
    re.IGNORECASE,
)

type FieldKind = Literal["boolean", "integer", "number", "string", "choice", "choices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form."""

    name: str
    title: str
    """One line for people."""
    description: str
    kind: FieldKind
    required: bool
    default: Any = None
    minimum: float | None = None
    """Smallest number, shortest text, or smallest number of choices."""
    maximum: float | None = None
    choices: tuple[tuple[str, str], ...] = ()
    """Values with what they are called."""
    text_format: str | None = None
    """Such as `email`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormRequest:
    """A form."""

    message: str
    fields: tuple[FormField, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A page that a person is asked to open. Its address is shown, and never opened."""

    message: str
    url: str

    @classmethod
    def from_dict(cls, message: str, params: JsonObject) -> Self:
        """Read the address. Raises `RequestError` for one that is not http or https."""
        url = params.get("url")
        if (
            not isinstance(url, str)
            or len(url) > _MAX_URL
            or not url.isprintable()
            or not _URL.fullmatch(url)
        ):
            raise RequestError("The url is no address of the web")
        return cls(message=message, url=url)


def parse_elicitation(params: JsonObject) -> FormRequest | PageRequest:
    """Read the params. Raises `RequestError` for a schema that is not flat, or that asks for a secret."""
    message = params.get("message")
    if not isinstance(message, str) or not message.strip():
        raise RequestError("The message is empty")
    shown = clean_text(message, _MAX_MESSAGE)
    match params.get("mode", "form"):
        case "url":
            return PageRequest.from_dict(shown, params)
        case "form":
            pass
        case _:
            raise RequestError("The mode is not supported")
    schema = params.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or schema.get("type") != "object" or not isinstance(properties, dict):
        raise RequestError("The schema is no object with properties")
    if len(properties) > _MAX_FIELDS:
        raise RequestError(f"The schema has more than {_MAX_FIELDS} properties")
    listed = schema.get("required")
    required = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    fields = tuple(_field(name, rule, required=name in required) for name, rule in properties.items())
    asked = (shown, *(f"{field.name} {field.title} {field.description}" for field in fields))
    if any(_SECRET.search(text) for text in asked):
        raise RequestError("A form must not ask for a secret")
    return FormRequest(message=shown, fields=fields)


def _field(name: str, rule: Any, *, required: bool) -> FormField:
    if not isinstance(rule, dict) or not name.isprintable() or not 0 < len(name) <= _MAX_NAME:
        raise RequestError("The schema is not flat")
    kind, low, high, choices = _kind(rule)
    given = rule.get("default")
    return FormField(
        name=name,
        title=label(rule.get("title")) or label(name) or "?",
        description=label(rule.get("description"), _MAX_DESCRIPTION) or "",
        kind=kind,
        required=required,
        default=given if _fits(kind, given, choices) else None,
        minimum=low,
        maximum=high,
        choices=choices,
        text_format=label(rule.get("format")),
    )


def _kind(rule: JsonObject) -> tuple[FieldKind, float | None, float | None, tuple[tuple[str, str], ...]]:
    match rule:
        case {"type": "boolean"}:
            return "boolean", None, None, ()
        case {"type": "integer" | "number" as kind}:
            return kind, _number(rule, "minimum"), _number(rule, "maximum"), ()
        case {"type": "array", "items": dict(items)} if choices := _choices(items):
            return "choices", _number(rule, "minItems"), _number(rule, "maxItems"), choices
        case {"type": "string"} if choices := _choices(rule):
            return "choice", None, None, choices
        case {"type": "string"} if "enum" not in rule and "oneOf" not in rule:
            longest = _number(rule, "maxLength")
            return "string", _number(rule, "minLength"), min(longest or _MAX_VALUE, _MAX_VALUE), ()
    raise RequestError("The schema is not flat")


def _choices(rule: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the choices of a rule in any of the standard's forms; none if they are malformed or too many."""
    match rule:
        case {"enum": [*values], "enumNames": [*names]} if len(values) == len(names):
            pairs = list(zip(values, names, strict=True))
        case {"enum": [*values]}:
            pairs = [(value, value) for value in values]
        case {"oneOf": [*options]} | {"anyOf": [*options]}:
            pairs = [
                (option.get("const"), option.get("title")) if isinstance(option, dict) else (None, None)
                for option in options
            ]
        case _:
            return ()
    known = tuple(
        (value, label(name) or value)
        for value, name in pairs
        if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _MAX_DESCRIPTION
    )
    return known if len(known) == len(pairs) <= _MAX_CHOICES and len(dict(known)) == len(known) else ()


def _number(rule: JsonObject, key: str) -> float | None:
    value = rule.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -_BIG <= value <= _BIG else None


def _fits(kind: FieldKind, value: Any, choices: tuple[tuple[str, str], ...]) -> bool:
    match kind, value:
        case ("boolean", bool()) | ("choices", None):
            return True
        case ("string", str()):
            return len(value) <= _MAX_VALUE and value.isprintable()
        case ("choice", str()):
            return value in dict(choices)
        case ("choices", [*values]):
            return all(isinstance(each, str) and each in dict(choices) for each in values)
        case (("integer" | "number"), int() | float()):
            return not isinstance(value, bool) and -_BIG <= value <= _BIG
    return False
