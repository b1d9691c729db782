"""All checks together."""

from pathlib import Path

from . import icons, imports, manifest, repository, services, translations, usage
from .flows import Flows
from .project import Problem, Project
from .uses import Uses


def problems(root: Path) -> list[Problem]:
    """Return what is wrong in the repository in `root`, in the order of its files."""
    project = Project(root)
    uses = Uses(project)
    flows = Flows(uses)
    found = {
        *manifest.check(project, uses.code),
        *imports.check(project, uses.code),
        *translations.check(project),
        *usage.check(project, uses, flows),
        *services.check(project, uses),
        *icons.check(project, uses),
        *repository.check(project, uses.code),
    }
    return sorted(
        found | set(project.broken), key=lambda problem: (problem.path, problem.line or 0, problem.text)
    )
