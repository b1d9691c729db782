"""What the code imports: the layers of the design, and what the manifest must name for it."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
import json
from pathlib import Path
import sys
from typing import Final

import homeassistant
from homeassistant.requirements import DISCOVERY_INTEGRATIONS
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from .code import Code, Module, imported_module, last_name
from .project import Problem, Project
from .uses import PLATFORMS

_HOME_ASSISTANT: Final = Path(homeassistant.__file__).parent
_COMPONENTS: Final = "homeassistant.components."
_PROVIDED: Final = {"homeassistant", "custom_components", "voluptuous"}
"""Home Assistant puts its own engine in the place of voluptuous."""
_ALWAYS_THERE: Final = PLATFORMS | {
    "alert",
    "automation",
    "conversation",
    "default_config",
    "device_automation",
    "frontend",
    "group",
    "homeassistant",
    "input_boolean",
    "input_button",
    "input_datetime",
    "input_number",
    "input_select",
    "input_text",
    "media_source",
    "mjpeg",
    "onboarding",
    "panel_custom",
    "persistent_notification",
    "person",
    "script",
    "shopping_list",
    "stream",
    "sun",
    "system_health",
    "system_log",
    "timer",
    "webhook",
    "websocket_api",
    "zone",
}
"""Parts of Home Assistant that may be imported without being named."""


def check(project: Project, code: Code) -> Iterator[Problem]:
    """Check every import of the integration."""
    packages = _named_packages(project)
    components = _named_components(project)
    for module in code.modules.values():
        for node, name, for_types in _imports(module):
            fault = _layer_fault(project, module, name)
            if not fault and not for_types:
                fault = _component_fault(project, module, name, components) or _package_fault(name, packages)
            if fault:
                yield project.problem(module.path, fault, node.lineno)
    for text in project.manifest.get("requirements", []):
        if fault := _requirement_fault(text):
            yield project.problem(project.integration / "manifest.json", f"requirements: {text!r} {fault}")


def _imports(module: Module) -> Iterator[tuple[ast.stmt, str, bool]]:
    """Yield each import with the absolute name of what it imports, and whether only types need it."""
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        source = f"{imported_module(module, node)}." if isinstance(node, ast.ImportFrom) else ""
        tests = {last_name(above.test) for above in module.above(node) if isinstance(above, ast.If)}
        for alias in node.names:
            yield node, source + alias.name, "TYPE_CHECKING" in tests


def _layer_fault(project: Project, module: Module, name: str) -> str | None:
    protocol = f"custom_components.{project.domain}.protocol."
    if not f"{module.name}.".startswith(protocol):
        return None
    if f"{name}.".startswith("homeassistant."):
        return f"imports {name}: protocol/ knows nothing of Home Assistant"
    if f"{name}.".startswith("custom_components.") and not f"{name}.".startswith(protocol):
        return f"imports {name}: protocol/ knows nothing of the modules above it"
    return None


def _named_components(project: Project) -> frozenset[str]:
    """Return the parts of Home Assistant that the manifest lets the integration import."""
    manifest = project.manifest
    discovery = {domain for domain, keys in DISCOVERY_INTEGRATIONS.items() if manifest.keys() & set(keys)}
    return _ALWAYS_THERE.union(
        discovery, *(manifest.get(f"{kind}dependencies", []) for kind in ("", "after_"))
    )


def _component_fault(project: Project, module: Module, name: str, named: frozenset[str]) -> str | None:
    if not name.startswith(_COMPONENTS):
        return None
    component = name.removeprefix(_COMPONENTS).partition(".")[0]
    # A platform for another integration, like diagnostics.py, is only ever loaded by that one.
    platform = project.integration / component
    if component in named or platform.is_dir() or platform.with_suffix(".py").is_file():
        return None
    return f"imports {component!r}, which the manifest does not name as a dependency"


def _named_packages(project: Project) -> frozenset[str]:
    """Return what the manifest, those that it depends on, and Home Assistant itself install."""
    texts = [*(requires("homeassistant") or []), *project.manifest.get("requirements", [])]
    seen: set[str] = set()
    waiting = list(project.manifest.get("dependencies", []))
    while waiting:
        domain = waiting.pop()
        path = _HOME_ASSISTANT / "components" / domain / "manifest.json"
        if domain not in seen and path.is_file():
            manifest = json.loads(path.read_text())
            texts += manifest.get("requirements", [])
            waiting += manifest.get("dependencies", [])
        seen.add(domain)
    return frozenset(canonicalize_name(found.name) for text in texts if (found := _requirement(text)))


def _package_fault(name: str, packages: frozenset[str]) -> str | None:
    top = name.partition(".")[0]
    if top in _PROVIDED | sys.stdlib_module_names:
        return None
    owners = _distributions().get(top, [])
    if not owners:
        return f"imports {top!r}, which is not installed"
    if packages & {canonicalize_name(owner) for owner in owners}:
        return None
    return f"imports {top!r}, which the manifest does not require and Home Assistant may not install"


def _requirement_fault(text: str) -> str | None:
    requirement = _requirement(text)
    if requirement is None or " " in text:
        return "is not a requirement, or has spaces"
    pinned = _constraints().get(canonicalize_name(requirement.name))
    if pinned and not requirement.specifier.contains(pinned, prereleases=True):
        return f"cannot be met: Home Assistant pins {pinned}"
    try:
        installed = version(requirement.name)
    except PackageNotFoundError:
        return "is not installed here, so nothing was tested with it"
    if not requirement.specifier.contains(installed, prereleases=True):
        return f"leaves out {installed}, which the tests use"
    return None


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


@cache
def _constraints() -> Mapping[str, str]:
    """Return the versions that Home Assistant pins, by package."""
    lines = (_HOME_ASSISTANT / "package_constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if line.count("==") == 1 and not line.startswith("#"))
    return {canonicalize_name(name): pinned for name, pinned in pins}


@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()
