"""Check-in, back-off and activation."""

import asyncio
from collections.abc import Awaitable, Callable
import hashlib
import hmac
import json
from typing import override

import pytest

from simulator import DeviceCrashed, Nvs, Pace, SimulatedDevice, State, get_profile
from simulator.board.profile import Profile
from tests.simulator.fake_server import FAST, Http, Reply, Request

WEBSOCKET: Reply = {"websocket": {"url": "ws://127.0.0.1:9/x", "token": "t", "version": 1}}
CODE: Reply = {"activation": {"code": "123456", "message": "Add me", "challenge": "riddle"}}


def device(http: Http, *, profile: Profile | None = None, **options: object) -> SimulatedDevice:
    return SimulatedDevice(profile, http.url, **{"pace": FAST} | options)  # type: ignore[arg-type]


async def boot(*replies: Reply, profile: Profile | None = None) -> list[Request]:
    async with Http.serving(*replies) as http, device(http, profile=profile) as sim:
        await sim.boot()
        return http.requests


async def test_the_request_has_exactly_the_headers_of_the_firmware_in_their_order() -> None:
    request = (await boot(WEBSOCKET, profile=get_profile("s3", "2.4.2", language="de-DE")))[0]
    headers = dict(request.headers)
    assert request.line == "POST /ota HTTP/1.1"
    assert [name for name, _ in request.headers] == [
        "Host",
        "Accept-Language",
        "Activation-Version",
        "Client-Id",
        "Content-Type",
        "Device-Id",
        "User-Agent",
        "Content-Length",
        "Connection",
    ]
    assert headers["Host"].startswith("127.0.0.1:")
    assert headers["Accept-Language"] == "de-DE"
    assert headers["Activation-Version"] == "1"
    assert headers["Content-Type"] == "application/json"
    assert headers["Device-Id"] == "24:6f:28:aa:bb:01"
    assert headers["User-Agent"] == "waveshare-esp32-s3-touch-amoled-1.8/2.4.2"
    assert headers["Connection"] == "close"
    assert headers["Content-Length"] == str(len(request.body))


async def test_the_body_holds_a_number_as_a_string() -> None:
    body = json.loads((await boot(WEBSOCKET))[0].body)
    assert body["version"] == 2
    assert body["minimum_free_heap_size"] == "8318916"
    assert body["display"] == {"monochrome": False, "width": 368, "height": 448}
    assert body["board"]["ssid"] == "Home"
    assert body["board"]["manufacturer"] == ""
    assert body["uuid"]


@pytest.mark.parametrize(
    ("version", "absent"), [("1.9.4", "display"), ("2.0.0", "display"), ("2.4.0", "manufacturer")]
)
async def test_older_firmware_says_less(version: str, absent: str) -> None:
    body = json.loads((await boot(WEBSOCKET, profile=get_profile(version=version)))[0].body)
    assert absent not in body
    assert absent not in body["board"]


@pytest.mark.parametrize(("board", "key"), [("cellular", "csq"), ("ethernet", "network")])
async def test_other_networks_are_described_by_other_fields(board: str, key: str) -> None:
    body = json.loads((await boot(WEBSOCKET, profile=get_profile(board)))[0].body)
    assert isinstance(body["board"][key], str)
    assert "ssid" not in body["board"]


async def test_a_quote_in_the_network_name_breaks_the_body_but_not_the_check_in() -> None:
    request = (await boot(WEBSOCKET, profile=get_profile(ssid='Bob"s')))[0]
    assert b'"ssid":"Bob"s"' in request.body
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(request.body)


@pytest.mark.parametrize(
    "failure",
    [
        500,
        204,
        b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnot json",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"",
    ],
)
async def test_only_a_json_object_with_status_200_is_an_answer(failure: Reply) -> None:
    async with Http.serving(failure, WEBSOCKET) as http, device(http) as sim:
        await sim.boot()
        assert sim.state is State.ACTIVATING
        assert sim.screen.status == "ERROR"
        await sim.wait_state(State.IDLE)
        assert [request.path for request in http.requests] == ["/ota", "/ota"]


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"web\r\nc\r\nsocket":{}}\n\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\n\r\n{"websocket":{}}',
        b'HTTP/1.0 200 OK\r\nContent-Length: 16\r\n\r\n{"WebSocket":{}}',
    ],
)
async def test_bodies_may_be_chunked_or_end_with_the_connection_and_names_are_of_any_case(
    answer: bytes,
) -> None:
    async with Http.serving(answer) as http, device(http) as sim:
        await sim.boot()
        assert sim.events("transport") == [{"name": "websocket"}]


async def test_a_silent_server_is_given_up_after_the_time_out() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    pace = Pace(waits=0.1, timeouts=0.02)
    async with SimulatedDevice(None, f"http://127.0.0.1:{port}/ota", pace=pace) as sim:
        await sim.boot()
        assert sim.events("http") == [{"url": f"http://127.0.0.1:{port}/ota", "error": "timed out"}]
    silent.close()
    await silent.wait_closed()


