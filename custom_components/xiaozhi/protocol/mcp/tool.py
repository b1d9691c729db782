"""The tools of a device's MCP server and their arguments.

Source: the firmware's `main/mcp_server.h`. Everything is bounded and checked, and safe to store.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, nextafter
from typing import Any, Final, Literal, Self

from ...util.text import clean_text, label, one_line
from ...util.untrusted_json import is_bounded, is_deep
from ..messages import JsonObject
from .schema_references import MAX_SCHEMA, resolved

# The MCP standard's own limit; the longest name in stock firmware has 31 characters.
_MAX_NAME: Final = 128
# The longest description in stock firmware explains a JSON format in some 2,000 Chinese characters, and ends
# with values that would break the robot. A page of the device's list holds 8,000 bytes.
_MAX_DESCRIPTION: Final = 4096
# Names of the types, of the standard and of makers of boards.
_SCHEMAS: Final = ("inputSchema", "input_schema", "parameters")
# The device copies a whole message into RAM; small chips have tens of kilobytes of it.
MAX_ARGUMENT_BYTES: Final = 4096
# Whole numbers beyond it are not exact as floats, and far beyond no JSON.
_MAX_WHOLE: Final = 2**53


type PropertyKind = Literal["boolean", "integer", "number", "string", "array", "object", "unknown"]
type Scalar = bool | int | float | str

_KINDS: Final[Mapping[str, tuple[PropertyKind, tuple[type[Scalar], ...]]]] = {
    "boolean": ("boolean", (bool,)),
    "integer": ("integer", (int,)),
    "number": ("number", (int, float)),
    "string": ("string", (str,)),
    "array": ("array", ()),
    "object": ("object", ()),
    "unknown": ("unknown", ()),
}
_KIND_OF: Final[Mapping[type, str]] = {types[-1]: name for name, (_, types) in _KINDS.items() if types}

# Other spellings of makers of boards.
_TYPES: Final = {
    "bool": "boolean",
    "int": "integer",
    "str": "string",
    "text": "string",
    "float": "number",
    "double": "number",
}
# How people and models write true and false.
_FLAGS: Final = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
# What may stand in the place of properties.
_ELSEWHERE: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf"})

_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProperty:
    """An argument of a tool, or a part of one. Stock firmware has booleans, integers and strings."""

    kind: PropertyKind
    description: str = ""
    """In the device's words, one line."""
    default: Scalar | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    choices: tuple[Scalar, ...] = ()
    """Allowed values, if the device lists them (`enum`)."""
    items: ToolProperty | None = None
    """Members of an `array`; None if they may be anything."""
    properties: Mapping[str, ToolProperty] = field(default_factory=dict, hash=False)
    """Known members of an `object`."""
    required: tuple[str, ...] = ()

    @classmethod
    def from_schema(cls, schema: Any) -> Self:
        """Read a schema without references; limits, choices and defaults that contradict it are dropped."""
        schema = _plain_schema(schema)
        kind, _ = _KINDS.get(schema["type"], _KINDS["unknown"])
        minimum = maximum = None
        if kind in {"integer", "number"}:
            minimum, maximum = _limit(schema, "minimum", kind, 1), _limit(schema, "maximum", kind, -1)
            if minimum is not None and maximum is not None and minimum > maximum:
                minimum = maximum = None
        listed = schema.get("enum")
        choices = [_typed(each, kind) for each in listed] if isinstance(listed, list) else []
        known = tuple(dict.fromkeys(each for each in choices if each is not None))
        members = schema.get("properties") if kind == "object" else None
        properties = {name: cls.from_schema(part) for name, part in (members or {}).items()}
        return cls(
            kind=kind,
            description=label(schema.get("description"), 200) or "",
            default=_typed(schema.get("default"), kind),
            minimum=minimum,
            maximum=maximum,
            choices=known if len(known) <= 128 else (),
            items=cls.from_schema(schema["items"]) if kind == "array" and "items" in schema else None,
            properties=properties,
            required=tuple(_required(schema.get("required"), members or {}, properties)),
        )

    @property
    def limits(self) -> tuple[int, int]:
        """Smallest and largest integer; the device silently clamps numbers beyond 32 bits."""
        low, high = (-(2**31), 2**31 - 1)
        return (
            low if self.minimum is None else min(max(int(self.minimum), low), high),
            high if self.maximum is None else max(min(int(self.maximum), high), low),
        )

    def takes(self, value: float) -> bool:
        """Whether a number is within the limits."""
        if self.kind == "integer":
            low, high = self.limits
            return low <= value <= high
        return (self.minimum is None or self.minimum <= value) and (
            self.maximum is None or value <= self.maximum
        )


