"""Wake words that the owner chooses: from the form to what the device listens to."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

from aiohttp import web
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers.event import async_track_state_change_event
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.guests.firmware.available_firmware import FirmwareFiles
from custom_components.xiaozhi.guests.wake_words.assets_pack import read_pack
from custom_components.xiaozhi.guests.wake_words.speech_models import TABLE
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import BOARDS, SimulatedDevice, State, build_image, get_profile
from tests.integration import boxes
from tests.integration.boxes import act, state_of, wait_for_state
from tests.integration.firmware.conftest import BOARD, QUICK, look, release_notes
from tests.integration.firmware.wake_words.packs import (
    FILES,
    RENEW,
    WAKE_WORD,
    Web,
    choose,
    pack,
    ready,
    release,
    set_phrases,
    wakes,
    was_sent_nothing,
)
from tests.integration.names import CONNECTED, SATELLITE, Boot
from tests.integration.provisioning.forms import change_device
from tests.rules.firmware.firmware_files import FONT


async def test_the_owner_chooses_a_word_a_phrase_and_the_original(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, linked_entry: MockConfigEntry
) -> None:
    """Nothing is fetched before, and what it has is unknown until then; a choice says where it comes from."""
    await choose(hass, "not_known")
    assert hosts.server.paths() == []
    assert "127.0.0.1, about 10 MB" in state_of(hass, WAKE_WORD).attributes["hint"]
    hints, states = list[str](), set[str]()

    @callback
    def note(event: Event[EventStateChangedData]) -> None:
        if (state := event.data["new_state"]) is not None:
            states.add(state.state)
            hints.append(state.attributes.get("hint", ""))

    stop = async_track_state_change_event(hass, WAKE_WORD, note)
    options = state_of(hass, WAKE_WORD).attributes["options"]
    assert (options[:2], "Jarvis" in options) == (["not_known", "original"], True)
    assert options[2:] == sorted(options[2:], key=str.casefold)
    await choose(hass, "Jarvis")
    stop()
    size = len(hosts.archive) / 1e6
    assert f"Home Assistant fetches {size:.1f} MB from 127.0.0.1." in hints
    assert states == {"on_its_way", "Jarvis"}
    assert state_of(hass, WAKE_WORD).state == "Jarvis"
    assert [await wakes(device, word) for word in ("hi xiaozhi", "jarvis")] == [False, True]
    fetched = hosts.fetched()
    assert fetched == ["wakenet_model/wn9_jarvis_tts/_MODEL_INFO_", "wakenet_model/wn9_jarvis_tts/wn9_data"]
    # The device says itself what happens.
    shown = [event.data for event in device.transcript if event.kind == "received"]
    assert any("wake words" in data["message"].get("message", "") for data in shown)

    # The form says what is left to do when there is something.
    for reason in ("phrases_saved", "reconfigure_successful"):
        result = await set_phrases(hass, linked_entry, "hello kitchen", "good morning")
        assert result["reason"] == reason
    await choose(hass, "own_phrases")
    assert state_of(hass, WAKE_WORD).state == "own_phrases"
    said = ("jarvis", "hello kitchen", "good morning", "hello")
    assert [await wakes(device, word) for word in said] == [False, True, True, False]
    # What was changed since can be chosen: Home Assistant's page does not send what is chosen already.
    await set_phrases(hass, linked_entry, "hello kitchen", "good night")
    assert state_of(hass, WAKE_WORD).state == "not_known"
    await choose(hass, "own_phrases")
    assert [await wakes(device, word) for word in ("good morning", "good night")] == [False, True]
    # To renew gives it the phrases that there are now.
    await set_phrases(hass, linked_entry, "hello kitchen", "good morning")
    await act(hass, "button", "press", RENEW)
    assert [await wakes(device, word) for word in said] == [False, True, True, False]
    assert state_of(hass, WAKE_WORD).state == "own_phrases"
    # It is so after its next start, too.
    await device.power_off()
    await device.boot()
    assert [await wakes(device, word) for word in said] == [False, True, True, False]

    await choose(hass, "original")
    assert state_of(hass, WAKE_WORD).state == "original"
    assert "not_known" not in state_of(hass, WAKE_WORD).attributes["options"]
    assert [await wakes(device, word) for word in ("hello kitchen", "你好小智")] == [False, True]
    # Models are kept.
    fetched = hosts.fetched()
    await choose(hass, "Jarvis")
    assert hosts.fetched() == fetched
    assert {FONT, "happy.png"} < read_pack(bytes(device.assets)).keys()


async def test_the_update_says_what_it_keeps_and_a_button_brings_the_pack(
    hass: HomeAssistant, hosts: Web, boot: Boot, hass_ws_client: WebSocketGenerator
) -> None:
    """The device names its font in each conversation, or the pack that it has got."""
    device = await ready(hass, await boot(replace(get_profile(), glyph_push=True), pace=QUICK))
    notes = await release_notes(hass, hass_ws_client)
    assert "press **Renew fonts and faces**" in notes
    assert "Its font" not in notes
    await wakes(device, "hi xiaozhi")
    assert (await release_notes(hass, hass_ws_client)).endswith("Its font is noto-v1 basic.")
    for word, state in (("你好小智", "original"), ("jarvis", "Jarvis")):
        await act(hass, "button", "press", RENEW)
        assert (await release_notes(hass, hass_ws_client)).endswith("font_noto_sans_common_20_4.")
        assert state_of(hass, WAKE_WORD).state == state
        assert await wakes(device, word)
        # What wakes it stays so.
        await choose(hass, "Jarvis")


@pytest.mark.parametrize(
    ("board", "name", "reason"),
    [
        ("s3", None, ""),
        ("c3", None, "Phrases of your own need the chip ESP32-S3. This device has an ESP32-C3."),
        ("s3", "esp-vocat", "Which other wake words would run on it is not known (board esp-vocat,"),
    ],
)
async def test_the_form_says_why_a_device_can_have_no_phrases(
    hass: HomeAssistant,
    hosts: Web,
    boot: Boot,
    linked_entry: MockConfigEntry,
    board: str,
    name: str | None,
    reason: str,
) -> None:
    profile = get_profile(board)
    device = await boot(replace(profile, board=replace(profile.board, name=name or profile.board.name)))
    if name is None:
        await ready(hass, device)
    form = await change_device(hass, linked_entry)
    assert ("wake_phrases" in form["data_schema"].schema) == (reason == "")
    notes = form["description_placeholders"]["notes"]
    assert notes.startswith(reason)
    assert bool(notes) == bool(reason)


async def test_the_voice_set_up_chooses_as_with_other_satellites(
    hass: HomeAssistant,
    device: SimulatedDevice,
    linked_entry: MockConfigEntry,
    hass_ws_client: WebSocketGenerator,
) -> None:
    await set_phrases(hass, linked_entry, "hello kitchen", "good morning")
    await wakes(device, "hi xiaozhi")
    client = await hass_ws_client(hass)

    async def call(kind: str, **data: Any) -> Any:
        await client.send_json_auto_id({"type": f"assist_satellite/{kind}", "entity_id": SATELLITE, **data})
        return await client.receive_json()

    found = (await call("get_configuration"))["result"]
    words = {word["id"]: word["wake_word"] for word in found["available_wake_words"]}
    assert (words["wn9_jarvis_tts"], words["hello kitchen"]) == ("Jarvis", "hello kitchen")
    assert (found["active_wake_words"], found["max_active_wake_words"]) == (["hi xiaozhi"], 2)
    for chosen in (["wn9_jarvis_tts"], ["good morning"], ["hello kitchen", "good morning"]):
        assert (await call("set_wake_words", wake_word_ids=chosen))["success"]
        assert (await call("get_configuration"))["result"]["active_wake_words"] == chosen
    assert [await wakes(device, word) for word in ("jarvis", "good morning")] == [False, True]
    assert not (await call("set_wake_words", wake_word_ids=["wn9_jarvis_tts", "good morning"]))["success"]


async def test_phrases_that_would_not_do_are_errors_of_the_form_which_name_them(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    for phrases, error, named in (
        (["hello kitchen", "hello 2"], "bad", "hello 2"),
        (["你好管家"], "bad", "你好管家"),
        (["你好管家 = ni hao guan"], "bad", "你好管家 = ni hao guan"),
        (["good morning", "hi"], "short", "hi"),
        (["a"], "bad", "a"),
        (["good home", "home"], "short", "home"),
        (["你好管家 = ni hao guan jia", "hello kitchen"], "mixed", ""),
        (["Hello kitchen", "hello kitchen"], "mixed", ""),
        ([f"hello kitchen {letter}" for letter in "abcdefghi"], "mixed", ""),
    ):
        result = await set_phrases(hass, linked_entry, *phrases)
        assert result["errors"] == {"wake_phrases": f"phrases_{error}"}
        assert result["description_placeholders"]["phrase"] == named


async def test_without_a_pack_that_fits_nothing_is_sent(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web
) -> None:
    for archive, reason in (
        (release(pack(), version="2.4.1"), "no release of firmware"),
        (release(pack(), chip="esp32c3"), "no release of firmware"),
        (release(pack(), address=0x600000), "no release of firmware"),
        # With a wrong checksum, and without a pack.
        (release(pack()[:-1] + b"\0"), "damaged"),
        (release(b""), "damaged"),
        # Not of the whole flash.
        (build_image(version="2.4.2", size=64 * 1024), "no release of firmware"),
        (b"PK\x03\x04", "archive is damaged"),
        (b"", "not a firmware"),
    ):
        hosts.release(archive)
        with pytest.raises(ServiceValidationError, match=reason):
            await choose(hass, "Jarvis")
        assert was_sent_nothing(device)
    assert await wakes(device, "hi xiaozhi")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (None, r"pack of firmware 2\.4\.2 could not be fetched from 127\.0\.0\.1\. Choose again when"),
        (403, r"put v2\.4\.2_waveshare-esp32-s3-touch-amoled-1\.8\.zip from the firmware's releases into"),
        (404, "There is no release of firmware"),
    ],
)
async def test_a_missing_pack_says_what_to_do_and_an_own_file_needs_no_internet(
    hass: HomeAssistant,
    device: SimulatedDevice,
    hosts: Web,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int | None,
    reason: str,
) -> None:
    """Neither does a model in a folder; of those that are missing, all folders are named."""
    nowhere = "http://127.0.0.1:1"
    if status is None:
        monkeypatch.setattr(FirmwareFiles, "releases", f"{nowhere}/latest")
    else:
        answer = AsyncMock(side_effect=lambda _request: web.Response(status=status))
        hosts.server.handlers["/releases/tags/v2.4.2"] = answer
    with pytest.raises(ServiceValidationError, match=reason):
        await choose(hass, "Jarvis")
    with pytest.raises(ServiceValidationError, match=r"^Wake words, fonts and faces of .* stay.*" + reason):
        await act(hass, "button", "press", RENEW)
    (folder / f"{BOARD}_2.4.2.zip").write_bytes(release(pack()))
    await look(hass)
    monkeypatch.setitem(TABLE, "source", nowhere)
    await set_phrases(hass, hass.config_entries.async_entries(DOMAIN)[0], "hello kitchen")
    with pytest.raises(ServiceValidationError, match=r"xiaozhi/models of its configuration: fst, mn6_en\."):
        await choose(hass, "own_phrases")
    model = folder.parent / "models" / "wn9_jarvis_tts"
    model.mkdir(parents=True)
    for name, content in FILES["wakenet_model/wn9_jarvis_tts"].items():
        (model / name).write_bytes(content)
    await choose(hass, "Jarvis")
    assert await wakes(device, "jarvis")


async def test_with_a_picture_that_cannot_be_a_face_nothing_is_sent(
    hass: HomeAssistant, device: SimulatedDevice, folder: Path
) -> None:
    path = folder.parent / "faces" / "happy.png"
    path.parent.mkdir()
    path.write_bytes(b"?")
    with pytest.raises(ServiceValidationError, match=r"xiaozhi/faces/happy\.png cannot be used as a face"):
        await choose(hass, "Jarvis")
    assert was_sent_nothing(device)


async def test_models_are_the_known_ones_or_refused_and_may_come_from_a_folder(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, folder: Path
) -> None:
    name = "wakenet_model/wn9_jarvis_tts/wn9_data"
    for wrong in (b"x" * 5000, b"j" * 4999, b"j" * 5001):
        hosts.server.file(f"/models/{name}", wrong)
        with pytest.raises(
            ServiceValidationError, match=r"xiaozhi/models of its configuration: wn9_jarvis_tts\."
        ):
            await choose(hass, "Jarvis")
    path = folder.parent / "models" / "wn9_jarvis_tts" / "wn9_data"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"j" * 5000)
    # The owner's pack goes before that of a release.
    packs = folder.parent / "packs"
    packs.mkdir()
    (packs / f"{BOARD}_2.4.2.bin").write_bytes(pack())
    hosts.release(b"")
    await choose(hass, "Jarvis")
    assert await wakes(device, "jarvis")
    # What was fetched is deleted with the integration, what is the owner's stays.
    kept = folder.parent.parent / ".storage" / "xiaozhi_models"
    (entry,) = hass.config_entries.async_entries("xiaozhi")
    assert await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    assert [*kept.glob("*/*")]
    await hass.config_entries.async_remove(entry.entry_id)
    assert path.exists()
    assert not kept.exists()


async def test_models_serve_also_where_they_cannot_be_kept(
    hass: HomeAssistant, device: SimulatedDevice, folder: Path
) -> None:
    """The disk is full, or not writable."""
    kept = folder.parent.parent / ".storage" / "xiaozhi_models"
    kept.parent.mkdir()
    kept.touch()
    await choose(hass, "Jarvis")
    assert await wakes(device, "jarvis")


@pytest.mark.parametrize("name", ["../../secrets", "a/b"])
async def test_a_device_does_not_say_which_file_is_read(
    hass: HomeAssistant, hosts: Web, boot: Boot, folder: Path, name: str
) -> None:
    """Nor which address: what it calls itself is no path."""
    profile = replace(get_profile(), board=replace(BOARDS["s3"], name=name))
    device = await ready(hass, await boot(profile, pace=QUICK))
    place = folder.parent / "packs" / f"{name}_2.4.2.bin"
    (folder.parent / "packs").mkdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(pack())
    with pytest.raises(ServiceValidationError, match="no release of firmware"):
        await choose(hass, "Jarvis")
    assert "/releases/tags/v2.4.2" not in hosts.server.paths()
    assert was_sent_nothing(device)


async def test_where_nothing_else_is_known_to_fit_there_is_no_choice(
    hass: HomeAssistant, hosts: Web, boot: Boot
) -> None:
    """Its set-up in Home Assistant shows the word that it has heard, as before."""
    await boot(get_profile("ethernet", version="2.0.1"))
    await wait_for_state(hass, CONNECTED, "on")
    await hass.async_block_till_done()
    assert hass.states.get(WAKE_WORD) is None


async def test_the_word_that_a_device_was_woken_by_is_shown(
    hass: HomeAssistant, device: SimulatedDevice
) -> None:
    """Also where nothing was chosen: that it was made with, or flashed with."""
    for word, shown in (("jarvis", "Jarvis"), ("sophia", "Sophia"), ("hi bob", "original")):
        await device.wake(word)
        await wait_for_state(hass, WAKE_WORD, shown)
        await device.click()
        await device.wait_state(State.IDLE)


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_a_device_on_websocket_gets_them_in_a_conversation(
    hass: HomeAssistant, hosts: Web, boot: Boot
) -> None:
    device = await boot(get_profile(), pace=replace(QUICK, flash=1000))
    await device.wake()
    # It lists its tools in its first conversation.
    await wait_for_state(hass, WAKE_WORD, "original")
    await device.click()
    await device.wait_state(State.IDLE)
    choosing = asyncio.create_task(choose(hass, "Jarvis"))
    await asyncio.sleep(1)
    assert "Wake it" in state_of(hass, WAKE_WORD).attributes["hint"]
    # Meanwhile, nothing else waits.
    async with asyncio.timeout(5):
        await boxes.choose(hass, "select.kitchen_box_conversations", "single")
    await device.wake()
    await choosing
    assert state_of(hass, WAKE_WORD).state == "Jarvis"
    assert [await wakes(device, word) for word in ("hi xiaozhi", "jarvis")] == [False, True]
    # If nobody does, nothing changes.
    with pytest.raises(HomeAssistantError, match="has not been woken within 15 minutes"):
        await choose(hass, "original")
    assert state_of(hass, WAKE_WORD).state == "Jarvis"
