"""Packs and the web that has them, and what a device has by them."""

from hashlib import sha256
import json
from typing import Any

from aiohttp import web
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.wake_words.assets_pack import Asset
from custom_components.xiaozhi.guests.wake_words.speech_models import TABLE
from simulator import SimulatedDevice, State, build_image
from tests.integration import boxes
from tests.integration.boxes import wait_for_state
from tests.integration.firmware.conftest import BOARD
from tests.integration.media.media_server import MediaServer
from tests.integration.names import CONNECTED
from tests.integration.provisioning.forms import change_device, submit_device
from tests.rules.firmware.firmware_files import archive, base_pack, flash

WAKE_WORD = "select.kitchen_box_wake_word"
RENEW = "button.kitchen_box_renew_fonts_and_faces"
_ASSETS = 0x800000
FILES = {
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
        for path, files in FILES.items():
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


def breaks_off(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, times: int) -> list[bool]:
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


def forgets_the_end(device: SimulatedDevice, monkeypatch: pytest.MonkeyPatch, when: list[bool]) -> None:
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