def _plain_schema(schema: Any) -> JsonObject:
    """Return a schema as the firmware writes it: with one type, and without the null that it also allows."""
    if not isinstance(schema, dict):
        return {"type": None}
    for member in ("anyOf", "oneOf", "allOf"):
        schema = _with_alternatives(schema, schema.get(member))
    if "const" in schema:
        schema = {"enum": [schema["const"]], **schema}
    kinds = _kinds(schema)
    return {**schema, "type": kinds.pop() if len(kinds) == 1 else None}


def _with_alternatives(schema: JsonObject, listed: object) -> JsonObject:
    """Return a schema with what its only alternative says, or with the values of constant ones."""
    alternatives = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    alternatives = [each for each in alternatives if each.get("type") != "null"]
    if len(alternatives) == 1:
        return {**alternatives[0], **schema}
    values = [each["const"] for each in alternatives if "const" in each]
    return {"enum": values, **schema} if values and len(values) == len(alternatives) else schema


def _kinds(schema: JsonObject) -> set[str]:
    """Return the types of a schema: those that it states, or else those of the values that it lists."""
    stated, listed = schema.get("type"), schema.get("enum")
    if stated is None and isinstance(listed, list):
        kinds = {_KIND_OF.get(type(each), "null") for each in listed}
    else:
        names = [str(each).lower() for each in (stated if isinstance(stated, list) else [stated])]
        kinds = {_TYPES.get(name, name) for name in names}
    if "number" in kinds:
        kinds.discard("integer")
    return kinds - {"null"}


def _limit(schema: JsonObject, key: str, kind: PropertyKind, step: int) -> int | float | None:
    limit = _typed(schema.get(key, schema.get(key[:3])), kind)
    excluded = _typed(schema.get(f"exclusive{key.title()}"), kind)
    if limit is None and isinstance(excluded, int | float):
        limit = excluded + step if kind == "integer" else nextafter(excluded, step * inf)
    return limit if isinstance(limit, int | float) else None


def _typed(value: object, kind: PropertyKind) -> Scalar | None:
    """Return a value of a kind, also written as that of another one, such as "8" or 8.0; None without one."""
    if isinstance(value, str) and kind == "boolean":
        return _FLAGS.get(value.strip().lower())
    if isinstance(value, str) and kind in {"integer", "number"}:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, float):
        if not isfinite(value):
            return None
        value = int(value) if value.is_integer() and abs(value) <= _MAX_WHOLE else value
    # Not isinstance: a boolean is not an integer here.
    return value if type(value) in _KINDS[kind][1] else None  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the device."""

    name: str
    description: str
    """Description by the device, often in Chinese."""
    properties: Mapping[str, ToolProperty] = field(hash=False)
    required: tuple[str, ...]
    """Names of the properties without a default."""
    user_only: bool
    """Whether it must be hidden from language models."""
    title: str | None = None
    """Name for people; stock firmware has none."""
    hints: Mapping[str, bool] = field(default_factory=dict, hash=False)
    """The device's hints about its risk (MCP `annotations`). One can add a risk, never remove one."""
    schema: JsonObject = field(hash=False, repr=False)
    """`inputSchema` as the device sent it; read-only."""

    @classmethod
    def from_dict(cls, data: Any) -> Self | None:
        """Read a tool from a `tools/list` page or from storage; None if it is malformed or too large."""
        match data:
            case {"name": str(name)} if name.isprintable() and 0 < len(name) <= _MAX_NAME:
                # Languages without a difference write an empty list or null for an empty object.
                schema: Any = next((data[member] for member in _SCHEMAS if data.get(member)), {})
            case _:
                return None
        if not isinstance(schema, dict) or not is_bounded(schema, MAX_SCHEMA):
            return None
        schema_of_all = _plain_schema(resolved(schema) | {"type": "object"})
        if not isinstance(schema_of_all.get("properties", _ELSEWHERE & schema.keys()) or {}, dict):
            # Nobody can know which arguments it has.
            return None
        arguments = ToolProperty.from_schema(schema_of_all)
        description, annotations = data.get("description"), data.get("annotations")
        annotations = annotations if isinstance(annotations, dict) else {}
        return cls(
            name=name,
            description=clean_text(description, _MAX_DESCRIPTION) if isinstance(description, str) else "",
            properties=arguments.properties,
            required=arguments.required,
            user_only=_is_for_user_only(annotations.get("audience")),
            # In the standard of 2025-03-26 it is among the annotations.
            title=label(data.get("title")) or label(annotations.get("title")),
            hints={name: hint for name in _HINTS if isinstance(hint := annotations.get(name), bool)},
            schema=schema,
        )

    def as_dict(self) -> JsonObject:
        """Return the form that `from_dict` reads: that of a `tools/list` page."""
        data: JsonObject = {"name": self.name, "description": self.description, "inputSchema": self.schema}
        if self.title is not None:
            data["title"] = self.title
        annotations: JsonObject = {**self.hints}
        if self.user_only:
            annotations["audience"] = ["user"]
        return data | ({"annotations": annotations} if annotations else {})


