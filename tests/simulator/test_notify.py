"""`notify` of 2.5: what an idle device accepts, how it fetches and plays a file, and what ends it."""

import asyncio
from collections.abc import Callable
import json
from typing import Any

from simulator import Outcome
from tests.simulator.fake_server import opus_packets
from tests.simulator.ogg_file import Serve, ogg, plain
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    IDLE_MQTT,
    Stage,
    Step,
    Trace,
    device,
    replay,
    replays,
    sees,
    trace,
    user,
    waits,
)

BODY, SONG = (ogg(opus_packets(number)) for number in (10, 50))


def notify(*subtitles: object, **changes: Any) -> Step:
    """Have the device play the file."""

    async def row(on: Stage) -> None:
        message = {"type": "notify", "audio_url": on.files.url, "subtitles": [*subtitles]}
        await (await on.link()).send(json.dumps(message | changes))

    return row


def ends(outcome: Outcome, reason: str = "", *, number: int = 1, **facts: Any) -> Step:
    """Expect that the announcement of that number ends so, with these attributes."""

    async def row(on: Stage) -> None:
        announced = await on.sim.wait_announced(number, 300)
        assert (announced.outcome, announced.reason[: len(reason)]) == (outcome, reason), announced.reason
        for name, wanted in facts.items():
            found = FACTS[name](announced) if name in FACTS else getattr(announced, name)
            assert wanted(found) if callable(wanted) else found == wanted, (name, found)

    return row


FACTS: dict[str, Callable[[Any], Any]] = {
    "frames": lambda announced: len(announced.played),
    "seconds": lambda announced: announced.ended - announced.began,
    "texts": lambda announced: [
        (round(time - announced.played[0].time, 2), text) for time, text in announced.shown
    ],
}


def about(seconds: float) -> Callable[[float], bool]:
    return lambda found: abs(found - seconds) < 0.1


def fetches(*requests: str) -> Step:
    """Expect that the file was asked for just so."""

    async def row(on: Stage) -> None:
        assert on.files.heads == [text.replace("PORT", str(on.files.port)) for text in requests]

    return row


def slowly(body: bytes) -> Serve:
    """Return an answer that stops in the middle."""

    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + body)
        await asyncio.sleep(60)

    return serve


def idle(section: str, *rows: Step, files: Serve | None = None, **fields: Any) -> Trace:
    """Return a trace of an idle 2.5 over MQTT."""
    fields = {"version": "2.5.0", "link": "mqtt"} | fields
    return trace(section, *IDLE_MQTT, *rows, files=files or plain(BODY), **fields)


def text(start: Any, words: Any) -> dict[str, Any]:
    return {"start_ms": start, "text": words}


PLAYING = (notify(), sees(played_seconds=lambda seconds: seconds > 0.2))
REQUEST = (
    "GET /file/secret.ogg HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAccept: audio/ogg, application/ogg\r\n"
    "Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
)
ANNOUNCEMENTS = {
    "fetched and played, after a sound of the device's own": idle(
        "K.4",
        notify(
            text(0, "One."),
            text(-1, "early"),
            text("0", "a number"),
            "nothing",
            {"START_MS": 1500.9, "text": "2"},
        ),
        sees(state="notifying", status="Speaking..."),
        ends(
            Outcome.PLAYED,
            read=len(SONG),
            frames=50,
            underruns=0,
            seconds=about(3.54),
            texts=[(0, "One."), (1.5, "2")],
        ),
        fetches(REQUEST),
        sees(state="idle", assistant_text=""),
        files=plain(SONG),
    ),
    "no subtitles are better than others": idle("K.2", notify(subtitles=None), ends(Outcome.IGNORED)),
    "not while it listens": idle(
        "K.2", user("click"), *HELLO_AND_LISTEN, notify(), ends(Outcome.IGNORED, "the device is listening")
    ),
    "2.4.2 does not know it": idle("K", notify(), waits(0.5), fetches(), version="2.4.2"),
    "nothing for five seconds": idle(
        "K.3", notify(), ends(Outcome.FAILED, "timed out", seconds=about(5)), files=slowly(b"")
    ),
    "the wake word ends it": idle(
        "K.7",
        *PLAYING,
        user("wake"),
        ends(Outcome.CANCELLED, "the wake word"),
        device(type="hello"),
        device(state="detect"),
        device(state="start"),
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
        files=slowly(SONG[: len(SONG) // 6]),
    ),
}


@replays(ANNOUNCEMENTS)
async def test_notify(trace: Trace) -> None:
    await replay(trace)
