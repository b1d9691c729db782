"""Tools, their arguments and their results, as devices describe them."""

import base64
from collections.abc import Callable
from dataclasses import replace
import json
from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.model import McpProtocolError
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.mcp.schema_references import MAX_SCHEMA, resolved
from custom_components.xiaozhi.protocol.mcp.tool import (
    ArgumentError,
    Tool,
    ToolProperty,
    check_arguments,
)
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.growth import assert_linear
from tests.protocol.mcp.device import JSON_VALUES

LED: JsonObject = {
    "name": "self.led_strip.blink",
    "description": "Blink the strip",
    "inputSchema": {
        "type": "object",
        "properties": {
            "red": {"type": "integer", "minimum": 0, "maximum": 255},
            "times": {"type": "integer", "default": 3},
            "loud": {"type": "boolean", "default": True},
            "mode": {"type": "string", "default": "soft"},
            "extra": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["red", "gone"],
    },
}


def tool(data: JsonObject) -> Tool:
    parsed = Tool.from_dict(data)
    assert parsed
    return parsed


def test_a_tool_is_read_and_can_be_stored() -> None:
    """Through JSON and back it is the same, and can be used as a key."""
    led = tool(LED)
    assert (led.name, led.description, led.user_only) == ("self.led_strip.blink", "Blink the strip", False)
    assert led.properties == {
        "red": ToolProperty(kind="integer", minimum=0, maximum=255),
        "times": ToolProperty(kind="integer", default=3),
        "loud": ToolProperty(kind="boolean", default=True),
        "mode": ToolProperty(kind="string", default="soft"),
        "extra": ToolProperty(kind="array", items=ToolProperty(kind="integer")),
    }
    assert led.required == ("red",)
    user_only = tool({**LED, "annotations": {"audience": ["user"]}})
    assert user_only.user_only
    for stored in (led, user_only):
        assert Tool.from_dict(json.loads(json.dumps(stored.as_dict()))) == stored
    assert len({led, user_only, tool(LED)}) == 2


@pytest.mark.parametrize(
    ("annotations", "user_only"),
    [
        ({"audience": ["user"]}, True),
        ({"audience": ["user", "assistant"]}, False),
        ({"audience": "user"}, False),
        ("user", False),
    ],
)
def test_a_tool_for_the_user_only_is_told_by_its_audience(annotations: Any, user_only: bool) -> None:
    assert tool({**LED, "annotations": annotations}).user_only is user_only


def test_a_long_description_is_cut_and_cleaned() -> None:
    assert tool({**LED, "description": "说" * 9000}).description == "说" * 4096
    assert tool({**LED, "description": "a\ud800b"}).description == "a?b"


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"name": 7},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "\ud800"},
        {"name": "a", "inputSchema": "none"},
        {"name": "a", "inputSchema": {"properties": ["level"]}},
        {"name": "a", "inputSchema": {"properties": {"b": {"description": "x" * 9000}}}},
        {"name": "a", "inputSchema": {"properties": {f"argument_{n}": {} for n in range(1000)}}},
        {"name": "a", "inputSchema": {"properties": {"b": {"default": 2**64}}}},
        {"name": "a", "inputSchema": {"properties": {"\ud800": {}}}},
    ],
)
def test_a_tool_that_cannot_be_called_or_stored_is_refused(data: Any) -> None:
    """Malformed, too large, or with values that JSON cannot carry on."""
    assert Tool.from_dict(data) is None


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        *((schema, ()) for schema in (None, {}, [], {"properties": None}, {"properties": []})),
        *(
            ({"properties": {"a": {}, "b": {"type": "integer", "default": 1}}, "required": stated}, names)
            for stated, names in (
                *((nothing, ()) for nothing in (None, [], {}, "", False, 0, [None, 7])),
                *((listed, ("b",)) for listed in (["b"], "b", {"1": "b"}, ["b", "b", "c"])),
                (True, ("a",)),
            )
        ),
        ({"properties": {"a": {"required": True}, "b": {"required": False}, "c": None}}, ("a",)),
    ],
)
def test_null_and_empty_are_as_good_as_missing(schema: Any, required: tuple[str, ...]) -> None:
    read = tool({"name": "a", "description": None, "annotations": None, "inputSchema": schema})
    assert read.required == required
    assert Tool.from_dict(json.loads(json.dumps(read.as_dict()))) == read


