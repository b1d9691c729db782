"""Checks beyond ruff, hassfest and HACS: texts, icons and actions against the code."""

from pathlib import Path

from . import icons, repository, services, texts
from .project import Project

__all__ = ["problems"]


def problems(root: Path) -> list[str]:
    """Return the faults of the repository in `root`, as `file: fault`."""
    project = Project(root)
    checks = (texts.check, icons.check, services.check, repository.check)
    found = {fault for check in checks for fault in check(project)}
    return sorted(found.union(project.broken))
