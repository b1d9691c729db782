"""The texts against the code: those that it asks for are there, and none is there for nothing."""

from collections.abc import Iterable, Iterator, Set as AbstractSet
from fnmatch import fnmatchcase
import json
from pathlib import Path
from typing import Any, Final

import homeassistant

from .flows import REPAIRS, Flows, FlowUse
from .project import JsonObject, Problem, Project
from .services import fields
from .shape import placeholders, text
from .translations import flows as flow_texts, leaves
from .uses import Use, Uses

# Attributes that a platform itself gives its entities.
_ATTRIBUTES: Final[dict[str, frozenset[str]]] = {"event": frozenset({"event_type"})}


def check(project: Project, uses: Uses, flows: Flows) -> Iterator[Problem]:
    """Check texts and code against each other."""
    yield from _asked_for(project, uses)
    yield from _asked_by_flows(project, flows)
    yield from _unused(project, uses, flows)


def _asked_for(project: Project, uses: Uses) -> Iterator[Problem]:
    for use in uses.texts:
        found = _texts_of(project, use)
        if not found and not use.optional:
            place = f"entity.{use.platform or '*'}" if use.section == "entity" else use.section
            yield project.problem(use.path, f"there is no text {place}.{use.key}", use.line)
        for content in found:
            for fault in _faults_of(use, content):
                yield project.problem(use.path, f"{use.section}.{use.key}: {fault}", use.line)


def _texts_of(project: Project, use: Use) -> list[JsonObject]:
    section = project.texts.get(use.section, {})
    if use.section != "entity":
        return [section[use.key]] if use.key in section else []
    platforms = [use.platform] if use.platform else section.keys() | project.icons.get("entity", {}).keys()
    found = [section[name][use.key] for name in platforms if use.key in section.get(name, {})]
    # A name may come from the device class; then only the icon hangs on the key.
    icons: list[JsonObject] = [
        {} for name in platforms if use.key in project.icons.get("entity", {}).get(name, {})
    ]
    return found or icons


def _faults_of(use: Use, content: JsonObject) -> Iterator[str]:
    choices = content.get("options" if use.section == "selector" else "state", {})
    for option in sorted(use.options - choices.keys()):
        yield f"has no text for {option!r}"
    if use.section == "issues" and use.fixable is not None and use.fixable != ("fix_flow" in content):
        yield "is_fixable and fix_flow go together"
    if use.placeholders is None or use.section == "selector":
        return
    own = {key: value for key, value in content.items() if key in {"message", "title", "description", "name"}}
    wanted = _placeholders(own)
    for name in sorted(wanted - use.placeholders):
        yield f"the text wants {{{name}}}, the code does not give it"
    if use.section == "exceptions":
        for name in sorted(use.placeholders - wanted):
            yield f"the code gives {name!r}, the text does not say it"


def _asked_by_flows(project: Project, flows: Flows) -> Iterator[Problem]:
    texts = flow_texts(project.texts)
    for use in flows.uses:
        part = use.kind
        sections = [".".join(section) for section in sorted(use.sections)] or ["*"]
        for pattern in sections:
            found = {
                name: flow[part]
                for name, flow in texts.items()
                if fnmatchcase(name, pattern) and part in flow
            }
            having = [content[use.key] for content in found.values() if use.key in content]
            if not having:
                yield project.problem(use.path, f"there is no text {pattern}.{part}.{use.key}", use.line)
            # Which of several flows it is cannot be told; then one that fits is enough.
            for fault in min((list(_flow_faults(use, content)) for content in having), key=len, default=[]):
                yield project.problem(use.path, f"{pattern}.{part}.{use.key}: {fault}", use.line)
    for kind in sorted(flows.subentry_types.keys() ^ project.texts.get("config_subentries", {}).keys()):
        fault = "has no texts" if kind in flows.subentry_types else "is not a type of the code's subentries"
        yield project.problem(project.english, f"config_subentries.{kind}: {fault}")


def _flow_faults(use: FlowUse, content: Any) -> Iterator[str]:
    for part, key in sorted(use.fields):
        if key not in content.get(part, {}):
            yield f"{part} has no text for {key!r}"
    # The flow of a repair is given the placeholders of its issue as well.
    if use.placeholders is not None and REPAIRS not in use.sections:
        for name in sorted(_placeholders(content) - use.placeholders):
            yield f"the text wants {{{name}}}, the code does not give it"


def _placeholders(content: Any) -> frozenset[str]:
    texts = [value for _, value in leaves(content) if not text(value)]
    return frozenset[str]().union(*(placeholders(value) for value in texts))


def _unused(project: Project, uses: Uses, flows: Flows) -> Iterator[Problem]:
    for where, keys, known in (*_flow_keys(project, flows), *_named_keys(project, uses)):
        for key in sorted(set(keys) - known):
            if not uses.mentions(key):
                yield project.problem(project.english, f"{where}.{key}: nothing in the code asks for it")


type _Keys = tuple[str, Iterable[str], AbstractSet[str]]
"""Where keys are, the keys, and those that are known to be used."""


def _flow_keys(project: Project, flows: Flows) -> Iterator[_Keys]:
    for name, flow in flow_texts(project.texts).items():
        yield f"{name}.step", flow.get("step", {}), flows.steps
        for step, content in flow.get("step", {}).items():
            for part in ("data", "menu_options", "sections"):
                yield f"{name}.step.{step}.{part}", content.get(part, {}), frozenset()
        for part in ("error", "abort", "progress", "create_entry"):
            known = {use.key for use in flows.uses if use.kind == part}
            yield (
                f"{name}.{part}",
                flow.get(part, {}),
                known | (_core_reasons() if part == "abort" else set()),
            )


def _named_keys(project: Project, uses: Uses) -> Iterator[_Keys]:
    texts = project.texts
    for platform, entities in texts.get("entity", {}).items():
        known = {
            use.key for use in uses.texts if use.section == "entity" and use.platform in {platform, None}
        }
        yield f"entity.{platform}", entities, known
        for key, content in entities.items():
            for part in ("state", "state_attributes"):
                own = _ATTRIBUTES.get(platform, frozenset()) if part == "state_attributes" else frozenset()
                yield f"entity.{platform}.{key}.{part}", content.get(part, {}), own
    selectors = _service_selectors(project)
    for part in ("exceptions", "issues", "device", "selector"):
        known = {use.key for use in uses.texts if use.section == part}
        yield part, texts.get(part, {}), known | (selectors if part == "selector" else set())
    yield "system_health.info", texts.get("system_health", {}).get("info", {}), frozenset()


def _service_selectors(project: Project) -> set[str]:
    keys = (field.selection.get("translation_key") for field in fields(project.services))
    return {key for key in keys if key}


def _core_reasons() -> set[str]:
    """Return the reasons to end a flow that Home Assistant has texts for, and gives by itself."""
    path = Path(homeassistant.__file__).parent / "components" / "homeassistant" / "translations" / "en.json"
    return set(json.loads(path.read_text())["config"]["abort"])
