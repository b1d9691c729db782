"""Checks of the whole repository: one version, and no traces of a machine."""

from collections.abc import Iterator
from pathlib import Path
import re
import subprocess
from typing import Final

from .project import Project

_TRACES: Final = {
    re.compile(r"https?://[^\s\"')]+\.(?:whl|tar\.gz|tgz|deb)\b|https?://[^\s\"']+/simple/?(?=[\s\"']|$)"): (
        "names an address of a package registry"
    ),
    re.compile(r"(?<![\w.:/{}$-])/(?:root|work|home|Users)/[\w.]"): "names a path of a machine",
}
_LOCK_FILES: Final = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "package-lock.json", "yarn.lock"}
_LARGEST_TEXT: Final = 2_000_000


def check(project: Project) -> Iterator[str]:
    """Check the tracked files, and that all versions are the manifest's."""
    for path in _files(project.root):
        if path.name in _LOCK_FILES:
            yield project.fault(path, "is a lock file, which holds addresses of a package registry")
        elif path.stat().st_size <= _LARGEST_TEXT:
            content = path.read_bytes().decode(errors="ignore")
            yield from (
                project.fault(path, fault) for trace, fault in _TRACES.items() if trace.search(content)
            )
    version = project.read(project.integration / "manifest.json").get("version")
    for path, pattern in (
        (project.root / "pyproject.toml", r'^version = "(.+)"'),
        (project.root / "CHANGELOG.md", r"^## \[?v?(\S+?)\]?(?:\s|$)"),
    ):
        found = re.search(pattern, path.read_text() if path.is_file() else "", re.MULTILINE)
        if found is None or found[1] != version:
            yield project.fault(path, f"its version is {found and found[1]}, the manifest has {version}")


def _files(root: Path) -> list[Path]:
    """Return the files that are, or would be, in the repository's history."""
    # The command has no outside input.
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return sorted(path for name in listed.split("\0") if name and (path := root / name).is_file())