def _required(
    stated: object, listed: Mapping[str, Any], properties: Mapping[str, ToolProperty]
) -> Iterator[str]:
    """Yield the names of required properties: as the standard lists them, or as older schemas mark them."""
    match stated:
        case True:
            stated = [key for key, kind in properties.items() if kind.default is None]
        case dict():
            # An array, as Lua writes it.
            stated = [*stated.values()]
    names = stated if isinstance(stated, list) else [stated]
    for key, schema in listed.items():
        if key in names or (isinstance(schema, dict) and schema.get("required") is True):
            yield key


def _is_for_user_only(audience: object) -> bool:
    return isinstance(audience, list) and "user" in audience and "assistant" not in audience


class ArgumentError(ValueError):
    """An argument that the device would refuse or silently replace with its default."""

    def __init__(self, name: str, expected: ToolProperty | None) -> None:
        """`expected` is None for an unknown argument."""
        super().__init__(one_line(name))
        self.name = name
        self.expected = expected


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> JsonObject:
    """Check arguments, and return them for sending: a whole float becomes an integer.

    The firmware itself ignores unknown arguments, and uses the default for one of a wrong type
    (`main/mcp_server.cc`, `DoToolCall`). Raises `ArgumentError`.
    """
    for name in arguments:
        if name not in tool.properties:
            raise ArgumentError(name, None)
    for name in tool.required:
        if name not in arguments:
            raise ArgumentError(name, tool.properties[name])
    return {name: _check(name, value, tool.properties[name]) for name, value in arguments.items()}


def _check(name: str, value: object, expected: ToolProperty) -> Any:
    if isinstance(value, str):
        value = _meant(value, expected)
    match expected.kind, value:
        case "boolean", bool():
            fits = True
        case (("integer" | "number"), bool()):
            fits = False
        case "integer", int() | float() if value % 1 == 0:
            value, fits = int(value), expected.takes(value)
        case "number", int() | float():
            fits = is_bounded(value, MAX_ARGUMENT_BYTES) and expected.takes(value)
        case "string", str():
            # In JSON, a character has six at most.
            fits = is_bounded(value, 6 * MAX_ARGUMENT_BYTES) and len(value.encode()) <= MAX_ARGUMENT_BYTES
        case ("unknown", _) | ("array", list()) | ("object", dict()):
            fits = not is_deep(value, 8) and is_bounded(value, MAX_ARGUMENT_BYTES)
            value = _check_parts(name, value, expected) if fits else value
        case _:
            fits = False
    if not fits or (expected.choices and value not in expected.choices):
        raise ArgumentError(name, expected)
    return value


def _meant(text: str, expected: ToolProperty) -> object:
    """Return what a language model means by a text: a number, a flag, or a choice with other capitals."""
    folded = text.strip().casefold()
    alike: list[Scalar | None] = [choice for choice in expected.choices if str(choice).casefold() == folded]
    if len(alike) != 1:
        alike = [_typed(text, expected.kind)]
    return text if alike[0] is None else alike[0]


def _check_parts(name: str, value: object, expected: ToolProperty) -> object:
    """Check the members of a list or an object, but not nulls and those that nothing is known of."""
    if isinstance(value, list) and (items := expected.items) is not None:
        return [_check(f"{name}[{index}]", each, items) for index, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    for member in expected.required:
        if member not in value:
            raise ArgumentError(f"{name}.{member}", expected.properties[member])
    return value | {
        member: _check(f"{name}.{member}", value[member], kind)
        for member, kind in expected.properties.items()
        if value.get(member) is not None
    }
