"""Ways to make malformed input from valid input."""

from collections.abc import Sequence
from copy import deepcopy
import json
import random
from typing import Any, Final

_DEEP: Final = 5000
_LONG: Final = 20_000

# Values of unexpected types and sizes, also a digit of another script.
_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    0.5,
    1e308,
    float("nan"),
    float("inf"),
    2**31,
    -(2**63),
    10**30,
    "",
    "1",
    "-0",
    "٣",
    "a\nb\x00\x1b[31m",
    "\u202e\u2066",
    "\ud800",
    "x" * 600,
    [],
    {},
    [[[[]]]],
    ["x"] * 50,
    {"type": "text", "text": "{}"},
)
# Texts that a parser of JSON finds hard.
_HARD_TEXTS: Final = (
    b"[" * _DEEP,
    b'{"type":' * _DEEP,
    b'{"type":"mcp","payload":' + b"[" * _DEEP + b"]" * _DEEP + b"}",
    b'{"type":' + b"9" * _LONG + b"}",
    b'{"type":' + b"-1e" + b"9" * 400 + b"}",
    b'{"type":"' + b"\\ud800" * 2000 + b'"}',
    b'{"type":"mcp","payload":{' + b'"a":1,' * 3000 + b'"a":1}}',
    b'{"type":"mcp","payload":{"a":[' + b"1," * 10_000 + b"1]}}",
    b'"' + b"\\" * _LONG,
    b"\xef\xbb\xbf{}",
    "{}".encode("utf-16"),
    b"\xff" * 1000,
    b" " * _LONG,
    b"",
)


def mutated(chance: random.Random, data: bytes) -> bytes:
    """Return `data` with some bytes changed, inserted, removed or doubled; sometimes as it was."""
    result = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        at = chance.randrange(len(result) + 1)
        match chance.randrange(5):
            case 0:
                result[at : at + 1] = chance.randbytes(1)
            case 1:
                result[at:at] = chance.randbytes(chance.randrange(8))
            case 2:
                del result[at : at + chance.randrange(8)]
            case 3:
                result[at:at] = result[: chance.randrange(len(result) + 1)]
            case _:
                result[at : at + 2] = chance.choice((b"\x00\x00", b"\xff\xff", b"\x7f\x80", b"\x80\x01"))
    return bytes(result)


def mutated_json(chance: random.Random, value: Any) -> Any:
    """Return `value` with some members changed, removed or added; `value` itself is changed."""
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        value = _mutated_once(chance, value)
    return value


def spoiled_json(chance: random.Random, seeds: Sequence[str]) -> bytes:
    """Return a seed with other values, with other bytes or unchanged; sometimes one of the hard texts."""
    kind = chance.random()
    if kind < 0.01:
        return chance.choice(_HARD_TEXTS)
    if kind < 0.3:
        return mutated(chance, chance.choice(seeds).encode())
    value = mutated_json(chance, json.loads(chance.choice(seeds)))
    return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode(errors="replace")


def _mutated_once(chance: random.Random, value: Any) -> Any:
    """Follow a random path into the value, and change something there."""
    parent: Any = None
    key: Any = None
    node = value
    while isinstance(node, dict | list) and node and (parent is None or chance.random() < 0.8):
        parent = node
        key = chance.choice(list(node)) if isinstance(node, dict) else chance.randrange(len(node))
        node = node[key]
    # The seeds share objects, which must not change.
    other = deepcopy(chance.choice(_VALUES))
    if parent is None:
        return other
    match chance.randrange(5):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, list):
            parent.extend(deepcopy(node) for _ in range(chance.randrange(1, 20)))
        case 1:
            parent[f"{key}x"] = parent.pop(key)
        case 2:
            parent[key] = [node]
        case _:
            parent[key] = other
    return value
