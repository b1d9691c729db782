"""What holds for the repository as a whole: no traces of a machine, and an honest list of quality rules."""

import ast
from collections.abc import Iterator, Mapping
import re
from typing import Final

from .code import Code, last_name
from .forms import QUALITY
from .project import Problem, Project
from .translations import flows
from .uses import PLATFORMS

_TRACES: Final = {
    re.compile(r"https?://[^\s\"')]+\.(?:whl|tar\.gz|tgz|deb)\b|https?://[^\s\"']+/simple/?(?=[\s\"']|$)"): (
        "names an address of a package registry"
    ),
    re.compile(r"(?<![\w.:/{}$-])/(?:root|work|home|Users)/[\w.]"): "names a path of a machine",
}
_LOCK_FILES: Final = {"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "package-lock.json", "yarn.lock"}
_LARGEST_TEXT: Final = 2_000_000
"""Bytes; what is larger is no text of this repository."""


def check(project: Project, code: Code) -> Iterator[Problem]:
    """Check the tracked files and quality_scale.yaml."""
    for path in project.files():
        if path.name in _LOCK_FILES:
            yield project.problem(path, "is a lock file, which holds addresses of a package registry")
        elif path.stat().st_size <= _LARGEST_TEXT:
            lines = path.read_bytes().decode(errors="ignore").splitlines()
            for number, line in enumerate(lines, 1):
                for pattern, fault in _TRACES.items():
                    if pattern.search(line):
                        yield project.problem(path, fault, number)
    yield from _quality_problems(project, code)


def _quality_problems(project: Project, code: Code) -> Iterator[Problem]:
    path = project.integration / "quality_scale.yaml"
    if not path.is_file():
        return
    rules = project.yaml(path, QUALITY).get("rules", {})
    for rule, against in _claims(project, code).items():
        claimed = rules.get(rule)
        if against and "done" in (claimed, claimed.get("status") if isinstance(claimed, dict) else None):
            yield project.problem(path, f"rules.{rule}: is done, but {against}")


def _claims(project: Project, code: Code) -> Mapping[str, str | None]:
    """Return what speaks against the rules that can be looked up in the code."""
    names = {
        name
        for module in code.modules.values()
        for node in ast.walk(module.tree)
        if (name := getattr(node, "name", None) or last_name(node))
    }

    def needs(*wanted: str) -> str | None:
        return None if names & set(wanted) else f"the code has no {' or '.join(wanted)}"

    platforms = [
        module
        for module in code.modules.values()
        if module.path.stem in PLATFORMS and module.path.parent == project.integration
    ]
    unbounded = [module.path.name for module in platforms if not code.definition(module, "PARALLEL_UPDATES")]
    steps = [step for flow in flows(project.texts).values() for step in flow.get("step", {}).values()]
    bare = sorted(
        {
            key
            for step in steps
            for key in step.get("data", {}).keys() - step.get("data_description", {}).keys()
        }
    )
    diagnostics = (project.integration / "diagnostics.py").is_file()
    return {
        "config-entry-unloading": needs("async_unload_entry"),
        "config-flow": f"these fields have no data_description: {', '.join(bare)}" if bare else None,
        "diagnostics": None if diagnostics else "there is no diagnostics.py",
        "discovery": needs("async_step_dhcp", "async_step_zeroconf", "async_step_ssdp", "async_step_mqtt"),
        "has-entity-name": needs("_attr_has_entity_name"),
        "parallel-updates": f"these have no PARALLEL_UPDATES: {', '.join(unbounded)}" if unbounded else None,
        "reauthentication-flow": needs("async_step_reauth"),
        "reconfiguration-flow": needs("async_step_reconfigure"),
        "repair-issues": needs("async_create_issue"),
        "runtime-data": needs("runtime_data"),
        "test-before-setup": needs("ConfigEntryNotReady", "ConfigEntryError", "ConfigEntryAuthFailed"),
        "unique-config-entry": needs("_abort_if_unique_id_configured", "_async_abort_entries_match"),
    }
