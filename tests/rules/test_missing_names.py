"""What is left of the integration where a Home Assistant lacks a name that we import, each in turn."""

import ast
from collections.abc import Iterator
from functools import cache, reduce
import importlib
from pathlib import Path
import re
import subprocess
import sys

import pytest

from tests.paths import ROOT

PACKAGE = "custom_components.xiaozhi"
FOLDER = ROOT / "custom_components/xiaozhi"
# Home Assistant imports them together: where it cannot import one, it skips all of them.
TOGETHER = {
    "condition",
    "config_flow",
    "diagnostics",
    "intent",
    "logbook",
    "repairs",
    "system_health",
    "trigger",
}
# Whose members are read while the modules of the gateway are imported, beside units and classes of devices.
READ_AT_IMPORT = {
    "AssistSatelliteEntityFeature",
    "EntityCategory",
    "MediaPlayerEntityFeature",
    "MediaPlayerState",
    "Platform",
    "SupportsResponse",
    "VadSensitivity",
}
TRIGGERS = {"actions.triggers", "guests.alarms.trigger", "guests.messages.trigger"}
OF_UNITS = re.compile("UnitOf.*|.*(Device|State)Class|const")


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported, except in a `try`, which is there for that."""
    for child in ast.iter_child_nodes(node):
        inner: list[ast.AST | None] = [child]
        match child:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Try() | ast.TypeAlias():
                inner = []
            case ast.Lambda(args=arguments):
                inner = [*arguments.defaults, *arguments.kw_defaults]
            case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
                inner = [*arguments.defaults, *arguments.kw_defaults, *child.decorator_list]
            case ast.AnnAssign(value=value):
                inner = [value]
        for each in filter(None, inner):
            yield each
            yield from run_at_import(each)


def needs(file: Path) -> tuple[set[str], set[str]]:
    """Return what of Home Assistant, and which modules of ours, a file needs to be imported."""
    name = name_of(file)
    path = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    theirs, ours, imported = set[str](), {".".join(path)} - {name}, dict[str, str]()
    for node in run_at_import(ast.parse(file.read_text())):
        match node:
            case ast.ImportFrom(module=str(module), level=0, names=names) if module.startswith(
                "homeassistant"
            ):
                imported |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
            case ast.ImportFrom(module=module, level=level, names=names) if level:
                base = ".".join([*path[: len(path) - level + 1], *([module] if module else [])])
                ours |= {base, *(f"{base}.{alias.name}" for alias in names)}
            case ast.Attribute(value=ast.Name(id=of), attr=attribute) if of in imported:
                theirs.add(f"{imported[of]}.{attribute}")
    return theirs | {*imported.values()}, ours


@cache
def graph() -> dict[str, tuple[set[str], set[str]]]:
    return {name_of(file): needs(file) for file in FOLDER.rglob("*.py")}


@cache
def lost_without(missing: str) -> set[str]:
    """Return the modules of ours that cannot be imported without something; "" is the integration."""
    lost = {name for name, (theirs, _) in graph().items() if missing in theirs}
    while more := {name for name, (_, ours) in graph().items() if ours & lost} - lost:
        lost |= more
    return {name.removeprefix(PACKAGE).removeprefix(".") for name in lost}


def needed() -> set[str]:
    return reduce(set.union, (theirs for theirs, _ in graph().values()))


def test_a_missing_name_of_one_platform_costs_only_that_platform() -> None:
    """Those that Home Assistant imports together are lost together: for names that it has had for years."""
    costs: dict[str, set[str]] = {}
    for name in needed():
        lost = lost_without(name)
        if "" not in lost:
            for platform in lost & TOGETHER - {"config_flow"}:
                costs.setdefault(platform, set()).add(name.rpartition(".")[2])
    flows = {"AbortFlow", "BooleanSelector", "NumberSelector", "NumberSelectorConfig", "NumberSelectorMode"}
    assert costs == {
        "diagnostics": {"async_redact_data", "CONF_NAME"},
        "logbook": {"LOGBOOK_ENTRY_MESSAGE", "LOGBOOK_ENTRY_NAME"},
        "repairs": {
            *flows,
            "RepairsFlow",
            "RepairsFlowResult",
            "SelectOptionDict",
            "SelectSelector",
            "SelectSelectorConfig",
            "TextSelector",
        },
        "system_health": {"SystemHealthRegistration"},
    }


def test_no_type_of_a_pipeline_event_is_needed_for_the_import() -> None:
    members = [name.split(".")[-2] for name in needed() if "" in lost_without(name)]
    read = {name for name in members if name[0].isupper() and not OF_UNITS.fullmatch(name)}
    assert read == READ_AT_IMPORT


@pytest.mark.parametrize(
    ("module", "name", "lost"),
    [
        ("homeassistant.helpers.condition", "EntityStateConditionBase", {"actions.conditions"}),
        ("homeassistant.helpers.trigger", "EntityTargetStateTriggerBase", TRIGGERS),
        ("homeassistant.components.diagnostics", "async_redact_data", {"diagnostics"}),
        ("homeassistant.components.calendar", "EVENT_RRULE", {"guests.alarms.calendar"}),
    ],
)
def test_the_same_is_lost_when_it_is_imported_anew(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, lost: set[str]
) -> None:
    assert lost_without(f"{module}.{name}") == lost
    again = {f"{PACKAGE}.{each}" for each in lost | TOGETHER - {"config_flow"}}
    for each in again:
        before, (folder, _, file) = importlib.import_module(each), each.rpartition(".")
        monkeypatch.setattr(sys.modules[folder], file, before)
    for each in again:
        monkeypatch.delitem(sys.modules, each)
    monkeypatch.delattr(sys.modules[module], name)
    failed = set()
    for each in again:
        try:
            importlib.import_module(each)
        except ImportError:
            failed.add(each.removeprefix(f"{PACKAGE}."))
    assert failed == lost


@pytest.mark.weekly
@pytest.mark.timeout(3600)
def test_as_much_is_lost_without_each_name_as_the_imports_say() -> None:
    """The integration is imported anew without each of them, which takes minutes."""
    command = [sys.executable, "-m", "tests.rules.imports_anew"]
    anew = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (anew.stdout, anew.stderr) == ("", "")
