"""Checks of what neither ruff nor hassfest nor HACS knows: texts, icons and actions against the code."""

from pathlib import Path

from . import icons, repository, services, texts
from .project import Project

__all__ = ["problems"]


def problems(root: Path) -> list[str]:
    """Return what is wrong in the repository in `root`, as `file: fault`."""
    project = Project(root)
    checks = (texts.check, icons.check, services.check, repository.check)
    found = {fault for check in checks for fault in check(project)}
    return sorted(found.union(project.broken))
