"""The validator holds texts, actions and icons against each other and against the code."""

import pytest

from scripts.validator import icons
from tests.validator.sample import EN, FILES, FLOW, HOME, ICONS, INIT, SENSOR, SERVICES, Change, Check, drop

CONST = f"{HOME}/const.py"
GERMAN = f"{HOME}/translations/de.json"
IN_A_SECTION = "fields:\n    more:\n      fields:\n        words:\n          selector:\n            text:\n"

TEXT_FAULTS = [
    ((EN, "The port is taken.", "The port is <b>taken</b>."), "config.error.port_taken: contains HTML"),
    ((EN, "The port is taken.", "See https://example.org."), "contains an address; make it a placeholder"),
    ((EN, "The port is taken.", "The port '{port}' is taken."), "has a placeholder in single quotes"),
    ((EN, "The port is taken.", "The port {the port} is taken."), "has a placeholder that is not a name"),
    ((EN, "The port is taken.", "The port {port is taken."), "has braces that are no placeholder"),
    ((EN, "The port is taken.", "The port is taken. "), "begins or ends with a space"),
    ((EN, "The port is taken.", "[%key:common::x%]"), "refers to another text"),
    ((EN, '"The port is taken."', "7"), "config.error.port_taken: must be a text"),
    ((EN, '"Happy"', '"Happy {name}"'), "entity.sensor.mood.state.happy: takes no placeholders"),
    ((EN, '"port_taken"', '"Port taken"'), "config.error.Port taken: a key is made of a-z"),
    (
        (EN, '"title": "Add the', '"titel": "Add the'),
        "config.step.user.titel: is not a key that belongs here",
    ),
    ((EN, '"config": {', '"config": {"title": "Sample",'), "config.title: is not a key that belongs here"),
    (drop(EN, "entry_type"), "config_subentries.device: has no 'entry_type'"),
    (drop(EN, "initiate_flow"), "config_subentries.device: has no 'initiate_flow'"),
    ((EN, '"message": "{name} is asleep."', '"text": "x"'), "exceptions.asleep: has no 'message'"),
    (
        (EN, '"data_description": {', '"data_description": {"host": "x", '),
        "host: describes a field that is not in",
    ),
    (
        (EN, ', "description": "Pair {name} again."', ""),
        "issues.reset: needs either a description or a fix_flow",
    ),
    ((EN, '"title": "The port is taken",', '"title": "x", "description": "y",'), "issues.port: needs either"),
    ((EN, '"sensor": {"mood"', '"feeling": {"mood"'), "entity.feeling: is no platform"),
    (drop(EN, "config"), "there is no text config.step.user"),
    ((GERMAN, "", '{"config": {"step": {}}}'), "de.json: config.error.port_taken: is missing"),
    (
        (GERMAN, "", FILES[EN].replace("{address}", "hier")),
        "config.step.user.description: has other placeholders",
    ),
    ((GERMAN, "", FILES[EN].replace('"port_taken"', '"x"')), "config.error.x: is not in the English texts"),
    (
        (GERMAN, "", FILES[EN].replace("Port", "<i>Port</i>")),
        "de.json: config.step.user.data.port: contains HTML",
    ),
    ((f"{HOME}/strings.json", "", "{}"), "strings.json: is for core"),
]

ENTITY_FAULTS = [
    (
        (SENSOR, 'translation_key="mood"', 'translation_key="temper"'),
        "sensor.py:14: there is no text entity.sensor.temper",
    ),
    ((EN, ', "sad": "Sad"', ""), "entity.mood: has no text for 'sad'"),
    (
        (EN, '"sad": "Sad"', '"sad": "Sad", "furious": "F"'),
        "mood.state.furious: nothing in the code asks for it",
    ),
    (
        (SENSOR, "", '\n\nclass X:\n    _attr_translation_key = "speed"\n'),
        "there is no text entity.sensor.speed",
    ),
    (
        (EN, '"sensor": {', '"sensor": {"speed": {"name": "S"},'),
        "entity.sensor.speed: nothing in the code asks",
    ),
]

