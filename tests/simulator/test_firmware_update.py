"""Firmware: what a device installs, what it refuses, and what becomes of it then."""

import hashlib
from typing import Any

import pytest

from simulator import build_image
from simulator.firmware.image import CHIP_IDS, AppDescription, judge_image
from tests.simulator.ogg_file import Serve, plain
from tests.simulator.trace import (
    LISTENING,
    Stage,
    Step,
    Trace,
    asks,
    disconnects,
    replay,
    replays,
    request,
    sees,
    still,
    trace,
    user,
)

NEXT = build_image(version="2.5.0")
NOTHING: dict[str, Any] = {"websocket": {}}


def upgrades(request_id: int = 1) -> Step:
    """Have it install the file."""

    async def row(on: Stage) -> None:
        await request(
            "tools/call", request_id, name="self.upgrade_firmware", arguments={"url": on.files.url}
        )(on)

    return row


def fails(why: str) -> Step:
    """Expect that an installation fails for this reason, and that the firmware stays."""

    async def row(on: Stage) -> None:
        await on.sim.wait_for(lambda: bool(on.sim.events("upgrade_failed")))
        assert why in on.sim.events("upgrade_failed")[0]["error"]
        assert on.sim.next_version == on.sim.profile.version

    return row


def fetched(times: int) -> Step:
    """Expect so many downloads, with no header about the device."""

    async def row(on: Stage) -> None:
        assert len(on.files.heads) == times
        for head in on.files.heads:
            assert [line.partition(":")[0] for line in head.split("\r\n")[1:-2]] == ["Host", "Connection"]

    return row


def runs(version: str) -> Step:
    """Expect a check-in of this version."""
    return asks(headers={"User-Agent": lambda agent: agent.endswith(f"/{version}")})


def offers(version: Any, **more: Any) -> dict[str, Any]:
    """Return a check-in's reply with the file as a firmware."""
    return NOTHING | {"firmware": {"version": version} | more}


REFUSED: dict[str, tuple[Serve, str]] = {
    "a redirect": (plain(b"", "302 X\r\nLocation: /elsewhere"), "status 302"),
    "another chip": (plain(build_image(version="2.5.0", chip="esp32c3")), "chip ID"),
    "a wrong hash": (plain(NEXT[:-1] + b"?"), "hash"),
}

UPDATES = {
    "by the tool": trace(
        "F.6",
        *LISTENING,
        runs("2.3.0"),
        upgrades(),
        disconnects(),
        asks(body={"application": {"version": "2.5.0"}, "ota": {"label": "ota_1"}}),
        sees(state="idle", next_version="2.5.0"),
        fetched(1),
        version="2.3.0",
        files=plain(NEXT),
    ),
    **{
        f"refused in a conversation: {name}": trace(
            "A.5",
            *LISTENING,
            upgrades(),
            disconnects(),
            fails(why),
            still(crash=None),
            sees(state="idle"),
            files=serve,
        )
        for name, (serve, why) in REFUSED.items()
    },
    **{
        f"offered and installed: {version}": trace(
            "A.5",
            user("boot"),
            runs("2.4.2"),
            fetched(1),
            runs("2.5.0"),
            files=plain(NEXT),
            check_in=(offers(version, **more), NOTHING),
        )
        for version, more in (("2.4.3", {}), ("2.0.3-beta", {"force": 1}))
    },
}


@replays(UPDATES)
async def test_update(trace: Trace) -> None:
    await replay(trace)


@pytest.mark.parametrize("chip", ["esp32s3", "esp32p4"])
def test_an_image_is_laid_out_as_esp_idf_does(chip: str) -> None:
    image = build_image(version="2.4.3-beta", chip=chip, size=4096)
    assert len(image) % 16 == 0
    assert image[0] == 0xE9
    assert int.from_bytes(image[12:14], "little") == CHIP_IDS[chip]
    assert image[32:36] == bytes.fromhex("3254cdab")
    assert image[48:80].rstrip(b"\0") == b"2.4.3-beta"
    assert image[-32:] == hashlib.sha256(image[:-32]).digest()
    assert judge_image(image, chip=chip, revision=2) == AppDescription("2.4.3-beta", "xiaozhi")
