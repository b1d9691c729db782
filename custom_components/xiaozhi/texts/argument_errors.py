"""Errors in arguments of tools, as texts for users and language models."""

from collections.abc import Mapping
from typing import Final

from ..errors import InputError
from ..protocol.mcp.tool import MAX_ARGUMENT_BYTES, ArgumentError, PropertyKind, ToolProperty

_KEYS: Final[Mapping[PropertyKind, str]] = {
    "boolean": "argument_boolean",
    "integer": "argument_whole_number",
    "string": "argument_text",
    "unknown": "argument_json",
}
# Keys are whether there is a minimum, and whether there is a maximum.
_NUMBER_KEYS: Final = {
    (False, False): "argument_number",
    (True, False): "argument_number_from",
    (False, True): "argument_number_to",
    (True, True): "argument_number_between",
}


def argument_error(err: ArgumentError, *, tool: str, argument: str) -> InputError:
    """Return what a user reads of an error. `tool` and `argument` are the names as the reader knows them."""
    if (expected := err.expected) is None:
        return InputError("argument_unknown", tool=tool, argument=argument)
    low, high = expected.limits if expected.kind == "integer" else (expected.minimum, expected.maximum)
    return InputError(
        _key(expected),
        tool=tool,
        argument=argument,
        choices=", ".join(map(str, expected.choices)),
        low=str(low),
        high=str(high),
        limit=str(MAX_ARGUMENT_BYTES),
    )


def _key(expected: ToolProperty) -> str:
    if expected.choices:
        return "argument_choice"
    if expected.kind == "number":
        return _NUMBER_KEYS[expected.minimum is not None, expected.maximum is not None]
    return _KEYS[expected.kind]
