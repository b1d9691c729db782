"""States, modes, interruptions: what the device does with buttons, wake words and the server's messages."""

import asyncio

import pytest

from simulator import ListeningMode, Pace, State, get_profile
from simulator.application.state import StateMachine
from tests.simulator.fake_server import Server, opus_packets
from tests.simulator.talk import AT_ONCE, listening, settle, speaking

# Wake flows


async def test_an_s3_sends_the_wake_audio_then_detect_then_listen_start(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.wake("hey box", b"\1\0" * 16000 * 5)
        session = await server.session()
        await session.expect(type="listen", state="start")
        kinds = ["audio" if isinstance(message, bytes) else message for message in session.messages[1:36]]
        assert kinds == [
            *["audio"] * 33,
            '{"session_id":"session-1","type":"listen","state":"detect","text":"hey box"}',
            '{"session_id":"session-1","type":"listen","state":"start","mode":"auto"}',
        ]


async def test_a_c3_sends_neither_and_plays_a_popup(server: Server) -> None:
    async with server.device(profile=get_profile("c3")) as sim:
        await sim.boot()
        await sim.wake()
        session = await server.session()
        await session.expect(type="listen", state="start")
        assert len(session.messages) == 2
        assert {"name": "popup"} in sim.events("sound")


async def test_a_click_starts_without_detect(server: Server) -> None:
    async with server.device() as sim:
        session = await listening(server, sim)
        assert session.seen(state="detect") == 0
        assert [event["state"] for event in sim.events("state")][-3:] == ["idle", "connecting", "listening"]


async def test_the_wake_word_is_sent_raw_so_that_a_quote_breaks_the_message(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.wake('say "hi"', b"")
        session = await server.session()
        await session.until(lambda: len(session.messages) > 2)
        assert session.messages[1] == (
            '{"session_id":"session-1","type":"listen","state":"detect","text":"say "hi""}'
        )


@pytest.mark.parametrize(("version", "wakes"), [("2.4.2", True), ("2.3.0", False), ("2.1.0", True)])
async def test_a_wake_word_with_an_open_channel_is_lost_between_2_2_2_and_2_3(
    server: Server, version: str, wakes: bool
) -> None:
    async with server.device(profile=get_profile(version=version)) as sim:
        await sim.boot()
        await sim.press()
        await sim.release()
        await sim.wake()
        assert sim.state is (State.LISTENING if wakes else State.IDLE)
        assert len(server.sessions) == 1


# Screen


async def test_texts_and_faces_are_shown_and_erased_when_the_device_goes_idle(server: Server) -> None:
    async with server.device() as sim:
        session = await speaking(server, sim)
        await session.send({"type": "stt", "text": "What is the time?"})
        await session.send({"type": "llm", "emotion": "happy", "text": "ignored"})
        await session.send({"type": "tts", "state": "sentence_start", "text": "Noon."})
        await session.send({"type": "tts", "state": "sentence_end", "text": "not shown"})
        await sim.wait_for(lambda: sim.screen.assistant_text == "Noon.")
        assert (sim.screen.user_text, sim.screen.emotion) == ("What is the time?", "happy")
        await session.connection.close()
        await sim.wait_for(lambda: sim.screen.status == "Standby")
        assert (sim.screen.user_text, sim.screen.assistant_text) == ("", "")
        assert sim.screen.emotions[-1] == "neutral"
        assert sim.screen.captions == ["Noon."]


async def test_listening_sets_the_neutral_face(server: Server) -> None:
    async with server.device() as sim:
        session = await speaking(server, sim)
        await session.send({"type": "llm", "emotion": "sad"})
        await session.stop_speaking()
        await sim.wait_for(lambda: sim.screen.status == "Listening...")
        assert sim.screen.emotions[-2:] == ["sad", "neutral"]


async def test_system_reboot_closes_the_channel_and_checks_in_again(server: Server) -> None:
    async with server.device() as sim:
        session = await listening(server, sim)
        await session.send({"type": "system", "command": "dance"})
        await session.send({"type": "system", "command": "reboot"})
        await session.until(lambda: session.closed)
        await sim.wait_for(lambda: len(server.http.requests) == 2)
        await sim.wait_paired()
        assert sim.events("restart") == [{}]


# Two stages


def test_transitions_that_are_not_legal_are_dropped() -> None:
    seen: list[State] = []
    machine = StateMachine(validated=True, changed=seen.append)
    for state in (State.IDLE, State.STARTING, State.ACTIVATING, State.IDLE, State.IDLE, State.CONNECTING):
        machine.request(state)
    assert not machine.request(State.SPEAKING)
    assert seen == [State.STARTING, State.ACTIVATING, State.IDLE, State.CONNECTING]
    assert StateMachine(validated=False, changed=seen.append).request(State.SPEAKING)


async def test_tts_start_and_stop_in_one_pass_leave_the_microphone_on_without_a_new_listen_start(
    server: Server,
) -> None:
    async with server.device(pace=Pace(uplink=20, main_loop_delay=0.1)) as sim:
        session = await listening(server, sim)
        await session.start_speaking()
        await session.stop_speaking()
        await sim.wait_for(
            lambda: [event["state"] for event in sim.events("state")][-2:] == ["speaking", "listening"]
        )
        await asyncio.sleep(0.3)
        assert session.seen(state="start", type="listen") == 1
        assert sim.listening


async def test_tts_stop_and_start_in_one_pass_give_no_listen_start_but_flush_the_queue(
    server: Server,
) -> None:
    async with server.device(pace=Pace(main_loop_delay=0.1)) as sim:
        session = await speaking(server, sim, packets=20)
        await session.stop_speaking()
        await session.start_speaking()
        await sim.wait_for(lambda: sim.speaker.flushed > 10)
        assert session.seen(state="start", type="listen") == 1
        assert sim.state is State.SPEAKING
        assert not sim.listening


async def test_audio_right_after_tts_start_is_lost(server: Server) -> None:
    async with server.device(pace=Pace(main_loop_delay=0.1)) as sim:
        session = await listening(server, sim)
        packets = opus_packets(16)
        await session.start_speaking()
        await session.send(packets[0])
        await sim.wait_state(State.SPEAKING)
        for packet in packets[1:9]:
            await session.send(packet)
        await sim.wait_for(lambda: sim.speaker.flushed > 0)
        for packet in packets[9:]:
            await session.send(packet)
        await sim.wait_for(lambda: len(sim.speaker.played) + sim.speaker.flushed == 15)
        assert sim.speaker.ignored == 1
        assert sim.speaker.flushed <= 8


async def test_before_2_1_the_effects_come_with_the_state(server: Server) -> None:
    profile = get_profile(version="2.0.3")
    async with server.device(profile=profile, pace=Pace(uplink=20, main_loop_delay=0.1)) as sim:
        session = await listening(server, sim)
        await session.start_speaking()
        await session.stop_speaking()
        await session.expect(type="listen", state="start")
        assert session.seen(state="start", type="listen") == 2


# After the answer


async def test_since_2_2_2_listening_begins_when_the_answer_has_been_played(server: Server) -> None:
    for version in ("2.4.2", "2.2.2"):
        async with (
            Server.serving() as own,
            own.device(profile=get_profile(version=version), pace=AT_ONCE) as sim,
        ):
            session = await speaking(own, sim, packets=8)
            await session.stop_speaking()
            await session.expect(type="listen", state="start")
            assert sim.speaker.empty
            assert sim.played_seconds == pytest.approx(0.48, abs=0.01)


@pytest.mark.parametrize(("version", "blocks"), [("2.4.2", False), ("2.3.0", True)])
async def test_before_2_4_the_main_task_does_nothing_else_meanwhile(
    server: Server, version: str, blocks: bool
) -> None:
    async with server.device(profile=get_profile(version=version), pace=AT_ONCE) as sim:
        session = await speaking(server, sim, packets=15)
        await session.stop_speaking()
        await sim.wait_state(State.LISTENING)
        await settle()
        await session.send({"type": "llm", "emotion": "happy"})
        await sim.wait_for(lambda: sim.screen.emotion == "happy")
        assert sim.speaker.empty is blocks


async def test_from_1_8_to_2_1_the_end_of_the_answer_is_cut(server: Server) -> None:
    async with server.device(profile=get_profile(version="1.9.4"), pace=AT_ONCE) as sim:
        session = await speaking(server, sim, packets=15)
        await session.stop_speaking()
        await session.expect(type="listen", state="start")
        assert sim.speaker.flushed >= 10
        assert sim.played_seconds < 0.3


async def test_a_conversation_that_ends_while_the_answer_drains_does_not_listen(server: Server) -> None:
    async with server.device(pace=AT_ONCE) as sim:
        session = await speaking(server, sim, packets=8)
        await session.stop_speaking()
        await sim.wait_state(State.LISTENING)
        await sim.click()
        await sim.wait_played()
        await settle()
        assert not sim.listening
        assert sim.state is State.IDLE
        assert session.seen(state="start", type="listen") == 1


async def test_an_answer_that_goes_on_while_the_last_one_drains_is_played(server: Server) -> None:
    async with server.device(pace=AT_ONCE) as sim:
        session = await speaking(server, sim, packets=8)
        await session.stop_speaking()
        await sim.wait_state(State.LISTENING)
        await session.start_speaking()
        await sim.wait_state(State.SPEAKING)
        await session.stop_speaking()
        await session.expect(type="listen", state="start")
        assert session.seen(state="start", type="listen") == 2


# Modes


async def test_realtime_streams_while_speaking_and_starts_only_once(server: Server) -> None:
    async with server.device(profile=get_profile(mode=ListeningMode.REALTIME)) as sim:
        session = await speaking(server, sim)
        packets = len(session.packets)
        await session.until(lambda: len(session.packets) > packets + 20)
        await session.stop_speaking()
        await sim.wait_state(State.LISTENING)
        await settle()
        assert session.texts[1] == {
            "session_id": "session-1",
            "type": "listen",
            "state": "start",
            "mode": "realtime",
        }
        assert session.seen(state="start", type="listen") == 1


async def test_realtime_ignores_the_wake_word_while_speaking(server: Server) -> None:
    async with server.device(profile=get_profile("camera")) as sim:
        session = await speaking(server, sim)
        await sim.wake()
        await settle()
        assert session.seen(type="abort") == 0


async def test_auto_switches_the_microphone_off_while_speaking_after_a_stale_packet(server: Server) -> None:
    async with server.device() as sim:
        session = await listening(server, sim)
        await session.until(lambda: len(session.packets) > 3)
        await session.start_speaking()
        await sim.wait_for(lambda: not sim.listening)
        await settle()
        packets = len(session.packets)
        await settle()
        assert len(session.packets) == packets


async def test_push_to_talk_stops_goes_idle_and_keeps_the_channel_open(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.press()
        session = await server.session()
        assert (await session.expect(type="listen"))["mode"] == "manual"
        await session.until(lambda: session.packets)
        await sim.release()
        await session.expect(type="listen", state="stop")
        assert (sim.state, sim.channel_open, sim.listening) == (State.IDLE, True, False)
        await session.start_speaking()
        await sim.wait_for(lambda: sim.screen.status == "Speaking...")
        for packet in opus_packets(5):
            await session.send(packet)
        await session.stop_speaking()
        await sim.wait_for(lambda: sim.screen.status == "Standby")
        await sim.wait_for(lambda: len(sim.speaker.played) == 5)
        assert sim.channel_open
        await sim.press()
        assert (await session.expect(type="listen", state="start"))["mode"] == "manual"
        assert len(server.sessions) == 1


async def test_a_release_without_a_press_says_nothing(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.release()
        assert sim.state is State.IDLE
        assert server.sessions == []


# Interruptions


async def test_a_click_while_speaking_aborts_without_reason_and_goes_on_speaking(server: Server) -> None:
    async with server.device() as sim:
        session = await speaking(server, sim)
        await sim.click()
        assert await session.expect(type="abort") == {"session_id": "session-1", "type": "abort"}
        assert sim.state is State.SPEAKING
        await session.send(opus_packets(1)[0])
        await sim.wait_for(lambda: bool(sim.played))


async def test_a_press_while_speaking_aborts_flushes_and_listens(server: Server) -> None:
    async with server.device(pace=AT_ONCE) as sim:
        session = await speaking(server, sim, packets=20)
        await sim.press()
        await session.expect(type="abort")
        assert (await session.expect(type="listen", state="start"))["mode"] == "manual"
        assert sim.speaker.flushed > 10


async def test_the_wake_word_while_speaking_aborts_and_listens_when_the_answer_has_drained(
    server: Server,
) -> None:
    async with server.device(pace=AT_ONCE) as sim:
        session = await speaking(server, sim, packets=8)
        await sim.wake()
        assert (await session.expect(type="abort"))["reason"] == "wake_word_detected"
        assert sim.state is State.LISTENING
        await session.expect(type="listen", state="start")
        assert sim.speaker.empty
        assert session.seen(state="detect") == 0


async def test_a_c3_does_not_hear_the_wake_word_while_it_speaks(server: Server) -> None:
    async with server.device(profile=get_profile("c3"), pace=AT_ONCE) as sim:
        session = await speaking(server, sim)
        await sim.wake()
        await settle()
        assert session.seen(type="abort") == 0
        assert sim.state is State.SPEAKING


async def test_before_2_2_3_the_wake_word_only_aborts(server: Server) -> None:
    async with server.device(profile=get_profile(version="2.2.2")) as sim:
        session = await speaking(server, sim)
        await sim.wake()
        await session.expect(type="abort", reason="wake_word_detected")
        assert sim.state is State.SPEAKING


# What proves that it speaks


@pytest.mark.parametrize("version", ["1.6.6", "1.7.0", "1.9.4", "2.0.0", "2.0.5", "2.1.0", "2.3.0", "2.4.2"])
@pytest.mark.parametrize("method", ["tools/call", "ping"])
async def test_only_the_answer_of_a_tool_proves_in_every_firmware_that_the_device_speaks(
    server: Server, version: str, method: str
) -> None:
    """Firmware that changes its state in two steps answers a `ping` before it flushes its play queue."""
    slow = Pace(main_loop_delay=0.05)
    async with server.device(profile=get_profile(version=version), pace=slow) as sim:
        session = await listening(server, sim)
        await session.start_speaking()
        reply = await session.call(1, method, {"name": "self.get_device_status"})
        assert "result" in reply or method == "ping"
        for packet in opus_packets(3):
            await session.send(packet)
        await sim.wait_for(lambda: sim.speaker.flushed + len(sim.speaker.played) == 3)
        lost = method == "ping" and version in {"2.1.0", "2.3.0", "2.4.2"}
        assert (sim.speaker.flushed > 0) is lost
        assert sim.speaker.ignored == 0
