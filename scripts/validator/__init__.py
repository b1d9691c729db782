"""Checks that hassfest and HACS do not make: texts, icons and actions, all languages, and docstrings."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
import json
from pathlib import Path
import re
from typing import Final

import homeassistant

from . import docstrings, languages
from .languages import leaves, placeholders
from .project import JsonObject, Project, at

# Entities, states and reasons from Home Assistant's own classes that the integration uses.
_INHERITED: Final = frozenset(
    {*("pipeline", "preferred", "vad_sensitivity", "default", "aggressive", "relaxed"), "event_type"}
)


def problems(root: Path) -> list[str]:
    """Return the faults of the repository in `root`, as `file: fault`."""
    project = Project(root)
    texts = (project.fault(project.english, fault) for fault in (*_unused(project), *_asked(project)))
    icons = (project.fault(project.integration / "icons.json", fault) for fault in _icons(project))
    others = (*languages.check(project), *docstrings.check(project))
    return sorted({*texts, *icons, *_actions(project), *_versions(project), *others})


def _unused(project: Project) -> Iterator[str]:
    """Find texts that nothing in the code asks for."""
    path = Path(homeassistant.__file__).parent / "components" / "homeassistant" / "translations" / "en.json"
    known = _INHERITED | at(json.loads(path.read_text()), "config", "abort").keys()
    for place, keys in _groups(project.texts):
        for key in keys.keys() - known:
            if not project.mentions(key):
                yield f"{place}.{key}: nothing in the code asks for it"


def _groups(texts: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the objects whose keys the code names, each with its place."""
    flows = {name: at(texts, name) for name in ("config", "options")}
    flows |= {f"config_subentries.{kind}": flow for kind, flow in at(texts, "config_subentries").items()}
    flows |= {f"issues.{key}": at(issue, "fix_flow") for key, issue in at(texts, "issues").items()}
    for name, flow in flows.items():
        for part in ("error", "abort", "step"):
            yield f"{name}.{part}", at(flow, part)
        for step, content in at(flow, "step").items():
            for group in (content, *at(content, "sections").values()):
                for part in ("data", "menu_options", "sections"):
                    yield f"{name}.step.{step}.{part}", at(group, part)
    for part in ("exceptions", "issues"):
        yield part, at(texts, part)
    for platform, entities in at(texts, "entity").items():
        yield f"entity.{platform}", entities
        for key, content in entities.items():
            for part in ("state", "state_attributes"):
                yield f"entity.{platform}.{key}.{part}", at(content, part)


def _asked(project: Project) -> Iterator[str]:
    """Find texts that the code asks for and that are not there, or that have other placeholders."""
    kinds = ("exceptions", "issues", "selector")
    known = {key for kind in kinds for key in at(project.texts, kind)}
    known |= {
        key for part in (project.texts, project.icons) for keys in at(part, "entity").values() for key in keys
    }
    for node in project.nodes:
        match node:
            case ast.keyword(arg="translation_key", value=ast.Constant(value=str(key))) if key not in known:
                yield f"*.{key}: is missing"
            case ast.Call(
                func=ast.Name(id="UserError" | "InputError"),
                args=[ast.Constant(value=str(key))],
                keywords=given,
            ):
                wanted = placeholders(at(project.texts, "exceptions", key).get("message", ""))
                names = {keyword.arg or "" for keyword in given}
                if key not in at(project.texts, "exceptions"):
                    yield f"exceptions.{key}: is missing"
                elif "" not in names and names != wanted:
                    yield f"exceptions.{key}: has {sorted(wanted)}, the code gives {sorted(names)}"


def _icons(project: Project) -> Iterator[str]:
    spec = find_spec("hass_frontend")
    path = Path(spec.origin or "").parent / "static" / "mdi" / "iconList.json" if spec else Path()
    known = {icon["name"] for icon in json.loads(path.read_text())} if path.is_file() else set()
    for place, icon in leaves(project.icons):
        if known and icon.removeprefix("mdi:") not in known:
            yield f"{'.'.join(place)}: there is no icon {icon}"
    for platform, entities in at(project.icons, "entity").items():
        for key, content in entities.items():
            text = at(project.texts, "entity", platform, key)
            if not text and not project.mentions(key):
                yield f"entity.{platform}.{key}: no entity has this translation key"
            for state in at(content, "state").keys() - (
                text["state"] if "state" in text else at(content, "state")
            ):
                yield f"entity.{platform}.{key}.state.{state}: is no state in the texts"


def _actions(project: Project) -> Iterator[str]:
    """Hold actions, triggers and conditions against code, texts and icons."""
    for kind in ("services", "triggers", "conditions"):
        path = project.integration / f"{kind}.yaml"
        described = project.read(path)
        for other in (project.texts, project.icons):
            for name in described.keys() ^ at(other, kind).keys():
                yield project.fault(path, f"{name}: is not in this file, the texts and the icons")
        for name, content in described.items():
            fields: JsonObject = {}
            for key, field in at(content, "fields").items():
                fields |= at(field, "fields") or {key: field}
            # The behavior of a condition or a trigger, and for how long, are in Home Assistant's own classes.
            for key in {name, *fields} - {"behavior", "for"}:
                if not project.mentions(key):
                    yield project.fault(path, f"{key}: is not in the code")
            for key in fields.keys() ^ at(project.texts, kind, name, "fields").keys():
                yield project.fault(path, f"{name}.fields.{key}: is not in this file and the texts")


def _versions(project: Project) -> Iterator[str]:
    version = project.read(project.integration / "manifest.json").get("version")
    for path, pattern in (
        (project.root / "pyproject.toml", r'^version = "(.+)"'),
        (project.root / "CHANGELOG.md", r"^## \[?v?(\S+?)\]?(?:\s|$)"),
    ):
        found = re.search(pattern, path.read_text(), re.MULTILINE)
        if found is None or found[1] != version:
            yield project.fault(path, f"its version is {found and found[1]}, the manifest has {version}")