async def test_after_ten_failures_with_doubling_waits_the_transport_is_mqtt_from_the_flash() -> None:
    pace = Pace(waits=0.0005, timeouts=0.2)
    async with Http.serving(503) as http, device(http, pace=pace) as sim:
        await sim.boot()
        await sim.wait_paired()
        waits = [
            (later - earlier) / pace.waits for earlier, later in zip(http.times, http.times[1:], strict=False)
        ]
        assert len(http.requests) == 10
        assert waits == pytest.approx([10, 20, 40, 80, 160, 320, 640, 1280, 2560])
        assert sim.events("transport") == [{"name": "mqtt"}]
        await sim.click()
        await sim.wait_for(lambda: sim.last_error == "SERVER_NOT_FOUND")


async def test_a_click_cuts_the_wait_and_the_attempts_follow_a_second_apart() -> None:
    pace = Pace(waits=0.1, timeouts=0.2, main_loop_delay=0)
    async with Http.serving(503, 503, 503, WEBSOCKET) as http, device(http, pace=pace) as sim:
        await sim.boot()
        await sim.click()
        await sim.wait_paired()
        assert http.times[-1] - http.times[1] < 10 * pace.waits
        assert sim.state is State.IDLE


@pytest.mark.parametrize(
    ("reply", "transport"),
    [
        (WEBSOCKET, "websocket"),
        ({"mqtt": {}, "websocket": {"url": "ws://127.0.0.1:9/"}}, "mqtt"),
        ({"server_time": {"timestamp": 1}}, "mqtt"),
        ({"error": "no such device"}, "mqtt"),
        ({"websocket": "ws://127.0.0.1:9/"}, "mqtt"),
    ],
)
async def test_an_mqtt_object_wins_even_empty_and_nothing_at_all_means_mqtt_too(
    reply: Reply, transport: str
) -> None:
    async with Http.serving(reply) as http, device(http) as sim:
        await sim.boot()
        assert sim.events("transport") == [{"name": transport}]


async def test_mqtt_from_an_earlier_life_is_used_when_the_reply_names_no_transport() -> None:
    nvs = Nvs()
    nvs.merge("mqtt", {"endpoint": "127.0.0.1:9"})
    async with Http.serving({"error": "oops"}) as http, device(http, nvs=nvs) as sim:
        await sim.boot()
        await sim.wait_for(lambda: sim.last_error == "SERVER_NOT_CONNECTED")


@pytest.mark.parametrize("endpoint", ["mqtt://192.168.1.2:1883", "host:"])
async def test_an_endpoint_with_text_behind_the_first_colon_crashes(endpoint: str) -> None:
    async with Http.serving({"mqtt": {"endpoint": endpoint}}) as http, device(http) as sim:
        with pytest.raises(DeviceCrashed, match="stoi"):
            await sim.boot()
        assert sim.crash is not None
        assert sim.state is State.UNKNOWN


@pytest.mark.parametrize("version", ["v2.0", "1..2", "latest", "99999999999.1"])
async def test_a_firmware_version_that_is_no_number_crashes(version: str) -> None:
    reply: Reply = {"firmware": {"version": version, "url": "http://127.0.0.1:9/f.bin"}}
    async with Http.serving(reply) as http, device(http) as sim:
        with pytest.raises(DeviceCrashed, match="stoi"):
            await sim.boot()


async def test_a_member_name_of_more_than_15_bytes_crashes() -> None:
    async with (
        Http.serving({"websocket": {"url": "x", "integration_name": "y"}}) as http,
        device(http) as sim,
    ):
        with pytest.raises(DeviceCrashed, match="15 bytes"):
            await sim.boot()


@pytest.mark.parametrize(("version", "crashes"), [("2.4.2", True), ("1.9.4", False)])
async def test_a_large_body_hangs_the_device_since_2_0(version: str, crashes: bool) -> None:
    reply: Reply = {"websocket": {}, "padding": "x" * 8192}
    async with Http.serving(reply) as http, device(http, profile=get_profile(version=version)) as sim:
        if crashes:
            with pytest.raises(DeviceCrashed, match="dead-locked"):
                await sim.boot()
        else:
            await sim.boot()
            assert sim.state is State.IDLE


async def test_too_short_an_address_is_not_even_tried() -> None:
    async with SimulatedDevice(None, "http://a", pace=FAST) as sim:
        await sim.boot()
        assert sim.screen.status == "ERROR"
        assert sim.check_in_error == "the address is too short"
        assert sim.events("http") == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/ota", "127.0.0.1/ota/x"])
async def test_an_address_of_another_kind_is_a_failure(url: str) -> None:
    async with SimulatedDevice(None, url, pace=FAST) as sim:
        await sim.boot()
        assert "not an http or https address" in sim.events("http")[0]["error"]


async def test_pairing_shows_and_speaks_the_code_and_polls_until_200() -> None:
    async with Http.serving(CODE, 202, 202, 200, WEBSOCKET) as http, device(http) as sim:
        await sim.boot()
        assert [sim.pairing_code] == ["123456"]
        assert sim.screen.system_text == "Add me"
        assert {"spoken": "123456"} in sim.events("sound")
        await sim.wait_paired()
        assert (sim.state, sim.pairing_code) == (State.IDLE, None)
        assert [request.path for request in http.requests] == ["/ota", *3 * ["/ota/activate"], "/ota"]
        assert http.requests[1].body == b"{}"
        assert [name for name, _ in http.requests[1].headers] == [
            name for name, _ in http.requests[0].headers
        ]


