"""The tree that is checked, and what a check finds in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
import json
from pathlib import Path
import subprocess
import tomllib
from typing import Any

import yaml

from .forms import ICONS, MANIFEST, SERVICES, TEXTS
from .shape import Shape, anything, faults, fitting, version

type JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that must be put right, and where."""

    path: str
    """Relative to the repository."""
    text: str
    line: int | None = None

    def __str__(self) -> str:
        """Show it as compilers do, for editors to jump to."""
        return f"{self.path}:{'' if self.line is None else f'{self.line}:'} {self.text}"


class Project:
    """A repository that holds one integration. Files that are missing or broken read as empty."""

    def __init__(self, root: Path) -> None:
        """Look at the repository in `root`."""
        self.root = root
        folders = (path for path in root.glob("custom_components/[a-z]*") if path.is_dir())
        self.integration = min(folders, default=root / "custom_components")
        self.domain = self.integration.name
        self.broken: list[Problem] = []

    def name(self, path: Path) -> str:
        """Return how problems name a file."""
        return path.relative_to(self.root).as_posix()

    def problem(self, path: Path, text: str, line: int | None = None) -> Problem:
        """Return a problem of a file below the root."""
        return Problem(path=self.name(path), text=text, line=line)

    @cached_property
    def manifest(self) -> JsonObject:
        """The integration's manifest.json."""
        return self.json(self.integration / "manifest.json", MANIFEST)

    @property
    def english(self) -> Path:
        """The file of the English texts."""
        return self.integration / "translations" / "en.json"

    @cached_property
    def texts(self) -> JsonObject:
        """The English texts, which are the measure for all others."""
        return self.json(self.english, TEXTS)

    @cached_property
    def icons(self) -> JsonObject:
        """The integration's icons.json."""
        return self.json(self.integration / "icons.json", ICONS)

    @cached_property
    def services(self) -> JsonObject:
        """The integration's services.yaml."""
        return self.yaml(self.integration / "services.yaml", SERVICES)

    @cached_property
    def pyproject(self) -> JsonObject:
        """The project's pyproject.toml."""
        path = self.root / "pyproject.toml"
        return self._read(
            path, {"project!": {"version!": version, "*": anything}, "*": anything}, tomllib.loads
        )

    def json(self, path: Path, shape: Shape) -> JsonObject:
        """Read a JSON file, of which only what has this form is returned; each fault becomes a problem."""
        return self._read(path, shape, lambda text: json.loads(text, object_pairs_hook=_unique))

    def yaml(self, path: Path, shape: Shape) -> JsonObject:
        """Read a YAML file in the same way."""
        return self._read(path, shape, yaml.safe_load)

    def _read(self, path: Path, shape: Shape, parse: Callable[[str], Any]) -> JsonObject:
        if not path.is_file():
            return {}
        try:
            value = parse(path.read_text())
        except (ValueError, yaml.YAMLError) as err:
            self.broken.append(self.problem(path, f"cannot be read: {err}"))
            return {}
        value = {} if value is None else value
        self.broken += [self.problem(path, fault) for fault in faults(value, shape)]
        result: JsonObject = fitting(value, shape) if isinstance(value, dict) else {}
        return result

    def files(self) -> Iterator[Path]:
        """Yield the files that are, or would be, in the repository's history."""
        # Every word of the command is ours.
        git = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        try:
            listed = subprocess.run(git, capture_output=True, text=True, check=True).stdout  # noqa: S603
        except OSError, subprocess.CalledProcessError:
            # Not a checkout, or not one that git opens for this user. Hidden folders hold tools and caches.
            inside = (path.relative_to(self.root) for path in self.root.rglob("*"))
            names = {
                path.as_posix() for path in inside if not any(part.startswith(".") for part in path.parts)
            }
        else:
            names = set(listed.split("\0")) - {""}
        paths = (self.root / name for name in names)
        yield from sorted(path for path in paths if path.is_file())


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return result
