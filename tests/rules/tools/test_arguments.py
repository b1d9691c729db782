"""What users and language models read of a wrong argument."""

import json
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.mcp.tool import ArgumentError, ArgumentFault, ToolProperty
from custom_components.xiaozhi.texts.argument_errors import argument_error
from tests.paths import ROOT

TEXTS = json.loads((ROOT / "custom_components/xiaozhi/translations/en.json").read_text())["exceptions"]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (None, "speed is not an argument of this tool"),
        ({"type": "boolean"}, "speed must be true or false"),
        ({"type": "integer", "minimum": 0, "maximum": 9}, "speed must be a whole number from 0 to 9"),
        ({"type": "integer"}, "speed must be a whole number from -2147483648 to 2147483647"),
        ({"type": "number"}, "speed must be a number"),
        ({"type": "number", "minimum": 0.5}, "speed must be a number of at least 0.5"),
        ({"type": "number", "maximum": 2}, "speed must be a number of at most 2"),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, "speed must be a number from 0 to 1.5"),
        ({"type": "string"}, "speed must be a text of at most 4096 bytes"),
        ({"type": "string", "enum": ["slow", "fast"]}, "speed must be one of slow, fast"),
        ({"type": "array"}, "speed must be a JSON value of at most 4096 characters"),
    ],
)
def test_a_wrong_argument_is_told_with_what_is_expected(schema: dict[str, Any] | None, text: str) -> None:
    expected = None if schema is None else ToolProperty.from_schema(schema)
    err = ArgumentError("速度", ArgumentFault.RANGE, expected)
    error = argument_error(err, tool="Fan turn", argument="speed")
    assert TEXTS[error.key]["message"].format(**error.placeholders) == f"“Fan turn” was not called: {text}."