RANGE = {"minimum": 1, "maximum": 9}
UNKNOWN = ToolProperty(kind="unknown")
INTEGER = ToolProperty(kind="integer")
STRING = ToolProperty(kind="string")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        # A number keeps its range, also if it may be null or is written loosely.
        *(
            (schema, ToolProperty(kind="integer", **RANGE))
            for schema in (
                {"type": ["integer", "null"], **RANGE},
                {"type": ["null", "integer"], "default": None, **RANGE},
                {"type": ["integer"], **RANGE},
                {"anyOf": [{"type": "integer", **RANGE}, {"type": "null"}], "default": None},
                {"oneOf": [{"type": "null"}, {"type": ["integer", "null"], **RANGE}]},
                {"anyOf": [{"type": "integer"}, {"type": "null"}], **RANGE},
                {"type": "integer", "nullable": True, "enum": None, **RANGE},
                {"allOf": [{"type": "integer"}], **RANGE},
                {"type": "Int", "min": "1", "max": 9.0},
                {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10},
            )
        ),
        # A type and its choices can be stated in several ways.
        ({"type": "bool"}, ToolProperty(kind="boolean")),
        ({"type": ["integer", "number"]}, ToolProperty(kind="number")),
        ({"enum": ["a", "b", None]}, replace(STRING, choices=("a", "b"))),
        ({"anyOf": [{"enum": [1, 2]}, {"type": "null"}]}, replace(INTEGER, choices=(1, 2))),
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, replace(STRING, choices=("a", "b"))),
        ({"type": "integer", "enum": ["1", 2.0, 2]}, replace(INTEGER, choices=(1, 2))),
        ({"type": "string", "const": "a"}, replace(STRING, choices=("a",))),
        # Any of several types is none.
        *(
            (schema, UNKNOWN)
            for schema in (
                7,
                {"enum": [1, "a"]},
                {"type": ["integer", "string"]},
                {"type": []},
                {"type": "null"},
                {"type": {"a": 1}},
                {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                {"anyOf": [{"type": "null"}]},
                {"anyOf": {"type": "integer"}},
                {"oneOf": [None, 7]},
            )
        ),
        # Limits, choices and defaults that contradict the type are dropped.
        ({"type": "integer", "minimum": 5, "maximum": 1, "default": 3}, replace(INTEGER, default=3)),
        ({"type": "integer", "minimum": True, "maximum": 1.5, "default": "x"}, INTEGER),
        ({"type": "boolean", "default": 1}, ToolProperty(kind="boolean")),
        ({"type": "string", "default": 1}, STRING),
        (
            {"type": "number", "minimum": 0.5, "maximum": 2},
            ToolProperty(kind="number", minimum=0.5, maximum=2),
        ),
        ({"type": "integer", "minimum": 1.0}, replace(INTEGER, minimum=1)),
        ({"type": "string", "enum": ["a", 1, "b"]}, replace(STRING, choices=("a", "b"))),
        # No number that JSON can carry, or that a device could take.
        ({"type": "integer", "default": 1e300, "maximum": "1e300"}, INTEGER),
        ({"type": "number", "maximum": "1e999"}, ToolProperty(kind="number")),
    ],
)
def test_a_schema_is_read_as_its_maker_means_it(schema: Any, expected: ToolProperty) -> None:
    assert ToolProperty.from_schema(schema) == expected


