"""The command: pairing and whole conversations, in a thread or process of its own."""

import asyncio
import json
import os
from pathlib import Path
import signal
import sys
import wave

import pytest

from simulator.audio.espeak import synthesize
from simulator.cli import main
from tests.paths import ROOT
from tests.simulator.fake_mqtt import MqttServer
from tests.simulator.fake_server import Server
from tests.simulator.ogg_file import FileServer, music, plain

pytestmark = pytest.mark.real_time

CODE = {"activation": {"code": "424242", "message": "Add me", "challenge": "riddle"}}


async def run_command(*arguments: str | Path) -> int:
    """Run the command beside the test's servers."""
    return await asyncio.to_thread(main, [str(argument) for argument in arguments])


async def test_the_command_pairs_and_keeps_the_flash_for_the_next_call(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "folder" / "state.json"
    server.http.replies.extendleft([200, CODE])
    assert (
        await run_command("--url", server.http.url, "--state", state, "--mac", "02:AA:00:00:00:01", "pair")
        == 0
    )
    assert capsys.readouterr().out == "Code: 424242\nPaired; the link is WebSocket.\n"
    assert state.stat().st_mode & 0o777 == 0o600
    saved = json.loads(state.read_text())
    assert saved["mac"] == "02:AA:00:00:00:01"
    assert saved["nvs"]["websocket"]["token"] == "secret"
    assert await run_command("--state", state, "pair") == 0
    assert capsys.readouterr().out == "Paired; the link is WebSocket.\n"
    first, last = (dict(server.http.requests[index].headers) for index in (0, -1))
    assert first["Client-Id"] == last["Client-Id"]
    assert first["Device-Id"] == last["Device-Id"] == "02:aa:00:00:00:01"
    assert await run_command("--state", state, "pair", "--reset") == 0
    assert dict(server.http.requests[-1].headers)["Client-Id"] != first["Client-Id"]


async def test_the_command_says_a_text_and_writes_what_it_heard(
    butler: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.wav"
    state = tmp_path / "state.json"
    arguments = ("--url", butler.http.url, "--state", state, "--board", "c3", "--firmware", "2.2.2")
    assert await run_command(*arguments, "say", "Hello there", "--out", out, "--json") == 0
    account = json.loads(capsys.readouterr().out)
    assert account["answers"] == ["Hello yourself."]
    assert account["late_percent"] >= 0
    with wave.open(str(out)) as file:
        assert (file.getframerate(), file.getnchannels()) == (24000, 1)
        assert file.getnframes() / 24000 == pytest.approx(0.6, abs=0.01)
    assert dict(butler.http.requests[0].headers)["User-Agent"] == "xmini-c3/2.2.2"


async def test_the_command_prints_a_transcript(
    butler: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = tmp_path / "hello.wav"
    with wave.open(str(sound), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(synthesize("Hello there", sample_rate=16000)[0])
    assert await run_command("--url", butler.http.url, "--state", tmp_path / "state.json", "say", sound) == 0
    lines = [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines()]
    for line in ("is listening", "user: hello there", "looks happy", "assistant: Hello yourself.", "is idle"):
        assert line in lines


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (500, "status 500"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "not a JSON object"),
        ({"firmware": {"version": "latest", "url": "x"}}, "the device crashed"),
    ],
)
async def test_the_command_says_why_it_cannot_check_in(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], reply: object, words: str
) -> None:
    server.http.replies.appendleft(reply)  # type: ignore[arg-type]
    assert await run_command("--url", server.http.url, "--state", tmp_path / "s.json", "pair") == 1
    assert words in capsys.readouterr().err


async def test_the_command_says_that_there_was_no_answer(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def hang_up() -> None:
        session = await server.session()
        await session.until(lambda: len(session.packets) > 40)
        await session.connection.close()

    task = asyncio.create_task(hang_up())
    assert await run_command("--url", server.http.url, "--state", tmp_path / "s.json", "say", "hi") == 1
    assert "without an answer" in capsys.readouterr().err
    await task


async def test_the_command_says_that_the_device_is_to_be_paired_first(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.http.replies.appendleft(CODE)
    assert await run_command("--url", server.http.url, "--state", tmp_path / "s.json", "say", "hi") == 1
    assert "pair it first" in capsys.readouterr().err


async def test_the_command_gives_up_waiting_for_the_digits(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.http.replies.extendleft([202, CODE])
    arguments = ("--url", server.http.url, "--state", tmp_path / "s.json", "--timeout", "0.5", "pair")
    assert await run_command(*arguments) == 1
    assert "gave up after 0.5 s; the device is activating" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "no address is known"), ("[]", "not a state file"), ('{"nvs":{}}', "not a state file")],
)
async def test_the_command_needs_an_address_and_a_sound_state_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, words: str
) -> None:
    state = tmp_path / "state.json"
    if content is not None:
        state.write_text(content)
    assert await run_command("--state", state, "pair") == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--board", "toaster", "pair"], ["--misbehave", "nicely", "pair"]])
def test_wrong_usage_has_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err


async def test_the_command_tells_when_the_server_chose_another_link(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--url", server.http.url, "--state", tmp_path / "s.json", "--link")
    assert await run_command(*arguments, "mqtt", "say", "hi") == 1
    assert "the server chose WebSocket for this device" in capsys.readouterr().err
    assert await run_command(*arguments, "websocket", "pair") == 0


async def test_the_command_keeps_a_device_in_touch_over_mqtt_and_tells_what_it_plays(tmp_path: Path) -> None:
    async with MqttServer.serving() as server, FileServer.serving(plain(music(5))) as files:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "simulator", "--url", server.http.url, "--state", tmp_path / "s.json"),
            *("--link", "mqtt", "--firmware", "2.5.0", "--ogg", "strict", "run"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert process.stdout is not None
        async with asyncio.timeout(60):
            for words in (b"is connected to the server", b"the link is MQTT"):
                while words not in await process.stdout.readline():
                    pass
            server.sessions[0].send(files.notify((0, "Dinner is ready.")))
            lines: list[str] = []
            while not lines or lines[-1] != "announcement played":
                lines.append((await process.stdout.readline()).decode().split(maxsplit=1)[1].strip())
            server.sessions[0].writer.transport.abort()
            while b"is not connected: the server has closed" not in await process.stdout.readline():
                pass
            process.send_signal(signal.SIGTERM)
            await process.stdout.read()
            assert await process.wait() == 0
    assert [line for line in lines if line.startswith(("plays", "assistant", "announcement"))] == [
        f"plays {files.notify()['audio_url']}",
        "assistant: Dinner is ready.",
        "announcement played",
    ]


async def test_the_command_stays_on_says_what_is_typed_and_clicks(butler: Server, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "simulator", "--url", butler.http.url, "--state", str(tmp_path / "s.json"), "run"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"Hello there\n")
    async with asyncio.timeout(30):
        while b"assistant: Hello yourself." not in await process.stdout.readline():
            pass
        while b"is idle" not in await process.stdout.readline():
            pass
        process.stdin.write(b"\n")
        await butler.session(2)
        process.send_signal(signal.SIGTERM)
        await process.stdout.read()
        assert await process.wait() == 0
