"""People set, list and delete alarms in their own words, without a language model."""

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Any

from homeassistant.auth.models import User
from homeassistant.components.assist_pipeline import async_get_pipeline, async_update_pipeline
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceRegistry
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.alarms.device_clock import DeviceClock
from custom_components.xiaozhi.guests.spoken.sentence_files import CONF_UNDERSTAND_ALARMS
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import TWO_DEVICES
from tests.integration.clock.alarms import happened, set_alarm, soon
from tests.integration.clock.conftest import Say
from tests.integration.names import MAC, OTHER_MAC, Boot

LINK = LinkKind.MQTT
OPTIONS = {CONF_UNDERSTAND_ALARMS: True}

pytestmark = pytest.mark.usefixtures("wall_clock")


def files(hass: HomeAssistant) -> set[str]:
    folder = Path(hass.config.path("custom_sentences"))
    return {path.parent.name for path in folder.glob("*/xiaozhi.yaml")}


def file(hass: HomeAssistant, language: str) -> Path:
    return Path(hass.config.path("custom_sentences", language, "xiaozhi.yaml"))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")


async def speak(hass: HomeAssistant, language: str) -> None:
    """Let the owner's only pipeline have another language."""
    await async_update_pipeline(hass, async_get_pipeline(hass), conversation_language=language)
    await asyncio.sleep(11)
    await hass.async_block_till_done()


async def test_alarms_are_talked_about_as_people_talk(boot: Boot, known: Device, say: Say) -> None:
    await boot()
    assert await say("wake me at half past seven tomorrow") == "Alarm set: tomorrow at 7:30 AM."
    assert (
        await say("Set an alarm for 7:30 am tomorrow.") == "That alarm is set already: tomorrow at 7:30 AM."
    )
    assert await say("when is my next alarm") == "The next alarm: tomorrow at 7:30 AM."
    assert await say("set an alarm for six thirty on weekdays") == "Alarm set: every weekday at 6:30 AM."
    reminder = await say("remind me in ten minutes to turn the oven off")
    assert reminder.endswith(": turn the oven off.")
    assert await say("remind me every friday at 4pm to water the plants") == (
        "I’ll remind you every Friday at 4 PM: water the plants."
    )
    assert "plants" not in await say("what alarms do I have")
    assert "weekday" not in await say("what reminders do I have")
    listed = await say("what alarms and reminders do I have")
    for each in ("every weekday at 6:30 AM", "tomorrow at 7:30 AM", "every Friday at 4 PM, water the plants"):
        assert each in listed
    assert "turn the oven off" in await say("when is my next reminder")
    several = await say("delete the alarm")
    assert several.startswith("Several alarms are set: ")
    assert await say("cancel the alarm at half past seven") == "Deleted: tomorrow at 7:30 AM."
    assert await say("delete the plants reminder") == "Deleted: every Friday at 4 PM, water the plants."
    day = next(f"{soon(86400 * days):%A}" for days in (2, 3, 4) if soon(86400 * days).weekday() < 5)
    off = await say(f"not on {day}")
    assert off.startswith("Off: ")
    assert off.endswith(". The rest stays: every weekday at 6:30 AM.")
    assert await say(f"delete the alarm on {day}") == "There is no such alarm."
    before = known.state.owned["alarms"]
    for unknown in ("wake me at dawn", "wake me when it rains", "remind me in three fortnights to call mum"):
        assert (await say(unknown)).startswith("? I did not understand when."), unknown
    assert await say("set an alarm for the party") == "Sorry, I couldn't understand that"
    assert await say("wake me tomorrow") == "At what time? Say, for example: wake me tomorrow at seven."
    assert await say("alarm clock kitchen banana")
    assert await say("stop the alarm") == "No alarm rings."
    assert known.state.owned["alarms"] == before
    assert await say("delete all alarms") == "Deleted: every weekday at 6:30 AM."
    assert [alarm.text for alarm in known.state.owned["alarms"].values()] == ["turn the oven off"]
    assert await say("cancel my alarm") == "There is no such alarm."
    assert (await say("delete all alarms and reminders")).startswith("Deleted: ")
    assert not known.state.owned["alarms"]


async def test_sentences_come_in_the_languages_of_the_pipelines(
    hass: HomeAssistant, boot: Boot, known: Device, say: Say
) -> None:
    """A file that the owner has changed is left alone, and named."""
    await boot()
    assert files(hass) == {"en"}
    assert not ir.async_get(hass).async_get_issue(DOMAIN, "sentences_changed")
    await speak(hass, "de")
    assert files(hass) == {"de"}
    assert await say("weck mich morgen um halb acht", "de") == "Wecker gestellt: morgen um 7:30 Uhr."
    assert await say("morgen nicht", "de") == "Gelöscht: morgen um 7:30 Uhr."
    await speak(hass, "zh-CN")
    assert await say("每个工作日早上七点半叫我起床", "zh-CN") == "闹钟已设置：每个工作日早上7:30。"
    assert await say("删除所有闹钟", "zh-CN") == "已删除：每个工作日早上7:30。"
    path = file(hass, "zh-CN")
    written = read(path)
    write(path, written + "# mine\n")
    await speak(hass, "en")
    assert files(hass) == {"en", "zh-CN"}
    issue = ir.async_get(hass).async_get_issue(DOMAIN, "sentences_changed")
    assert issue is not None
    assert issue.translation_placeholders == {"files": f"`{path}`"}
    write(path, written)
    hass.config_entries.async_update_entry(boot.entry, data=boot.entry.data | {CONF_UNDERSTAND_ALARMS: False})
    assert await hass.config_entries.async_reload(boot.entry.entry_id)
    await hass.async_block_till_done()
    assert not files(hass)
    assert not ir.async_get(hass).async_get_issue(DOMAIN, "sentences_changed")
    assert "Alarm set" not in await say("wake me at seven tomorrow")


