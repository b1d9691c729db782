"""The form that a device wants a person to fill in (`elicitation/create`)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final, Literal

from ...protocol.mcp.model import RequestError
from ...protocol.messages import JsonObject
from ...util.text import clean_text, label

_MAX_FIELDS: Final = 16
_MAX_DESCRIPTION: Final = 200
_MAX_VALUE: Final = 1000
# Beyond it, whole numbers are not exact, and far beyond no JSON.
_BIG: Final = 2**53

type FieldKind = Literal["boolean", "integer", "number", "string", "choice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form."""

    name: str
    title: str
    description: str
    kind: FieldKind
    required: bool
    default: object = None
    minimum: float = -inf
    """Smallest number, or shortest text."""
    maximum: float = inf
    choices: tuple[tuple[str, str], ...] = ()
    """Values with their names."""

    def fault(self, value: object) -> str | None:
        """Return the key of the error of a value, if any."""
        fault: str | None = "out_of_range"
        match self.kind, value:
            case ("boolean", bool()):
                fault = None
            case ("choice", str()) if value in dict(self.choices):
                fault = None
            case ("string", str()):
                short, long = len(value) < self.minimum, len(value) > self.maximum
                fault = "too_short" if short else "too_long" if long else None
            case (("integer" | "number"), int() | float()) if not isinstance(value, bool):
                if self.kind == "integer" and value % 1:
                    fault = "not_whole"
                elif self.minimum <= value <= self.maximum and abs(value) <= _BIG:
                    fault = None
        return fault


def parse_question_form(params: JsonObject) -> tuple[str, tuple[FormField, ...]]:
    """Return the message and the fields. Raises `RequestError` for a schema that is not flat."""
    message, schema = params.get("message"), params.get("requestedSchema")
    if not isinstance(message, str) or not message.strip():
        raise RequestError("The message is empty")
    if params.get("mode", "form") != "form":
        raise RequestError("The mode is not supported")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or schema.get("type") != "object" or not isinstance(properties, dict):
        raise RequestError("The schema is no object with properties")
    if len(properties) > _MAX_FIELDS:
        raise RequestError(f"The schema has more than {_MAX_FIELDS} properties")
    listed = schema.get("required")
    required = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    fields = tuple(_field(name, rule, required=name in required) for name, rule in properties.items())
    return clean_text(message, 1000), fields


def _field(name: str, rule: object, *, required: bool) -> FormField:
    if not isinstance(rule, dict) or not name.isprintable() or not 0 < len(name) <= 64:
        raise RequestError("The schema is not flat")
    kind, low, high, choices = _kind(rule)
    field = FormField(
        name=name,
        title=label(rule.get("title")) or label(name) or "?",
        description=label(rule.get("description"), _MAX_DESCRIPTION) or "",
        kind=kind,
        required=required,
        minimum=low,
        maximum=high,
        choices=choices,
    )
    default = rule.get("default")
    return field if field.fault(default) else replace(field, default=default)


def _kind(rule: JsonObject) -> tuple[FieldKind, float, float, tuple[tuple[str, str], ...]]:
    match rule:
        case {"type": "boolean"}:
            return "boolean", -inf, inf, ()
        case {"type": "integer" | "number" as kind}:
            return kind, _limit(rule, "minimum", -inf), _limit(rule, "maximum", inf), ()
        case {"type": "string"} if choices := _choices(rule):
            return "choice", -inf, inf, choices
        case {"type": "string"} if "enum" not in rule and "oneOf" not in rule:
            longest = _limit(rule, "maxLength", _MAX_VALUE) or _MAX_VALUE
            return "string", _limit(rule, "minLength", 0), min(longest, _MAX_VALUE), ()
    raise RequestError("The schema is not flat")


def _choices(rule: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the choices of a rule in any of the standard's forms; none if they are malformed or too many."""
    match rule:
        case {"enum": [*values], "enumNames": [*names]} if len(values) == len(names):
            pairs = list(zip(values, names, strict=True))
        case {"enum": [*values]}:
            pairs = [(value, value) for value in values]
        case {"oneOf": [*options]}:
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
    return known if len(known) == len(pairs) <= 64 and len(dict(known)) == len(known) else ()


def _limit(rule: JsonObject, key: str, default: float) -> float:
    value = rule.get(key, default)
    return value if type(value) in {int, float} and abs(value) <= _BIG else default
