"""Wake words that the owner chooses: from the form to what the device listens to."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from hashlib import sha256
import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import aiohttp
from aiohttp import web
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers.event import async_track_state_change_event
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.firmware.assets_pack import Asset, read_pack
from custom_components.xiaozhi.firmware.available_firmware import FirmwareFiles
from custom_components.xiaozhi.firmware.speech_models import TABLE
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import FirmwareTimeouts
from simulator import BOARDS, Misbehaviour, SimulatedDevice, State, build_image, get_profile
from tests.integration import boxes
from tests.integration.boxes import act, state_of, wait_for_state
from tests.integration.firmware.conftest import BOARD, QUICK, is_reported, look, release_notes
from tests.integration.links.test_broker import through
from tests.integration.media.media_server import MediaServer, media_server
from tests.integration.names import CONNECTED, MAC, SATELLITE, Boot
from tests.integration.provisioning.forms import change_device, submit_device
from tests.protocol.transport.mqtt.brokers import PushingBroker
from tests.protocol.transport.udp.device import until
from tests.rules.firmware.firmware_files import FONT, archive, base_pack, flash

WAKE_WORD = "select.kitchen_box_wake_word"
RENEW = "button.kitchen_box_renew_fonts_and_faces"
_ASSETS = 0x800000
_FILES = {
    "wakenet_model/wn9_jarvis_tts": {"_MODEL_INFO_": b"w_t_Jarvis_3", "wn9_data": b"j" * 5000},
    "multinet_model/fst": {"commands_cn.txt": b"1,a\n", "commands_en.txt": b"1,A\n"},
    "multinet_model/mn6_en": {"mn6_data": b"m" * 200_000, "vocab": b"<blk>\t0\n"},
}


def pack() -> bytes:
    return base_pack(
        more={"text_font_meta": None, "emoji_collection": [{"name": "happy", "file": "happy.png"}]},
        **{"happy.png": Asset(b"png")},
    )


def release(pack: bytes, version: str = "2.4.2", chip: str = "esp32s3", address: int = _ASSETS) -> bytes:
    """Return the archive of a release: a binary for the whole flash."""
    app = build_image(version=version, chip=chip, size=64 * 1024)
    whole = flash(app, (1, 0x82, address, 0x800000, b"assets"))
    return archive(**{"merged-binary__bin": whole.ljust(address, b"\xff") + pack + b"\xff" * 4096})


class Web:
    """The hosts of releases and models."""

    def __init__(self, server: MediaServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = server
        models: dict[str, Any] = {}
        for path, files in _FILES.items():
            folder, model = path.split("/")
            hashes = {name: [len(content), sha256(content).hexdigest()] for name, content in files.items()}
            models[model] = {"folder": folder, "files": hashes}
            for name, content in files.items():
                server.file(f"/models/{path}/{name}", content)
        monkeypatch.setitem(TABLE, "source", server.url("/models"))
        monkeypatch.setitem(TABLE, "models", models)
        server.file("/releases/latest", "[]")
        self.release(release(pack()))

    def release(self, archive: bytes, version: str = "2.4.2") -> None:
        """Publish a release, which is not the latest."""
        self.archive = archive
        name = f"v{version}_{BOARD}.zip"
        url = self.server.file("/file", archive)
        assets = [{"name": name, "browser_download_url": url, "size": len(archive)}]
        self.server.file(f"/releases/tags/v{version}", json.dumps({"assets": assets}))

    def fetched(self) -> list[str]:
        return [path.removeprefix("/models/") for path in self.server.paths() if path.startswith("/models/")]


@pytest.fixture
def over_broker() -> bool:
    """Whether the device is reached through the owner's broker."""
    return False


@pytest.fixture
async def link_data(
    over_broker: bool, link_data: dict[str, Any], request: pytest.FixtureRequest
) -> AsyncGenerator[dict[str, Any]]:
    if not over_broker:
        yield link_data
        return
    request.getfixturevalue("socket_enabled")
    broker = await PushingBroker().start()
    yield through(broker.port, link_data)
    await broker.stop()


