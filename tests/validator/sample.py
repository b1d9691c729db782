"""A small repository in which everything is right."""

DOMAIN = "sample_box"
HOME = f"custom_components/{DOMAIN}"
EN = f"{HOME}/translations/en.json"
ICONS = f"{HOME}/icons.json"
SERVICES = f"{HOME}/services.yaml"
INIT = f"{HOME}/__init__.py"
SENSOR = f"{HOME}/sensor.py"

FILES = {
    "pyproject.toml": '[project]\nname = "sample"\nversion = "1.2.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (unreleased)\n\n## 1.1.0\n",
    f"{HOME}/manifest.json": '{"domain": "sample_box", "version": "1.2.0"}',
    ICONS: """{
        "entity": {"sensor": {"mood": {"default": "mdi:robot", "state": {"happy": "mdi:robot-happy"}}}},
        "services": {"show": {"service": "mdi:message-text"}}
    }""",
    SERVICES: """
show:
  fields:
    words: {selector: {text: }}
    look:
      fields:
        style: {selector: {select: {translation_key: style, options: [calm, loud]}}}
""",
    EN: """{
        "config": {
            "step": {
                "user": {
                    "title": "Add the box",
                    "data": {"port": "Port", "quality": "Quality"},
                    "menu_options": {"user": "Again"}
                }
            },
            "error": {"port_taken": "The port is taken."},
            "abort": {"no_box": "There is no box."}
        },
        "entity": {"sensor": {"mood": {"name": "Mood", "state": {"happy": "Happy", "sad": "Sad"}}}},
        "exceptions": {
            "gone": {"message": "{name} is gone: {reason}"},
            "asleep": {"message": "{name} is asleep."},
            "voice_lost": {"message": "The voice is lost."}
        },
        "issues": {"reset": {"title": "{name} was reset", "description": "Pair {name} again."}},
        "selector": {
            "quality": {"options": {"low": "Low", "high": "High"}},
            "style": {"options": {"calm": "Calm", "loud": "Loud"}}
        },
        "services": {
            "show": {
                "name": "Show",
                "description": "Shows words.",
                "sections": {"look": {"name": "Look"}},
                "fields": {
                    "words": {"name": "Words", "description": "What to show."},
                    "style": {"name": "Style", "description": "How to show it."}
                }
            }
        }
    }""",
    INIT: """
from homeassistant.helpers import issue_registry as ir

from .errors import UserError

ACTION = "show"
SPOKEN = {"lost": "voice_lost"}


def setup(hass, more):
    hass.services.async_register("x", ACTION, lambda call: call.data["words"] + call.data["style"])
    ir.async_create_issue(hass, "x", "1", translation_key="reset", translation_placeholders={"name": "x"})
    if more:
        raise UserError("asleep", **more)
    raise UserError("gone", name="a", reason="y")
""",
    SENSOR: """
from enum import StrEnum, auto

from homeassistant.components.sensor import SensorEntityDescription


class Mood(StrEnum):
    HAPPY = auto()
    SAD = "sad"


MOOD = SensorEntityDescription(key="mood", translation_key="mood", options=[mood.value for mood in Mood])
""",
    f"{HOME}/config_flow.py": """
from homeassistant.config_entries import ConfigFlow
from homeassistant.const import CONF_PORT
from homeassistant.helpers.selector import SelectSelectorConfig

QUALITY = SelectSelectorConfig(options=["low", "high"], translation_key="quality")


class SampleFlow(ConfigFlow, domain="x"):
    async def async_step_user(self, user_input=None):
        errors = {}
        if user_input:
            errors["base"] = "port_taken"
        elif user_input is None:
            return self.async_abort(reason="no_box")
        return self.async_show_form(step_id="user", data_schema={CONF_PORT: int}, errors=errors)
""",
}
