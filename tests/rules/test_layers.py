"""No two modules need each other, but a part and its owner, and the protocol needs nothing above it."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.paths import ROOT

PACKAGES = ("custom_components/xiaozhi", "simulator")


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _package(path: Path) -> str:
    return _name(path) if path.name == "__init__.py" else _name(path).rpartition(".")[0]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imports(path: Path) -> dict[ast.Import | ast.ImportFrom, bool]:
    """Return the imports of a file, and whether each is only for the types of what its owner passes."""
    found = dict.fromkeys(
        (node for node in ast.walk(_tree(path)) if isinstance(node, ast.Import | ast.ImportFrom)), False
    )
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found |= dict.fromkeys(
                (each for each in node.body if isinstance(each, ast.Import | ast.ImportFrom)), True
            )
    return found


def _is_room(package: str) -> bool:
    """Whether a folder is one room. In these, each file is a room of its own."""
    root = PACKAGES[0].replace("/", ".")
    return package not in {root, f"{root}.protocol"}


def _imported(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules among `modules` that a file names in an import, wherever in the file that is.

    A part of a room may name the type of its owner in the same room, and is passed it.
    """
    package = _package(path)
    for name, only_type in _named(path, modules):
        is_owner = only_type and _is_room(package) and name.rpartition(".")[0] == package
        if not is_owner:
            yield name


def _named(path: Path, modules: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a file imports, and whether that is only for types."""
    package = _package(path)
    for node, only_type in _imports(path).items():
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            # What is imported is a module of a package, or something that a module holds.
            members = [f"{origin}.{alias.name}" for alias in node.names]
            names = [member if member in modules else origin for member in members]
        yield from ((name, only_type) for name in names if name in modules)


def check_no_circle(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as err:
        pytest.fail(f"they need each other: {' -> '.join(err.args[1])}")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_of_imports(package: str) -> None:
    modules = {_name(path): path for path in sorted((ROOT / package).rglob("*.py"))}
    assert len(modules) > 30
    graph = {name: set(_imported(path, modules)) - {name} for name, path in modules.items()}
    assert sum(map(len, graph.values())) > len(modules)
    check_no_circle(graph)


def test_the_simulator_is_in_layers_and_shares_no_code() -> None:
    modules = {_name(path): path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    allowed = [f"simulator.{folder}" for folder in ("firmware", "board", "audio", "link", "application")]
    for name, path in modules.items():
        if name.startswith("simulator"):
            below = next((place for place, folder in enumerate(allowed) if name.startswith(folder)), None)
            may = ("simulator",) if below is None else tuple(allowed[: below + 1])
            assert all(other.startswith(may) for other in _imported(path, modules)), name


@pytest.mark.parametrize(("room", "may"), [("tools", {"protocol", "const", "util"}), ("protocol", {"util"})])
def test_a_room_imports_only_itself_and_what_is_below_it(room: str, may: set[str]) -> None:
    root = PACKAGES[0].replace("/", ".")
    modules = {_name(path): path for path in (ROOT / PACKAGES[0]).rglob("*.py")}
    inside = [path for name, path in modules.items() if name.startswith(f"{root}.{room}.")]
    assert len(inside) > 10
    needed = {above.split(".")[2] for path in inside for above in _imported(path, modules)}
    assert needed == {room, *may}


def test_the_library_for_an_owners_broker_is_imported_only_for_one() -> None:
    """It takes 90 ms, and most owners have no broker for their devices."""
    broker = ROOT / PACKAGES[0] / "protocol/transport/owner_broker"
    slow = {"aiomqtt", "broker_client", "broker_connection"}
    found = {
        path
        for path in (ROOT / PACKAGES[0]).rglob("*.py")
        for node in _tree(path).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in slow
    }
    assert found == {broker / "broker_client.py", broker / "broker_connection.py"}


def test_no_two_rooms_need_each_other() -> None:
    """A folder that imports another is not imported by it, also not around a corner.

    A file beside folders, as those in the root and in `protocol`, is a room of its own.
    """
    modules = {_name(path): path for path in (ROOT / PACKAGES[0]).rglob("*.py")}

    def room(module: str) -> str:
        folder = _name(modules[module].parent)
        return folder if _is_room(folder) else module

    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        needed = {room(other) for other in _imported(path, modules)}
        graph.setdefault(room(name), set()).update(needed - {room(name)})
    assert len(graph) > 20
    check_no_circle(graph)


def test_only_what_home_assistant_imports_knows_guests() -> None:
    """The list, and files that are named as Home Assistant's; folders of the core know none."""
    root = f"{PACKAGES[0].replace('/', '.')}"
    modules = {_name(path): path for path in (ROOT / PACKAGES[0]).rglob("*.py")}
    know = [
        name.removeprefix(f"{root}.")
        for name, path in modules.items()
        for other, _ in _named(path, modules)
        if other.startswith(f"{root}.guests") and not name.startswith(f"{root}.guests")
    ]
    assert {*know} == {root, "assist_satellite", "config_flow", "intent", "logbook", "repairs", "trigger"}
    assert len(know) <= 15


def test_no_circle_of_more_than_three_files() -> None:
    """Parts and their owner may know each other; imports only for types count, too.

    Nine files in a circle are one class in nine files.
    """
    modules = {_name(path): path for path in (ROOT / PACKAGES[0]).rglob("*.py")}
    graph = {name: {other for other, _ in _named(path, modules)} - {name} for name, path in modules.items()}
    assert not [circle for circle in _circles(graph) if len(circle) > 3]


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the modules that need each other, also around corners."""
    reached = {name: _reached(name, graph) for name in graph}
    circles = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    }
    return [set(circle) for circle in circles]


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found
