"""`notify` of 2.5: what an idle device accepts, how it fetches and plays a file, and what ends it."""

from collections.abc import Callable
import json
from typing import Any

from simulator import Outcome
from tests.protocol.audio.sounds import make_media, tone
from tests.simulator.servers import Stalling
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    IDLE_MQTT,
    Stage,
    Step,
    Trace,
    device,
    replays,
    sees,
    server,
    step,
    trace,
    user,
    waits,
)

STATUS = b"HTTP/1.1 200 OK\r\n\r\n"
SONG = make_media("ogg", "libopus", tone(3, 24000), 24000, options={"page_duration": "200000"})


@step
async def notify(on: Stage, *subtitles: object, **changes: Any) -> None:
    """Have the device play the file."""
    url = f"http://127.0.0.1:{on.files.port}/file/secret.ogg"
    message = {"type": "notify", "audio_url": url, "subtitles": [*subtitles]}
    await (await on.link()).send(json.dumps(message | changes))


@step
async def ends(on: Stage, outcome: Outcome, reason: str = "", *, number: int = 1, **facts: Any) -> None:
    """Expect that the announcement of that number ends so, with these attributes."""
    announced = await on.sim.wait_announced(number, 300)
    assert (announced.outcome, announced.reason[: len(reason)]) == (outcome, reason), announced.reason
    for name, wanted in facts.items():
        found = FACTS[name](announced) if name in FACTS else getattr(announced, name)
        assert wanted(found) if callable(wanted) else found == wanted, (name, found)


FACTS: dict[str, Callable[[Any], Any]] = {
    "frames": lambda announced: len(announced.played),
    "seconds": lambda announced: announced.ended - announced.began,
    "texts": lambda announced: [
        (round(time - announced.played[0].time, 2), text) for time, text in announced.shown
    ],
}


def about(seconds: float) -> Callable[[float], bool]:
    return lambda found: abs(found - seconds) < 0.1


@step
async def fetches(on: Stage, times: int) -> None:
    """Expect that the file was asked for so often, just so."""
    assert [request.line for request in on.files.requests] == ["GET /file/secret.ogg HTTP/1.1"] * times
    headers = [("Host", f"127.0.0.1:{on.files.port}"), *HEADERS]
    assert all(request.headers == headers for request in on.files.requests)


def idle(section: str, *rows: Step, **fields: Any) -> Trace:
    """Return a trace of an idle 2.5 over MQTT, and a server with a file of three seconds."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(SONG), SONG)
    return trace(section, *IDLE_MQTT, *rows, **{"version": "2.5.0", "link": "mqtt", "file": answer} | fields)


def text(start: Any, words: Any) -> dict[str, Any]:
    return {"start_ms": start, "text": words}


GOODBYE = {"type": "goodbye", "session_id": "session-1"}
PLAYING = (notify(), sees(played_seconds=lambda seconds: seconds > 0.2))
HEADERS = [("Accept", "audio/ogg, application/ogg"), ("Accept-Encoding", "identity"), ("Connection", "close")]
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
            frames=151,
            underruns=0,
            seconds=about(3.54),
            texts=[(0, "One."), (1.5, "2")],
        ),
        fetches(1),
        sees(state="idle", assistant_text=""),
    ),
    "no subtitles are better than others": idle("K.2", notify(subtitles=None), ends(Outcome.IGNORED)),
    "not while it listens": idle(
        "K.2", user("click"), *HELLO_AND_LISTEN, notify(), ends(Outcome.IGNORED, "the device is listening")
    ),
    "2.4.2 does not know it": idle("K", notify(), waits(0.5), fetches(0), version="2.4.2"),
    "nothing for five seconds": idle(
        "K.3", notify(), ends(Outcome.FAILED, "timed out", seconds=about(5)), file=Stalling(STATUS)
    ),
    "the wake word ends it": idle(
        "K.7",
        *PLAYING,
        user("wake"),
        ends(Outcome.CANCELLED, "the wake word"),
        device(type="hello"),
        device(state="detect"),
        device(state="start"),
    ),
    **{
        f"after a goodbye it plays on in spite of a {by}": idle(
            "K.7",
            user("click"),
            *HELLO_AND_LISTEN,
            server(GOODBYE),
            sees(state="idle", channel_open=False),
            notify(text(2000, "never shown")),
            sees(state="notifying", played_seconds=lambda seconds: seconds > 0.2),
            server(GOODBYE),
            sees(state="idle"),
            waits(0.5),
            user(by),
            device(type="hello"),
            *rows,
            sees(state="listening"),
            ends(Outcome.PLAYED, frames=lambda frames: frames > 100, texts=[]),
        )
        for by, rows in (
            ("press", [device(mode="manual")]),
            ("wake", [device(state="detect"), device(mode="auto")]),
        )
    },
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
        file=Stalling(STATUS + SONG[: len(SONG) // 6]),
    ),
}


test_notify = replays(ANNOUNCEMENTS)
