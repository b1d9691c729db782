"""Checks that all icons exist, and belong to something that exists."""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
import json
from pathlib import Path

from .languages import leaves
from .project import Project, at


def check(project: Project) -> Iterator[str]:
    """Check icons.json."""
    for fault in _faults(project):
        yield project.fault(project.integration / "icons.json", fault)


def _faults(project: Project) -> Iterator[str]:
    known = known_icons()
    for place, icon in leaves(project.icons):
        if known and icon.removeprefix("mdi:") not in known:
            yield f"{'.'.join(place)}: there is no icon {icon}"
    for platform, entities in at(project.icons, "entity").items():
        for key, content in entities.items():
            text = at(project.texts, "entity", platform, key)
            if not text and not project.code.mentions(key):
                yield f"entity.{platform}.{key}: no entity has this translation key"
            for state, icon in at(content, "state").items():
                if icon == content.get("default"):
                    yield f"entity.{platform}.{key}.state.{state}: is the default anyway"
                if "state" in text and state not in text["state"]:
                    yield f"entity.{platform}.{key}.state.{state}: is no state in the texts"


@cache
def known_icons() -> frozenset[str]:
    """Return the names of all icons, from the web page's list; none without this list."""
    spec = find_spec("hass_frontend")
    path = Path(spec.origin or "").parent / "static" / "mdi" / "iconList.json" if spec else Path()
    return frozenset(icon["name"] for icon in json.loads(path.read_text())) if path.is_file() else frozenset()