@pytest.fixture
async def hosts(
    hass: HomeAssistant,
    socket_enabled: None,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncGenerator[Web]:
    async with media_server() as server:
        # Home Assistant does not look for firmware by itself.
        monkeypatch.setattr(FirmwareFiles, "releases", server.url("/releases/latest"))
        counters = linked_entry.runtime_data.ports.counters
        await until(lambda: counters().get("broker", {"connected": True})["connected"])
        yield Web(server, monkeypatch)
        # Before the broker ends.
        if hass.config_entries.async_get_entry(linked_entry.entry_id):
            await hass.config_entries.async_unload(linked_entry.entry_id)


@pytest.fixture
async def device(hass: HomeAssistant, hosts: Web, boot: Boot) -> SimulatedDevice:
    return await ready(hass, await boot(get_profile(version="2.4.2"), pace=replace(QUICK, flash=1000)))


async def ready(hass: HomeAssistant, device: SimulatedDevice) -> SimulatedDevice:
    await wait_for_state(hass, CONNECTED, "on")
    await wait_for_state(hass, WAKE_WORD, "not_known")
    return device


async def choose(hass: HomeAssistant, option: str) -> None:
    await boxes.choose(hass, WAKE_WORD, option)


def was_sent_nothing(device: SimulatedDevice) -> bool:
    return not any(event.kind in {"assets", "restart"} for event in device.transcript)


async def wakes(device: SimulatedDevice, word: str) -> bool:
    """Say a word to the idle device, and end the conversation that it begins."""
    await device.wait_state(State.IDLE)
    await device.wake(word)
    if device.state is State.IDLE:
        return False
    await device.wait_state(State.LISTENING)
    await device.click()
    await device.wait_state(State.IDLE)
    return True


async def set_phrases(hass: HomeAssistant, entry: MockConfigEntry, *phrases: str) -> dict[str, Any]:
    """Fill in the form of the device; return its result."""
    form = await change_device(hass, entry)
    values: dict[str, Any] = {"share_transcripts": False, "wake_phrases": [*phrases]}
    if "wake_word_pipelines" in form["data_schema"].schema:
        values["wake_word_pipelines"] = {}
    result = await submit_device(hass, form, **values)
    await hass.async_block_till_done()
    return dict(result)


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
    told = form["description_placeholders"]["notes"]
    assert told.startswith(reason)
    assert bool(told) == bool(reason)


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


@pytest.mark.parametrize("phrase", ["hello 2", "你好管家", "a", "hello kitchen"])
async def test_phrases_that_no_model_understands_are_errors_of_the_form(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry, phrase: str
) -> None:
    """So are two languages, and the same phrase twice."""
    for others in (["你好管家 = ni hao guan jia", "hello kitchen"], ["Hello kitchen", "hello kitchen"]):
        result = await set_phrases(hass, linked_entry, phrase, *others)
        assert result["errors"] == {"wake_phrases": "phrases_bad"}


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (release(pack(), version="2.4.1"), "no release of firmware"),
        (release(pack(), chip="esp32c3"), "no release of firmware"),
        (release(pack(), address=0x600000), "no release of firmware"),
        (release(pack()[:-1] + b"\0"), "damaged"),
        (release(b""), "damaged"),
        (build_image(version="2.4.2", size=64 * 1024), "no release of firmware"),
        (b"PK\x03\x04", "archive is damaged"),
        (b"", "not a firmware"),
    ],
    ids=["version", "chip", "address", "checksum", "no pack", "no flash", "no archive", "nothing"],
)
async def test_without_a_pack_that_fits_nothing_is_sent(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, archive: bytes, reason: str
) -> None:
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
        hosts.server.handlers["/releases/tags/v2.4.2"] = AsyncMock(return_value=web.Response(status=status))
    with pytest.raises(ServiceValidationError, match=reason):
        await choose(hass, "Jarvis")
    (folder / f"{BOARD}_2.4.2.zip").write_bytes(release(pack()))
    await look(hass)
    monkeypatch.setitem(TABLE, "source", nowhere)
    await set_phrases(hass, hass.config_entries.async_entries(DOMAIN)[0], "hello kitchen")
    with pytest.raises(ServiceValidationError, match=r"xiaozhi/models of its configuration: fst, mn6_en\."):
        await choose(hass, "own_phrases")
    model = folder.parent / "models" / "wn9_jarvis_tts"
    model.mkdir(parents=True)
    for name, content in _FILES["wakenet_model/wn9_jarvis_tts"].items():
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
    assert [*kept.glob("*/*")]
    (entry,) = hass.config_entries.async_entries("xiaozhi")
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


