"""Firmware: what a device installs, what it refuses, and what becomes of it then."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
import hashlib
import json
from pathlib import Path
import socket
from typing import Any

from hypothesis import given, strategies as st
import pytest

from simulator import SimulatedDevice, State, build_image, get_profile
from simulator.firmware.image import CHIP_IDS, AppDescription, ImageError, judge_image
from simulator.firmware.partitions import APP_PARTITION_BYTES, AppPartitions
from tests.simulator.fake_mqtt import MqttServer
from tests.simulator.fake_server import FAST, Http, Json, Reply, Server, Session
from tests.simulator.talk import linked, settle
from tests.simulator.test_command import run_command

AT_ONCE = replace(FAST, flash=1000)
NEXT = build_image(version="2.5.0")


def file(content: bytes, *headers: str, status: int = 200) -> bytes:
    """Return the answer with a file."""
    lines = [f"HTTP/1.1 {status} X", *(headers or (f"Content-Length: {len(content)}",)), "", ""]
    return "\r\n".join(lines).encode() + content


def device(http: Http, **options: Any) -> SimulatedDevice:
    return SimulatedDevice(options.pop("profile", None), http.url, **{"pace": AT_ONCE} | options)


async def upgrade(session: Session, url: str) -> None:
    """Call the tool; its answer is not waited for."""
    params = {"name": "self.upgrade_firmware", "arguments": {"url": url}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    await session.send({"type": "mcp", "payload": request})


def offer(url: str, version: str = "2.5.0", **more: int) -> Json:
    return {"websocket": {}, "firmware": {"version": version, "url": url} | more}


# Images


@pytest.mark.parametrize("size", [None, 401, 4096, 100_000])
@pytest.mark.parametrize("chip", CHIP_IDS)
def test_an_image_is_laid_out_as_esp_idf_does(chip: str, size: int | None) -> None:
    image = build_image(version="2.4.3-beta", chip=chip, size=size)
    assert len(image) % 16 == 0
    assert size is None or 0 <= len(image) - size < 16
    assert image[0] == 0xE9
    assert int.from_bytes(image[12:14], "little") == CHIP_IDS[chip]
    assert image[32:36] == bytes.fromhex("3254cdab")
    assert image[48:80].rstrip(b"\0") == b"2.4.3-beta"
    assert image[80:112].rstrip(b"\0") == b"xiaozhi"
    assert image[23] == 1
    assert image[-32:] == hashlib.sha256(image[:-32]).digest()
    assert judge_image(image, chip=chip, revision=2) == AppDescription("2.4.3-beta", "xiaozhi")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"chip": "esp8266"}, "no chip"),
        ({"version": "2" * 32}, "31 bytes"),
        ({"project": "x" * 32}, "31 bytes"),
        ({"size": 100}, "at least"),
    ],
)
def test_an_image_that_cannot_be_built_is_an_error(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build_image(**{"version": "1.0.0"} | arguments)


def changed(image: bytes, offset: int, value: int) -> bytes:
    """Return an image with another byte, and a hash that fits."""
    image = image[:offset] + bytes([value]) + image[offset + 1 : -32]
    return image + hashlib.sha256(image).digest()


REFUSED = {
    "empty": (b"", "incomplete"),
    "a page of a web server": (b"<html>" * 100, "magic"),
    "another chip": (build_image(version="2.5.0", chip="esp32c3"), "chip ID"),
    "a newer chip": (changed(NEXT, 15, 3), "revision"),
    "too many segments": (changed(NEXT, 1, 17), "segment count"),
    "an odd segment": (changed(NEXT, 28, 1), "segment length"),
    "a giant segment": (changed(NEXT, 31, 1), "segment length"),
    "cut in a segment": (NEXT[:330], "segment"),
    "cut before the checksum": (NEXT[:-40], "ends before|segment"),
    "cut in the hash": (NEXT[:-1], "hash"),
    "another byte": (changed(NEXT, 300, NEXT[300] ^ 1), "checksum"),
    "another padding": (NEXT[:-34] + b"\x01" + NEXT[-33:], "hash"),
}


@pytest.mark.parametrize("image", REFUSED)
def test_a_device_refuses(image: str) -> None:
    content, words = REFUSED[image]
    with pytest.raises(ImageError, match=words):
        judge_image(content, chip="esp32s3", revision=2)


def test_what_is_not_checked_is_accepted() -> None:
    """Without a hash nothing but the checksum counts, and never what the image says of itself."""
    image = changed(NEXT, 23, 0)[:-32]
    assert judge_image(image, chip="esp32s3", revision=2).version == "2.5.0"
    nameless = bytearray(NEXT[:-32])
    nameless[32] ^= 0xFF
    nameless[-1] ^= 0xFF
    nameless += hashlib.sha256(nameless).digest()
    assert judge_image(bytes(nameless), chip="esp32s3", revision=2) == AppDescription("", "")
    assert judge_image(NEXT + b"more", chip="esp32s3", revision=2).version == "2.5.0"


@given(st.binary(max_size=600), st.integers(0, len(NEXT)))
def test_whatever_comes_is_judged(content: bytes, keep: int) -> None:
    with suppress(ImageError):
        judge_image(NEXT[:keep] + content, chip="esp32s3", revision=2)


# Partitions


def test_a_new_firmware_is_on_trial_until_it_says_that_it_works() -> None:
    partitions = AppPartitions("1.0.0")
    partitions.start()
    assert (partitions.version, partitions.label) == ("1.0.0", "ota_0")
    partitions.install("2.0.0")
    assert (partitions.version, partitions.next_version) == ("1.0.0", "2.0.0")
    partitions.start()
    assert (partitions.version, partitions.next_version, partitions.label) == ("2.0.0", "1.0.0", "ota_1")
    partitions.start()
    assert (partitions.version, partitions.label) == ("1.0.0", "ota_0")
    partitions.install("3.0.0")
    partitions.start()
    partitions.confirm()
    partitions.start()
    assert (partitions.version, partitions.label) == ("3.0.0", "ota_1")


# By the tool


async def test_the_tool_installs_and_the_device_comes_back_as_the_other_version(server: Server) -> None:
    async with (
        Http.serving(file(NEXT)) as files,
        server.device(profile=get_profile(version="2.3.0"), pace=AT_ONCE) as sim,
    ):
        session = await linked(server, sim)
        await upgrade(session, files.url)
        await session.until(lambda: session.closed)
        await sim.wait_for(lambda: len(server.http.requests) == 2)
        await sim.wait_paired()
        assert session.seen(type="mcp") == 0
        (request,) = files.requests
        assert request.line == "GET /ota HTTP/1.1"
        assert [name for name, _ in request.headers] == ["Host", "Connection"]
        before, after = server.http.requests
        assert dict(before.headers)["User-Agent"].endswith("/2.3.0")
        assert dict(after.headers)["User-Agent"].endswith("/2.5.0")
        assert json.loads(before.body)["ota"] == {"label": "ota_0"}
        body = json.loads(after.body)
        assert body["application"]["version"] == "2.5.0"
        assert body["ota"] == {"label": "ota_1"}
        assert "manufacturer" in body["board"]
        assert sim.events("upgraded") == [{"url": files.url, "version": "2.5.0"}]
        await sim.click()
        server_info = (await (await server.session(2)).call(1, "initialize"))["result"]["serverInfo"]
        assert server_info["version"] == "2.5.0"
        assert sim.profile.version == sim.next_version == "2.5.0"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (404, "status 404"),
        (file(b"", "Location: /elsewhere", status=302), "status 302"),
        (file(NEXT, "Connection: close"), "no Content-Length"),
        (
            file(b"190\r\n" + NEXT + b"\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
            "no Content-Length",
        ),
        (file(b"", "Content-Length: 0"), "no Content-Length"),
        (file(NEXT, "Content-Length: 5000"), "malformed answer"),
        (file(b"<html>no</html>"), "does not start"),
        (file(build_image(version="2.5.0", chip="esp32c3")), "chip ID"),
        (file(build_image(version="2.5.0", size=APP_PARTITION_BYTES + 16)), "larger than the partition"),
        (file(NEXT[:-1] + b"?"), "hash"),
    ],
    ids=range(10),
)
async def test_a_failure_in_a_conversation_leaves_it_and_the_firmware_as_they_were(
    server: Server, answer: Reply, why: str
) -> None:
    async with Http.serving(answer) as files, server.device(pace=AT_ONCE) as sim:
        session = await linked(server, sim)
        await upgrade(session, files.url)
        await session.until(lambda: session.closed)
        await sim.wait_for(lambda: bool(sim.events("upgrade_failed")))
        assert why in sim.events("upgrade_failed")[0]["error"]
        assert (sim.screen.status, sim.screen.system_text) == ("ERROR", "Upgrade failed")
        # Upgrading cannot be entered from a conversation: its end is what makes the device idle.
        await sim.wait_state(State.IDLE)
        assert sim.next_version == "2.4.2"
        assert sim.crash is None
        assert len(server.http.requests) == 1


async def test_after_a_failure_that_began_idle_the_device_is_deaf_until_it_restarts() -> None:
    async with MqttServer.serving() as server, server.device(pace=AT_ONCE) as sim:
        await sim.boot()
        await sim.wait_for(lambda: sim.connected)
        session = await server.session()
        async with Http.serving(404) as files:
            params = {"name": "self.upgrade_firmware", "arguments": {"url": files.url}}
            # What the tool has started comes before its answer, and the answer knows nothing of it.
            reply = await session.call(1, "tools/call", params)
            assert reply["payload"]["result"]["content"][0]["text"] == "true"
        assert sim.events("upgrade_failed")
        for attempt in (sim.click, sim.wake, sim.press):
            await attempt()
            assert sim.state is State.UPGRADING
        assert session.seen(type="hello") == 0
        session.send({"type": "system", "command": "reboot"})
        await sim.wait_for(lambda: len(server.http.requests) == 2)
        await sim.wait_state(State.IDLE)
        assert dict(server.http.requests[1].headers)["User-Agent"].endswith("/2.4.2")


async def test_while_it_installs_the_device_does_nothing_else() -> None:
    async with MqttServer.serving() as server, server.device(pace=replace(FAST, flash=1)) as sim:
        await sim.boot()
        await sim.wait_for(lambda: sim.connected)
        session = await server.session()
        async with serving_slowly(build_image(version="2.5.0", size=1 << 20)) as (url, served):
            params = {"name": "self.upgrade_firmware", "arguments": {"url": url}}
            request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            session.send({"type": "mcp", "payload": request})
            session.send(
                {
                    "type": "mcp",
                    "payload": {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
                    | {"params": {"name": "self.get_device_status", "arguments": {}}},
                }
            )
            await sim.wait_state(State.UPGRADING)
            await sim.wait_for(lambda: bool(sim.events("progress")), 10)
            # 150 kB a second: the server is not far ahead of what has been written.
            (progress,) = sim.events("progress")
            assert 5 <= progress["percent"] <= 40
            assert len(served) < 400_000
            await settle()
            assert session.seen(type="mcp") == 0


@asynccontextmanager
async def serving_slowly(content: bytes) -> AsyncIterator[tuple[str, bytearray]]:
    """Serve a file page by page as the other end takes it; also return what it has taken so far."""
    served = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.transport.set_write_buffer_limits(0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode())
            for start in range(0, len(content), 4096):
                writer.write(content[start : start + 4096])
                await writer.drain()
                served.extend(content[start : start + 4096])
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/f.bin", served
    listener.close()
    listener.close_clients()
    await listener.wait_closed()


# At check-in


@pytest.mark.parametrize(
    ("offered", "installed"),
    [
        ({"version": "2.4.3"}, True),
        ({"version": "2.4.2.1"}, True),
        ({"version": "2.4.2"}, False),
        ({"version": "2.4"}, False),
        ({"version": "2.0.3-beta", "force": 1}, True),
        ({"version": "2.0.3", "force": True}, False),
    ],
)
async def test_a_firmware_of_the_check_in_is_installed_when_it_is_newer_or_forced(
    offered: dict[str, Any], installed: bool
) -> None:
    async with Http.serving(file(NEXT)) as files:
        firmware: Reply = {"websocket": {}, "firmware": {"url": files.url} | offered}
        async with Http.serving(firmware, {"websocket": {}}) as http, device(http) as sim:
            await sim.boot()
            assert bool(files.requests) is installed
            # Before anything else: there was no transport, and no activation.
            transport = sim.events("transport")
            assert len(transport) == 1
            assert sim.profile.version == ("2.5.0" if installed else "2.4.2")


@pytest.mark.parametrize("firmware", [{"version": "latest"}, {"version": 7, "url": "http://127.0.0.1:9/f"}])
async def test_a_firmware_without_both_texts_is_none(firmware: dict[str, Any]) -> None:
    async with Http.serving({"websocket": {}, "firmware": firmware}) as http, device(http) as sim:
        await sim.boot()
        assert sim.events("upgrade") == []


async def test_a_failure_at_check_in_is_shown_and_the_device_goes_on() -> None:
    async with Http.serving(404) as files, Http.serving(offer(files.url)) as http, device(http) as sim:
        seen = list[str]()
        sim.listen(lambda _: seen.append(sim.screen.system_text))
        await sim.boot()
        assert "Upgrade failed" in seen
        assert [event["state"] for event in sim.events("state")][-2:] == ["upgrading", "idle"]
        await sim.wait_state(State.IDLE)


async def test_a_forced_firmware_is_installed_again_at_every_start() -> None:
    async with (
        Http.serving(file(NEXT)) as files,
        Http.serving(offer(files.url, force=1)) as http,
        device(http) as sim,
    ):
        booting = asyncio.create_task(sim.boot())
        await sim.wait_for(lambda: len(files.requests) > 2)
        assert not booting.done()
        booting.cancel()


async def test_the_upgrade_comes_before_the_activation() -> None:
    async with Http.serving(file(NEXT)) as files:
        asks: Json = {"activation": {"code": "123456", "message": "Add me"}}
        async with Http.serving(offer(files.url) | asks, asks) as http, device(http) as sim:
            await sim.boot()
            assert sim.pairing_code == "123456"
            assert sim.profile.version == "2.5.0"
            assert len(http.requests) == 2


async def test_a_firmware_that_fails_before_it_has_checked_in_gives_way_to_the_one_before() -> None:
    async with Http.serving(file(NEXT)) as files:
        bad: Json = {"mqtt": {"endpoint": "host:"}}
        crash: Json = {"websocket": {"a_name_of_sixteen": "x"}}
        async with (
            Http.serving(offer(files.url), crash, bad | {"websocket": {}}) as http,
            device(http) as sim,
        ):
            with pytest.raises(Exception, match="15 bytes"):
                await sim.boot()
            assert (sim.profile.version, sim.next_version) == ("2.5.0", "2.4.2")
            with pytest.raises(Exception, match="stoi"):
                await sim.boot()
            assert [dict(request.headers)["User-Agent"][-6:] for request in http.requests] == [
                "/2.4.2",
                "/2.5.0",
                "/2.4.2",
            ]


async def test_another_firmware_than_xiaozhi_is_the_end_of_the_device() -> None:
    other = build_image(version="1.0.0", project="hello_world")
    async with (
        Http.serving(file(other)) as files,
        Http.serving(offer(files.url)) as http,
        device(http) as sim,
    ):
        with pytest.raises(Exception, match="runs another firmware now: hello_world"):
            await sim.boot()


async def test_a_version_that_is_none_runs_but_crashes_at_the_next_offer() -> None:
    async with Http.serving(file(build_image(version="nightly"))) as files:
        replies = (offer(files.url), {"websocket": {}}, offer(files.url))
        async with Http.serving(*replies) as http, device(http) as sim:
            await sim.boot()
            assert sim.profile.user_agent.endswith("/nightly")
            await sim.power_off()
            with pytest.raises(Exception, match="no number in 'nightly'"):
                await sim.boot()


# The command


@pytest.mark.real_time
async def test_the_command_keeps_the_firmware_that_was_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state.json"
    websocket: Reply = {"websocket": {"url": "ws://127.0.0.1:9/"}}
    async with Http.serving(file(NEXT)) as files, Http.serving(offer(files.url), websocket) as http:
        for _ in range(2):
            assert await run_command("--url", http.url, "--state", state, "pair") == 0
            assert json.loads(state.read_text())["firmware"] == "2.5.0"
        assert capsys.readouterr().out.count("Paired") == 2
        agents = [dict(request.headers)["User-Agent"] for request in http.requests]
        assert [agent.partition("/")[2] for agent in agents] == ["2.4.2", "2.5.0", "2.5.0"]
