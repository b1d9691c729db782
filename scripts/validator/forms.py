"""The forms of the files that Home Assistant and HACS read, as data."""

from typing import Any, Final

from homeassistant.helpers.selector import validate_selector
import voluptuous as vol

from .shape import (
    Shape,
    anything,
    boolean,
    faults,
    https_address,
    matching,
    one_of,
    plain,
    text,
    version,
    words,
)

_domain = matching(r"[a-z0-9_]+", "a domain")
_lower = matching(r"[^A-Z]+", "in lower case")
_upper_wildcard = matching(r"[^a-z]*\*[^a-z]*", "in upper case with a *")

MANIFEST: Final[dict[str, Shape]] = {
    "domain!": _domain,
    "name!": words,
    "after_dependencies": [_domain],
    "bluetooth": [anything],
    "codeowners!": [matching(r"@[\w./-]+", "a GitHub name like @somebody")],
    "config_flow": boolean,
    "dependencies": [_domain],
    "dhcp": [{"hostname": _lower, "macaddress": _upper_wildcard, "registered_devices": boolean}],
    "documentation!": https_address,
    "import_executor": boolean,
    "integration_type!": one_of("device", "hub", "service", "helper", "hardware"),
    "iot_class!": one_of(
        "assumed_state", "calculated", "cloud_polling", "cloud_push", "local_polling", "local_push"
    ),
    "issue_tracker!": https_address,
    "loggers": [words],
    "mqtt": [words],
    "requirements": [words],
    "single_config_entry": boolean,
    "ssdp": [anything],
    "version!": version,
    "zeroconf": [anything],
}

HACS: Final[dict[str, Shape]] = {
    "name!": words,
    "content_in_root": boolean,
    "country": anything,
    "filename": words,
    "hacs": version,
    "hide_default_branch": boolean,
    "homeassistant": version,
    "persistent_directory": words,
    "render_readme": boolean,
    "zip_release": boolean,
}

_FIELDS: Final[dict[str, Shape]] = {"data": {"*": text}, "data_description": {"*": text}, "description": text}
_FLOW: Final[dict[str, Shape]] = {
    "flow_title": text,
    "initiate_flow": {"user!": text, "*": text},
    "step!": {
        "*": {
            **_FIELDS,
            "title": text,
            "menu_options": {"*": text},
            "menu_option_descriptions": {"*": text},
            "submit": text,
            "sections": {"*": {**_FIELDS, "name": text}},
        }
    },
    "error": {"*": text},
    "abort": {"*": text},
    "progress": {"*": text},
    "create_entry": {"*": text},
}
_STATES: Final[dict[str, Shape]] = {"name": text, "state": {"*": plain}}

TEXTS: Final[dict[str, Shape]] = {
    "title": text,
    "config": _FLOW,
    "config_subentries": {"*": {**_FLOW, "entry_type!": text, "initiate_flow!": {"user!": text, "*": text}}},
    "options": _FLOW,
    "issues": {"*": {"title!": text, "description": text, "fix_flow": _FLOW}},
    "exceptions": {"*": {"message!": text}},
    "entity": {"*": {"*": {**_STATES, "state_attributes": {"*": _STATES}, "unit_of_measurement": plain}}},
    "device": {"*": {"name": text}},
    "device_automation": {
        name: {"*": text} for name in ("action_type", "condition_type", "trigger_type", "trigger_subtype")
    },
    "selector": {
        "*": {
            "options": {"*": text},
            "choices": {"*": text},
            "unit_of_measurement": {"*": text},
            "fields": {"*": anything},
        }
    },
    "services": {
        "*": {
            "name!": text,
            "description!": text,
            "fields": {"*": {"name!": text, "description!": text, "example": text}},
            "sections": {"*": {"name!": text, "description": text}},
        }
    },
    "system_health": {"info": {"*": text}},
    "common": {"*": text},
}

_mdi = matching(r"mdi:[a-z0-9]+(?:-[a-z0-9]+)*", "an icon like mdi:lamp")


