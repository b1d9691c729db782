"""People ask a device in words for its voice messages, for quiet and for its microphone to be off."""

import asyncio
from importlib.util import find_spec, module_from_spec
from itertools import product
import sys

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, issue_registry as ir
from homeassistant.util import dt as dt_util
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.messages.kept_messages import KeptMessages
from custom_components.xiaozhi.guests.messages.voice_message import VoiceMessage
from custom_components.xiaozhi.guests.quiet.do_not_disturb import DoNotDisturb
from custom_components.xiaozhi.guests.spoken.sentence_files import CONF_UNDERSTAND_ALARMS
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.texts.issues import async_delete_changes
from simulator import converse
from tests.integration.boxes import TWO_DEVICES, Speech, wait_for_state
from tests.integration.names import NEW, OTHER_MAC, Boot
from tests.integration.voice.conftest import Say

LINK = LinkKind.MQTT
OPTIONS = {CONF_UNDERSTAND_ALARMS: True}
MICROPHONE_OFF = "The microphone is off. Switch it on again on the device’s page in Home Assistant."

pytestmark = pytest.mark.usefixtures("speech", "wall_clock")


def is_quiet(device: Device) -> bool:
    return device.part(DoNotDisturb).is_on


@TWO_DEVICES
async def test_another_room_is_left_in_peace_by_a_sentence(hass: HomeAssistant, boot: Boot, say: Say) -> None:
    room = ar.async_get(hass).async_create("Nursery")
    dr.async_get(hass).async_update_device(boot.device_ids[1], area_id=room.id)
    nursery = boot.entry.runtime_data.devices[OTHER_MAC]
    await boot()
    quiet = "All right. Only alarms and timers will be heard."
    assert await say("do not disturb in the nursery") == quiet
    assert (is_quiet(nursery), is_quiet(boot.known)) == (True, False)
    kept = nursery.part(KeptMessages)
    await kept.async_keep(VoiceMessage(sender="Attic", sent=dt_util.utcnow()), b"no sound")
    back = "You can be disturbed again."
    assert await say("turn off do not disturb in the nursery") == f"{back} Voice messages: 1."
    assert not is_quiet(nursery)
    assert await say("do not disturb") == quiet
    assert (is_quiet(nursery), is_quiet(boot.known)) == (False, True)
    assert await say("turn off do not disturb") == back
    assert not is_quiet(boot.known)


async def test_messages_are_counted_for_somebody_who_asks(boot: Boot, say: Say) -> None:
    await boot(NEW)
    for question in ("do I have any messages", "play my messages"):
        assert await say(question) == "There are no voice messages."
    kept = boot.known.part(KeptMessages)
    await boot.known.part(DoNotDisturb).async_switch(True)
    for sender in ("Attic", "Bedroom"):
        await kept.async_keep(VoiceMessage(sender=sender, sent=dt_util.utcnow()), b"no sound")
    for question in ("do I have any messages", "play my messages"):
        assert await say(question) == "Voice messages: 2."


@TWO_DEVICES
async def test_who_is_meant_by_a_voice_message_is_said_first(boot: Boot, speech: Speech, say: Say) -> None:
    """It is recorded next, and nobody speaks."""
    device = await boot(NEW)
    assert await say("send a voice message to the bedroom box") == "A voice message to Bedroom box."
    said = await device.wait_announced()
    assert said.shown[0][1] == "What is the voice message to Bedroom box?"
    await asyncio.sleep(130)
    assert not boot.entry.runtime_data.devices[OTHER_MAC].state.owned["messages"]
    assert "called cellar" in await say("send a voice message to the cellar")


async def test_a_voice_message_is_spoken_to_some_device(boot: Boot, say: Say) -> None:
    await boot()
    said = await say("send a voice message to the kitchen box", at=None)
    assert said == "? Voice messages are spoken to XiaoZhi devices. Say it to one of them."


async def test_a_microphone_is_off_once_that_was_heard(boot: Boot, speech: Speech) -> None:
    """The answer says how it is switched on again, as the device hears nobody now."""
    device = await boot(NEW)
    speech.recognizer.lines = ["mute the microphone"]
    talk = await converse(device, speech.command)
    assert " ".join(talk.answers) == MICROPHONE_OFF
    await wait_for_state(boot.hass, "switch.kitchen_box_microphone", "off", 30)
    assert not boot.known.state.microphone
    await boot.known.async_switch_microphone(True)
    speech.recognizer.lines = ["turn on the kitchen light"]
    talk = await converse(device, speech.command, word="hello again")
    assert talk.answers == ["Turned on the switch"]


async def test_a_microphone_is_off_at_once_by_a_typed_sentence(boot: Boot, say: Say) -> None:
    await boot()
    assert await say("mute the microphone") == MICROPHONE_OFF
    await wait_for_state(boot.hass, "switch.kitchen_box_microphone", "off")


@pytest.mark.own_home
async def test_automations_lack_what_a_changed_home_assistant_lacks(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home Assistant imports the file all the same, and the owner reads what is missing."""
    changed = DOMAIN, "home_assistant_changed_automations"
    for kind, missing in product(("condition", "trigger"), ("actions.{}s", "guests.alarms.{}")):
        spec = find_spec(f"custom_components.xiaozhi.{kind}")
        assert spec is not None
        assert spec.loader is not None
        with monkeypatch.context() as lacking:
            lacking.setitem(sys.modules, f"custom_components.xiaozhi.{missing.format(kind)}", None)
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            left = await getattr(module, f"async_get_{kind}s")(hass)
        assert not any("alarm" in name for name in left)
        assert bool(left) == missing.startswith("guests")
        assert ir.async_get(hass).async_get_issue(*changed) is not None
        async_delete_changes(hass)
