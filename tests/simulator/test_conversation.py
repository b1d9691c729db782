"""Conversations: wake-up, modes, interruptions, the queue of the loudspeaker and the main task."""

import asyncio
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from simulator import Event, ListeningMode, converse
from simulator.audio.espeak import synthesize
from tests.simulator.fake_server import opus_packets
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    LISTENING,
    PROMPT,
    SPEAKING,
    TTS_START,
    TTS_STOP,
    Stage,
    Trace,
    asks,
    device,
    disconnects,
    replay,
    replays,
    request,
    sees,
    server,
    silent,
    speech,
    stage,
    still,
    streams,
    user,
    waits,
)

BUSY = replace(PROMPT, main_loop_delay=0.1)
LISTEN = device(type="listen", state="start")
CALL = {"name": "self.get_device_status"}
ALERT = {"type": "alert", "status": "Door", "message": "It rang", "emotion": "surprised"}


def at_least(least: float) -> Any:
    return lambda value: value >= least


def pops_up(events: list[Event]) -> bool:
    return any(event.data == {"name": "popup"} for event in events)


CONVERSATIONS = {
    "an S3 sends the wake word's sound, then detect": Trace(
        section="E.5",
        rows=[
            user("boot"),
            user("wake", "hey box", b"\1\0" * 16000 * 5),
            device(type="hello"),
            device({"session_id": "session-1", "type": "listen", "state": "detect", "text": "hey box"}),
            LISTEN,
            streams(35),
        ],
    ),
    "a C3 sends neither": Trace(
        section="E.5",
        board="c3",
        rows=[user("boot"), user("wake"), *HELLO_AND_LISTEN, still(transcript=pops_up)],
    ),
    "the wake word is sent raw": Trace(
        section="D.1",
        rows=[
            user("boot"),
            user("wake", 'say "hi"', b""),
            device(type="hello"),
            device('{"session_id":"session-1","type":"listen","state":"detect","text":"say "hi""}'),
            LISTEN,
        ],
    ),
    **{
        f"the wake word with an open channel in {version}": Trace(
            section="I",
            version=version,
            rows=[
                user("boot"),
                user("press"),
                user("release"),
                *HELLO_AND_LISTEN,
                device(type="listen", state="stop"),
                user("wake", "x", b""),
                *((device(state="detect"), LISTEN) if wakes else (waits(1),)),
                still(state="listening" if wakes else "idle"),
            ],
        )
        for version, wakes in {"2.4.2": True, "2.3.0": False, "2.1.0": True}.items()
    },
    "texts and faces, erased when it goes idle": Trace(
        section="D.2",
        rows=[
            *SPEAKING,
            server(
                {"type": "stt", "text": "What is the time?"},
                {"type": "llm", "emotion": "happy", "text": "ignored"},
                {"type": "tts", "state": "sentence_start", "text": "Noon."},
                {"type": "tts", "state": "sentence_end", "text": "not shown"},
            ),
            sees(user_text="What is the time?", emotion="happy", assistant_text="Noon."),
            server(TTS_STOP),
            LISTEN,
            sees(emotion="neutral", status="Listening..."),
            user("click"),
            sees(status="Standby", user_text="", assistant_text="", captions=["Noon."]),
        ],
    ),
    "reboot": Trace(
        section="D.2",
        rows=[
            *LISTENING,
            asks(),
            server({"type": "system", "command": "dance"}, {"type": "system", "command": "reboot"}),
            disconnects(),
            asks(after=None),
            sees(state="idle"),
        ],
    ),
    "push to talk keeps the channel": Trace(
        section="E.4",
        rows=[
            user("boot"),
            user("press"),
            device(type="hello"),
            device(type="listen", state="start", mode="manual"),
            streams(2),
            user("release"),
            device(type="listen", state="stop"),
            still(state="idle", channel_open=True, listening=False),
            server(TTS_START),
            sees(status="Speaking..."),
            speech(5),
            server(TTS_STOP),
            sees(status="Standby"),
            user("press"),
            device(type="listen", state="start", mode="manual"),
        ],
    ),
    "a release without a press": Trace(
        section="E.4", rows=[user("boot"), user("release"), still(state="idle")]
    ),
    "realtime streams while it speaks and starts once": Trace(
        section="E.4",
        profile={"mode": ListeningMode.REALTIME},
        rows=[*SPEAKING, streams(5), user("wake"), server(TTS_STOP), sees(state="listening"), streams(5)],
    ),
    "auto is silent while it speaks": Trace(section="E.4", rows=[*LISTENING, server(TTS_START), silent()]),
}
QUEUES = {
    "sound outside of speaking is dropped": Trace(
        section="E.3", rows=[*LISTENING, streams(1), speech(1), sees(ignored=1), still(played=b"")]
    ),
    **{
        f"too fast: {queue} packets wait in {version}": Trace(
            section="E.3",
            version=version,
            rows=[
                *SPEAKING,
                speech(100),
                sees(dropped=at_least(1)),
                sees(idle=True),
                still(dropped=lambda dropped, queue=queue: 96 - queue <= dropped <= 100 - queue),
            ],
        )
        for version, queue in {"2.4.2": 40, "2.5.0": 20}.items()
    },
    "sound takes its time": Trace(
        section="E.3",
        board="dog",
        hello=lambda usual: usual | {"audio_params": {"sample_rate": 16000, "frame_duration": 20}},
        rows=[
            *SPEAKING,
            speech(opus_packets(25, rate=16000, duration=20)),
            sees(idle=True, played_seconds=at_least(0.49), after=0.5),
            still(rate=16000, failed=0),
        ],
    ),
    **{
        f"{sent} ms declared as {declared} at {rate}": Trace(
            section="E.3",
            hello=lambda usual, rate=rate, declared=declared: (
                usual | {"audio_params": {"sample_rate": rate, "frame_duration": declared}}
            ),
            rows=[*SPEAKING, speech(5, duration=sent), sees(failed=failed, short=short), sees(idle=True)],
        )
        for declared, rate, sent, failed, short in (
            (20, 24000, 60, 5, 0),
            (30, 24000, 20, 5, 0),
            (60, 22050, 60, 5, 0),
            (60, 24000, 20, 0, 5),
        )
    },
    "what is no Opus": Trace(
        section="E.3",
        rows=[
            *SPEAKING,
            speech([b"", b"\xff", b"\xfb\xff\xff\xff", b"\x03", b"\x7b\x05" + bytes(30)]),
            sees(failed=5),
        ],
    ),
    "sound right after the start of the answer is lost": Trace(
        section="E.3",
        pace=BUSY,
        rows=[
            *LISTENING,
            server(TTS_START),
            speech(1),
            sees(ignored=1, state="speaking"),
            speech(8),
            sees(flushed=at_least(1)),
        ],
    ),
    "start and stop in one pass": Trace(
        section="E.1",
        pace=BUSY,
        rows=[*LISTENING, server(TTS_START, TTS_STOP), waits(0.5), still(state="listening", listening=True)],
    ),
    "stop and start in one pass": Trace(
        section="E.1",
        pace=BUSY,
        rows=[
            *SPEAKING,
            speech(20),
            waits(0.2),
            server(TTS_STOP, TTS_START),
            sees(flushed=at_least(5)),
            still(state="speaking", listening=False),
        ],
    ),
    "up to 2.0.5 the effects come with the state": Trace(
        section="I", version="2.0.3", pace=BUSY, rows=[*LISTENING, server(TTS_START, TTS_STOP), LISTEN]
    ),
    **{
        f"the answer is played to its end in {version}": Trace(
            section="E.5",
            version=version,
            rows=[
                *SPEAKING,
                speech(8),
                server(TTS_STOP),
                LISTEN,
                still(empty=True, played_seconds=at_least(0.47)),
            ],
        )
        for version in ("2.4.2", "2.2.2", "1.6.6")
    },
    "from 1.7 to 2.2.1 its end is cut": Trace(
        section="E.5",
        version="1.9.4",
        rows=[*SPEAKING, speech(15), waits(0.2), server(TTS_STOP), LISTEN, still(flushed=at_least(8))],
    ),
    **{
        f"the main task while an answer drains in {version}": Trace(
            section="E.5",
            version=version,
            rows=[
                *SPEAKING,
                speech(15),
                server(TTS_STOP),
                sees(state="listening"),
                waits(0.05),
                server({"type": "llm", "emotion": "happy"}),
                sees(emotion="happy"),
                still(empty=blocks),
                LISTEN,
            ],
        )
        for version, blocks in {"2.4.2": False, "2.3.0": True}.items()
    },
    "a conversation that ends while the answer drains": Trace(
        section="E.5",
        rows=[
            *SPEAKING,
            speech(8),
            server(TTS_STOP),
            sees(state="listening"),
            user("click"),
            waits(1),
            still(state="idle"),
        ],
    ),
    "an answer that goes on while the last one drains": Trace(
        section="E.5",
        rows=[
            *SPEAKING,
            speech(8),
            server(TTS_STOP),
            sees(state="listening"),
            server(TTS_START),
            sees(state="speaking"),
            server(TTS_STOP),
            LISTEN,
        ],
    ),
}

