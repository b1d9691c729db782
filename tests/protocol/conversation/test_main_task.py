"""When a device that runs tools takes speech."""

import asyncio

from custom_components.xiaozhi.protocol.clock import loop_time
from custom_components.xiaozhi.protocol.conversation.main_task import MainTask, SpeechStart


async def test_a_call_sent_before_tts_start_delays_the_speech_until_after_its_end() -> None:
    main_task = MainTask()
    with main_task.call():
        start = SpeechStart(main_task)
        taken = asyncio.create_task(start.wait_taken())
        await asyncio.sleep(0.4)
        assert not taken.done()
        ended = loop_time()
    assert await taken >= ended + 0.2


async def test_a_call_that_ended_before_the_speech_was_there_still_counts() -> None:
    main_task = MainTask()
    with main_task.call():
        start = SpeechStart(main_task)
        await asyncio.sleep(0.3)
        ended = loop_time()
    assert await start.wait_taken() >= ended + 0.2


async def test_a_call_sent_together_with_tts_start_delays_the_speech_and_a_later_one_does_not() -> None:
    main_task = MainTask()
    start = SpeechStart(main_task)
    with main_task.call():
        taken = asyncio.create_task(start.wait_taken())
        await asyncio.sleep(0.4)
        assert not taken.done()
    await taken
    start = SpeechStart(main_task)
    await asyncio.sleep(0.25)
    with main_task.call():
        async with asyncio.timeout(5):
            await start.wait_taken()


async def test_only_the_calls_that_run_now_are_waited_for() -> None:
    """Otherwise an automation that calls tools in a loop would keep a device silent."""
    main_task = MainTask()
    async with asyncio.timeout(5):
        with main_task.call():
            free = asyncio.create_task(main_task.wait_free())
            await asyncio.sleep(0)
        with main_task.call():
            await free


async def test_tools_in_threads_of_their_own_keep_nothing_waiting() -> None:
    main_task = MainTask(blocked_by_tools=False)
    with main_task.call():
        assert not main_task.running
        async with asyncio.timeout(5):
            await SpeechStart(main_task).wait_taken()