def test_limits_never_leave_32_bits() -> None:
    """Beyond them the device would clamp silently."""
    wide = ToolProperty.from_schema({"type": "integer", "minimum": -(2**40), "maximum": 2**40})
    assert wide.limits == ToolProperty(kind="integer").limits == (-(2**31), 2**31 - 1)
    assert ToolProperty(kind="integer", minimum=1, maximum=7).limits == (1, 7)


MODE: JsonObject = {"type": "string", "enum": ["eco", "boost"]}
POINT: JsonObject = {
    "type": "object",
    "properties": {
        "x": {"type": "integer", "minimum": 0, "maximum": 9},
        "mode": {"$ref": "#/$defs/Mode"},
        "after": {"$ref": "#/$defs/Point"},
        "list": {"type": "array"},
    },
    "required": ["x"],
}
DEFINITIONS: JsonObject = {"$defs": {"Mode": MODE, "Point": POINT, "Alias": {"$ref": "#/$defs/Mode"}}}


def with_argument(schema: JsonObject) -> Tool:
    """Return a tool with an argument whose schema may refer to definitions, as FastMCP writes them."""
    schema = {"properties": {"a": schema, "b/~": MODE}, "definitions": {"Mode": MODE}, **DEFINITIONS}
    return tool({"name": "x", "inputSchema": schema})


@pytest.mark.parametrize(
    ("schema", "default"),
    [
        ({"$ref": "#/$defs/Mode"}, None),
        ({"$ref": "#/definitions/Mode"}, None),
        ({"$ref": "#/$defs/Alias"}, None),
        ({"$ref": "#/properties/b~1~0"}, None),
        ({"$ref": "#/$defs/Mode", "default": "eco"}, "eco"),
        ({"allOf": [{"$ref": "#/$defs/Mode"}], "default": "eco"}, "eco"),
        ({"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}], "default": None}, None),
    ],
)
def test_a_reference_to_a_definition_means_what_is_defined(schema: JsonObject, default: str | None) -> None:
    found = with_argument(schema)
    assert found.properties["a"] == ToolProperty(kind="string", choices=("eco", "boost"), default=default)
    assert Tool.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    assert check_arguments(found, {"a": "boost"}) == {"a": "boost"}
    with pytest.raises(ArgumentError):
        check_arguments(found, {"a": "banana"})


@pytest.mark.parametrize(
    "reference",
    ["#", "#/$defs/Gone", "#/$defs/Mode/type", "#Mode", "", "https://192.0.2.1/schema.json", "/$defs/Mode"],
)
def test_a_reference_that_leads_elsewhere_or_around_means_anything(reference: str) -> None:
    found = with_argument({"$ref": reference, "description": "Any."})
    assert found.properties["a"] == ToolProperty(kind="unknown", description="Any.")
    assert check_arguments(found, {"a": [{"b": 1}]}) == {"a": [{"b": 1}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Point"},
        {"allOf": [{"$ref": "#/$defs/Point"}]},
        {**POINT, "$ref": "#/$defs/Point"},
    ],
)
def test_a_schema_that_is_a_reference_as_a_whole_has_its_arguments(schema: JsonObject) -> None:
    found = tool({"name": "x", "inputSchema": schema | DEFINITIONS})
    assert (found.properties["x"].limits, found.required) == ((0, 9), ("x",))


@pytest.mark.parametrize("schema", [{"$ref": "#/$defs/Gone"}, {"oneOf": [{"type": "object"}, {}]}])
def test_a_tool_whose_arguments_nobody_can_know_is_refused(schema: JsonObject) -> None:
    assert Tool.from_dict({"name": "x", "inputSchema": schema}) is None


HALF_TO_TWO: JsonObject = {"type": "number", "minimum": 0.5, "maximum": 2}
EXCLUSIVE: JsonObject = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5, "maximum": 9}
POINTS: JsonObject = {"type": "array", "items": {"$ref": "#/$defs/Point"}}


@pytest.mark.parametrize(
    ("schema", "value", "sent"),
    [
        *((HALF_TO_TWO, value, value) for value in (0.5, 2)),
        (EXCLUSIVE, 0.01, 0.01),
        ({"type": "integer", "enum": [1, 5]}, 5.0, 5),
        ({"type": "integer"}, 40.0, 40),
        # What a model writes as a text is what it means.
        ({"type": "integer", "maximum": 50}, " 40 ", 40),
        ({"type": "number"}, "4.5", 4.5),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "off", False),
        (MODE, "Boost", "boost"),
        ({"enum": ["a", "A", "B"]}, "b", "B"),
        ({"enum": ["a", "A"]}, "A", "A"),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
        ({"type": "string"}, "40", "40"),
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2], [1, 2]),
        *(
            (POINTS, value, value)
            for value in (
                [],
                [{"x": 3, "mode": "eco", "list": [None, "a"], "note": "free"}],
                [{"x": 3, "mode": None, "after": {"x": 99}}],
            )
        ),
    ],
)
def test_an_argument_that_fits_is_sent_in_its_type(schema: JsonObject, value: Any, sent: Any) -> None:
    checked = check_arguments(with_argument(schema), {"a": value})["a"]
    assert (checked, type(checked)) == (sent, type(sent))