def _icon_of_action(value: Any) -> str | None:
    """Accept one icon, or one for the action and some for its sections."""
    if not isinstance(value, dict):
        return _mdi(value)
    return next(faults(value, {"service": _mdi, "sections": {"*": _mdi}}), None)


def _icons_by_number(value: Any) -> str | None:
    """Accept icons by the number from which they are shown."""
    good = isinstance(value, dict) and all(
        key.removeprefix("-").replace(".", "", 1).isdigit() for key in value
    )
    return next(filter(None, map(_mdi, value.values())), None) if good else "must have numbers as its keys"


_ICON: Final[dict[str, Shape]] = {"default": _mdi, "state": {"*": _mdi}, "range": _icons_by_number}
_STEPS: Final[dict[str, Shape]] = {"step": {"*": {"sections": {"*": _mdi}}}}

ICONS: Final[dict[str, Shape]] = {
    "entity": {"*": {"*": {**_ICON, "state_attributes": {"*": _ICON}}}},
    "services": {"*": _icon_of_action},
    "config": _STEPS,
    "config_subentries": {"*": _STEPS},
    "options": _STEPS,
    "issues": {"*": {"fix_flow": _STEPS}},
}


def _selector(value: Any) -> str | None:
    try:
        validate_selector(value)
    except vol.Invalid as err:
        return f"is not a selector: {err}"
    return None


_FIELD: Final[dict[str, Shape]] = {
    "required": boolean,
    "default": anything,
    "example": anything,
    "advanced": boolean,
    "selector!": _selector,
    "filter": anything,
}
_SECTION: Final[dict[str, Shape]] = {"collapsed": boolean, "fields!": {"*": _FIELD}}


def _field_or_section(value: Any) -> str | None:
    section = isinstance(value, dict) and "fields" in value
    return next(faults(value, _SECTION if section else _FIELD), None)


SERVICES: Final[dict[str, Shape]] = {"*": {"target": anything, "fields": {"*": _field_or_section}}}


def _status(value: Any) -> str | None:
    if value in ("done", "todo"):
        return None
    if not isinstance(value, dict) or value.get("status") not in ("done", "todo", "exempt"):
        return "must be done, todo or exempt"
    if value["status"] == "exempt" and not value.get("comment"):
        return "exempt needs a comment that says why"
    return None


RULES: Final = {
    "bronze": (
        "action-setup",
        "appropriate-polling",
        "brands",
        "common-modules",
        "config-flow",
        "config-flow-test-coverage",
        "dependency-transparency",
        "docs-actions",
        "docs-conditions",
        "docs-high-level-description",
        "docs-installation-instructions",
        "docs-removal-instructions",
        "docs-triggers",
        "entity-event-setup",
        "entity-unique-id",
        "has-entity-name",
        "runtime-data",
        "test-before-configure",
        "test-before-setup",
        "unique-config-entry",
    ),
    "silver": (
        "action-exceptions",
        "config-entry-unloading",
        "docs-configuration-parameters",
        "docs-installation-parameters",
        "entity-unavailable",
        "integration-owner",
        "log-when-unavailable",
        "parallel-updates",
        "reauthentication-flow",
        "test-coverage",
    ),
    "gold": (
        "devices",
        "diagnostics",
        "discovery",
        "discovery-update-info",
        "docs-data-update",
        "docs-examples",
        "docs-known-limitations",
        "docs-supported-devices",
        "docs-supported-functions",
        "docs-troubleshooting",
        "docs-use-cases",
        "dynamic-devices",
        "entity-category",
        "entity-device-class",
        "entity-disabled-by-default",
        "entity-translations",
        "exception-translations",
        "icon-translations",
        "reconfiguration-flow",
        "repair-issues",
        "stale-devices",
    ),
    "platinum": ("async-dependency", "inject-websession", "strict-typing"),
}
QUALITY: Final[dict[str, Shape]] = {
    "rules!": {f"{rule}!": _status for tier in RULES.values() for rule in tier}
}
