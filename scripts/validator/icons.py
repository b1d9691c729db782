"""The icons: their form, that they exist, and that what they belong to exists."""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
import json
from pathlib import Path
from typing import Final

from .project import Problem, Project
from .translations import leaves
from .uses import PLATFORMS, Uses

_PREFIX: Final = "mdi:"


def check(project: Project, uses: Uses) -> Iterator[Problem]:
    """Check icons.json."""
    path = project.integration / "icons.json"
    for fault in _entity_faults(project, uses):
        yield project.problem(path, fault)
    names = known_icons()
    if names is None:
        yield project.problem(
            path, "the names of icons cannot be checked: home-assistant-frontend is not installed"
        )
        return
    for place, icon in leaves(project.icons):
        if icon.startswith(_PREFIX) and icon.removeprefix(_PREFIX) not in names:
            yield project.problem(path, f"{'.'.join(place)}: there is no icon {icon}")


def _entity_faults(project: Project, uses: Uses) -> Iterator[str]:
    texts = project.texts.get("entity", {})
    keys = {(use.platform, use.key) for use in uses.texts if use.section == "entity"}
    for platform, entities in project.icons.get("entity", {}).items():
        if platform not in PLATFORMS:
            yield f"entity.{platform}: is no platform of Home Assistant"
        for key, content in entities.items():
            text = texts.get(platform, {}).get(key)
            if text is None and not {(platform, key), (None, key)} & keys:
                yield f"entity.{platform}.{key}: no entity has this translation key"
            for state, icon in content.get("state", {}).items():
                if icon == content.get("default"):
                    yield f"entity.{platform}.{key}.state.{state}: is the default anyway"
                if text and "state" in text and state not in text["state"]:
                    yield f"entity.{platform}.{key}.state.{state}: is no state in the texts"


@cache
def known_icons() -> frozenset[str] | None:
    """Return the names of all icons, from the list that the web page searches in; None without it."""
    spec = find_spec("hass_frontend")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "static" / "mdi" / "iconList.json"
    return frozenset(icon["name"] for icon in json.loads(path.read_text())) if path.is_file() else None
