"""A recording is handed over when it is full, and belongs to who asked for it."""

import asyncio
from unittest.mock import Mock

from custom_components.xiaozhi.guests.recordings.conversation_recorder import ConversationRecorder
from custom_components.xiaozhi.protocol.messages import AudioFormat, DeviceHello
from custom_components.xiaozhi.protocol.trace import Trace
from custom_components.xiaozhi.protocol.transport.link import Channel

HELLO = DeviceHello(
    transport="udp", audio=AudioFormat(sample_rate=16000, frame_duration=60), supports_mcp=True
)


async def begun(recorder: ConversationRecorder) -> tuple[asyncio.Task[Trace], Trace | None]:
    """Ask for a recording, and begin a conversation."""
    asked = asyncio.create_task(recorder.next_conversation({}, with_sound=False, patience=60))
    await asyncio.sleep(1)
    return asked, recorder.begin(Channel(hello=HELLO))


async def test_a_conversation_without_an_end_is_handed_over_when_it_is_full() -> None:
    recorder = ConversationRecorder(Mock())
    asked, trace = await begun(recorder)
    assert trace is not None
    await asyncio.sleep(119)
    trace.note("state", state="listening")
    assert await asked is trace is recorder.last
    assert [line.partition('"kind":')[2] for line in trace.lines][-2:] == [
        '"state","state":"listening"}',
        '"full"}',
    ]
    trace.finish("end", reason="at last")
    assert len(trace.lines) == 4


async def test_a_cancelled_recording_is_not_that_of_the_next_who_asks() -> None:
    recorder = ConversationRecorder(Mock())
    cancelled, first = await begun(recorder)
    cancelled.cancel()
    await asyncio.wait([cancelled])
    assert not recorder.busy
    assert first is not None
    asked = asyncio.create_task(recorder.next_conversation({}, with_sound=False, patience=60))
    await asyncio.sleep(1)
    first.finish("end", reason="over")
    await asyncio.sleep(1)
    assert not asked.done()
    second = recorder.begin(Channel(hello=HELLO))
    assert recorder.begin(Channel(hello=HELLO)) is None
    assert second is not None
    second.finish("end", reason="over")
    assert await asked is second
