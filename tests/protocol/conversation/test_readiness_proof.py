"""When a device that runs tools takes speech."""

import asyncio
from typing import override

import pytest

from custom_components.xiaozhi.protocol.conversation.readiness import MainTask, SpeechStart
from custom_components.xiaozhi.util.event_loop import loop_time


async def test_a_call_sent_before_tts_start_delays_the_speech_until_its_end() -> None:
    main_task = MainTask()
    with main_task.call():
        start = SpeechStart(main_task)
        taken = asyncio.create_task(start.wait_taken())
        await asyncio.sleep(0.4)
        assert not taken.done()
        ended = loop_time()
    assert await taken >= ended + 0.2


async def test_a_call_sent_with_tts_start_delays_the_speech_a_later_one_does_not() -> None:
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
    class ThreadedTools(MainTask):
        blocked_by_tools = False

    main_task = ThreadedTools()
    with main_task.call():
        assert not main_task.running
        async with asyncio.timeout(5):
            await SpeechStart(main_task).wait_taken()


class SlowTask(MainTask):
    """A main task whose calls are answered when the test wants."""

    stalled = False

    def __init__(self) -> None:
        super().__init__()
        self.probes = 0
        self.answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    @override
    async def probe(self) -> bool:
        self.probes += 1
        return await asyncio.shield(self.answer)


async def test_the_answer_of_a_tool_that_follows_proves_that_the_device_speaks() -> None:
    main_task = SlowTask()
    taken = asyncio.create_task(SpeechStart(main_task).wait_taken())
    await asyncio.sleep(0.05)
    assert not taken.done()
    main_task.answer.set_result(True)
    now = loop_time()
    assert await taken == pytest.approx(now, abs=0.01)


async def seconds_until_taken(main_task: MainTask) -> float:
    """Return for how long an answer that begins now is held back."""
    began = loop_time()
    await SpeechStart(main_task).wait_taken()
    return loop_time() - began


async def test_a_proof_that_comes_late_is_one() -> None:
    """However often: the device is busy at times, and is asked each time."""
    main_task = SlowTask()
    for turn in range(1, 6):
        assert await seconds_until_taken(main_task) == pytest.approx(5, abs=0.1)
        assert main_task.probes == turn
        main_task.answer.set_result(True)
        await asyncio.sleep(0.1)
        main_task.answer = asyncio.get_running_loop().create_future()


async def test_a_device_without_proof_is_given_a_pause_and_asked_again_later() -> None:
    main_task = SlowTask()
    for _ in range(3):
        assert await seconds_until_taken(main_task) == pytest.approx(5, abs=0.1)
    for _ in range(10):
        assert await seconds_until_taken(main_task) == pytest.approx(0.2, abs=0.1)
    assert main_task.probes == 3
    await asyncio.sleep(600)
    assert await seconds_until_taken(main_task) == pytest.approx(5, abs=0.1)
    assert await seconds_until_taken(main_task) == pytest.approx(0.2, abs=0.1)
    assert main_task.probes == 4
    main_task.answer.set_result(False)


async def test_while_nothing_arrives_a_proof_is_waited_for() -> None:
    """A hole in the Wi-Fi: what would be sent without the proof is lost."""
    main_task = SlowTask()
    main_task.stalled = True
    taken = asyncio.create_task(SpeechStart(main_task).wait_taken())
    await asyncio.sleep(9)
    assert not taken.done()
    main_task.stalled = False
    main_task.answer.set_result(True)
    await taken


async def test_a_refusal_and_a_failure_prove_nothing() -> None:
    main_task = SlowTask()
    main_task.answer.set_result(False)
    assert await seconds_until_taken(main_task) == pytest.approx(0.2, abs=0.1)
    main_task = SlowTask()
    main_task.answer.set_exception(ConnectionError("the link is gone"))
    with pytest.raises(ConnectionError):
        await seconds_until_taken(main_task)


async def test_a_tool_that_runs_before_the_proof_takes_all_the_time_it_needs() -> None:
    """For example a photo: the proof is answered after it."""
    main_task = SlowTask()
    with main_task.call():
        taken = asyncio.create_task(SpeechStart(main_task).wait_taken())
        await asyncio.sleep(30)
        assert not taken.done()
    main_task.answer.set_result(True)
    await taken
