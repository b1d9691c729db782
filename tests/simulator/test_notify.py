"""`notify` of 2.5: what an idle device accepts, how it fetches and plays a file, and what ends it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from simulator import Outcome
from simulator.audio.ogg import OggDemuxer, OggError, OggReader
from tests.simulator.fake_server import opus_packets
from tests.simulator.ogg_file import HEAD, TAGS, Serve, chunked, music, ogg, page, plain, until_close
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    IDLE_MQTT,
    TTS_START,
    TTS_STOP,
    Stage,
    Step,
    Trace,
    device,
    hangs_up,
    replay,
    replays,
    sees,
    server,
    still,
    trace,
    user,
    waits,
)

BODY, SONG = music(10), music(50)
OK = b"HTTP/1.1 200 OK\r\n\r\n"
GOODBYE = {"type": "goodbye", "session_id": "session-1"}


def notify(*subtitles: tuple[float, str], **changes: Any) -> Step:
    """Have the device play the file."""

    async def row(on: Stage) -> None:
        await on.send(on.files.notify(*subtitles) | changes)

    return row


def ends(outcome: Outcome, reason: str = "", *, number: int = 1, **facts: Any) -> Step:
    """Expect that the announcement of that number ends so, with these attributes."""

    async def row(on: Stage) -> None:
        announced = await on.sim.wait_announced(number, 300)
        assert (announced.outcome, announced.reason[: len(reason)]) == (outcome, reason), announced.reason
        for name, wanted in facts.items():
            found = getattr(announced, name) if hasattr(announced, name) else FACTS[name](announced)
            assert wanted(found) if callable(wanted) else found == wanted, (name, found)

    return row


FACTS: dict[str, Callable[[Any], Any]] = {
    "frames": lambda announced: len(announced.played),
    "seconds": lambda announced: announced.ended - announced.began,
    "texts": lambda announced: [
        (round(time - announced.played[0].time, 2), text) for time, text in announced.shown
    ],
}


def about(seconds: float, tolerance: float = 0.1) -> Callable[[float], bool]:
    return lambda found: abs(found - seconds) < tolerance


def heads(*texts: str) -> Step:
    """Expect that the file was asked for just so."""

    async def row(on: Stage) -> None:
        assert on.files.heads == [text.replace("PORT", str(on.files.port)) for text in texts]

    return row


def slowly(*parts: bytes, pause: float = 0) -> Serve:
    """Return an answer that pauses before each part, and then sends nothing more."""

    async def serve(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            await asyncio.sleep(pause)
            writer.write(part)
        await asyncio.sleep(60)

    return serve


def idle(section: str, *rows: Step, files: Serve | None = None, **fields: Any) -> Trace:
    """Return a trace of an idle 2.5 over MQTT."""
    fields = {"version": "2.5.0", "link": "mqtt"} | fields
    return trace(section, *IDLE_MQTT, *rows, files=files or plain(BODY), **fields)


PLAYING = (notify((0, "Now."), (2900, "Then.")), sees(played_seconds=lambda seconds: seconds > 0.2))
BAD_SUBTITLES = [
    {"start_ms": -1, "text": "negative"},
    {"start_ms": 2**32, "text": "too late"},
    {"start_ms": "0", "text": "no number"},
    {"start_ms": 0, "text": None},
    {"text": "no start"},
    "no object",
    {"START_MS": 61.9, "text": "Good."},
]
REQUEST = (
    "GET /file/secret.ogg HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAccept: audio/ogg, application/ogg\r\n"
    "Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
)
PLAYED_WHOLLY = ends(
    Outcome.PLAYED,
    read=len(SONG),
    frames=50,
    underruns=0,
    seconds=about(3.54),
    texts=[(0, "One."), (1.5, "Two.")],
)
ACCEPTED = {
    "fetched and played": idle(
        "K.4",
        notify((0, "One."), (1500, "Two.")),
        sees(state="notifying"),
        sees(status="Speaking..."),
        PLAYED_WHOLLY,
        heads(REQUEST),
        sees(state="idle", assistant_text="", own_seconds=about(0.54, 0.01)),
        files=plain(SONG),
    ),
    **{
        f"{name} of the wrong type": idle(
            "K.2", notify(**change), ends(Outcome.IGNORED, reason), heads(), still(state="idle")
        )
        for name, reason, change in (
            ("audio_url", "audio_url is no text", {"audio_url": 5}),
            ("subtitles", "subtitles is no array", {"subtitles": None}),
        )
    },
    "bad subtitles are left out": idle(
        "K.2", notify(subtitles=BAD_SUBTITLES), ends(Outcome.PLAYED, frames=10), still(captions=["Good."])
    ),
    "another kind of address": idle(
        "K.2", notify(audio_url="HTTP://127.0.0.1/x"), ends(Outcome.FAILED, "the address is neither")
    ),
    "not while it listens": idle(
        "K.2", user("click"), *HELLO_AND_LISTEN, notify(), ends(Outcome.IGNORED, "the device is listening")
    ),
    "a second one meanwhile": idle(
        "K.8",
        notify(),
        notify(),
        ends(Outcome.IGNORED, "the device is notifying", number=2),
        ends(Outcome.PLAYED),
    ),
    "a push-to-talk channel over WebSocket": trace(
        "K.2",
        user("boot"),
        user("press"),
        user("release"),
        *HELLO_AND_LISTEN,
        device(type="listen", state="stop"),
        notify(),
        ends(Outcome.PLAYED),
        sees(state="idle", channel_open=True),
        version="2.5.0",
        files=plain(BODY),
    ),
    "2.4.2 does not know it": idle(
        "K", notify(), waits(0.5), heads(), still(announcements=[], state="idle"), version="2.4.2"
    ),
    **{
        f"packets of {duration} ms at {rate} Hz": idle(
            "K.4",
            notify((600, "Half.")),
            ends(Outcome.PLAYED, seconds=about(1.74), texts=lambda texts: about(0.6, 0.07)(texts[0][0])),
            files=plain(music(1200 // duration, rate=rate, duration=duration)),
        )
        for rate, duration in ((8000, 60), (48000, 10), (12000, 120))
    },
    "of subtitles that are due together the last, and none twice": idle(
        "K.6",
        notify((600, "Third."), (0, "First."), (20, "Second."), (30, "Second."), (650, "4"), (650.9, "")),
        ends(Outcome.PLAYED, texts=[(0, "First."), (0.06, "Second."), (0.6, "Third."), (0.66, "")]),
        files=plain(music(15)),
    ),
    "it reads only a little ahead: some 14 KB and 1.2 s of sound, of a file of 90 KB": idle(
        "K.5",
        notify(),
        sees(played_seconds=lambda seconds: seconds > 2),
        still(announcements=lambda made: 10_000 < made[0].read < 40_000),
        files=plain(ogg(opus_packets(500, steady=True))),
    ),
}
ENDS = {
    **{
        f"a body {name}": idle("K.3", notify(), ends(Outcome.PLAYED, read=len(BODY), frames=10), files=serve)
        for name, serve in {"until the close": until_close(BODY), "in chunks": chunked(BODY)}.items()
    },
    **{
        f"a bad answer: {name}": idle(
            "K.3", notify(), ends(Outcome.FAILED, frames=lambda frames: frames < 10), files=serve
        )
        for name, serve in {
            "a redirect": plain(BODY, "301 X"),
            "too short": plain(BODY, length=len(BODY) + 1),
            "no last chunk": chunked(BODY, end=b""),
        }.items()
    },
    **{
        f"nothing behind {answer}": idle(
            "K.3", notify(), ends(Outcome.FAILED, "timed out", seconds=about(5)), files=slowly(answer)
        )
        for answer in (b"", b"HTTP/1.1 200 OK\r\n", OK)
    },
    "no limit while something comes": idle(
        "K.5",
        notify(),
        ends(Outcome.PLAYED, frames=10, underruns=lambda number: number > 2),
        files=slowly(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY),
            *(BODY[start : start + 200] for start in range(0, len(BODY), 200)),
            pause=4.5,
        ),
    ),
    "an unnoticed loss of the network": idle(
        "K.7", *PLAYING, user("cut_network"), ends(Outcome.FAILED, "timed out"), files=plain(music(400))
    ),
    **{
        f"the end by {act}": idle(
            "K.7", *PLAYING, user(act), ends(Outcome.CANCELLED, reason), *rows, files=plain(SONG)
        )
        for act, reason, rows in (
            ("wake", "the wake word", (device(type="hello"), device(state="detect"), device(state="start"))),
            ("press", "the talk button", (device(type="hello"), device(state="start", mode="manual"))),
            ("release", "", (still(state="idle"),)),
            ("lose_network", "the loss of the Wi-Fi", (sees(state="idle"),)),
        )
    },
    "a C3 does not hear the wake word": idle(
        "K.7",
        *PLAYING,
        user("wake"),
        still(state="notifying"),
        ends(Outcome.PLAYED),
        board="c3",
        files=plain(SONG),
    ),
    "busy until the task has noticed": idle(
        "K.8",
        notify(),
        waits(1),
        user("release"),
        waits(1),
        notify(),
        ends(Outcome.IGNORED, "the player is busy", number=2),
        waits(4),
        notify(),
        sees(state="notifying"),
        files=slowly(OK + SONG[: len(SONG) // 6]),
    ),
    "a message that cannot be sent": idle(
        "K.7",
        *PLAYING,
        hangs_up(),
        sees(connected=False, state="notifying"),
        user("notify", "notifications/message"),
        ends(Outcome.CANCELLED, "an error of the connection"),
        still(last_error="SERVER_ERROR", status="ERROR"),
        files=plain(SONG),
    ),
    "an answer meanwhile is not heard": idle(
        "K.7", *PLAYING, server(TTS_START, TTS_STOP), ends(Outcome.PLAYED, frames=50), files=plain(SONG)
    ),
    "a goodbye makes it seem idle": idle(
        "K.7",
        user("click"),
        *HELLO_AND_LISTEN,
        server(GOODBYE),
        sees(state="idle"),
        *PLAYING,
        server(GOODBYE),
        sees(state="idle"),
        notify(),
        ends(Outcome.IGNORED, "the player is busy", number=2),
        ends(Outcome.PLAYED, frames=50, texts=[(0, "Now.")]),
        files=plain(SONG),
    ),
}


@replays(ACCEPTED | ENDS)
async def test_notify(trace: Trace) -> None:
    await replay(trace)


PACKETS = opus_packets(20)
FILE = ogg(PACKETS)
EVERY, STRICT, OLD = "lax old strict", "strict", "old"


def broken(number: int, **fields: int) -> bytes:
    """Return a file whose page of that number has other fields than it should."""
    right: list[dict[str, int]] = [{"flags": 2}, {"sequence": 1}, {"sequence": 2, "granule": 28800}]
    right.append({"sequence": 3, "granule": 57600, "flags": 4})
    contents = [[HEAD], [TAGS], PACKETS[:10], PACKETS[10:20]]
    return b"".join(
        page(content, **(given | (fields if place == number else {})))
        for place, (content, given) in enumerate(zip(contents, right, strict=True))
    )


@pytest.mark.parametrize(
    ("file", "refused_by"),
    [
        (FILE, ""),
        (ogg(PACKETS, tags=TAGS + bytes(2048 - len(TAGS))), ""),
        (ogg(PACKETS, tags=TAGS + bytes(2049 - len(TAGS))), EVERY),
        (b"", EVERY),
        (ogg([]), EVERY),
        (FILE[:-1], EVERY),
        (FILE + b"x", EVERY),
        (ogg(PACKETS, head=HEAD[:9] + b"\x02" + HEAD[10:]), EVERY),
        (ogg([b"\x03"]), EVERY),
        (ogg([bytes((3 << 3 | 3, 3)) + bytes(30)]), EVERY),
        (ogg([*PACKETS[:3], PACKETS[0][:2] + bytes(253)]), OLD),
        (broken(3, granule=57000), ""),
        (b"junk" + FILE, STRICT),
        (broken(2, crc=5), STRICT),
        (broken(2, serial=8), STRICT),
        (broken(2, sequence=3), STRICT),
        (broken(0, flags=0), STRICT),
        (broken(2, flags=1), STRICT),
        (broken(2, flags=4), STRICT),
        (broken(3, flags=0), STRICT),
        (broken(1, granule=1), STRICT),
        (broken(2, granule=28799), STRICT),
        (broken(3, granule=57601), STRICT),
        (ogg(PACKETS, tags=TAGS[:12]), STRICT),
        (ogg([bytes((8 << 3 | 3, 3)) + bytes(30)]), STRICT),
    ],
    ids=range(25),
)
def test_what_each_reader_of_ogg_refuses(file: bytes, refused_by: str) -> None:
    """K.4, in pieces of any size."""
    for reader in OggReader:
        for size in (7, 1024):
            demuxer, packets, refused = OggDemuxer(reader), 0, False
            try:
                for start in range(0, len(file), size):
                    packets += len(list(demuxer.feed(file[start : start + size])))
                demuxer.finish()
            except OggError:
                refused = True
            assert refused is (reader.value in refused_by.split())
            assert refused or packets
