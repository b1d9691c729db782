"""The tools of the boards, called over a conversation."""

from dataclasses import replace
import io
import json
from typing import Any

from PIL import Image
import pytest

from simulator import BOARDS, get_profile
from simulator.board.picture import jpeg
from simulator.board.tools import board_tools
from tests.simulator.fake_server import Http, Server
from tests.simulator.talk import call, linked


async def test_status_tells_what_the_setters_set_and_the_world_is_like(server: Server) -> None:
    async with server.device() as sim:
        session = await linked(server, sim)
        await call(session, "self.audio_speaker.set_volume", volume=12)
        await call(session, "self.screen.set_brightness", brightness=34)
        await call(session, "self.screen.set_theme", theme="dark")
        sim.values["battery_level"], sim.values["rssi"] = 5, -80
        assert json.loads(await call(session, "self.get_device_status")) == {
            "audio_speaker": {"volume": 12},
            "screen": {"brightness": 34, "theme": "dark"},
            "battery": {"level": 5, "charging": False},
            "network": {"type": "wifi", "ssid": "Home", "signal": "weak"},
            "chip": {"temperature": 41.5},
        }
        assert await call(session, "self.screen.set_theme", theme="pink") == "false"
        assert sim.values["theme"] == "dark"


@pytest.mark.parametrize(
    ("board", "network"),
    [
        ("cellular", {"type": "cellular", "carrier": "CHINA MOBILE", "signal": "strong"}),
        ("ethernet", {"type": "ethernet", "state": "connected", "ip": "192.168.1.77"}),
        ("c3", {"type": "wifi", "ssid": "Home", "signal": "medium"}),
    ],
)
async def test_status_describes_every_kind_of_network(
    server: Server, board: str, network: dict[str, Any]
) -> None:
    async with server.device(profile=get_profile(board, rssi=-65)) as sim:
        session = await linked(server, sim)
        status = json.loads(await call(session, "self.get_device_status"))
        assert status["network"] == network
        assert "theme" not in status["screen"]
        assert ("chip" in status) is (board != "cellular")


@pytest.mark.parametrize(
    ("board", "calls"),
    [
        (
            "lamp",
            [
                ("self.lamp.get_state", {}, '{"power":false}'),
                ("self.lamp.turn_on", {}, "true"),
                ("self.lamp.get_state", {}, '{"power":true}'),
                ("self.lamp.turn_off", {}, "true"),
                ("self.lamp.get_state", {}, '{"power":false}'),
            ],
        ),
        (
            "led-strip",
            [
                ("self.led_strip.get_brightness", {}, "4"),
                ("self.led_strip.set_brightness", {"level": 8}, "true"),
                ("self.led_strip.get_brightness", {}, "8"),
                ("self.led_strip.set_all_color", {"red": 1, "green": 2, "blue": 3}, "true"),
            ],
        ),
        (
            "rover",
            [
                ("self.chassis.get_light_mode", {}, "0"),
                ("self.chassis.switch_light_mode", {"light_mode": 5}, "true"),
                ("self.chassis.get_light_mode", {}, "0"),
                ("self.chassis.switch_light_mode", {"light_mode": 2}, "Invalid light mode"),
            ],
        ),
        (
            "dog",
            [
                ("self.light.get_power", {}, "false"),
                ("self.light.set_rgb", {"r": 1, "g": 2, "b": 3}, "true"),
                ("self.light.get_power", {}, "true"),
                ("self.dog.basic_control", {"action": "forward"}, "true"),
                ("self.dog.basic_control", {"action": "fly"}, "false"),
            ],
        ),
        (
            "otto",
            [
                ("self.otto.get_status", {}, "idle"),
                ("self.otto.set_trim", {"servo_type": "left_foot", "trim_value": -7}, "舵机微调已保存"),
                (
                    "self.otto.get_trims",
                    {},
                    '{"left_leg":0,"right_leg":0,"left_foot":-7,"right_foot":0,"left_hand":0,"right_hand":0}',
                ),
                ("self.otto.action", {"action": "fly"}, "错误：无效的动作"),
                ("self.battery.get_level", {}, '{"level":82,"charging":false}'),
                ("self.otto.get_ip", {}, '{"ip":"192.168.1.77","connected":true}'),
                ("self.screen.get_info", {}, '{"width":240,"height":240,"monochrome":false}'),
            ],
        ),
        (
            "c3",
            [
                ("self.set_press_to_talk", {"mode": "press_to_talk"}, "true"),
                ("self.set_press_to_talk", {"mode": "shout"}, "Invalid mode: shout"),
            ],
        ),
    ],
)
async def test_board_tools_keep_their_state(
    server: Server, board: str, calls: list[tuple[str, dict[str, Any], str]]
) -> None:
    async with server.device(profile=get_profile(board)) as sim:
        session = await linked(server, sim)
        for name, arguments, text in calls:
            assert await call(session, name, **arguments) == text


@pytest.mark.parametrize("board", BOARDS)
async def test_every_tool_of_every_board_answers_or_is_known_not_to(server: Server, board: str) -> None:
    silent = {"self.reboot", "self.upgrade_firmware", "self.system.reconfigure_wifi"}
    examples: dict[str, Any] = {"integer": 1, "string": "http://127.0.0.1:1/", "boolean": True}
    async with server.device(profile=get_profile(board)) as sim:
        session = await linked(server, sim)
        for tool in board_tools(sim.profile):
            if tool.name not in silent:
                arguments = {name: examples[rule["type"]] for name, rule in tool.properties.items()}
                assert isinstance(await call(session, tool.name, **arguments), str)


