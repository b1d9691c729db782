"""Checks that all texts of the code exist, and that all existing texts are used."""

import ast
from collections.abc import Iterator
from functools import cache
import json
from pathlib import Path
import re
from typing import Any, Final

import homeassistant

from .languages import placeholders
from .project import JsonObject, Project, at
from .strings import Code, keyword, last_name

_FORMS: Final = {"async_show_form", "async_show_menu", "async_show_progress"}
_FILLED: Final = ("message", "title", "description", "name")
# Entities, states and reasons from Home Assistant's own classes that the integration uses.
_INHERITED: Final = frozenset(
    {*("pipeline", "preferred", "vad_sensitivity", "default", "aggressive", "relaxed"), "event_type"}
)


def check(project: Project) -> Iterator[str]:
    """Check texts and code against each other."""
    for fault in (*_asked(project), *_asked_by_flows(project), *_unused(project)):
        yield project.fault(project.english, fault)


def _asked(project: Project) -> Iterator[str]:
    for call in project.code.calls:
        section = _section(call)
        for key in project.code.strings(keyword(call, "translation_key")):
            if section == "entity":
                parts = (at(project.texts, "entity"), at(project.icons, "entity"))
                if not any(key in entities for part in parts for entities in part.values()):
                    yield f"entity.*.{key}: is missing"
            elif key not in at(project.texts, section):
                yield f"{section}.{key}: is missing"
            elif section != "selector":
                given = project.code.keys(keyword(call, "translation_placeholders"))
                yield from _filled(section, key, at(project.texts, section, key), given)


def _filled(section: str, key: str, content: JsonObject, given: frozenset[str] | None) -> Iterator[str]:
    own = [value for name, value in content.items() if name in _FILLED and isinstance(value, str)]
    wanted = frozenset[str]().union(*(placeholders(value) for value in own))
    for name in sorted(wanted - given if given is not None else ()):
        yield f"{section}.{key}: wants {{{name}}}, which the code does not give"
    for name in sorted(given - wanted if given is not None and section == "exceptions" else ()):
        yield f"{section}.{key}: does not say {{{name}}}, which the code gives"


def _section(call: ast.Call) -> str:
    name = last_name(call.func)
    if name == "async_create_issue":
        return "issues"
    if keyword(call, "translation_domain") or re.fullmatch(r".*(Error|Exception|NotReady|Failed)", name):
        return "exceptions"
    return "selector" if "Selector" in name else "entity"


def _asked_by_flows(project: Project) -> Iterator[str]:
    flows = _flows(project.texts)
    for kind, key in sorted(_flow_keys(project.code)):
        known = _core_reasons() if kind == "abort" else frozenset[str]()
        if key not in known and not any(key in at(flow, kind) for flow in flows.values()):
            yield f"*.{kind}.{key}: is missing"


def _flow_keys(code: Code) -> Iterator[tuple[str, str]]:
    for call in code.calls:
        name = last_name(call.func)
        if name in _FORMS:
            yield from (("step", key) for key in code.strings(keyword(call, "step_id")))
            yield from _errors(code, keyword(call, "errors"))
        elif name == "async_abort":
            yield from (("abort", key) for key in code.strings(keyword(call, "reason")))
        elif name == "AbortFlow" and call.args:
            yield from (("abort", key) for key in code.strings(call.args[0]))
    for node in code.walk():
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="errors"))], value=value):
                yield from (("error", key) for key in code.strings(value))
            case ast.Assign(targets=[ast.Name(id="errors")], value=value):
                yield from _errors(code, value)


def _errors(code: Code, table: ast.expr | None) -> Iterator[tuple[str, str]]:
    for value in table.values if isinstance(table, ast.Dict) else []:
        yield from (("error", key) for key in code.strings(value))


def _unused(project: Project) -> Iterator[str]:
    for where, keys in _all_keys(project):
        known = _INHERITED | (_core_reasons() if where.endswith(".abort") else frozenset())
        for key in sorted(keys.keys() - known):
            if not project.code.mentions(key):
                yield f"{where}.{key}: nothing in the code asks for it"


def _all_keys(project: Project) -> Iterator[tuple[str, JsonObject]]:
    texts = project.texts
    for name, flow in _flows(texts).items():
        for part in ("error", "abort"):
            yield f"{name}.{part}", at(flow, part)
        steps = at(flow, "step")
        yield f"{name}.step", {key: step for key, step in steps.items() if not _is_step(project.code, key)}
        for key, step in steps.items():
            for group in (step, *at(step, "sections").values()):
                for part in ("data", "menu_options", "sections"):
                    yield f"{name}.step.{key}.{part}", at(group, part)
    for part in ("exceptions", "issues"):
        yield part, at(texts, part)
    choices = {field for action in project.services.values() for field in _choices(action)}
    yield "selector", {key: texts for key, texts in at(texts, "selector").items() if key not in choices}
    for platform, entities in at(texts, "entity").items():
        yield f"entity.{platform}", entities
        for key, content in entities.items():
            for part in ("state", "state_attributes"):
                yield f"entity.{platform}.{key}.{part}", at(content, part)


def _is_step(code: Code, key: str) -> bool:
    methods = {node.name for node in code.walk() if isinstance(node, ast.AsyncFunctionDef)}
    return f"async_step_{key}" in methods


def _choices(action: Any) -> Iterator[str]:
    for field in at(action, "fields").values():
        if key := at(field, "selector", "select").get("translation_key"):
            yield key


def _flows(texts: JsonObject) -> dict[str, JsonObject]:
    """Return the texts of all flows with their keys."""
    result = {name: at(texts, name) for name in ("config", "options")}
    result |= {f"config_subentries.{kind}": flow for kind, flow in at(texts, "config_subentries").items()}
    return result | {
        f"issues.{key}.fix_flow": at(issue, "fix_flow") for key, issue in at(texts, "issues").items()
    }


@cache
def _core_reasons() -> frozenset[str]:
    """Return the reasons that end a flow for which Home Assistant has texts itself."""
    path = Path(homeassistant.__file__).parent / "components" / "homeassistant" / "translations" / "en.json"
    return frozenset(json.loads(path.read_text())["config"]["abort"])
