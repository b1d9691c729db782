"""People ask a device for what it can do itself, without a language model."""

import asyncio
from pathlib import Path
from typing import Any, override

from homeassistant.auth.models import User
from homeassistant.components.conversation import DOMAIN as CONVERSATION
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.light import ColorMode, LightEntity
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.xiaozhi.guests.spoken.sentence_files import CONF_UNDERSTAND_ALARMS
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, converse, get_profile
from tests.integration.boxes import TWO_DEVICES, Speech
from tests.integration.names import NEW, OTHER_MAC, Boot
from tests.integration.pictures.eyes import open_eyes
from tests.integration.provisioning.forms import change_device, submit_device
from tests.integration.speech import add_entities
from tests.integration.tools.own_tools import calls, colour, register, tool
from tests.integration.voice.conftest import Say

LINK = LinkKind.MQTT
OPTIONS = {CONF_UNDERSTAND_ALARMS: True}
ROVER = get_profile("rover", version="2.5.0")

# AI Task has a view.
pytestmark = [pytest.mark.own_home, pytest.mark.usefixtures("wall_clock")]


@pytest.fixture
async def core(hass: HomeAssistant, core: None) -> None:
    assert await async_setup_component(hass, "ai_task", {})


async def learn(boot: Boot, **options: Any) -> SimulatedDevice:
    """Switch the first device on, and wait until its sentences are written."""
    device = await boot(ROVER, **options)
    await asyncio.sleep(15)
    await boot.hass.async_block_till_done()
    return device


async def test_what_a_device_can_do_is_done_when_it_is_said(
    hass: HomeAssistant, boot: Boot, speech: Speech, say: Say
) -> None:
    device = await learn(boot)
    assert await say("dance for us") == "Done."
    assert await say("drive forward") == "Done."
    assert chassis(device) == ["self.chassis.dance", "self.chassis.go_forward"]
    for sentence, answer in (
        ("brighter screen", "Brightness: 95 %."),
        ("set the screen brightness to forty percent", "Brightness: 40 %."),
        ("speak a bit louder", "Volume: 80 %."),
        ("you are too loud", "Volume: 70 %."),
    ):
        assert await say(sentence) == answer
    assert (device.values["brightness"], device.values["volume"]) == (40, 70)
    assert await say("turn your light on") == "Done."
    assert colour(device) == (255, 255, 255)
    assert await say("switch off your lamp") == "Done."
    assert colour(device) == (0, 0, 0)
    assert str(device.values["battery_level"]) in await say("how full is your battery?")
    eyes = await open_eyes(hass)
    assert "Home Assistant" in await say("take a photo of us")
    assert eyes.questions == []
    assert await say("what do you see") == "A cat on the sofa."
    assert eyes.questions == ["what do you see"]
    speech.recognizer.lines = ["dance for us"]
    await converse(device, speech.command)
    assert await say("say that again please") == "Done."


# `test_sayable_sentences` has all that can be said in these languages.
@pytest.mark.parametrize(
    ("language", "sentence", "answer"),
    [
        ("de", "mach den Bildschirm heller", "Helligkeit: 95 %."),
        ("zh-CN", "屏幕亮一点", "屏幕亮度：95 %。"),
    ],
)
async def test_a_device_answers_in_the_language_of_its_pipeline(
    boot: Boot, speech: Speech, say: Say, language: str, sentence: str, answer: str
) -> None:
    await speech.use(conversation_language=language)
    await learn(boot)
    assert await say(sentence, language) == answer


def chassis(device: SimulatedDevice) -> list[str]:
    """Return the movements of a device."""
    return [name for name in calls(device) if "chassis" in name]


@TWO_DEVICES
async def test_only_the_device_that_is_spoken_to_acts_and_what_it_can(boot: Boot, say: Say) -> None:
    """A phone is told to whom to say it. A language model may be asked what no device has done."""
    device = await learn(boot)
    other = await boot(get_profile("ethernet", version="2.5.0"), mac=OTHER_MAC)
    await asyncio.sleep(5)
    assert await say("dance", at=1) == "? Bedroom box cannot do that."
    for sentence in ("take a photo", "brighter screen", "how full is your battery"):
        assert await say(sentence, at=1) == "? Bedroom box cannot do that.", sentence
    assert await say("louder", at=1) == "Volume: 80 %."
    assert (device.values["volume"], other.values["volume"]) == (70, 80)
    assert await say("dance", at=None) == "? Say that to the XiaoZhi device that is to do it."
    assert chassis(device) == []


async def test_what_no_device_of_the_house_has_stays_home_assistants(boot: Boot, say: Say) -> None:
    await boot(NEW)
    await asyncio.sleep(15)
    for sentence in ("dance", "drive forward", "take a photo"):
        assert await say(sentence) == "? Sorry, I couldn't understand that", sentence
    assert await say("turn on your light") == "Sorry, I am not aware of any device called your"
    assert await say("say that again") == "There is no answer yet that could be repeated."


