"""Audio in the binary framings, over a conversation."""

import pytest

from simulator import DeviceCrashed, Nvs, State
from tests.simulator.fake_server import Server, opus_packets


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_audio_is_framed_both_ways_in_the_version_of_the_check_in(version: int) -> None:
    async with Server.serving(version=version) as server, server.device() as sim:
        await sim.boot()
        await sim.click()
        session = await server.session()
        assert session.texts[0]["version"] == version
        await session.until(lambda: session.packets)
        frame = session.packets[0]
        head = {
            1: b"",
            2: b"\0\2\0\0\0\0\0\0\0\0\0\0" + (len(frame) - 16).to_bytes(4),
            3: b"\0\0" + (len(frame) - 4).to_bytes(2),
        }[version]
        assert frame.startswith(head)
        assert frame[len(head)] == 0x58
        await session.start_speaking()
        await sim.wait_for(lambda: sim.screen.status == "Speaking...")
        packet = opus_packets(1)[0]
        size = len(packet).to_bytes(4)
        await session.send({1: b"", 2: b"\0\2" + bytes(10) + size, 3: b"\0\0" + size[2:]}[version] + packet)
        await sim.wait_for(lambda: bool(sim.played))
        assert sim.speaker.failed == 0


@pytest.mark.parametrize(
    ("version", "frame"), [(2, bytes(15)), (3, b"\0\0\0\x05abcd"), (2, b"\0\2" + b"\xff" * 14)]
)
async def test_a_payload_size_beyond_the_frame_crashes(version: int, frame: bytes) -> None:
    async with Server.serving(version=version) as server, server.device() as sim:
        await sim.boot()
        await sim.click()
        await (await server.session()).send(frame)
        with pytest.raises(DeviceCrashed, match="binary frame"):
            await sim.wait_state(State.SPEAKING)


@pytest.mark.parametrize(("version", "used"), [(None, 3), ("2", 1), (2, 2)])
async def test_a_stored_version_stays_in_force_until_another_comes_and_a_string_is_none(
    server: Server, version: object, used: int
) -> None:
    nvs = Nvs()
    nvs.merge("websocket", {"version": 3})
    reply = server.http.replies[0]
    assert isinstance(reply, dict)
    reply["websocket"]["version"] = version
    async with server.device(nvs=nvs) as sim:
        await sim.boot()
        await sim.click()
        assert (await server.session()).texts[0]["version"] == used