INTERRUPTIONS = {
    "a click aborts and it goes on speaking": Trace(
        section="E.6",
        rows=[
            *SPEAKING,
            user("click"),
            device({"session_id": "session-1", "type": "abort"}),
            still(state="speaking"),
        ],
    ),
    "a press aborts, flushes and listens": Trace(
        section="E.6",
        rows=[
            *SPEAKING,
            speech(20),
            waits(0.1),
            user("press"),
            device(type="abort"),
            device(type="listen", state="start", mode="manual"),
            still(flushed=at_least(10)),
        ],
    ),
    "the wake word aborts and listens when the answer has drained": Trace(
        section="E.6",
        rows=[
            *SPEAKING,
            speech(8),
            user("wake"),
            device(type="abort", reason="wake_word_detected"),
            still(state="listening"),
            LISTEN,
            still(empty=True),
        ],
    ),
    "before 2.2.3 it only aborts": Trace(
        section="I",
        version="2.2.2",
        rows=[*SPEAKING, user("wake"), device(type="abort"), still(state="speaking")],
    ),
    "a C3 does not hear it": Trace(
        section="E.6", board="c3", rows=[*SPEAKING, user("wake"), waits(0.5), still(state="speaking")]
    ),
}

PROOFS = {
    f"{method} in {version}": Trace(
        section="M (a)",
        version=version,
        pace=replace(PROMPT, main_loop_delay=0.05),
        rows=[
            *LISTENING,
            server(TTS_START),
            request(method, **CALL),
            device(type="mcp"),
            speech(3),
            sees(flushed=at_least(1)) if lost else sees(idle=True, played_seconds=at_least(0.17)),
            still(ignored=0),
        ],
    )
    for version, method in product(("1.6.6", "1.9.1", "2.0.5", "2.1.0", "2.4.2"), ("tools/call", "ping"))
    for lost in [method == "ping" and version in {"2.1.0", "2.4.2"}]
}