@pytest.mark.parametrize("version", ["2.0.2", "2.2.6", "2.4.2"])
async def test_a_lost_connection_leaves_no_wake_word_until_the_next_sending(
    hass: HomeAssistant, hosts: Web, boot: Boot, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """It is sent twice; then the owner can choose again, also what was there before."""
    hosts.release(release(pack(), version=version), version)
    pace = replace(QUICK, flash=1000)
    device = await ready(hass, await boot(get_profile(version=version), pace=pace))
    broken = _breaks_off(hass, monkeypatch, times=1)
    await choose(hass, "Jarvis")
    assert broken == [True]
    assert [await wakes(device, word) for word in ("hi xiaozhi", "jarvis")] == [False, True]
    _breaks_off(hass, monkeypatch, times=2)
    with pytest.raises(HomeAssistantError, match="has none now"):
        await choose(hass, "original")
    assert state_of(hass, WAKE_WORD).state == "not_known"
    assert [await wakes(device, word) for word in ("你好小智", "jarvis")] == [False, False]
    await choose(hass, "original")
    assert await wakes(device, "你好小智")


def _breaks_off(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, times: int) -> list[bool]:
    """Break off as many downloads, in the middle; return a list that grows with each."""
    write, broken = web.StreamResponse.write, list[bool]()

    async def fail(response: web.StreamResponse, data: Any) -> None:
        if len(broken) < times and response.content_type == "application/octet-stream":
            broken.append(True)
            await write(response, data[: len(data) // 2])
            raise ConnectionResetError
        await write(response, data)

    monkeypatch.setattr(web.StreamResponse, "write", fail)
    return broken


@pytest.mark.timeouts(FirmwareTimeouts, restart=30)
@pytest.mark.parametrize("over_broker", [False, True])
async def test_a_device_that_cannot_fetch_its_pack_restarts_and_keeps_its_words(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    await choose(hass, "Jarvis")
    _forgets_the_end(device, monkeypatch, [True])
    with pytest.raises(HomeAssistantError, match="keeps the old ones"):
        await choose(hass, "original")
    await ready_again(hass, device)
    assert state_of(hass, WAKE_WORD).state == "Jarvis"
    assert [await wakes(device, word) for word in ("你好小智", "jarvis")] == [False, True]


async def test_a_device_that_cannot_fetch_its_pack_again_has_none(
    hass: HomeAssistant, device: SimulatedDevice, hosts: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has begun to write over what it had."""
    broken = _breaks_off(hass, monkeypatch, times=1)
    _forgets_the_end(device, monkeypatch, broken)
    with pytest.raises(HomeAssistantError, match="has none now"):
        await choose(hass, "Jarvis")
    assert state_of(hass, WAKE_WORD).state == "not_known"


def _forgets_the_end(device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, when: list[bool]) -> None:
    """Let the device find nothing at its start, once `when` is not empty."""
    remember = device.nvs.set

    def forget(namespace: str, key: str, value: str) -> None:
        remember(namespace, key, value[:-3] if key == "download_url" and when else value)

    monkeypatch.setattr(device.nvs, "set", forget)


def restarts(device: SimulatedDevice) -> int:
    return sum(event.kind == "restart" for event in device.transcript)


async def ready_again(hass: HomeAssistant, device: SimulatedDevice, number: int = 3) -> None:
    await device.wait_for(lambda: restarts(device) >= number, 60)
    await device.wait_state(State.IDLE)
    await wait_for_state(hass, CONNECTED, "on")


async def test_a_device_deaf_to_its_phrases_is_reached_and_gets_the_original(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    device.misbehaviours.add(Misbehaviour.DEAF_TO_PHRASES)
    await set_phrases(hass, linked_entry, "hello kitchen")
    await choose(hass, "own_phrases")
    assert not await wakes(device, "hello kitchen")
    await choose(hass, "original")
    assert await wakes(device, "你好小智")


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_a_device_on_websocket_gets_them_in_a_conversation(
    hass: HomeAssistant, hosts: Web, boot: Boot
) -> None:
    device = await boot(get_profile(), pace=replace(QUICK, flash=1000))
    await device.wake()
    # It lists its tools in its first conversation.
    await wait_for_state(hass, WAKE_WORD, "not_known")
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


@pytest.mark.parametrize(
    ("event", "is_broken", "is_gone"),
    [
        ("restart", False, False),
        ("restart", False, True),
        ("assets_failed", True, False),
        ("assets_loaded", False, False),
    ],
)
async def test_a_pack_on_its_way_at_a_stop_of_home_assistant_is_sent_again(
    hass: HomeAssistant,
    device: SimulatedDevice,
    hosts: Web,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
    *,
    event: str,
    is_broken: bool,
    is_gone: bool,
) -> None:
    """If it cannot be had any more, the device is restarted once, and its owner asked to choose again."""
    if is_broken:
        _breaks_off(hass, monkeypatch, times=1)
    choosing = asyncio.create_task(choose(hass, "Jarvis"))
    await device.wait_for(lambda: any(each.kind == event for each in device.transcript), 60)
    await hass.config_entries.async_unload(linked_entry.entry_id)
    with pytest.raises(HomeAssistantError):
        await choosing
    if is_gone:
        hosts.release(b"")
    await hass.config_entries.async_setup(linked_entry.entry_id)
    if is_gone:
        await until(lambda: is_reported(hass))
        hosts.release(release(pack()))
        await ready_again(hass, device, 2)
        assert await wakes(device, "hi xiaozhi")
        await choose(hass, "Jarvis")
    await wait_for_state(hass, WAKE_WORD, "Jarvis")
    assert not is_reported(hass)
    assert [await wakes(device, word) for word in ("hi xiaozhi", "jarvis")] == [False, True]


async def test_a_device_whose_font_shows_no_pack_is_restarted_once(
    hass: HomeAssistant, hosts: Web, boot: Boot
) -> None:
    """Then its owner is asked."""
    hosts.release(release(base_pack()))
    profile = replace(get_profile(version="2.4.2"), glyph_push=True)
    device = await ready(hass, await boot(profile, pace=replace(QUICK, flash=1000)))
    await choose(hass, "Jarvis")

    async def talk_by_button() -> None:
        """Begin a conversation without a wake word; it ends by itself, since there is no assistant."""
        await device.wait_state(State.IDLE, 60)
        await device.click()
        await device.wait_state(State.IDLE, 60)
        await hass.async_block_till_done()

    await talk_by_button()
    for damaged in (False, True):
        before = restarts(device)
        if damaged:
            device._hardware.assets.content[200] ^= 1
        else:
            device.nvs.set("assets", "download_url", hosts.server.url("/nothing"))
        await device.power_off()
        await device.boot()
        await wait_for_state(hass, CONNECTED, "on")
        assert not await wakes(device, "jarvis")
        await talk_by_button()
        await ready_again(hass, device, before + 1)
        await talk_by_button()
        assert is_reported(hass) == damaged
        assert await wakes(device, "jarvis") == (not damaged)
    await talk_by_button()
    await choose(hass, "Jarvis")
    assert restarts(device) == before + 2
    assert not is_reported(hass)
    assert await wakes(device, "jarvis")


async def test_a_device_that_was_flashed_anew_has_nothing_that_was_put_on_it(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    """So its old word can be chosen again. If another tool did that, it shows by the word that it reports."""
    await choose(hass, "Jarvis")
    assert await wakes(device, "jarvis")
    assert state_of(hass, WAKE_WORD).state == "Jarvis"
    await device.power_off()
    device._hardware.assets.content.clear()
    await device.boot()
    assert await wakes(device, "hi xiaozhi")
    await wait_for_state(hass, WAKE_WORD, "not_known")
    await choose(hass, "Jarvis")
    (subentry,) = linked_entry.subentries.values()
    changed = {**subentry.data, "client_id": "another", "token": "another"}
    hass.config_entries.async_update_subentry(linked_entry, subentry, data=changed)
    await wait_for_state(hass, WAKE_WORD, "not_known")


async def test_a_device_whose_way_to_home_assistant_is_not_known_is_told_nothing(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    linked_entry.runtime_data.devices[MAC].record.update(origin=None)
    with pytest.raises(ServiceValidationError, match="Restart Kitchen box"):
        await choose(hass, "Jarvis")
    assert was_sent_nothing(device)


async def test_a_pack_that_a_stranger_has_fetched_is_not_on_the_device(
    hass: HomeAssistant, device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads the network knows its address; the device then finds nothing there, and keeps what it has."""
    remember, strangers = device.nvs.set, list[asyncio.Task[int]]()

    async def fetch(url: str) -> int:
        connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
        async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
            return len(await answer.read())

    def note(namespace: str, key: str, value: str) -> None:
        remember(namespace, key, value)
        if key == "download_url" and value:
            strangers.append(asyncio.create_task(fetch(value)))

    monkeypatch.setattr(device.nvs, "set", note)
    with pytest.raises(HomeAssistantError, match="keeps the old ones"):
        await choose(hass, "Jarvis")
    assert await strangers[0] > 0
    assert state_of(hass, WAKE_WORD).state == "not_known"
    await ready_again(hass, device, 2)
    assert await wakes(device, "hi xiaozhi")


@pytest.mark.parametrize("folders", [("models", "wn9_jarvis_tts", "wn9_data"), ("faces", "happy.png")])
async def test_a_pipe_in_the_place_of_a_file_blocks_nothing(
    hass: HomeAssistant, device: SimulatedDevice, folder: Path, folders: tuple[str, ...]
) -> None:
    path = folder.parent.joinpath(*folders)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    if folders[0] == "faces":
        with pytest.raises(ServiceValidationError, match="cannot be used as a face"):
            await choose(hass, "Jarvis")
        return
    await choose(hass, "Jarvis")
    assert await wakes(device, "jarvis")
