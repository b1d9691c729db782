"""The action *Announce* of Home Assistant, over real sockets, with each kind of device."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from homeassistant.components.assist_satellite import DOMAIN as SATELLITE_DOMAIN
from homeassistant.components.media_player import DOMAIN as MEDIA_PLAYER_DOMAIN
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import intent
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import CONF_ANNOUNCEMENT_VOLUME, CONF_SHOW_ANNOUNCEMENTS
from custom_components.xiaozhi.device.commands import DeviceCommands
from custom_components.xiaozhi.device.state import DeviceState
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Misbehaviour, SimulatedDevice, State, get_profile
from simulator.application.announcement import Outcome
from tests.integration.boxes import CLIENT_ID, MAC, OTHER_MAC, SATELLITE, Boot, Speech, wait_for_state
from tests.integration.http_device import paired_device
from tests.integration.media.media_server import MediaServer, media_server, music
from tests.protocol.audio.sounds import pitch_level

NEW = get_profile(version="2.5.0")
OLD = get_profile()
OTHER_SATELLITE = "assist_satellite.bedroom_box"

# Ten seconds: a device has read the last of a short announcement before it is heard.
LONG_TEXT = "Dinner is ready. " * 12


@pytest.fixture
def link() -> LinkKind:
    return LinkKind.MQTT


@pytest.fixture
async def media(ffmpeg: None) -> AsyncGenerator[MediaServer]:
    """A web server with two sounds, of one and of two seconds."""
    async with media_server() as server:
        server.file("/one.mp3", music(1))
        server.file("/two.mp3", music(2))
        yield server


async def announce(hass: HomeAssistant, *satellites: str, **data: Any) -> None:
    """Call the action, and wait until it is done."""
    await hass.services.async_call(
        SATELLITE_DOMAIN, "announce", {"entity_id": list(satellites) or [SATELLITE], **data}, blocking=True
    )


def set_options(hass: HomeAssistant, entry: MockConfigEntry, **options: Any) -> None:
    """Change settings of the device."""
    (subentry,) = entry.subentries.values()
    hass.config_entries.async_update_subentry(entry, subentry, data={**subentry.data, **options})


async def test_an_announcement_is_spoken_and_shown_by_an_idle_device(
    hass: HomeAssistant, boot: Boot, speech: Speech
) -> None:
    device = await boot(NEW)
    await announce(hass, message="Dinner is ready. Come to the table.")
    announcement = await device.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert [text for _, text in announcement.shown] == ["Dinner is ready.", "Come to the table."]
    assert pitch_level(announcement.pcm, device.speaker.rate, 440) > 5000
    assert speech.voice.spoken == ["Dinner is ready. Come to the table."]
    assert hass.states.is_state(SATELLITE, "idle")
    assert device.state is State.IDLE


async def test_media_are_announced_after_a_sound_of_the_owner(
    hass: HomeAssistant, boot: Boot, speech: Speech, media: MediaServer
) -> None:
    device = await boot(NEW)
    await announce(
        hass,
        message="The door.",
        media_id=media.url("/two.mp3"),
        preannounce_media_id=media.url("/one.mp3"),
    )
    announcement = await device.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert len(announcement.pcm) / 2 / device.speaker.rate == pytest.approx(3.1, abs=0.2)
    ((at, text),) = announcement.shown
    assert text == "The door."
    assert at - announcement.played[0].time == pytest.approx(1, abs=0.1)


async def test_a_long_sound_before_an_announcement_is_cut(
    hass: HomeAssistant, boot: Boot, speech: Speech, media: MediaServer
) -> None:
    device = await boot(NEW)
    media.file("/long.mp3", music(40))
    await announce(hass, message="The door.", preannounce_media_id=media.url("/long.mp3"))
    announcement = await device.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert len(announcement.pcm) / 2 / device.speaker.rate == pytest.approx(30.6, abs=0.3)


async def test_media_that_cannot_be_reached_are_an_error_before_any_sound(
    hass: HomeAssistant, boot: Boot, speech: Speech, media: MediaServer
) -> None:
    device = await boot(NEW)
    with pytest.raises(HomeAssistantError):
        await announce(hass, media_id=media.url("/nothing.mp3"))
    with pytest.raises(HomeAssistantError):
        await announce(hass, message="The door.", preannounce_media_id=media.url("/nothing.mp3"))
    assert not device.announcements


async def test_the_usual_sound_of_home_assistant_is_left_out(
    hass: HomeAssistant, boot: Boot, speech: Speech, media: MediaServer
) -> None:
    device = await boot(NEW)
    await announce(hass, media_id=media.url("/one.mp3"))
    announcement = await device.wait_announced()
    assert len(announcement.pcm) / 2 / device.speaker.rate == pytest.approx(1.1, abs=0.15)


async def test_stopping_the_media_player_ends_an_announcement(
    hass: HomeAssistant, boot: Boot, speech: Speech
) -> None:
    device = await boot(NEW)
    saying = hass.async_create_task(announce(hass, message=LONG_TEXT))
    await device.wait_for(lambda: bool(device.announcements and device.announcements[0].played))
    await hass.services.async_call(
        MEDIA_PLAYER_DOMAIN,
        "media_stop",
        {"entity_id": "media_player.kitchen_box_speaker"},
        blocking=True,
    )
    with pytest.raises(HomeAssistantError, match="media player was stopped"):
        await saying
    assert (await device.wait_announced()).outcome is Outcome.FAILED


@pytest.mark.parametrize("action", ["announce", "ask_question", "start_conversation"])
async def test_a_text_without_end_is_refused_before_any_work_on_it(
    hass: HomeAssistant, boot: Boot, speech: Speech, action: str
) -> None:
    device = await boot(NEW)
    text = {"announce": "message", "start_conversation": "start_message", "ask_question": "question"}[action]
    with pytest.raises(ServiceValidationError, match="4001 characters"):
        await hass.services.async_call(
            SATELLITE_DOMAIN,
            action,
            {"entity_id": SATELLITE, text: "." * 4001},
            blocking=True,
            return_response=action == "ask_question",
        )
    assert not speech.voice.spoken
    assert not device.announcements


async def test_announcements_of_one_device_follow_each_other_in_order(
    hass: HomeAssistant, boot: Boot, speech: Speech
) -> None:
    device = await boot(NEW)
    texts = ["This is the first one.", "And the second one.", "And this is the third."]
    async with asyncio.TaskGroup() as group:
        for text in texts:
            group.create_task(announce(hass, message=text))
    await device.wait_announced(3)
    assert [announcement.outcome for announcement in device.announcements] == [Outcome.PLAYED] * 3
    assert [announcement.shown[0][1] for announcement in device.announcements] == texts


class TestSeveral:
    """More than one device."""

    @pytest.fixture
    def paired(self) -> tuple[ConfigSubentryData, ...]:
        return (paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Bedroom box"))

    async def test_devices_begin_together(self, hass: HomeAssistant, boot: Boot, speech: Speech) -> None:
        devices = [await boot(NEW), await boot(NEW, mac=OTHER_MAC)]
        speech.voice.delay = 1
        await announce(hass, SATELLITE, OTHER_SATELLITE, message="Dinner is ready.")
        announcements = [await device.wait_announced() for device in devices]
        assert {announcement.outcome for announcement in announcements} == {Outcome.PLAYED}
        first, second = (announcement.began for announcement in announcements)
        assert abs(first - second) <= 0.1

    async def test_a_broadcast_reaches_those_that_can_speak(
        self, hass: HomeAssistant, boot: Boot, speech: Speech
    ) -> None:
        new, old = await boot(NEW), await boot(OLD, mac=OTHER_MAC)
        response = await intent.async_handle(
            hass, "test", intent.INTENT_BROADCAST, {"message": {"value": "Dinner is ready."}}
        )
        assert [target.id for target in response.success_results] == [SATELLITE]
        assert (await new.wait_announced()).outcome is Outcome.PLAYED
        assert not old.announcements
        assert not old.screen.system_text


class TestOlderFirmware:
    """A device that cannot speak while it is idle."""

    async def test_it_is_no_target_of_announcements(
        self, hass: HomeAssistant, boot: Boot, speech: Speech
    ) -> None:
        device = await boot(OLD)
        with pytest.raises(HomeAssistantError, match="does not support"):
            await announce(hass, message="Dinner is ready.")
        assert not device.screen.system_text

    async def test_the_owner_may_have_it_show_them(
        self, hass: HomeAssistant, boot: Boot, speech: Speech, linked_entry: MockConfigEntry
    ) -> None:
        device = await boot(OLD)
        set_options(hass, linked_entry, **{CONF_SHOW_ANNOUNCEMENTS: True})
        await announce(hass, message="Dinner is ready.")
        await device.wait_for(lambda: device.screen.system_text == "Dinner is ready.", 5)
        await wait_for_state(hass, SATELLITE, "idle")


class TestVolume:
    """The volume of announcements."""

    @pytest.fixture
    async def device(self, hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry) -> SimulatedDevice:
        device = await boot(NEW)
        await wait_for_state(hass, "number.kitchen_box_volume", "70")
        device.values["volume"] = 40
        set_options(hass, linked_entry, **{CONF_ANNOUNCEMENT_VOLUME: 90})
        await hass.async_block_till_done()
        return device

    async def test_it_is_set_for_an_announcement_and_restored_after_it(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice
    ) -> None:
        saying = hass.async_create_task(announce(hass, message="Dinner is ready."))
        await device.wait_for(lambda: device.state is State.NOTIFYING)
        assert device.values["volume"] == 90
        await saying
        assert device.values["volume"] == 40

    async def test_a_volume_that_is_the_usual_one_or_unknown_is_left_alone(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice
    ) -> None:
        for usual in (90, "loud"):
            device.values["volume"] = usual
            await announce(hass, message="Dinner is ready.")
            assert device.values["volume"] == usual
        assert not [call for call in device.events("tool") if "set_volume" in str(call)]

    async def test_a_device_that_refuses_it_announces_all_the_same(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice
    ) -> None:
        device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
        await announce(hass, message="Dinner is ready.")
        assert (await device.wait_announced()).outcome is Outcome.PLAYED

    async def test_it_is_restored_when_the_user_interrupts(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice
    ) -> None:
        saying = hass.async_create_task(announce(hass, message=LONG_TEXT))
        await device.wait_for(lambda: bool(device.announcements and device.announcements[0].played))
        await device.wake()
        with pytest.raises(HomeAssistantError, match="interrupted"):
            await saying
        assert device.values["volume"] == 40

    async def test_it_is_restored_when_the_voice_fails(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice
    ) -> None:
        speech.voice.fails = True
        with pytest.raises(HomeAssistantError, match="nothing to play"):
            await announce(hass, message="Dinner is ready.")
        assert device.values["volume"] == 40
        assert not device.announcements

    async def test_it_is_restored_when_a_device_that_left_in_the_middle_is_back(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice
    ) -> None:
        saying = hass.async_create_task(announce(hass, message=LONG_TEXT))
        await device.wait_for(lambda: bool(device.announcements and device.announcements[0].played))
        await device.power_off()
        with pytest.raises(HomeAssistantError, match="interrupted"):
            await saying
        assert device.values["volume"] == 90
        await device.boot()
        await device.wait_for(lambda: device.values["volume"] == 40, 10)

    async def test_it_is_restored_when_the_call_that_should_have_has_failed(
        self,
        hass: HomeAssistant,
        speech: Speech,
        device: SimulatedDevice,
        linked_entry: MockConfigEntry,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        call_tool = DeviceCommands.call_tool
        refused = 0

        async def call(commands: DeviceCommands, name: str, arguments: Any = None, **more: Any) -> Any:
            nonlocal refused
            if arguments == {"volume": 40} and not refused:
                refused += 1
                raise HomeAssistantError("The device is busy")
            return await call_tool(commands, name, arguments, **more)

        monkeypatch.setattr(DeviceCommands, "call_tool", call)
        await announce(hass, message="Dinner is ready.")
        assert refused
        assert device.values["volume"] == 90
        # It is not forgotten when Home Assistant is restarted, either.
        stored = linked_entry.runtime_data.devices[MAC].state.as_dict()
        assert DeviceState.from_dict(stored).volume_to_restore == (40, 90)
        await device.wait_for(lambda: device.values["volume"] == 40, 180)
        await announce(hass, message="Dinner is ready.")
        assert device.values["volume"] == 40

    async def test_a_volume_that_somebody_has_set_meanwhile_stays(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice
    ) -> None:
        saying = hass.async_create_task(announce(hass, message=LONG_TEXT))
        await device.wait_for(lambda: bool(device.announcements and device.announcements[0].played))
        await device.power_off()
        with pytest.raises(HomeAssistantError, match="interrupted"):
            await saying
        device.values["volume"] = 55
        await device.boot()
        await wait_for_state(hass, "number.kitchen_box_volume", "55")
        await asyncio.sleep(120)
        assert device.values["volume"] == 55

    async def test_it_is_restored_when_the_gateway_is_reloaded(
        self, hass: HomeAssistant, speech: Speech, device: SimulatedDevice, linked_entry: MockConfigEntry
    ) -> None:
        saying = hass.async_create_task(announce(hass, message=LONG_TEXT))
        await device.wait_for(lambda: bool(device.announcements and device.announcements[0].played))
        assert await hass.config_entries.async_reload(linked_entry.entry_id)
        with pytest.raises(HomeAssistantError, match="gateway was stopped"):
            await saying
        assert device.values["volume"] == 40
        assert (await device.wait_announced()).outcome is Outcome.FAILED
