"""The quality scale says what is so: what a test can see of its claims is there."""

import ast
from collections.abc import Iterator
import importlib
import inspect
import json
from pathlib import Path
from typing import Any

from homeassistant.helpers.entity import Entity
from homeassistant.util.yaml import load_yaml_dict
import pytest

import custom_components.xiaozhi as integration
from custom_components.xiaozhi import PLATFORMS
from tests.paths import ROOT

PACKAGE = Path(integration.__file__).parent
RULES: dict[str, Any] = load_yaml_dict(PACKAGE / "quality_scale.yaml")["rules"]
# What is written of each rule about the documentation, and where.
DOCS = {
    "docs-actions": ("docs/actions.md", "# Actions"),
    "docs-conditions": ("docs/automations.md", "| Condition |"),
    "docs-configuration-parameters": ("docs/settings.md", "## A device"),
    "docs-data-update": ("docs/entities.md", "## When they have a value"),
    "docs-examples": ("docs/automations.md", "## The conversation"),
    "docs-high-level-description": ("README.md", "## What you get"),
    "docs-installation-instructions": ("README.md", "## In ten minutes"),
    "docs-installation-parameters": ("docs/settings.md", "## The gateway"),
    "docs-known-limitations": ("docs/devices.md", "## Firmware, link and what works"),
    "docs-removal-instructions": ("README.md", "To remove everything, delete the integration"),
    "docs-supported-devices": ("docs/devices.md", "## Which firmware can do what"),
    "docs-supported-functions": ("docs/entities.md", "## What there is"),
    "docs-triggers": ("docs/automations.md", "| Trigger |"),
    "docs-troubleshooting": ("docs/troubleshooting.md", "# Troubleshooting"),
    "docs-use-cases": ("docs/automations.md", "## Ready-made: blueprints"),
}


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PACKAGE / "manifest.json").read_text())
    return found


def entity_classes() -> Iterator[type[Entity]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent.parent).with_suffix("").parts
        module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
        for cls in vars(module).values():
            if inspect.isclass(cls) and issubclass(cls, Entity) and cls.__module__ == module.__name__:
                yield cls


def test_every_rule_is_done_or_says_why_not() -> None:
    for rule, claim in RULES.items():
        if claim != "done":
            assert claim["status"] in {"done", "exempt"}, rule
            assert claim["comment"].endswith("."), rule


def test_the_rules_about_the_documentation_are_kept() -> None:
    assert {rule for rule in RULES if rule.startswith("docs-")} == DOCS.keys()
    for path, text in DOCS.values():
        assert text in (ROOT / path).read_text(), (path, text)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_platform_says_how_many_calls_may_run(platform: str) -> None:
    module = importlib.import_module(f"{integration.__name__}.{platform}")
    assert module.PARALLEL_UPDATES in {0, 1}


def test_entities_have_names_of_their_own_and_ids() -> None:
    found = list(entity_classes())
    assert len(found) > 20
    for cls in found:
        if not cls.__name__.startswith("Core"):
            assert getattr(cls, "_attr_has_entity_name", False), cls


def test_actions_are_there_before_an_entry_is() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (setup,) = (node for node in ast.walk(tree) if getattr(node, "name", "") == "async_setup")
    called = {
        node.func.id
        for node in ast.walk(setup)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert {"async_setup_services", "async_setup_read_action"} <= called


def test_every_error_that_home_assistant_shows_is_translated() -> None:
    shown = {
        "ConfigEntryAuthFailed",
        "ConfigEntryError",
        "ConfigEntryNotReady",
        "HomeAssistantError",
        "ServiceValidationError",
    }
    raised = 0
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            error = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(error, ast.Call) and ast.unparse(error.func).rpartition(".")[2] in shown:
                raised += 1
                given = {keyword.arg for keyword in error.keywords}
                assert "translation_key" in given, f"{path.name}:{error.lineno}"
    # Most are spelled `UserError` and `InputError`, which cannot be made without a key.
    assert raised > 0


def test_every_field_of_a_form_says_what_it_is_for() -> None:
    texts = json.loads((PACKAGE / "translations/en.json").read_text())
    flows = {"config": texts["config"], **texts["config_subentries"]}
    fields = 0
    for flow, found in flows.items():
        for step, form in found.get("step", {}).items():
            for part in (form, *form.get("sections", {}).values()):
                fields += len(part.get("data", {}))
                assert part.get("data", {}).keys() <= part.get("data_description", {}).keys(), (flow, step)
    assert fields > 20


def test_add_integration_finds_both_names() -> None:
    """It searches the name in the manifest, whatever the language: a translated title is not looked at."""
    manifest = json.loads((PACKAGE / "manifest.json").read_text())
    assert set(manifest["name"].split()) == {"XiaoZhi", "小智"}