ALERTS = {
    "needs three texts": Trace(
        section="D.2",
        rows=[
            *LISTENING,
            server({"type": "alert", "status": "Half", "message": "no emotion"}, ALERT),
            sees(system_text="It rang", status="Door", emotion="surprised", state="listening"),
            still(status_changes=lambda number: number < 12),
        ],
    ),
    "idle, with the time": Trace(
        section="M (f)",
        link="mqtt",
        rows=[
            user("boot"),
            sees(connected=True),
            server(ALERT),
            sees(status="Door"),
            waits(60),
            still(status="Door"),
        ],
    ),
    "speaking: the sound comes behind the speech": Trace(
        section="M (f)",
        rows=[*SPEAKING, speech(10), server(ALERT), sees(own_seconds=at_least(0.1)), still(empty=False)],
    ),
    **{
        f"a conversation begins meanwhile on {board}": Trace(
            section="M (f)",
            link="mqtt",
            board=board,
            rows=[
                user("boot"),
                sees(connected=True),
                server(ALERT),
                sees(status="Door"),
                user("click"),
                *HELLO_AND_LISTEN,
                sees(idle=True),
                still(own_seconds=at_least(0.8) if waits_for_it else lambda seconds: seconds < 0.2),
            ],
        )
        for board, waits_for_it in {"s3": True, "camera": False}.items()
    },
    "the microphone hears it": Trace(
        section="M (f)",
        pace=PROMPT,
        rows=[*LISTENING, streams(5), server(ALERT), sees(own_seconds=at_least(0.83)), streams(5)],
    ),
}


@replays(CONVERSATIONS)
async def test_conversations(trace: Trace) -> None:
    await replay(trace)


@replays(QUEUES)
async def test_the_queue_and_the_main_task(trace: Trace) -> None:
    await replay(trace)


@replays(INTERRUPTIONS)
async def test_interruptions(trace: Trace) -> None:
    await replay(trace)


@replays(PROOFS)
async def test_only_the_reply_of_a_tool_proves_that_it_speaks(trace: Trace) -> None:
    await replay(trace)


@replays(ALERTS)
async def test_alerts(trace: Trace) -> None:
    await replay(trace)


@pytest.mark.parametrize("link", ["websocket", "mqtt"])
async def test_what_is_said_is_sent_and_an_account_is_given(link: str) -> None:
    """E.2 and E.5, by the call that tests use: 60 ms packets after 120 ms, and one byte for most silence."""
    words = synthesize("Hello there", sample_rate=16000)[0]
    async with stage(Trace(section="E.5", link=link, rows=())) as on:
        await on.sim.boot()

        async def serve(_: Stage) -> None:
            for row in (
                device(type="hello"),
                device(type="listen", state="detect"),
                LISTEN,
                streams(40),
                server({"type": "stt", "text": "hello there"}, TTS_START),
                sees(status="Speaking..."),
                server({"type": "tts", "state": "sentence_start", "text": "Hello yourself."}),
                server({"type": "llm", "emotion": "happy"}),
                speech(10),
                waits(0.3),
                server(TTS_STOP),
                LISTEN,
            ):
                await row(on)

        serving = asyncio.create_task(serve(on))
        account = await converse(on.sim, words, patience=3)
        await serving
        assert (account.heard, account.answers, account.emotions) == (
            ["hello there"],
            ["Hello yourself."],
            ["happy"],
        )
        assert account.played_seconds == pytest.approx(0.6, abs=0.01)
        assert account.hung_up
        assert account.first_audio_ms is not None
        if link == "websocket":
            assert sum(len(packet) > 20 for packet in on.sound()) >= 8
            assert 1 in map(len, on.sound())