ERROR_FAULTS = [
    ((INIT, 'gone("gone",', 'gone("vanished",'), "there is no text exceptions.vanished"),
    ((INIT, ', reason="y"', ""), "exceptions.gone: the text wants {reason}, the code does not give it"),
    (
        (INIT, "name=words + style", "name=words, age=style"),
        "exceptions.asleep: the code gives 'age', the text",
    ),
    (
        (EN, '"asleep": {', '"dead": {"message": "x"}, "asleep": {'),
        "exceptions.dead: nothing in the code asks",
    ),
    ((INIT, 'translation_key="reset"', 'translation_key="replaced"'), "there is no text issues.replaced"),
    (
        (INIT, ", translation_placeholders=filled\n    )\n    ir", "\n    )\n    ir"),
        "issues.reset: the text wants {name}",
    ),
    ((INIT, "is_fixable=True", "is_fixable=False"), "issues.port: is_fixable and fix_flow go together"),
]

FLOW_FAULTS = [
    ((FLOW, '"port_taken"', '"port_used"'), "there is no text config.error.port_used"),
    (
        (FLOW, 'errors["base"] = "port_taken"', 'errors = {"base": "used"}'),
        "there is no text config.error.used",
    ),
    ((FLOW, "errors=errors", 'errors={"base": "used"}'), "there is no text config.error.used"),
    ((FLOW, 'reason="no_box"', 'reason="lost"'), "there is no text config.abort.lost"),
    ((FLOW, 'reason="no_box"', 'reason="lost"'), "there is no text config_subentries.device.abort.lost"),
    (
        (FLOW, "return self.async_abort(", 'raise AbortFlow("lost")\n        self.async_abort('),
        "config.abort.lost",
    ),
    (drop(EN, "already_configured"), "there is no text config.abort.already_configured"),
    (
        (EN, '"no_box": "There is', '"rain": "It rains.", "no_box": "There is'),
        "config.abort.rain: nothing in the",
    ),
    ((FLOW, 'step_id="user", data', 'step_id="start", data'), "there is no text config.step.start"),
    (
        (EN, '"user": {\n', '"more": {"title": "x"}, "user": {\n'),
        "config.step.more: nothing in the code asks for it",
    ),
    (
        (FLOW, "CONF_PORT): int", 'CONF_PORT): int, vol.Optional("colour"): str'),
        "data has no text for 'colour'",
    ),
    (
        (EN, '"port": "Port",', '"port": "Port", "colour": "Colour",'),
        "step.user.data.colour: nothing in the code",
    ),
    ((FLOW, 'menu_options=["user"]', 'menu_options=["user", "dhcp"]'), "menu_options has no text for 'dhcp'"),
    (
        (FLOW, ', errors=errors, description_placeholders={"address": "x"}', ""),
        "the text wants {address}, the code",
    ),
    ((FLOW, "{SUBENTRY: DeviceFlow}", '{"room": DeviceFlow}'), "config_subentries.room: has no texts"),
    (
        (FLOW, "{SUBENTRY: DeviceFlow}", "{}"),
        "config_subentries.device: is not a type of the code's subentries",
    ),
    ((EN, '"low": "Low", ', ""), "selector.quality: has no text for 'low'"),
    ((FLOW, 'translation_key="quality"', 'translation_key="grade"'), "there is no text selector.grade"),
]

