"""Conversations: wake-up, modes, interruptions, the queue of the loudspeaker and the main task."""

from dataclasses import replace
from typing import Any

from simulator import Event, ListeningMode
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    LISTENING,
    PROMPT,
    SPEAKING,
    TTS_START,
    TTS_STOP,
    device,
    replays,
    request,
    sees,
    server,
    silent,
    speech,
    still,
    streams,
    trace,
    user,
    waits,
)

BUSY = replace(PROMPT, main_loop_delay=0.1)
LISTEN = device(type="listen", state="start")
LISTEN_MANUAL = device(type="listen", state="start", mode="manual")
PUSHED = (
    user("boot"),
    user("press"),
    user("release"),
    *HELLO_AND_LISTEN,
    device(type="listen", state="stop"),
)
CALL = {"name": "self.get_device_status"}
ALERT = {"type": "alert", "status": "Door", "message": "It rang", "emotion": "surprised"}


def at_least(least: float) -> Any:
    return lambda value: value >= least


def pops_up(events: list[Event]) -> bool:
    return any(event.data == {"name": "popup"} for event in events)


def declares(**audio: int) -> Any:
    """Return a hello of a server that declares this of its audio."""
    return lambda usual: usual | {"audio_params": audio}


DETECT = {"session_id": "session-1", "type": "listen", "state": "detect", "text": "hey box"}
CONVERSATIONS = {
    "an S3 sends the wake word's sound, then detect": trace(
        "E.5",
        user("boot"),
        user("wake", "hey box", b"\1\0" * 16000 * 5),
        device(type="hello"),
        device(DETECT),
        LISTEN,
        streams(35),
    ),
    "a C3 sends neither": trace(
        "E.5", user("boot"), user("wake"), *HELLO_AND_LISTEN, still(transcript=pops_up), board="c3"
    ),
    "the wake word is sent raw": trace(
        "D.1",
        user("boot"),
        user("wake", 'say "hi"', b""),
        device(type="hello"),
        device('{"session_id":"session-1","type":"listen","state":"detect","text":"say "hi""}'),
        LISTEN,
    ),
    "push to talk keeps the channel": trace(
        "E.4",
        *PUSHED,
        still(state="idle", channel_open=True, listening=False),
        server(TTS_START),
        sees(status="Speaking..."),
        speech(5),
        server(TTS_STOP),
        sees(status="Standby"),
        user("press"),
        LISTEN_MANUAL,
    ),
    "realtime streams while it speaks and starts once": trace(
        "E.4",
        *SPEAKING,
        streams(5),
        user("wake"),
        server(TTS_STOP),
        sees(state="listening"),
        streams(5),
        profile={"mode": ListeningMode.REALTIME},
    ),
    "auto is silent while it speaks": trace("E.4", *LISTENING, server(TTS_START), silent()),
    "a press aborts, flushes and listens": trace(
        "E.6",
        *SPEAKING,
        speech(20),
        waits(0.1),
        user("press"),
        device({"session_id": "session-1", "type": "abort"}),
        LISTEN_MANUAL,
        still(flushed=at_least(10)),
    ),
    "the wake word aborts and listens when the answer has drained": trace(
        "E.6",
        *SPEAKING,
        speech(8),
        user("wake"),
        device(type="abort", reason="wake_word_detected"),
        still(state="listening"),
        LISTEN,
        still(empty=True),
    ),
    "before 2.2.3 it only aborts": trace(
        "I", *SPEAKING, user("wake"), device(type="abort"), still(state="speaking"), version="2.2.2"
    ),
}

QUEUES = {
    "sound outside of speaking is dropped": trace(
        "E.3", *LISTENING, streams(1), speech(1), sees(ignored=1), still(played=b"")
    ),
    **{
        f"too fast: {queue} packets wait in {version}": trace(
            "E.3",
            *SPEAKING,
            speech(100),
            sees(dropped=at_least(1)),
            sees(idle=True),
            still(dropped=lambda dropped, queue=queue: 96 - queue <= dropped <= 100 - queue),
            version=version,
        )
        for version, queue in {"2.4.2": 40, "2.5.0": 20}.items()
    },
    "sound takes its time": trace(
        "E.3",
        *SPEAKING,
        speech(25, duration=20),
        sees(idle=True, played_seconds=at_least(0.49), after=0.5),
        still(rate=16000, failed=0),
        board="dog",
        hello=declares(sample_rate=16000, frame_duration=20),
    ),
    **{
        f"{sent} ms declared as {declared} at {rate}": trace(
            "E.3",
            *SPEAKING,
            speech(5, duration=sent),
            sees(failed=failed, short=5 - failed),
            sees(idle=True),
            hello=declares(sample_rate=rate, frame_duration=declared),
        )
        for declared, rate, sent, failed in ((20, 24000, 60, 5), (60, 22050, 60, 5), (60, 24000, 20, 0))
    },
    "sound right after the start of the answer is lost": trace(
        "E.3",
        *LISTENING,
        server(TTS_START),
        speech(1),
        sees(ignored=1, state="speaking"),
        speech(8),
        sees(flushed=at_least(1)),
        pace=BUSY,
    ),
    "start and stop in one pass": trace(
        "E.1",
        *LISTENING,
        server(TTS_START, TTS_STOP),
        waits(0.5),
        still(state="listening", listening=True),
        pace=BUSY,
    ),
    "up to 2.0.5 the effects come with the state": trace(
        "I", *LISTENING, server(TTS_START, TTS_STOP), LISTEN, version="2.0.3", pace=BUSY
    ),
    "the answer is played to its end": trace(
        "E.5",
        *SPEAKING,
        speech(8),
        server(TTS_STOP),
        LISTEN,
        still(empty=True, played_seconds=at_least(0.47)),
    ),
    "from 1.7 to 2.2.1 its end is cut": trace(
        "E.5",
        *SPEAKING,
        speech(15),
        waits(0.2),
        server(TTS_STOP),
        LISTEN,
        still(flushed=at_least(8)),
        version="1.9.4",
    ),
    # Only the reply of a tool proves that the device speaks.
    **{
        f"{method} in {version}": trace(
            "M (a)",
            *LISTENING,
            server(TTS_START),
            request(method, **CALL),
            device(type="mcp"),
            speech(3),
            sees(flushed=at_least(1)) if lost else sees(idle=True, played_seconds=at_least(0.17)),
            still(ignored=0),
            version=version,
            pace=replace(PROMPT, main_loop_delay=0.05),
        )
        for version, method, lost in (
            ("2.0.5", "ping", False),
            ("2.4.2", "ping", True),
            ("2.4.2", "tools/call", False),
        )
    },
    "an alert needs three texts": trace(
        "D.2",
        *LISTENING,
        server(
            {"type": "alert", "status": "Half", "message": "no emotion"}, {"type": "stt", "text": "after"}
        ),
        sees(user_text="after"),
        still(status="Listening..."),
        server(ALERT),
        sees(system_text="It rang", status="Door", emotion="surprised", state="listening"),
    ),
}


test_conversation = replays(CONVERSATIONS | QUEUES)
