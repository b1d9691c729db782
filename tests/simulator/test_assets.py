"""What a device does with an asset pack, and which words wake it then (reference: `assets.md`, 5)."""

from dataclasses import replace
import json

import pytest

from custom_components.xiaozhi.guests.wake_words.assets_pack import Asset, write_models, write_pack
from simulator import BOARDS, DeviceCrashed, Nvs, Pace, SimulatedDevice, get_profile
from tests.simulator.servers import Http, Reply

QUICK = Pace(waits=0.001, timeouts=0.01, flash=10_000, main_loop_delay=0)
VERSIONS = ["2.0.2", "2.2.6", "2.4.2"]
WAKENET = {"wn9_jarvis_tts": {"_MODEL_INFO_": b"# about\nw_t_Jarvis;Friday_3", "wn9_data": b"x" * 9000}}
MULTINET = {"fst": {"commands_en.txt": b""}, "mn6_en": {"mn6_data": b"x"}}


def pack(models: dict[str, dict[str, bytes]]) -> bytes:
    """Return a pack with these models, and a phrase for MultiNet."""
    command = {"command": "HELLO KITCHEN", "text": "Hello kitchen", "action": "wake"}
    index = {"version": 1, "srmodels": "srmodels.bin", "multinet_model": {"commands": [command]}}
    return write_pack(
        {"srmodels.bin": Asset(write_models(models)), "index.json": Asset(json.dumps(index).encode())}
    )


def served(content: bytes, sent: int | None = None) -> bytes:
    """Return an answer with a file, of which only a part is sent."""
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content[:sent]


async def words(device: SimulatedDevice, *candidates: str) -> list[str]:
    """Return the words that wake the device."""
    before = len(device.transcript)
    for word in candidates:
        await device.wake(word)
    unheard = {event.data["word"] for event in device.transcript[before:] if event.kind == "unheard"}
    return [word for word in candidates if word not in unheard]


async def started(
    reply: Reply, version: str = "2.4.2", *, board: str = "s3", memory: int = 8_000_000
) -> list[str]:
    """Return what wakes a device that is given a pack at its start, and after the next start."""
    profile = get_profile(board, version)
    profile = replace(profile, board=replace(BOARDS[board], free_memory=memory))
    async with Http.serving(reply, {"websocket": {"url": "ws://127.0.0.1:9/"}}) as http:
        nvs = Nvs({"assets": {"download_url": http.url}})
        async with SimulatedDevice(profile, http.url, nvs=nvs, pace=QUICK) as device:
            found = []
            for _ in range(2):
                await device.boot()
                heard = await words(device, "hi xiaozhi", "jarvis", "hello kitchen")
                found.append(" ".join(heard))
                await device.power_off()
            assert [request.line.split()[0] for request in http.requests] == ["GET", "POST", "POST"]
            return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("models", "word"), [(WAKENET, "jarvis"), (MULTINET, "hello kitchen")])
async def test_a_pack_says_what_wakes_a_device(
    version: str, models: dict[str, dict[str, bytes]], word: str
) -> None:
    assert await started(served(pack(models)), version) == [word, word]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_pack_that_is_not_there_costs_the_wake_word_until_the_next_start(version: str) -> None:
    assert await started(404, version) == ["", "hi xiaozhi jarvis hello kitchen"]
    assert await started(served(b"x" * 9_000_000, 0), version) == ["", "hi xiaozhi jarvis hello kitchen"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("sent", [5000, -1])
async def test_a_pack_that_breaks_off_leaves_no_wake_word(version: str, sent: int) -> None:
    assert await started(served(pack(WAKENET), sent), version) == ["", ""]


async def test_a_damaged_or_incomplete_pack_leaves_no_wake_word() -> None:
    assert await started(served(pack(WAKENET)[:-1] + b"\0")) == ["", ""]
    assert await started(served(pack({"mn6_en": {"mn6_data": b"x"}}))) == ["", ""]


async def test_other_chips_and_older_firmware_know_no_phrases() -> None:
    assert await started(served(pack(MULTINET)), board="c3") == ["", ""]
    assert await started(served(pack(MULTINET)), "2.0.0") == ["", ""]


@pytest.mark.parametrize(("models", "memory"), [({"wn10_new": {"d": b""}}, 8_000_000), (MULTINET, 4_000_000)])
async def test_a_model_that_is_unknown_or_too_large_crashes_a_device(
    models: dict[str, dict[str, bytes]], memory: int
) -> None:
    with pytest.raises(DeviceCrashed, match="null pointer"):
        await started(served(pack(models)), memory=memory)
