"""The simulator's modules form no circles, and share no code with the integration."""

import ast
from graphlib import TopologicalSorter
from importlib.util import resolve_name

from tests.paths import ROOT

FOLDERS = ["firmware", "board", "audio", "link", "application"]
"""Each may import only itself and those before it."""


def imports() -> dict[str, set[str]]:
    """Return the names that each module imports, also those that only a type checker reads."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "simulator").rglob("*.py"):
        *parents, name = path.relative_to(ROOT).with_suffix("").parts
        package = ".".join(parents)
        names = found[package if name == "__init__" else f"{package}.{name}"] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = resolve_name("." * node.level + (node.module or ""), package)
                names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def test_there_are_no_circles() -> None:
    found = imports()
    assert list(
        TopologicalSorter({module: names & {*found} for module, names in found.items()}).static_order()
    )


def test_folders_need_only_those_before_them() -> None:
    for module, names in imports().items():
        for place, folder in enumerate(FOLDERS):
            if module.startswith(f"simulator.{folder}."):
                allowed = tuple(f"simulator.{name}" for name in FOLDERS[: place + 1])
                assert all(name.startswith(allowed) for name in names if name.startswith("simulator")), module


def test_nothing_of_the_integration_is_imported() -> None:
    assert not [name for names in imports().values() for name in names if "custom_components" in name]
