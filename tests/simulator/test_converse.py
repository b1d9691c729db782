"""Whole conversations by the library."""

import asyncio

import pytest

from simulator import ConversationError, Pace, converse
from simulator.audio.espeak import synthesize
from tests.simulator.fake_server import FAST, Server
from tests.simulator.talk import answer

HELLO_THERE = synthesize("Hello there", sample_rate=16000)[0]


async def test_a_conversation_of_one_turn_is_accounted_for(butler: Server) -> None:
    async with butler.device() as sim:
        await sim.boot()
        account = await converse(sim, HELLO_THERE)
        assert account.heard == ["hello there"]
        assert account.answers == ["Hello yourself."]
        assert account.emotions == ["happy"]
        assert account.played_seconds == pytest.approx(0.6, abs=0.01)
        assert account.played == sim.played
        assert not account.hung_up
        assert account.first_audio_ms is not None
        assert account.first_audio_ms > 0
        assert account.as_json()["sample_rate"] == 24000


async def test_a_conversation_of_two_turns_ends_by_a_click_when_the_server_goes_on_listening(
    server: Server,
) -> None:
    async def serve() -> None:
        session = await server.session()
        for _ in range(2):
            await answer(session, 20, close=False)

    task = asyncio.create_task(serve())
    async with server.device() as sim:
        await sim.boot()
        account = await converse(sim, HELLO_THERE, HELLO_THERE, patience=0.2)
        await task
        assert account.heard == ["hello there", "hello there"]
        assert account.hung_up
        assert len(server.sessions) == 1


async def test_a_server_that_never_answers_is_given_up(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        with pytest.raises(ConversationError, match="no answer"):
            await converse(sim, HELLO_THERE, timeout=0.3)


async def test_a_server_that_speaks_for_ever_is_given_up(server: Server) -> None:
    async def serve() -> None:
        await (await server.session()).start_speaking()

    task = asyncio.create_task(serve())
    async with server.device() as sim:
        await sim.boot()
        with pytest.raises(ConversationError, match=r"no answer|did not end"):
            await converse(sim, HELLO_THERE, timeout=0.3)
    await task


async def test_a_conversation_that_cannot_begin_says_why(server: Server) -> None:
    server.hello = None
    async with server.device(pace=Pace(timeouts=0.01, main_loop_delay=0)) as sim:
        await sim.boot()
        with pytest.raises(ConversationError, match="SERVER_TIMEOUT"):
            await converse(sim, HELLO_THERE)


async def test_nothing_said_nothing_heard(server: Server) -> None:
    async with server.device(pace=FAST) as sim:
        await sim.boot()
        account = await converse(sim)
        assert (account.heard, account.first_audio_ms, account.reply_ms) == ([], None, None)