async def test_the_owners_choice_makes_it_less_and_risks_stay_out(boot: Boot, say: Say) -> None:
    device = await learn(boot)
    risky = [tool("self.robot.erase_all"), tool("self.robot.jump", user_only=True), tool("self.robot.wave")]
    register(device, *risky)
    await asyncio.sleep(25)
    assert await say("wave") == "Done."
    assert calls(device)[-1] == "self.robot.wave"
    for sentence in ("do the robot erase all", "do the erase all", "jump", "restart", "do the reboot"):
        assert (await say(sentence)).startswith("? "), sentence
    form = await change_device(boot.hass, boot.entry)
    await submit_device(boot.hass, form, permissions={"assistant_tools": ["self.chassis.dance"]})
    await asyncio.sleep(15)
    assert await say("dance") == "Done."
    for sentence in ("drive forward", "take a photo", "how full is your battery", "louder"):
        assert (await say(sentence)).startswith("? "), sentence


async def test_tools_of_somebodys_own_are_named_as_the_device_names_them(boot: Boot, say: Say) -> None:
    device = await learn(boot)
    level = {"level": {"type": "integer", "minimum": 0, "maximum": 9}}
    own = [
        tool("self.robot.moonwalk"),
        tool("self.magic_trick"),
        tool("self.fan.set_speed", properties=level),
        tool("self.soil.get_moisture", "Moisture of the soil in percent (%).", get="moisture"),
        tool("self.turn_on_all_lights"),
    ]
    register(device, *own)
    device.values["moisture"] = 31
    await asyncio.sleep(30)
    assert await say("do a moonwalk") == "Done."
    assert await say("show me a magic trick") == "Done."
    assert calls(device)[-2:] == ["self.robot.moonwalk", "self.magic_trick"]
    assert await say("set your fan speed to 4") == "Fan speed: 4."
    assert await say("set your fan speed to 40") == "It can be set from 0 to 9."
    assert await say("what is your soil moisture") == "Soil moisture: 31 %."
    # Only with words of its own before it.
    assert "Done" not in await say("turn on all lights")


class _Screen(LightEntity):
    _attr_name = _attr_unique_id = "Screen"
    _attr_color_mode = ColorMode.BRIGHTNESS
    _attr_is_on = False

    def __init__(self) -> None:
        self._attr_supported_color_modes = {ColorMode.BRIGHTNESS}

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        self._attr_is_on, self._attr_brightness = True, kwargs.get("brightness")


async def test_a_light_that_is_called_screen_is_meant_as_before(
    hass: HomeAssistant, boot: Boot, say: Say
) -> None:
    device, screen = await learn(boot), _Screen()
    await add_entities(hass, "house", {Platform.LIGHT: [screen]})
    async_expose_entity(hass, CONVERSATION, screen.entity_id, True)
    assert await say("set the screen brightness to 40 percent") == "Done."
    assert screen.brightness == 102
    assert device.values["brightness"] == 75


async def test_who_may_only_read_asks_for_the_battery_and_no_more(boot: Boot, say: Say, reader: User) -> None:
    device = await learn(boot)
    assert (await say("how full is your battery", user=reader.id)).startswith("The battery is at ")
    for sentence in ("dance", "louder", "take a photo", "say that again", "turn your light on"):
        said = await say(sentence, user=reader.id)
        assert said == "You do not have permission to do this with Kitchen box.", sentence
    assert chassis(device) == []


async def test_quieter_never_mutes(boot: Boot, say: Say) -> None:
    device = await learn(boot)
    device.values["volume"] = 14
    answers = [await say("quieter") for _ in range(2)]
    assert answers == ["Volume: 10 %.", "Volume: 10 %."]
    device.values["volume"] = 95
    assert await say("louder") == "Volume: 100 %."
    assert await say("set your volume to 30") == "Volume: 30 %."


async def test_sentences_come_with_a_device_and_go_with_it(hass: HomeAssistant, boot: Boot) -> None:
    assert "dance" not in written(hass)
    await learn(boot)
    assert "dance" in written(hass)
    hass.config_entries.async_remove_subentry(boot.entry, boot.known.subentry_id)
    await asyncio.sleep(15)
    await hass.async_block_till_done()
    assert "dance" not in written(hass)


def written(hass: HomeAssistant) -> str:
    return Path(hass.config.path("custom_sentences", "en", "xiaozhi.yaml")).read_text()


async def test_a_movement_that_is_one_of_a_choice_is_made(boot: Boot, say: Say) -> None:
    device = await boot(get_profile("dog", version="2.5.0"))
    await asyncio.sleep(15)
    assert await say("give me your paw") == "Done."
    assert await say("walk backwards") == "Done."
    made = [each["arguments"] for each in device.events("tool") if "control" in each["name"]]
    assert made == [{"action": "shake_hand"}, {"action": "backward"}]