@pytest.mark.parametrize(
    ("schema", "value", "wrong"),
    [
        (HALF_TO_TWO, 2.01, "a"),
        *(({"type": "number"}, value, "a") for value in (float("inf"), True)),
        *((EXCLUSIVE, value, "a") for value in (0, -1)),
        (MODE, "banana", "a"),
        # What is nested is checked, too.
        (POINTS, [{"x": 3}, {"x": 30}], "a[1].x"),
        (POINTS, [{"x": 3, "mode": "banana"}], "a[0].mode"),
        (POINTS, [{"x": 3, "list": {}}], "a[0].list"),
        (POINTS, [{"mode": "eco"}], "a[0].x"),
        (POINTS, [3], "a[0]"),
        (POINTS, {"x": 3}, "a"),
        (POINTS, [{"x": 3, "note": "x" * 5000}], "a"),
    ],
)
def test_of_an_argument_that_does_not_fit_the_wrong_part_is_named(
    schema: JsonObject, value: Any, wrong: str
) -> None:
    with pytest.raises(ArgumentError) as raised:
        check_arguments(with_argument(schema), {"a": value})
    assert raised.value.name == wrong


def size_of(part: ToolProperty) -> int:
    below = [*part.properties.values(), *([part.items] if part.items else [])]
    return 1 + len(part.choices) + sum(map(size_of, below))


def refer(*names: object) -> JsonObject:
    """Return an object with a member for each of these definitions."""
    return {
        "type": "object",
        "properties": {f"{at}": {"$ref": f"#/$defs/{name}"} for at, name in enumerate(names)},
    }


@pytest.mark.parametrize(
    "define",
    [
        # Each definition has the next one twice, or all of them; a list in a list; a long one many times.
        lambda number: refer(number + 1, number + 1),
        lambda number: refer(*range(8)),
        lambda number: {"type": "array", "items": {"$ref": f"#/$defs/{number + 1}"}},
        lambda number: refer(*[1] * 30) if number == 0 else {"enum": ["x" * 9] * 90},
    ],
)
def test_references_cannot_make_a_schema_without_bounds(define: Callable[[int], JsonObject]) -> None:
    definitions = {f"{number}": define(number) for number in range(20)}
    definitions["19"] = {"type": "string"}
    schema = {"$defs": definitions, "properties": {"a": {"$ref": "#/$defs/0"}}}
    for long in (1, 5):
        schema = {**schema, "$defs": dict(list(definitions.items())[: 4 * long])}
        assert len(json.dumps(resolved(schema), separators=(",", ":"))) <= 4 * MAX_SCHEMA