async def test_an_update_writes_them_again_and_the_end_removes_them(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    path = file(hass, "en")
    written = read(path)
    await hass.config_entries.async_unload(linked_entry.entry_id)
    older = "language: en\nintents: {}\n"
    write(path, f"{written.partition('. ')[0]}. {sha256(older.encode()).hexdigest()[:16]}\n{older}")
    await hass.config_entries.async_setup(linked_entry.entry_id)
    await hass.async_block_till_done()
    assert read(path) == written
    await hass.config_entries.async_remove(linked_entry.entry_id)
    assert not files(hass)


async def test_what_is_not_understood_counts_as_no_match(boot: Boot, known: Device, say: Say) -> None:
    """So a pipeline that prefers local commands hands it to its language model."""
    await boot()
    for text, is_handed_on in (
        ("wake me when it rains", True),
        ("wake me tomorrow", False),
        # Nor is what is said to another device, or typed.
        ("wake me tomorrow at seven", True),
    ):
        assert (await say(text, at=None)).startswith("? ") is is_handed_on, text
    assert not known.state.owned["alarms"]


async def test_stop_alone_ends_what_rings_and_is_home_assistants_else(
    hass: HomeAssistant, boot: Boot, say: Say
) -> None:
    await boot()
    others = [await say("stop"), await say("quiet")]
    for words in ("Stop!", "be quiet, please"):
        await set_alarm(hass, 5)
        assert [await say("stop"), await say("quiet")] == others
        await asyncio.sleep(8)
        assert happened(hass) == "alarm_ringing"
        assert await say("stop the music now") != "Alarm stopped."
        # A word more is another sentence.
        assert happened(hass) == "alarm_ringing"
        assert await say(words) == "Alarm stopped."
        assert happened(hass) == "alarm_stopped"
    assert [await say("stop"), await say("quiet")] == others


@TWO_DEVICES
async def test_stop_said_elsewhere_ends_the_ring_unless_it_rings_there(
    hass: HomeAssistant, boot: Boot, say: Say, hass_read_only_user: User
) -> None:
    await boot()
    await boot(mac=OTHER_MAC)
    here, there = (boot.entry.runtime_data.devices[mac].part(DeviceClock) for mac in (MAC, OTHER_MAC))

    await set_alarm(hass, 5)
    await set_alarm(hass, 5, at="calendar.bedroom_box_alarms")
    await asyncio.sleep(8)
    assert await say("stop", at=None, user=hass_read_only_user.id) == "No alarm rings."
    assert (here.rings, there.rings) == (True, True)
    assert await say("stop", at=1) == "Alarm stopped."
    assert (here.rings, there.rings) == (True, False)
    assert await say("stop", at=1) == "Alarm stopped."
    assert not here.rings


async def test_a_thing_called_alarm_is_switched_off_while_nothing_rings(
    hass: HomeAssistant, boot: Boot, say: Say
) -> None:
    await boot()
    assert await say("turn off the alarm") == "No alarm rings."
    hass.states.async_set("input_boolean.siren", "on", {"friendly_name": "Alarm clock"})
    async_expose_entity(hass, "conversation", "input_boolean.siren", True)
    called: list[Any] = []
    hass.services.async_register("input_boolean", "turn_off", lambda call: called.append(call.data))
    assert await say("turn off the alarm") == "Switched off."
    assert called
    # Sentences are there without the gateway, which nothing can be asked of then.
    await hass.config_entries.async_unload(boot.entry.entry_id)
    assert "XiaoZhi" in await say("stop the alarm")


async def test_an_unwritable_file_and_a_failing_reload_stop_nothing(
    hass: HomeAssistant,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    call = ServiceRegistry.async_call

    async def fail(registry: ServiceRegistry, domain: str, service: str, *args: Any, **more: Any) -> Any:
        if (domain, service) == ("conversation", "reload"):
            raise HomeAssistantError("the configuration has an error")
        return await call(registry, domain, service, *args, **more)

    monkeypatch.setattr(ServiceRegistry, "async_call", fail)
    folder = file(hass, "de").parent
    await asyncio.to_thread(write, folder, "in the place of the folder")
    await speak(hass, "de")
    assert not files(hass)
    assert "cannot be written" in caplog.text
    assert "are used after a restart: the configuration has an error" in caplog.text
    await asyncio.to_thread(folder.unlink)
    caplog.clear()
