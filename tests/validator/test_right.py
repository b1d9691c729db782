"""The validator does not complain about what is right, however it is written."""

import pytest

from tests.validator.sample import (
    EN,
    FILES,
    FLOW,
    HOME,
    ICONS,
    INIT,
    MANIFEST,
    SENSOR,
    SERVICES,
    Change,
    Check,
)

REPAIRS = f"{HOME}/repairs.py"
SELECT = f"{HOME}/select.py"

RIGHT = {
    "a service whose name is in a table": [
        (INIT, "hass.services.async_register(DOMAIN, ACTION, show)", "register(hass)"),
        (INIT, "", "\n\ndef register(hass):\n    for name, act in ACTIONS.items():\n"),
        (INIT, "", "        hass.services.async_register(DOMAIN, name, act)\n\n\nACTIONS = {ACTION: show}\n"),
    ],
    "a service whose name is in a description": [
        (INIT, "DOMAIN, ACTION, show)", "DOMAIN, ACTION, show) if False else register(hass)"),
        (INIT, "", "\n\nROWS = (Row(name=ACTION),)\n\n\ndef register(hass):\n    for row in ROWS:\n"),
        (INIT, "", "        hass.services.async_register(DOMAIN, row.name, show)\n"),
    ],
    "an error from a table": [
        (FLOW, '"port_taken"', "FAULTS[user_input]"),
        (FLOW, "", '\n\nFAULTS = {1: "port_taken"}\n'),
    ],
    "a text whose key is put together": [
        (EN, '"gone": {', '"voice_lost": {"message": "Lost."}, "gone": {'),
        (INIT, "", '\n\ndef key(what):\n    return f"voice_{what}"\n'),
    ],
    "a select of Home Assistant's own": [
        (MANIFEST, '["http"]', '["assist_pipeline", "http"]'),
        (
            EN,
            '"sensor": {',
            '"select": {"pipeline": {"name": "A", "state": {"preferred": "B"}}}, "sensor": {',
        ),
        (SELECT, "", "from homeassistant.components.assist_pipeline import AssistPipelineSelect\n"),
        (SELECT, "", "\n\nclass Pipeline(AssistPipelineSelect):\n    pass\n"),
    ],
    "an entity that is named by its device class": [
        (EN, '"sensor": {"mood": {"name": "Mood", "state": {"happy": "Happy", "sad": "Sad"}}}', ""),
        (ICONS, ', "state": {"happy": "mdi:robot-happy"}', ""),
        (SENSOR, ", options=[mood.value for mood in Mood]", ""),
    ],
    "an entity without a name of its own": [
        (SENSOR, "", '\n\nclass Box:\n    _attr_name = None\n    _attr_translation_key = "box"\n'),
    ],
    "an import that only types need": [
        (INIT, "", "\nif TYPE_CHECKING:\n    from homeassistant.components.mqtt import models\n"),
    ],
    "a platform for another integration": [
        (
            f"{HOME}/diagnostics.py",
            "",
            "from homeassistant.components.diagnostics import async_redact_data\n",
        ),
    ],
    "the integration of a discovery": [
        (INIT, "", "\nfrom homeassistant.helpers.service_info.dhcp import DhcpServiceInfo\n"),
        (INIT, "", "\nfrom homeassistant.components import dhcp\n"),
    ],
    "a reason that Home Assistant has a text for": [
        (FLOW, 'reason="no_box"', 'reason="no_box" if self else "no_box"'),
        (
            FLOW,
            "        errors = {}",
            '        self.async_abort(reason="x", translation_domain="homeassistant")\n        errors = {}',
        ),
    ],
    "a repair that shows what its issue shows": [
        (EN, '"title": "Take another port?"', '"title": "Take another port than {port}?"'),
        (REPAIRS, "", "from homeassistant.components.repairs import RepairsFlow\n\n\n"),
        (REPAIRS, "", "class Flow(RepairsFlow):\n    async def async_step_confirm(self, _=None):\n"),
        (REPAIRS, "", '        return self.async_show_form(step_id="confirm")\n'),
    ],
    "fields in a section": [
        (
            SERVICES,
            "    words:\n      required: true\n      selector:\n        text:\n",
            "    look:\n      fields:\n        words:\n          selector:\n            text:\n",
        ),
        (
            EN,
            '"description": "Shows words.",',
            '"description": "Shows words.", "sections": {"look": {"name": "Look"}},',
        ),
    ],
    "another language": [(f"{HOME}/translations/de.json", "", FILES[EN])],
    "an issue of another integration": [
        (
            INIT,
            "",
            '\n\nir.async_create_issue(1, "other", "2", is_fixable=False, translation_key="theirs")\n',
        ),
    ],
}


@pytest.mark.parametrize("changes", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_right_is_not_reported(check: Check, changes: list[Change]) -> None:
    assert check(*changes) == []
