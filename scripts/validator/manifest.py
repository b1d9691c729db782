"""The files that Home Assistant and HACS read before any code: manifest, hacs.json, versions and images."""

from collections.abc import Iterator
from pathlib import Path
import re
import struct
from typing import Final

import homeassistant
from homeassistant import const
from packaging.version import Version

from .code import Code
from .forms import HACS
from .project import Problem, Project
from .shape import version

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_IMAGES: Final = {
    "icon.png": (256, 256),
    "icon@2x.png": (512, 512),
    "logo.png": (128, 256),
    "logo@2x.png": (256, 512),
}
"""Bounds of an image's shorter side, in pixels. Icons are square."""


def check(project: Project, code: Code) -> Iterator[Problem]:
    """Check these files."""
    path = project.integration / "manifest.json"
    if not path.is_file():
        yield project.problem(path, "is missing")
        return
    for fault in _manifest_faults(project):
        yield project.problem(path, fault)
    start = code.module(f"custom_components.{project.domain}")
    if start and code.definition(start, "async_setup") and not code.definition(start, "CONFIG_SCHEMA"):
        yield project.problem(start.path, "async_setup needs a CONFIG_SCHEMA")
    yield from _hacs_problems(project)
    yield from _version_problems(project)
    yield from _image_problems(project)


def _manifest_faults(project: Project) -> Iterator[str]:
    manifest = project.manifest
    if manifest.get("domain") != project.domain:
        yield f"domain: must be {project.domain!r}, as the folder"
    if (Path(homeassistant.__file__).parent / "components" / project.domain).is_dir():
        yield f"domain: Home Assistant has an integration {project.domain!r} of its own"
    order = sorted(manifest, key=lambda key: (key != "domain", key != "name", key))
    if list(manifest) != order:
        yield f"the order of the keys must be {', '.join(order)}"
    for name in {*manifest.get("dependencies", [])} & {*manifest.get("after_dependencies", [])}:
        yield f"dependencies: {name!r} is in after_dependencies too"
    if manifest.get("config_flow") != (project.integration / "config_flow.py").is_file():
        yield "config_flow: true and config_flow.py go together"


def _hacs_problems(project: Project) -> Iterator[Problem]:
    path = project.root / "hacs.json"
    hacs = project.json(path, HACS)
    if not path.is_file():
        yield project.problem(path, "is missing")
        return
    if hacs.get("zip_release") and "filename" not in hacs:
        yield project.problem(path, "zip_release needs a filename")
    wanted, tested = hacs.get("homeassistant", "0.0"), const.__version__
    if not version(wanted) and Version(wanted) > Version(tested):
        yield project.problem(path, f"homeassistant: {wanted} is newer than {tested}, which the tests use")


def _version_problems(project: Project) -> Iterator[Problem]:
    """Yield where the manifest's version is not that of pyproject.toml and the newest in the changelog."""
    own = project.manifest.get("version")
    named = project.pyproject.get("project", {}).get("version")
    if named != own:
        yield project.problem(project.root / "pyproject.toml", f"version is {named}, the manifest has {own}")
    path = project.root / "CHANGELOG.md"
    headings = re.findall(
        r"^## \[?v?(\S+?)\]?(?:\s|$)", path.read_text() if path.is_file() else "", re.MULTILINE
    )
    if not headings:
        yield project.problem(path, "has no heading like: ## 1.2.3")
    elif headings[0] != own:
        yield project.problem(path, f"its newest version is {headings[0]}, the manifest has {own}")


def _image_problems(project: Project) -> Iterator[Problem]:
    folder = project.integration / "brand"
    for name, (least, most) in _IMAGES.items():
        path = folder / name
        head = path.read_bytes()[:26] if path.is_file() else b""
        if not head:
            yield project.problem(path, "is missing")
        elif len(head) < 26 or not head.startswith(_PNG):
            yield project.problem(path, "is not a PNG image")
        else:
            width, height = struct.unpack(">II", head[16:24])
            if not least <= min(width, height) <= most:
                yield project.problem(
                    path, f"its shorter side has {min(width, height)} pixels, not {least} to {most}"
                )
            if name.startswith("icon") and width != height:
                yield project.problem(path, f"is {width}×{height}, an icon is square")
