"""What Home Assistant does not promise: each such part that we use has a row in `docs/architecture.md`."""

import ast
from collections.abc import Iterator
from functools import cache
import importlib
import inspect
from pathlib import Path
import pkgutil
import re
from types import ModuleType

from homeassistant.components.conversation import ConversationEntity
from homeassistant.const import MAJOR_VERSION, MINOR_VERSION
import pytest

import custom_components.xiaozhi as integration
from tests.paths import ROOT

pytestmark = pytest.mark.skipif(
    (MAJOR_VERSION, MINOR_VERSION) < (2026, 11), reason="the newest Home Assistant says what it promises"
)

# Meant for integrations: helpers of flows, how an event is fired, how a notification is recorded, which
# attributes are not recorded, and what triggers and conditions set or implement of their base classes.
MEANT_FOR_USE = {
    "_abort_if_unique_id_configured",
    "_async_check",
    "_async_record_notification",
    "_domain_specs",
    "_excluded_from_states",
    "_get_entry",
    "_get_reauth_entry",
    "_get_reconfigure_entry",
    "_get_reconfigure_subentry",
    "_hass",
    "_should_include",
    "_states",
    "_to_states",
    "_trigger_event",
    "_unrecorded_attributes",
}
INTERNAL = re.compile(r"async_internal_\w+|internal_async_\w+")
FOLDER = Path(integration.__path__[0])


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(integration.__path__, f"{integration.__name__}."):
        yield importlib.import_module(found.name)


def private_members(cls: type) -> set[str]:
    """Return the members of Home Assistant's classes that a class of ours uses or overrides."""
    used = set(re.findall(r"(?:self|super\(\))\.(_[a-z]\w*)", inspect.getsource(cls)))
    used |= {name for name in vars(cls) if re.fullmatch(r"_[a-z]\w*", name)}
    theirs: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.startswith("homeassistant."):
            theirs |= members(base)
    # The latter is Python's, and Home Assistant's documentation tells integrations to set the former.
    return {name for name in used & theirs if not name.startswith(("_attr_", "_abc_"))}


@cache
def members(base: type) -> set[str]:
    """Return the members of a class of Home Assistant, those of its objects included."""
    return {*vars(base), *re.findall(r"self\.(_[a-z]\w*)", inspect.getsource(base))}


@cache
def is_offered(module: str, name: str) -> bool:
    """Whether a component offers a name at its root, or defines it there."""
    root = importlib.import_module(module)
    if (offered := getattr(root, "__all__", None)) is None or name in offered:
        return True
    return re.search(rf"^((async )?def |class )?{name}\b", inspect.getsource(root), re.MULTILINE) is not None


def unpromised(source: str) -> Iterator[str]:
    """Yield what a file of ours uses below the roots of components, of their data, and of their storage."""
    tree = ast.parse(source)
    components: dict[str, str] = {}
    theirs: set[str] = set()
    for node in ast.walk(tree):
        if (
            not isinstance(node, ast.ImportFrom)
            or node.level
            or not (node.module or "").startswith("homeassistant.")
        ):
            continue
        module, names = node.module or "", {alias.name for alias in node.names}
        theirs |= names
        if module == "homeassistant.components":
            components |= {name: f"{module}.{name}" for name in names}
        elif module.startswith("homeassistant.components."):
            at_root = module.count(".") == 2
            yield from (name for name in names if not (at_root and is_offered(module, name)))
    for node in ast.walk(tree):
        if (name := unpromised_use(node, components, theirs)) is not None:
            yield name


def unpromised_use(node: ast.AST, components: dict[str, str], theirs: set[str]) -> str | None:
    """Return what a node uses; it may use `components` and other names that are `theirs`."""
    found: str | None = None
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in components:
            found = None if is_offered(components[name], attribute) else attribute
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id="hass") | ast.Attribute(attr="hass"), attr="data"),
            slice=ast.Name(id=key),
        ) if key in theirs:
            found = key
        # Home Assistant's own assistant offers more than assistants have to.
        case ast.Attribute(value=ast.Name(id="agent"), attr=name) if not hasattr(ConversationEntity, name):
            found = name
        case ast.Constant(value=str(path)) if re.match(r"/api/(?!xiaozhi)", path):
            found = path
        case ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if (
            INTERNAL.fullmatch(name)
        ):
            found = name
        case ast.Call(func=ast.Name(id="Store"), args=[*_, ast.Constant(value=str(key))]):
            found = key
    return found


def found() -> set[str]:
    """Return all that is used of what Home Assistant does not promise."""
    names: set[str] = set()
    for module in modules():
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                names |= private_members(cls)
    for file in FOLDER.rglob("*.py"):
        names.update(unpromised(file.read_text()))
    return names - MEANT_FOR_USE


def rows() -> list[set[str]]:
    """Return the names of each row of the table."""
    text = (ROOT / "docs/architecture.md").read_text()
    table = text.partition("## What Home Assistant does not promise")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    return [set(re.findall(r"`([^`]+)`", line.split("|")[1])) for line in lines]


def test_each_part_that_home_assistant_does_not_promise_has_a_row() -> None:
    """And each row is still needed."""
    used = found()
    assert used == set().union(*rows())
    assert len(rows()) <= 12
    assert len({name for name in used if name.startswith("_")}) <= 3


def test_what_is_not_promised_is_found() -> None:
    source = """
from homeassistant.components import assist_pipeline
from homeassistant.components.ai_task.const import DATA_PREFERENCES
from homeassistant.components.stt import SpeechResult
assist_pipeline.PipelineRun(hass)
assist_pipeline.async_get_pipeline(hass)
hass.data[DATA_PREFERENCES]
engine.internal_async_process_audio_stream
Store(hass, 1, "core.config_entries")
"""
    assert {*unpromised(source)} == {
        "DATA_PREFERENCES",
        "PipelineRun",
        "core.config_entries",
        "internal_async_process_audio_stream",
    }
