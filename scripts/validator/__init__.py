"""Checks beyond ruff, hassfest and HACS: texts, icons and actions against the code, and all languages."""

from pathlib import Path

from . import icons, languages, repository, services, texts
from .project import Project

__all__ = ["notes", "problems"]


def problems(root: Path, *, complete: bool = languages.COMPLETE) -> list[str]:
    """Return the faults of the repository in `root`, as `file: fault`.

    If the languages must be `complete`, a text that is not translated is a fault.
    """
    project = Project(root)
    checks = (texts.check, icons.check, services.check, repository.check)
    found = {fault for check in checks for fault in check(project)}
    found.update(languages.check(project, complete=complete))
    return sorted(found.union(project.broken))


def notes(root: Path) -> list[str]:
    """Return what is not translated yet."""
    return list(languages.notes(Project(root)))
