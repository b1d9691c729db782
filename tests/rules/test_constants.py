"""No test replaces a constant of the product or the simulator: time-outs are handed in."""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import chain
import re

import pytest

from tests.paths import ROOT

PACKAGES = ("custom_components/xiaozhi", "simulator")
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]+")
# Of pytest's `monkeypatch.setattr`, of `unittest.mock.patch` and `patch.object`, and Python's own.
_REPLACERS = {"setattr", "patch", "object"}


@cache
def _constants() -> set[str]:
    """Return the constants of the product's and the simulator's modules, and the classes of time-outs."""
    names: set[str] = set()
    for path in chain.from_iterable((ROOT / package).rglob("*.py") for package in PACKAGES):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    if _CONSTANT.fullmatch(name):
                        names.add(name)
                case ast.ClassDef(name=name) if name.endswith("Timeouts"):
                    names.add(name)
    return names


def _replaced(source: str, constants: set[str]) -> Iterator[str]:
    """Yield the constants that a test file replaces.

    A name may come to `setattr` from a loop or a parameter, so each text in such a function counts.
    """
    if constants.isdisjoint(re.findall(r"\w+", source)):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Assign(targets=targets):
                yield from (
                    target.attr
                    for target in targets
                    if isinstance(target, ast.Attribute) and target.attr in constants
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef() if any(map(_replaces, ast.walk(node))):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        name = part.value.rpartition(".")[2]
                        if name in constants:
                            yield name


def _replaces(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name in _REPLACERS
    return False


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(library, "_MAX_FILES", 1)',
        'monkeypatch.setattr("custom_components.xiaozhi.firmware.library._MAX_FILES", 1)',
        'patch.object(library, "_MAX_FILES", 1)',
        'patch("custom_components.xiaozhi.firmware.library._MAX_FILES", 1)',
        "library._MAX_FILES = 1",
        'for name in ["_MAX_FILES"]: setattr(library, name, 1)',
    ],
)
def test_a_replaced_constant_is_found(line: str) -> None:
    assert set(_replaced(f"def test():\n    {line}\n", _constants())) == {"_MAX_FILES"}


def test_no_constant_is_replaced() -> None:
    constants = _constants()
    files = sorted((ROOT / "tests").rglob("*.py"))
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        if path.name != "test_constants.py"
        for name in _replaced(path.read_text(encoding="utf-8"), constants)
    }
    assert len(constants) > 100
    assert len(files) > 100
    assert found == set()