async def test_the_poll_waits_three_seconds_after_202_ten_otherwise_and_none_after_200() -> None:
    waits: list[float] = []

    class RecordingPace(Pace):
        @override
        async def wait(self, seconds: float) -> None:
            waits.append(seconds)

    async with (
        Http.serving(CODE, 202, 500, 200, WEBSOCKET) as http,
        device(http, pace=RecordingPace()) as sim,
    ):
        await sim.boot()
        await sim.wait_paired()
        assert len(http.requests) == 5
        assert waits == [3, 10]


async def test_an_activation_that_cannot_connect_is_tried_again() -> None:
    async with Http.serving(CODE, b"", 200, WEBSOCKET) as http, device(http) as sim:
        await sim.boot()
        await sim.wait_paired()
        assert sim.check_in_error == ""
        assert len(http.requests) == 4


async def test_after_ten_rounds_everything_starts_over() -> None:
    async with Http.serving(CODE, *10 * [202], CODE, 200, WEBSOCKET) as http, device(http) as sim:
        await sim.boot()
        await sim.wait_paired()
        paths = [request.path.removeprefix("/ota") for request in http.requests]
        assert paths == ["", *10 * ["/activate"], "", "/activate", ""]
        assert sim.events("sound").count({"spoken": "123456"}) == 2


@pytest.mark.parametrize(
    ("suffix", "path"),
    [("/", "/ota/activate"), ("", "/ota/activate"), ("?key=1", "/ota?key=1/activate")],
)
async def test_the_activation_address_is_the_check_in_address_with_text_behind_it(
    suffix: str, path: str
) -> None:
    async with (
        Http.serving(CODE, 200, WEBSOCKET) as http,
        SimulatedDevice(None, http.url + suffix, pace=FAST) as sim,
    ):
        await sim.boot()
        await sim.wait_paired()
        assert http.requests[1].path == path


async def test_a_code_without_challenge_is_never_posted_and_leads_to_a_check_in_every_100_seconds() -> None:
    pace = Pace(waits=0.001, timeouts=0.2)
    code: Reply = {"activation": {"code": "99", "message": "x"}}
    async with Http.serving(code, WEBSOCKET) as http, device(http, pace=pace) as sim:
        await sim.boot()
        await sim.wait_paired()
        assert [request.path for request in http.requests] == ["/ota", "/ota"]
        assert http.times[1] - http.times[0] == pytest.approx(100 * pace.waits)


async def test_a_click_during_activation_leaves_one_poll_for_every_check_in() -> None:
    async with Http.serving(CODE, 202, CODE, 202, CODE, 202, WEBSOCKET) as http, device(http) as sim:
        await sim.boot()
        await sim.click()
        await sim.wait_paired()
        paths = [request.path.removeprefix("/ota") for request in http.requests]
        assert paths == ["", "/activate", "", "/activate", "", "/activate", ""]


@pytest.mark.parametrize("act", [SimulatedDevice.wake, SimulatedDevice.press])
async def test_other_ways_to_interrupt_an_activation_lead_to_idle_too(
    act: Callable[[SimulatedDevice], Awaitable[None]],
) -> None:
    async with Http.serving(CODE, 202) as http, device(http) as sim:
        await sim.boot()
        await act(sim)
        await sim.wait_state(State.IDLE)


async def test_a_device_with_a_serial_number_signs_the_challenge() -> None:
    profile = get_profile(serial_number="SN-1", hmac_key=b"key")
    async with Http.serving(CODE, 200, WEBSOCKET) as http, device(http, profile=profile) as sim:
        await sim.boot()
        await sim.wait_paired()
        assert ("Activation-Version", "2") in http.requests[0].headers
        assert ("Serial-Number", "SN-1") in http.requests[0].headers
        assert json.loads(http.requests[1].body) == {
            "algorithm": "hmac-sha256",
            "serial_number": "SN-1",
            "challenge": "riddle",
            "hmac": hmac.new(b"key", b"riddle", hashlib.sha256).hexdigest(),
        }


async def test_a_device_that_was_reset_has_another_client_id_and_no_settings() -> None:
    async with Http.serving(WEBSOCKET) as http, device(http) as sim:
        await sim.boot()
        client_id = sim.client_id
        await sim.factory_reset()
        assert sim.nvs.get_string("websocket", "url") == ""
        await sim.boot()
        assert sim.client_id != client_id
        assert dict(http.requests[1].headers)["Client-Id"] == sim.client_id


async def test_the_client_id_lives_in_the_flash() -> None:
    async with Http.serving(WEBSOCKET) as http:
        async with device(http) as sim:
            await sim.boot()
        again = device(http, nvs=Nvs.load(sim.nvs.dump()))
        assert again.client_id == sim.client_id
        assert again.nvs.get_string("websocket", "url") == "ws://127.0.0.1:9/x"