def test_a_schema_with_references_is_read_in_linear_time() -> None:
    def make(size: int) -> JsonObject:
        definitions = {f"{number}": refer(number + 1, number + 1) for number in range(size // 90)}
        return {"$defs": definitions, "properties": {"a": {"$ref": "#/$defs/0"}}}

    assert_linear(lambda schema: Tool.from_dict({"name": "x", "inputSchema": schema}), make, size=500)


NAMES = st.sampled_from("abc")
REFERENCES = st.sampled_from(["#/$defs/a", "#/$defs/b", "#/$defs/c", "#/properties/a", "#/$defs/a/items"])
PARTS = st.recursive(
    st.sampled_from([{"type": "integer"}, MODE, {}]) | st.fixed_dictionaries({"$ref": REFERENCES}),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array", None])},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
        },
    ),
    max_leaves=8,
)


@given(definitions=st.dictionaries(NAMES, PARTS), arguments=st.dictionaries(NAMES, PARTS))
def test_any_references_end(definitions: JsonObject, arguments: JsonObject) -> None:
    schema = {"$defs": definitions, "properties": arguments}
    found = Tool.from_dict({"name": "x", "inputSchema": schema})
    assert found is None or set(found.properties) == set(arguments)
    assert "$ref" not in json.dumps(resolved(schema))


def test_a_title_and_hints_are_read_and_stored() -> None:
    """From both places where the standard has had the title."""
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": 1, "openWorldHint": True}
    found = tool({"name": "x", "title": "Make\ncoffee", "annotations": {**hints, "audience": ["user"]}})
    assert found.title == "Make coffee"
    assert found.hints == {name: hint for name, hint in hints.items() if name != "idempotentHint"}
    assert tool(found.as_dict()) == found
    assert tool({"name": "x", "annotations": {"title": "Brew"}}).title == "Brew"


PIXEL = base64.b64encode(b"\xff\xd8pixel").decode()
IMAGE = {"type": "image", "mimeType": "image/jpeg", "data": PIXEL}
LINK = {"type": "resource_link", "uri": "file:///log.txt", "name": "log"}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": [], "structuredContent": {"level": 3}}, {"level": 3}),
        ({"structuredContent": {"level": 3}}, {"level": 3}),
        ({"content": [LINK]}, LINK),
        ({"content": [IMAGE]}, IMAGE),
        # The firmware wraps the standard item, as JSON text, into another one.
        ({"content": [{"type": "image", "image": json.dumps(IMAGE)}]}, IMAGE),
        (
            {"content": [LINK, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}, {"type": "new"}]},
            [LINK, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}],
        ),
        ({"content": [{"type": "text", "text": "[1]"}, LINK]}, [1]),
        ({"content": []}, None),
    ],
)
def test_what_is_no_text_is_a_value_too(result: JsonObject, value: Any) -> None:
    assert ToolResult.from_dict(result).value == value


@pytest.mark.parametrize(
    "arguments",
    [
        {"red": 0},
        {"red": 255, "times": -(2**31), "loud": False, "mode": "", "extra": [1, 2]},
        {"red": 1, "mode": "说" * 1365},
        {"red": 1, "mode": "x" * 4096},
    ],
)
def test_good_arguments_are_sent_as_they_are(arguments: JsonObject) -> None:
    """Limits are inclusive."""
    assert check_arguments(tool(LED), arguments) == arguments


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"red": 1, "blue": 1}, "blue"),
        ({"loud": True}, "red"),
        ({"red": "one"}, "red"),
        ({"red": "256"}, "red"),
        ({"red": True}, "red"),
        ({"red": 1.5}, "red"),
        ({"red": float("nan")}, "red"),
        ({"red": 256}, "red"),
        ({"red": 1, "times": 2**31}, "times"),
        ({"red": 1, "loud": 1}, "loud"),
        ({"red": 1, "loud": "maybe"}, "loud"),
        ({"red": 1, "mode": "x" * 4097}, "mode"),
        ({"red": 1, "mode": "说" * 1366}, "mode"),
        ({"red": 1, "mode": "\ud800"}, "mode"),
        ({"red": 1, "extra": ["x" * 5000]}, "extra"),
        ({"red": 1, "extra": object()}, "extra"),
        ({"red": 1, "extra": 7}, "extra"),
    ],
)
def test_a_bad_argument_is_named_with_what_is_expected(arguments: JsonObject, name: str) -> None:
    """The firmware would silently take its default instead."""
    with pytest.raises(ArgumentError) as raised:
        check_arguments(tool(LED), arguments)
    assert raised.value.name == name
    assert raised.value.expected == tool(LED).properties.get(name)