SERVICE_FAULTS = [
    (
        (CONST, 'ACTION = "show"', 'ACTION = "tell"'),
        "tell: the code registers it, but it is not described here",
    ),
    ((CONST, 'ACTION = "show"', 'ACTION = "tell"'), "show: the code does not register it"),
    ((SERVICES, "\nshow:", "\nhide:\n  fields: {}\nshow:"), "hide: the code does not register it"),
    (drop(EN, "services"), "en.json: services.show: is missing"),
    (drop(ICONS, "services"), "icons.json: services.show: is missing"),
    ((ICONS, '"services": {', '"services": {"hide": "mdi:eye-off", '), "services.hide: is no action"),
    ((SERVICES, "    words:\n", "    speech:\n"), "services.show.fields.speech: is missing"),
    ((SERVICES, "    words:\n", "    speech:\n"), "services.show.fields.words: is not one of the fields"),
    ((INIT, 'call.data["words"]', "call.data"), "show.fields.words: nothing in the code reads it"),
    ((SERVICES, "        text:\n", "        paper:\n"), "show.fields.words: selector: is not a selector"),
    ((SERVICES, "      selector:\n        text:\n", ""), "has no 'selector'"),
    ((SERVICES, "  target:", "  name: Show\n  target:"), "show.name: is not a key that belongs here"),
    (
        (SERVICES, "[calm, loud]", "[calm, wild]"),
        "selector.style.options.wild: is missing, show.style offers it",
    ),
    ((SERVICES, "fields:\n", IN_A_SECTION), "show: the field 'words' is there twice"),
    ((SERVICES, "show:", "show: ["), "services.yaml: cannot be read"),
]

ICON_FAULTS = [
    ((ICONS, "mdi:robot-happy", "hass:robot"), "mood.state.happy: 'hass:robot' is not an icon like mdi:lamp"),
    ((ICONS, "mdi:robot-happy", "mdi:no-such-icon"), "mood.state.happy: there is no icon mdi:no-such-icon"),
    ((ICONS, "mdi:robot-happy", "mdi:robot"), "entity.sensor.mood.state.happy: is the default anyway"),
    ((ICONS, '"happy"', '"furious"'), "entity.sensor.mood.state.furious: is no state in the texts"),
    ((ICONS, '"mood"', '"temper"'), "entity.sensor.temper: no entity has this translation key"),
    ((ICONS, '"sensor"', '"feeling"'), "entity.feeling: is no platform"),
    ((ICONS, '"default"', '"usual"'), "entity.sensor.mood.usual: is not a key that belongs here"),
    (
        (ICONS, '"mdi:message-text"', '{"service": "mdi:message-text", "sections": {"a": 1}}'),
        "sections.a: 1 is not",
    ),
]


@pytest.mark.parametrize(
    ("change", "expected"),
    [*TEXT_FAULTS, *ENTITY_FAULTS, *ERROR_FAULTS, *FLOW_FAULTS, *SERVICE_FAULTS, *ICON_FAULTS],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_is_reported(check: Check, change: Change, expected: str) -> None:
    found = check(change)
    assert any(expected in problem for problem in found), found


def test_a_fault_is_found_through_tables_loops_and_helpers(check: Check) -> None:
    found = check(
        (FLOW, '"port_taken"', "FAULTS[user_input]"),
        (FLOW, "", '\n\nFAULTS = {1: "port_taken", 2: "burnt"}\n'),
        (INIT, "DOMAIN, ACTION, show)", "DOMAIN, ACTION, show)\n    register(hass)"),
        (INIT, "", '\n\ndef register(hass):\n    for name in ("sing", "dance"):\n'),
        (INIT, "", "        hass.services.async_register(DOMAIN, name, show)\n"),
        (
            INIT,
            "",
            '\n\ndef away(key="far"):\n    gone(key, name="x", reason="y")\n\n\naway("near")\naway()\n',
        ),
    )
    assert {problem.split(": ", 1)[1] for problem in found} == {
        "there is no text config.error.burnt",
        "there is no text exceptions.far",
        "there is no text exceptions.near",
        "dance: the code registers it, but it is not described here",
        "sing: the code registers it, but it is not described here",
    }


def test_icons_cannot_pass_unchecked(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(icons, "known_icons", lambda: None)
    assert check() == [
        f"{ICONS}: the names of icons cannot be checked: home-assistant-frontend is not installed"
    ]


def test_the_list_of_icons_is_that_of_the_web_page() -> None:
    assert {"robot", "microphone-message"} <= (icons.known_icons() or set())
