"""The quality scale says what is so: what a test can see of its claims is there."""

from collections.abc import Iterator
import importlib
import inspect
import json
from pathlib import Path
import re
from typing import Any

from homeassistant.helpers.entity import Entity
from homeassistant.util.yaml import load_yaml_dict
import pytest

import custom_components.xiaozhi as integration
from custom_components.xiaozhi import PLATFORMS
from custom_components.xiaozhi.protocol.faces import Face
from tests.paths import ROOT

PACKAGE = Path(integration.__file__).parent
RULES: dict[str, Any] = load_yaml_dict(PACKAGE / "quality_scale.yaml")["rules"]
_RAISED = re.compile(r"raise (?:ConfigEntry\w+|HomeAssistantError|ServiceValidationError)\b([^)]*)")


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


def test_the_documentation_has_a_section_on_known_limitations() -> None:
    assert "\n## Known limitations\n" in (ROOT / "docs" / "devices.md").read_text()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_platform_says_how_many_calls_may_run(platform: str) -> None:
    module = importlib.import_module(f"{integration.__name__}.{platform}")
    assert module.PARALLEL_UPDATES in {0, 1}


def test_entities_have_names_of_their_own() -> None:
    found = [cls for cls in entity_classes() if not cls.__name__.startswith("Core")]
    assert len(found) > 20
    assert all(getattr(cls, "_attr_has_entity_name", False) for cls in found)


def test_every_error_that_home_assistant_shows_is_translated() -> None:
    """Most are spelled `UserError` and `InputError`, which cannot be made without a key."""
    raised = [found for path in PACKAGE.rglob("*.py") for found in _RAISED.findall(path.read_text())]
    assert raised
    assert all("translation_key" in given for given in raised)


def test_every_field_of_a_form_says_what_it_is_for() -> None:
    texts = json.loads((PACKAGE / "translations/en.json").read_text())
    fields = 0
    for flow in (texts["config"], *texts["config_subentries"].values()):
        for form in flow.get("step", {}).values():
            for part in (form, *form.get("sections", {}).values()):
                fields += len(part.get("data", {}))
                assert part.get("data", {}).keys() <= part.get("data_description", {}).keys()
    assert fields > 20


def test_the_form_of_an_action_offers_the_faces_that_it_takes() -> None:
    services = load_yaml_dict(PACKAGE / "services.yaml")
    for service in ("show_text", "set_face"):
        assert tuple(services[service]["fields"]["face"]["selector"]["select"]["options"]) == tuple(Face)


def test_add_integration_finds_both_names() -> None:
    """It searches the name in the manifest, whatever the language: a translated title is not looked at."""
    manifest = json.loads((PACKAGE / "manifest.json").read_text())
    assert set(manifest["name"].split()) == {"XiaoZhi", "小智"}