def test_several_items_are_gathered() -> None:
    """Texts are lines, other items stay as they are, unknown kinds are ignored."""
    content = [
        {"type": "text", "text": "a\ud800"},
        {"type": "audio"},
        IMAGE,
        7,
        {"type": "text", "text": "b"},
    ]
    result = ToolResult.from_dict({"content": content, "isError": False})
    assert (result.text, result.is_error) == ("a?\nb", False)
    assert result.items == ({"type": "audio"}, IMAGE)
    assert ToolResult.from_dict({"content": [], "isError": True}).is_error


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"content": None},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "image", "image": "{"}]},
        {"content": [{"type": "image", "image": "[" * 30_000}]},
    ],
)
def test_a_malformed_result_is_an_error(result: JsonObject) -> None:
    with pytest.raises(McpProtocolError):
        ToolResult.from_dict(result)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("42", 42),
        ('{"ip": "192.0.2.1"}', {"ip": "192.0.2.1"}),
        ("moving", None),
        ("", None),
        ("NaN", None),
        ("1" + "0" * 30, 1e30),
        ('"\\ud800"', None),
        ("[" * 60_000, None),
    ],
)
def test_the_text_of_a_result_as_json(text: str, value: Any) -> None:
    """What could not be stored or sent on counts as no JSON."""
    assert ToolResult(text=text).json() == value


@given(data=JSON_VALUES, schema=JSON_VALUES, properties=JSON_VALUES)
def test_any_tool_is_refused_or_can_be_stored(data: Any, schema: Any, properties: Any) -> None:
    """What is kept can be encoded strictly, and is read back the same."""
    for candidate in (
        data,
        {"name": "a", "description": data, "inputSchema": schema, "annotations": properties},
        {"name": "a", "inputSchema": {"properties": properties, "required": [data]}},
        {"name": "a", "inputSchema": {"properties": {"b": schema}, "required": ["b"]}},
    ):
        parsed = Tool.from_dict(candidate)
        if parsed is not None:
            stored = json.dumps(parsed.as_dict(), ensure_ascii=False, allow_nan=False).encode()
            assert Tool.from_dict(json.loads(stored)) == parsed
            hash(parsed)


@given(content=JSON_VALUES, image=JSON_VALUES, text=JSON_VALUES)
def test_any_result_is_read_or_refused(content: Any, image: Any, text: Any) -> None:
    for result in (
        {"content": content},
        {"content": [{"type": "image", "image": image}, {"type": "text", "text": text}]},
        {"content": [{"type": "image", "image": json.dumps(image)}]},
    ):
        try:
            parsed = ToolResult.from_dict(result)
        except McpProtocolError:
            continue
        json.dumps(parsed.json(), allow_nan=False)


@given(value=JSON_VALUES)
def test_any_argument_is_sent_or_refused(value: Any) -> None:
    for name in ("red", "times", "loud", "mode", "extra"):
        try:
            checked = check_arguments(tool(LED), {"red": 1} | {name: value})
        except ArgumentError:
            continue
        json.dumps(checked, ensure_ascii=False, allow_nan=False).encode()
