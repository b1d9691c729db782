"""A small repository in which everything is right."""

from collections.abc import Callable
import json
import struct

type Change = tuple[str, str, str]
"""A file, a piece of it, and what to put there; an empty piece adds to the end, or makes the file."""
type Check = Callable[..., list[str]]
"""Makes changes in the sample and returns the problems."""

DOMAIN = "sample_box"
HOME = f"custom_components/{DOMAIN}"
EN = f"{HOME}/translations/en.json"
MANIFEST = f"{HOME}/manifest.json"
ICONS = f"{HOME}/icons.json"
SERVICES = f"{HOME}/services.yaml"
QUALITY = f"{HOME}/quality_scale.yaml"
FLOW = f"{HOME}/config_flow.py"
INIT = f"{HOME}/__init__.py"
SENSOR = f"{HOME}/sensor.py"
WIRE = f"{HOME}/protocol/wire.py"

FILES = {
    "pyproject.toml": '[project]\nname = "sample"\nversion = "1.2.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (unreleased)\n\n## 1.1.0\n",
    "hacs.json": '{"name": "Sample", "homeassistant": "2026.10.0", "render_readme": true}',
    MANIFEST: """{
        "domain": "sample_box",
        "name": "Sample",
        "codeowners": ["@somebody"],
        "config_flow": true,
        "dependencies": ["http"],
        "dhcp": [{"hostname": "sample-*"}],
        "documentation": "https://example.org",
        "integration_type": "hub",
        "iot_class": "local_push",
        "issue_tracker": "https://example.org/issues",
        "requirements": ["websockets>=15.0.1"],
        "version": "1.2.0"
    }""",
    ICONS: """{
        "entity": {"sensor": {"mood": {"default": "mdi:robot", "state": {"happy": "mdi:robot-happy"}}}},
        "services": {"show": "mdi:message-text"}
    }""",
    SERVICES: """
show:
  target:
    device: {}
  fields:
    words:
      required: true
      selector:
        text:
    style:
      selector:
        select:
          translation_key: style
          options: [calm, loud]
""",
    EN: """{
        "config": {
            "step": {
                "user": {
                    "title": "Add the box",
                    "description": "It is at {address}.",
                    "data": {"port": "Port", "quality": "Quality"},
                    "data_description": {"port": "Where it listens.", "quality": "How good it is."},
                    "menu_options": {"user": "Again"}
                }
            },
            "error": {"port_taken": "The port is taken."},
            "abort": {"already_configured": "It is there already.", "no_box": "There is no box."}
        },
        "config_subentries": {
            "device": {
                "entry_type": "Device",
                "initiate_flow": {"user": "Add device"},
                "step": {"user": {"title": "Add a device"}},
                "abort": {"no_box": "There is no box."}
            }
        },
        "entity": {
            "sensor": {"mood": {"name": "Mood", "state": {"happy": "Happy", "sad": "Sad"}}}
        },
        "exceptions": {
            "gone": {"message": "{name} is gone: {reason}"},
            "asleep": {"message": "{name} is asleep."}
        },
        "issues": {
            "reset": {"title": "{name} was reset", "description": "Pair {name} again."},
            "port": {
                "title": "The port is taken",
                "fix_flow": {"step": {"confirm": {"title": "Take another port?"}}}
            }
        },
        "selector": {
            "quality": {"options": {"low": "Low", "high": "High"}},
            "style": {"options": {"calm": "Calm", "loud": "Loud"}}
        },
        "services": {
            "show": {
                "name": "Show",
                "description": "Shows words.",
                "fields": {
                    "words": {"name": "Words", "description": "What to show."},
                    "style": {"name": "Style", "description": "How to show it."}
                }
            }
        }
    }""",
    INIT: """
from homeassistant.exceptions import ConfigEntryNotReady, HomeAssistantError
from homeassistant.helpers import config_validation as cv, issue_registry as ir

from .const import ACTION, DOMAIN

CONFIG_SCHEMA = cv.config_entry_only_config_schema(DOMAIN)


class AsleepError(HomeAssistantError):
    def __init__(self, **filled):
        super().__init__(
            translation_domain=DOMAIN, translation_key="asleep", translation_placeholders=filled
        )


def gone(key, **filled):
    return HomeAssistantError(translation_domain=DOMAIN, translation_key=key, translation_placeholders=filled)


async def async_setup(hass, config):
    hass.services.async_register(DOMAIN, ACTION, show)


async def async_setup_entry(hass, entry):
    entry.runtime_data = gone("gone", name="x", reason="y")
    filled = {"name": "x"}
    ir.async_create_issue(
        hass, DOMAIN, "1", is_fixable=False, translation_key="reset", translation_placeholders=filled
    )
    ir.async_create_issue(hass, DOMAIN, "2", is_fixable=True, translation_key="port")
    raise ConfigEntryNotReady


async def show(call):
    words, style = call.data["words"], call.data["style"]
    raise AsleepError(name=words + style)
""",
    f"{HOME}/const.py": 'DOMAIN = "sample_box"\nACTION = "show"\nSUBENTRY = "device"\n',
    SENSOR: """
from enum import StrEnum, auto

from homeassistant.components.sensor import SensorEntityDescription

PARALLEL_UPDATES = 0


class Mood(StrEnum):
    HAPPY = auto()
    SAD = "sad"


MOOD = SensorEntityDescription(key="mood", translation_key="mood", options=[mood.value for mood in Mood])
""",
    FLOW: """
from homeassistant.config_entries import ConfigFlow, ConfigSubentryFlow
from homeassistant.const import CONF_PORT
from homeassistant.helpers.selector import SelectSelector, SelectSelectorConfig
import voluptuous as vol

from .const import DOMAIN, SUBENTRY

QUALITIES = SelectSelectorConfig(options=["low", "high"], translation_key="quality")
SCHEMA = vol.Schema({vol.Required(CONF_PORT): int, vol.Required("quality"): SelectSelector(QUALITIES)})


class NoBox:
    def stop(self):
        return self.async_abort(reason="no_box")


class SampleFlow(NoBox, ConfigFlow, domain=DOMAIN):
    @classmethod
    def async_get_supported_subentry_types(cls, entry):
        return {SUBENTRY: DeviceFlow}

    async def async_step_user(self, user_input=None):
        self._abort_if_unique_id_configured()
        errors = {}
        if user_input:
            errors["base"] = "port_taken"
        return self.async_show_form(
            step_id="user", data_schema=SCHEMA, errors=errors, description_placeholders={"address": "x"}
        )

    async def async_step_dhcp(self, info):
        return self.async_show_menu(
            step_id="user", menu_options=["user"], description_placeholders={"address": "x"}
        )


class DeviceFlow(NoBox, ConfigSubentryFlow):
    async def async_step_user(self, user_input=None):
        return self.async_show_form(step_id="user")
""",
    f"{HOME}/protocol/__init__.py": "",
    WIRE: "import websockets\n\nfrom . import link\nfrom .link import Link\n",
    f"{HOME}/protocol/link.py": "class Link:\n    pass\n",
}


def png(width: int, height: int) -> bytes:
    """Return the head of an image of this size, which is all that is looked at."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 6, 0, 0, 0)


def drop(path: str, key: str) -> Change:
    """Return the change that takes a key out of a JSON file of the sample, wherever it is first found."""
    content = json.loads(FILES[path])
    waiting = [content]
    while waiting:
        part = waiting.pop(0)
        if key in part:
            del part[key]
            break
        waiting += [inner for inner in part.values() if isinstance(inner, dict)]
    return path, FILES[path], json.dumps(content)