@pytest.mark.parametrize("board", BOARDS)
def test_every_tool_of_a_board_is_registered_once_and_stores_only_what_it_is_given(board: str) -> None:
    tools = board_tools(get_profile(board))
    assert len({tool.name for tool in tools}) == len(tools)
    for tool in tools:
        used = [value[1:] for value in tool.set.values() if isinstance(value, str) and value[0] == "$"]
        used += [key.partition("$")[2] for key in tool.set if "$" in key]
        assert {*used, *tool.choices} <= {*tool.properties}


async def test_echo_cancellation_is_told_in_a_sentence(server: Server) -> None:
    profile = get_profile("lamp")
    async with server.device(
        profile=replace(profile, board=replace(profile.board, also=("zhengchen/cam",)))
    ) as sim:
        session = await linked(server, sim)
        off = '{"success": true, "message": "AEC对话打断模式处于关闭状态"}'
        assert await call(session, "self.AEC.get_mode") == off
        sim.values["aec_mode"] = "kAecOnDeviceSide"
        assert await call(session, "self.AEC.get_mode") == off.replace("关闭", "开启")


# Tools that fetch and send files


async def test_a_photo_is_posted_in_chunks_and_the_answer_handed_back_as_it_is(server: Server) -> None:
    async with (
        Http.serving({"success": True, "result": "A cat"}) as vision,
        server.device(profile=get_profile("camera")) as sim,
    ):
        session = await linked(server, sim)
        vision_settings = {"url": f"http://127.0.0.1:{vision.port}/vision/1", "token": "eye"}
        await session.call(1, "initialize", {"capabilities": {"vision": vision_settings}})
        text = await call(session, "self.camera.take_photo", question="What is it?")
        assert text == '{"success": true, "result": "A cat"}'
        request = vision.requests[0]
        assert request.line == "POST /vision/1 HTTP/1.1"
        assert [name for name, _ in request.headers] == [
            "Host",
            "Authorization",
            "Client-Id",
            "Content-Type",
            "Device-Id",
            "Transfer-Encoding",
            "Connection",
        ]
        assert dict(request.headers)["Authorization"] == "Bearer eye"
        question, photo = request.body.split(b"------ESP32_CAMERA_BOUNDARY\r\n")[1:]
        assert question == b'Content-Disposition: form-data; name="question"\r\n\r\nWhat is it?\r\n'
        head, _, rest = photo.partition(b"\r\n\r\n")
        assert head == (
            b'Content-Disposition: form-data; name="file"; filename="camera.jpg"\r\nContent-Type: image/jpeg'
        )
        assert rest.startswith(b"\xff\xd8")
        assert rest.endswith(b"\xff\xd9\r\n------ESP32_CAMERA_BOUNDARY--\r\n")


async def test_the_camera_sees_the_colour_that_is_before_it() -> None:
    for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255), (250, 240, 20)):
        with Image.open(io.BytesIO(jpeg(320, 240, colour))) as picture:
            assert picture.size == (320, 240)
            mean = picture.convert("RGB").resize((1, 1)).getpixel((0, 0))
        assert mean == pytest.approx(colour, abs=6)
    assert jpeg(320, 240) != jpeg(320, 240, (200, 200, 200))


async def test_a_board_of_peoples_own_has_the_tools_of_several(server: Server) -> None:
    async with (
        Http.serving({"success": True, "result": "Red"}) as vision,
        server.device(profile=get_profile("rover")) as sim,
    ):
        session = await linked(server, sim)
        await session.call(1, "initialize", {"capabilities": {"vision": {"url": vision.url}}})
        assert await call(session, "self.led_strip.set_all_color", red=1, green=2, blue=3) == "true"
        assert await call(session, "self.chassis.go_forward") == "true"
        assert (sim.values["led_green"], sim.values["motion"]) == (2, "go_forward")
        sim.values["view"] = (255, 0, 0)
        assert json.loads(await call(session, "self.camera.take_photo", question="?"))["result"] == "Red"
        assert jpeg(320, 240, (255, 0, 0)) in vision.requests[0].body


@pytest.mark.parametrize(
    ("status", "message"),
    [(None, "Image explain URL or token is not set"), (500, "Failed to upload photo, status code: 500")],
)
async def test_a_photo_that_cannot_be_sent_is_an_error(
    server: Server, status: int | None, message: str
) -> None:
    async with Http.serving(status or 200) as vision, server.device(profile=get_profile("camera")) as sim:
        session = await linked(server, sim)
        if status is not None:
            await session.call(1, "initialize", {"capabilities": {"vision": {"url": vision.url}}})
        assert await call(session, "self.camera.take_photo", question="?") == message


@pytest.mark.parametrize(("status", "text"), [(200, "true"), (404, "Unexpected status code: 404")])
async def test_a_snapshot_is_posted_without_saying_who_it_is_from(
    server: Server, status: int, text: str
) -> None:
    reply = b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n\r\nok" % status
    async with Http.serving(reply) as files, server.device() as sim:
        session = await linked(server, sim)
        assert await call(session, "self.screen.snapshot", url=files.url) == text
        names = {name for name, _ in files.requests[0].headers}
        assert names == {"Host", "Content-Type", "Transfer-Encoding", "Connection"}
        assert b'filename="screenshot.jpg"' in files.requests[0].body


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n\x89PNG\r\n\x1a\nrest", "true"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nGIF8", "Failed to decode image"),
        (b"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\nrest", "Failed to download image"),
        (404, "Failed to download image"),
        (b"", "Failed to download image"),
    ],
)
async def test_an_image_needs_status_200_and_a_length(server: Server, reply: bytes | int, text: str) -> None:
    async with Http.serving(reply) as files, server.device() as sim:
        session = await linked(server, sim)
        answer = await call(session, "self.screen.preview_image", url=files.url)
        assert answer.startswith(text)
        assert bool([event for event in sim.events("screen") if "image" in event]) is (text == "true")
