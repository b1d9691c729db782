"""What becomes of messages that cannot be sent, or are not heard at once."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from shutil import rmtree

from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
)
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_mock_service

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.diagnostics import async_get_config_entry_diagnostics
from custom_components.xiaozhi.errors import UserError
from custom_components.xiaozhi.guests.messages.kept_messages import EVENT_VOICE_MESSAGE, KeptMessages
from custom_components.xiaozhi.guests.messages.voice_message import VoiceMessage
from custom_components.xiaozhi.guests.quiet.do_not_disturb import DoNotDisturb
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State, UdpImpairment, converse
from tests.integration.boxes import (
    Speech,
    act,
    activity,
    announce,
    call_action,
    failure_of,
    mac_of,
    push_to_talk,
    state_of,
    wait_for_state,
)
from tests.integration.clock.conftest import Handle
from tests.integration.http_device import paired_device
from tests.integration.messages.speaking import PROMPT, listens, send, sounds, speak_to
from tests.integration.names import CLIENT_ID, NEW, OLD, OTHER_MAC, Boot
from tests.integration.voice.test_wake_words import in_a_room

LINK = LinkKind.MQTT
SEND = "XiaozhiSendVoiceMessage"
DELETE = "button.bedroom_box_delete_voice_messages"
WAITING = "sensor.bedroom_box_voice_messages"

pytestmark = pytest.mark.usefixtures("speech", "wall_clock")


@pytest.fixture
def kept(bedroom: Device) -> KeptMessages:
    return bedroom.part(KeptMessages)


async def keep(kept: KeptMessages, count: int = 1) -> None:
    """Keep messages of several rooms of which nobody hears the sound."""
    for number in range(count):
        sender = f"Room {number}" if number else "Attic"
        await kept.async_keep(VoiceMessage(sender=sender, sent=dt_util.utcnow()), b"no sound")


async def send_to_quiet(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> tuple[SimulatedDevice, SimulatedDevice]:
    """Send a message to a device that is not to be disturbed; return its sender and that device."""
    kitchen, other = await boot(NEW), await boot(NEW, mac=OTHER_MAC)
    await bedroom.part(DoNotDisturb).async_switch(True)
    await send(kitchen, speech, message, boot.device_ids)
    return kitchen, other


async def test_what_is_wrong_is_said_before_anything_is_recorded(
    hass: HomeAssistant, boot: Boot, handle: Handle, kept: KeptMessages
) -> None:
    kitchen, bedroom = boot.device_ids
    await boot(NEW)
    areas, devices = ar.async_get(hass), dr.async_get(hass)
    attic = fr.async_get(hass).async_create("Attic", aliases={"Upstairs"})
    aliases = {"Children's room", "Işık odası", "Anne-Marie"}
    room = areas.async_create("Nursery", aliases=aliases, floor_id=attic.floor_id)
    areas.async_create("Garage")
    for word in ("Attic", "garage", "Kitchen"):
        assert await handle(SEND, to=word) == (
            f"There is no XiaoZhi device called {word}, and none in a room of that name."
        )
    for word in ("Kitchen box", "kitchen box."):
        assert await handle(SEND, to=word) == "Kitchen box cannot send a message to itself."
    devices.async_update_device(bedroom, area_id=room.id)
    devices.async_update_device(kitchen, area_id=areas.async_create("Hall").id)
    assert await handle(SEND, to="hall") == "Kitchen box cannot send a message to itself."
    rooms = ("nursery", "Children\u2019s room", "IŞIK ODASI", "anne marie")
    for word in (*rooms, "attic", "upstairs", "everyone", "Bedroom box"):
        assert await handle(SEND, to=word) == "A voice message to Bedroom box."
        # It waits for an answer in the next conversation.
        assert "was asked something already" in await handle(SEND, to=word)
        await asyncio.sleep(130)
    studio = areas.async_create("Studio", aliases={"Upstairs"})
    devices.async_update_device(kitchen, area_id=studio.id)
    assert await handle(SEND, to="upstairs") == "Kitchen box cannot send a message to itself."
    devices.async_update_device(kitchen, name_by_user="Box")
    devices.async_update_device(bedroom, name_by_user="Box")
    assert await handle(SEND, to="box") == (
        "box may mean several: Box (Nursery), Box (Studio). Say which one."
    )
    assert await handle(SEND, None, to="box") == (
        "Voice messages are spoken to XiaoZhi devices. Say it to one of them."
    )
    await keep(kept, 10)
    assert "Box (Nursery) can keep no more messages: ten at most" in await handle(SEND, to="nursery")
    assert (
        await failure_of(call_action(hass, "send_voice_message", bedroom, sender=kitchen)) == "message_full"
    )
    assert await failure_of(call_action(hass, "send_voice_message", bedroom, sender="?")) == "unknown_device"


async def test_an_idle_device_is_woken_for_it_and_the_talk_button_ends_it(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    kitchen, other = boot.device_ids
    device = await boot(NEW)
    action = call_action(speech.hass, "send_voice_message", other, sender=kitchen)
    sending = speech.hass.async_create_task(action)
    said = await device.wait_announced()
    assert [text for _, text in said.shown] == [
        "What is the voice message to Bedroom box?",
        "To answer, wake me and speak.",
    ]
    await push_to_talk(device, message)
    async with asyncio.timeout(60):
        await sending
    await device.wait_for(lambda: device.screen.captions[-1] == "Sent.", 30)
    assert not speech.recognizer.streams
    assert len(bedroom.state.owned["messages"]) == 1
    await device.wait_state(State.IDLE, 60)
    # Nobody speaks the second time.
    action = call_action(speech.hass, "send_voice_message", other, sender=kitchen)
    began = speech.hass.loop.time()
    assert await failure_of(action) == "message_not_spoken"
    assert 120 <= speech.hass.loop.time() - began < 140
    assert len(bedroom.state.owned["messages"]) == 1
    speech.recognizer.lines = ["turn on the kitchen light"]
    assert (await converse(device, speech.command)).answers == ["Turned on the switch"]


async def test_an_undisturbed_device_keeps_it_also_when_it_is_woken(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    _, other = await send_to_quiet(boot, speech, message, bedroom)
    await other.wake()
    await other.wait_state(State.LISTENING, 10)
    await other.wait_state(State.IDLE, 60)
    await asyncio.sleep(60)
    assert not other.announcements
    sending = call_action(speech.hass, "send_voice_message", boot.device_ids[0], sender=boot.device_ids[1])
    assert await failure_of(sending) == "do_not_disturb"
    assert other.screen.captions == ["I did not hear anything."]
    await bedroom.part(DoNotDisturb).async_switch(False)
    await asyncio.sleep(60)
    assert len(bedroom.state.owned["messages"]) == 1
    await other.wake("hello again")
    await other.wait_for(lambda: "A message from Kitchen box" in other.screen.captions[-1], 30)


async def test_a_device_that_was_not_meant_by_the_wake_word_keeps_it(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    """Two devices hear the same wake word, and the nearer one answers."""
    kitchen, other = await send_to_quiet(boot, speech, message, bedroom)
    await bedroom.part(DoNotDisturb).async_switch(False)
    await speech.answer_with("Fine.")
    for device, share in ((kitchen, 0.7), (other, 0.2)):
        await device.wake("hello again", in_a_room(speech.command, share))
        device.say(speech.command)
    await kitchen.wait_for(lambda: kitchen.screen.captions[-1] == "Fine.", 30)
    await other.wait_state(State.IDLE, 30)
    await asyncio.sleep(60)
    assert not other.announcements
    assert not other.played_seconds
    assert len(bedroom.state.owned["messages"]) == 1


async def test_by_the_talk_button_it_is_heard_after_what_was_said(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    kitchen, other = await boot(OLD), await boot(OLD, mac=OTHER_MAC)
    await send(kitchen, speech, message, boot.device_ids)
    await speech.answer_with("Fine.")
    await push_to_talk(other, speech.command)
    await other.wait_for(lambda: len(other.screen.captions) == 2, 60)
    assert other.screen.captions[0] == "Fine."
    assert other.screen.captions[1].startswith("A message from Kitchen box")
    await other.wait_for(lambda: not bedroom.state.owned["messages"], 60)
    # Old firmware hears no wake word while its channel is open.
    await other.wait_for(lambda: not other.channel_open, 5)


@pytest.fixture
def full_disk(hass: HomeAssistant) -> Generator[None]:
    """Nothing can be written where messages are kept."""
    folder = Path(hass.config.path(".storage", "xiaozhi_messages"))
    rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("no folder")
    yield
    folder.unlink()


@pytest.mark.parametrize(
    ("fault", "key", "words"),
    [
        ("disk", "message_not_stored", "could not store it"),
        ("deleted", "message_receiver_gone", "because Bedroom box was removed"),
        ("full", "message_full", "keep no more messages"),
    ],
)
async def test_nothing_is_said_to_be_sent_that_is_not_stored(
    boot: Boot,
    speech: Speech,
    message: bytes,
    kept: KeptMessages,
    fault: str,
    key: str,
    words: str,
    request: pytest.FixtureRequest,
) -> None:
    """Nothing can be written, or the other device is deleted or full by the time that it was spoken."""
    hass, kitchen = speech.hass, await boot(OLD)
    if fault == "disk":
        request.getfixturevalue("full_disk")
    sending = hass.async_create_task(speak_to(kitchen, speech, message, boot.device_ids))
    await kitchen.wait_for(lambda: PROMPT in kitchen.screen.captions, 30)
    if fault == "deleted":
        hass.config_entries.async_remove_subentry(boot.entry, kept.device.subentry_id)
    elif fault == "full":
        await keep(kept, 10)
    assert await failure_of(sending) == key
    await kitchen.wait_for(lambda: words in kitchen.screen.captions[-1], 30)
    assert len(sounds(hass)) == len(kept.messages) == (10 if fault == "full" else 0)


THREE = tuple(
    paired_device(mac_of(number), CLIENT_ID, title=title)
    for number, title in enumerate(("Kitchen box", "Bedroom box", "Attic box"), 1)
)


@pytest.mark.parametrize("paired", [THREE], ids=["three"])
async def test_those_who_do_not_get_it_are_named_after_sent(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    kitchen = await boot(OLD)
    attic = boot.entry.runtime_data.devices[mac_of(3)]
    await keep(attic.part(KeptMessages), 10)
    await speak_to(kitchen, speech, message, boot.device_ids)
    await kitchen.wait_for(lambda: kitchen.screen.captions[-1] == "Sent, but not to Attic box.", 30)
    assert len(bedroom.state.owned["messages"]) == 1
    assert len(attic.state.owned["messages"]) == 10


async def test_one_sender_leaves_places_for_others(
    boot: Boot, speech: Speech, message: bytes, kept: KeptMessages, bedroom: Device
) -> None:
    for _ in range(3):
        await kept.async_keep(VoiceMessage(sender="Kitchen box", sent=dt_util.utcnow()), b"no sound")
    kitchen, bedroom_id = boot.device_ids
    sending = call_action(speech.hass, "send_voice_message", bedroom_id, sender=kitchen)
    assert await failure_of(sending) == "message_full"
    await keep(kept)
    assert len(bedroom.state.owned["messages"]) == 4


async def test_ten_are_kept_also_if_several_people_send_at_once(kept: KeptMessages, bedroom: Device) -> None:
    await keep(kept, 9)
    results = await asyncio.gather(*(keep(kept) for _ in range(3)), return_exceptions=True)
    assert [getattr(each, "key", each) for each in results] == [None, "message_full", "message_full"]
    assert len(bedroom.state.owned["messages"]) == len(sounds(bedroom.hass)) == 10


@pytest.mark.parametrize("fault", ["deleted", "reloaded"])
async def test_a_message_is_not_said_to_be_kept_where_nobody_will_play_it(
    kept: KeptMessages, bedroom: Device, linked_entry: MockConfigEntry, fault: str
) -> None:
    """While the message is encoded or written, its device is deleted or the gateway is loaded again."""
    entries = bedroom.hass.config_entries
    sending = asyncio.create_task(keep(kept))
    await asyncio.sleep(0)
    if fault == "deleted":
        entries.async_remove_subentry(linked_entry, bedroom.subentry_id)
    else:
        assert await entries.async_reload(linked_entry.entry_id)
        assert await failure_of(keep(kept)) == "message_receiver_gone"
    with suppress(UserError):
        await sending
    await asyncio.sleep(2)
    known = linked_entry.runtime_data.devices.get(OTHER_MAC)
    assert len(sounds(bedroom.hass)) == (0 if known is None else len(known.state.owned["messages"]))


async def test_its_outcome_is_said_also_if_something_waits(
    hass: HomeAssistant, boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    kitchen = await boot(OLD)
    sending = hass.async_create_task(speak_to(kitchen, speech, message, boot.device_ids))
    await listens(kitchen)
    announcing = hass.async_create_task(announce(hass))
    await sending
    await announcing
    assert kitchen.screen.captions[-2:] == ["Sent.", "Dinner is ready."]
    assert len(bedroom.state.owned["messages"]) == 1


async def test_one_that_is_damaged_does_not_keep_others_from_being_heard(
    boot: Boot, speech: Speech, message: bytes, kept: KeptMessages, bedroom: Device
) -> None:
    kitchen = await boot(OLD)
    await keep(kept)
    await send(kitchen, speech, message, boot.device_ids)
    other = await boot(OLD, mac=OTHER_MAC)
    await other.wake("good morning")
    await other.wait_for(lambda: other.played_seconds > len(message) / 32000, 60)
    await other.wait_state(State.LISTENING, 60)
    await asyncio.sleep(3)
    assert not bedroom.state.owned["messages"]
    assert not sounds(speech.hass)


async def test_a_sensor_says_how_many_wait_from_where_and_since_when(
    hass: HomeAssistant, kept: KeptMessages, linked_entry: MockConfigEntry
) -> None:
    """Pages show it, and the button that deletes them, only while there are some."""
    assert hass.states.get(WAITING) is None
    await keep(kept, 2)
    await wait_for_state(hass, WAITING, "2")
    sent = [dt_util.parse_datetime(each["sent"]) for each in state_of(hass, WAITING).attributes["waiting"]]
    assert [each["sender"] for each in state_of(hass, WAITING).attributes["waiting"]] == ["Attic", "Room 1"]
    assert all(moment and dt_util.utcnow() - moment < timedelta(minutes=1) for moment in sent)
    registry = er.async_get(hass)
    for shown, hider in (("2", None), ("0", er.RegistryEntryHider.INTEGRATION)):
        await wait_for_state(hass, WAITING, shown)
        assert {registry.entities[each].hidden_by for each in (WAITING, DELETE)} == {hider}
        await kept.async_delete_all()
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, WAITING, "0")


async def test_a_message_is_deleted_by_button_by_week_and_with_its_device(
    hass: HomeAssistant,
    kept: KeptMessages,
    bedroom: Device,
    linked_entry: MockConfigEntry,
    wall_clock: Callable[[timedelta], None],
) -> None:
    lines = activity(hass, EVENT_VOICE_MESSAGE)
    assert hass.states.get(DELETE) is None
    await keep(kept, 2)
    await wait_for_state(hass, DELETE, "unknown")
    await act(hass, "button", "press", DELETE)
    assert not bedroom.state.owned["messages"]
    assert not sounds(hass)
    await keep(kept)
    wall_clock(timedelta(days=6, hours=23))
    await keep(kept)
    await asyncio.sleep(7300)
    assert len(bedroom.state.owned["messages"]) == len(sounds(hass)) == 1
    told = await async_get_config_entry_diagnostics(hass, linked_entry)
    assert [len(device["messages"]) for device in told["devices"]] == [0, 1]
    assert "Attic" not in str(told)
    assert lines == ["deleted a voice message from Attic, which nobody has heard for a week"]
    # A crash may leave one without the other.
    (file,) = sounds(hass)
    file.rename(file.with_stem("another"))
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await asyncio.sleep(2)
    assert not linked_entry.runtime_data.devices[OTHER_MAC].state.owned["messages"]
    assert not sounds(hass)
    await keep(linked_entry.runtime_data.devices[OTHER_MAC].part(KeptMessages))
    hass.config_entries.async_remove_subentry(linked_entry, bedroom.subentry_id)
    await asyncio.sleep(2)
    assert not sounds(hass)


async def test_automations_and_the_activity_hear_of_it_but_not_what_was_said(
    hass: HomeAssistant, boot: Boot, speech: Speech, message: bytes
) -> None:
    kitchen, other = await boot(NEW), await boot(NEW, mac=OTHER_MAC)
    calls = async_mock_service(hass, "test", "noted")
    noted = {"action": "test.noted", "data": {"what": "{{ trigger.platform }} {{ trigger.data.place }}"}}
    automations = [
        {
            "alias": kind,
            "triggers": {"trigger": f"xiaozhi.{kind}", "target": {"device_id": device_id}},
            "actions": noted,
        }
        for kind, device_id in zip(
            ("voice_message_sent", "voice_message_heard"), boot.device_ids, strict=True
        )
    ]
    assert await async_setup_component(hass, "automation", {"automation": automations})
    await hass.async_block_till_done()
    lines = activity(hass, EVENT_VOICE_MESSAGE)
    await send(kitchen, speech, message, boot.device_ids)
    await other.wait_announced()
    await asyncio.sleep(3)
    assert [call.data["what"] for call in calls] == [
        "xiaozhi.voice_message_sent Bedroom box",
        "xiaozhi.voice_message_heard Kitchen box",
    ]
    assert lines == ["sent a voice message to Bedroom box", "played a voice message from Kitchen box"]


@pytest.mark.parametrize("deaf", [False, True], ids=["heard", "no packet"])
async def test_a_device_that_is_woken_by_its_button_hears_it_or_keeps_it(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device, deaf: bool
) -> None:
    """Its address on UDP is not known before its microphone is warm."""
    kitchen = await boot(OLD)
    other = await boot(OLD, mac=OTHER_MAC, impairment=UdpImpairment(loss=100.0 if deaf else 0))
    await send(kitchen, speech, message, boot.device_ids)
    await other.click()
    await other.wait_state(State.LISTENING, 5)
    if not deaf:
        await other.wait_state(State.SPEAKING, 5)
        await other.wait_state(State.LISTENING, 60)
        assert other.played_seconds > len(message) / 32000
    await other.wait_state(State.IDLE, 60)
    assert bool(bedroom.state.owned["messages"]) is deaf
    assert any("A message from" in text for text in other.screen.captions) is not deaf
