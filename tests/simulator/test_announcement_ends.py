"""What ends or disturbs an announcement, and what follows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from simulator import Announcement, Outcome, SimulatedDevice, State, get_profile
from tests.simulator.fake_mqtt import MqttServer, Session
from tests.simulator.fake_server import Server, opus_packets
from tests.simulator.ogg_file import FileServer, Serve, music, plain
from tests.simulator.talk import AT_ONCE, device_2_5, mqtt_idle, mqtt_listening, settle

SONG = music(100)


@asynccontextmanager
async def announcing(
    broker: MqttServer, board: str = "s3", serve: Serve | None = None
) -> AsyncIterator[tuple[SimulatedDevice, Session, FileServer, Announcement]]:
    """Yield a device that plays a file."""
    async with FileServer.serving(serve or plain(SONG)) as files, device_2_5(broker, board) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify((0, "Now."), (3000, "Then.")))
        await sim.wait_for(lambda: len(sim.speaker.played) > 5)
        yield sim, session, files, sim.announcements[0]


async def then_silence(writer: asyncio.StreamWriter) -> None:
    """Send some of the file, and nothing more."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(SONG) + SONG[: len(SONG) // 6])
    await asyncio.sleep(60)


async def test_the_wake_word_ends_it_and_begins_a_conversation(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        await sim.wake()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "the wake word")
        await session.expect(type="hello")
        await session.expect(type="listen", state="detect")
        await session.expect(type="listen", state="start")
        played = len(announced.played)
        await settle()
        assert len(announced.played) == played
        assert sim.screen.assistant_text == ""


async def test_a_chip_without_echo_cancellation_does_not_hear_the_wake_word_meanwhile(
    broker: MqttServer,
) -> None:
    async with announcing(broker, "c3") as (sim, session, _, announced):
        await sim.wake()
        assert (sim.state, announced.outcome) == (State.NOTIFYING, Outcome.PLAYING)
        await sim.wait_announced()
        assert session.texts == []
        await sim.wake()
        await session.expect(type="listen", state="start")


async def test_a_click_ends_it_and_begins_a_conversation(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        await sim.click()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "the button")
        assert (await session.expect(type="listen", state="start"))["mode"] == "auto"


async def test_the_talk_button_ends_it_and_begins_to_record(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        await sim.press()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "the talk button")
        assert (await session.expect(type="listen", state="start"))["mode"] == "manual"


async def test_releasing_the_talk_button_only_ends_it(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        await sim.release()
        assert announced.outcome is Outcome.CANCELLED
        assert sim.state is State.IDLE
        await settle()
        assert session.texts == []


async def test_after_it_was_cancelled_the_device_is_busy_until_its_task_has_noticed(
    broker: MqttServer,
) -> None:
    async with announcing(broker, serve=then_silence) as (sim, session, files, _):
        await sim.release()
        assert sim.state is State.IDLE
        await asyncio.sleep(2)
        session.send(files.notify())
        second = await sim.wait_announced(2)
        assert (second.outcome, second.reason) == (Outcome.IGNORED, "the player is busy")
        await asyncio.sleep(3)
        assert files.ended == 1
        session.send(files.notify())
        await sim.wait_for(lambda: sim.announcements[-1].outcome is Outcome.PLAYING)


async def test_while_data_comes_the_task_notices_at_once(broker: MqttServer) -> None:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for start in range(0, len(SONG), 50):
            writer.write(SONG[start : start + 50])
            await asyncio.sleep(0.02)

    async with announcing(broker, serve=serve) as (sim, session, files, _):
        await sim.release()
        await sim.wait_for(lambda: files.ended == 1, 1)
        session.send(files.notify())
        await sim.wait_for(lambda: sim.announcements[-1].outcome is Outcome.PLAYING, 1)


async def test_after_a_success_or_a_failure_the_next_is_accepted_at_once(broker: MqttServer) -> None:
    async with FileServer.serving(plain(music(3))) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        await sim.wait_announced(1)
        session.send(files.notify())
        await sim.wait_announced(2)
        files.serve = plain(b"", "404 Not Found")
        session.send(files.notify())
        await sim.wait_announced(3)
        session.send(files.notify())
        await sim.wait_announced(4)
        assert [announced.outcome for announced in sim.announcements] == [
            Outcome.PLAYED,
            Outcome.PLAYED,
            Outcome.FAILED,
            Outcome.FAILED,
        ]


async def test_the_loss_of_the_wifi_cuts_it(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, _, _, announced):
        sim.lose_network()
        await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "the loss of the Wi-Fi")
        await sim.wait_state(State.IDLE)


async def test_an_unnoticed_loss_of_the_network_cuts_it_after_five_seconds_without_data(
    broker: MqttServer,
) -> None:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + SONG[: len(SONG) // 4])
        await asyncio.sleep(0.5)
        sim.cut_network()
        writer.write(SONG[len(SONG) // 4 :])

    async with announcing(broker, serve=serve) as (sim, _, _, announced):
        await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.FAILED, "timed out")


async def test_a_message_that_cannot_be_sent_cuts_it_with_an_error(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        session.writer.transport.abort()
        await sim.wait_for(lambda: not sim.connected)
        assert announced.outcome is Outcome.PLAYING
        sim.notify("notifications/message")
        await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "an error of the connection")
        assert (sim.last_error, sim.screen.status) == ("SERVER_ERROR", "ERROR")


@pytest.mark.parametrize("by_tool", [True, False])
async def test_a_restart_cuts_it(broker: MqttServer, by_tool: bool) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        if by_tool:
            request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "self.reboot"}}
            session.send({"type": "mcp", "payload": request})
        else:
            session.send({"type": "system", "command": "reboot"})
        await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "a restart")
        await sim.wait_for(lambda: bool(sim.events("restart")))
        await sim.wait_paired()


async def test_an_update_cuts_it(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, files, announced):
        arguments = {"url": f"http://127.0.0.1:{files.port}/firmware.bin"}
        params = {"name": "self.upgrade_firmware", "arguments": arguments}
        session.send(
            {"type": "mcp", "payload": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}}
        )
        await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "an update")


async def test_switched_off_it_has_not_played_to_the_end(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, _, _, announced):
        await sim.power_off()
        assert (announced.outcome, announced.reason) == (Outcome.CANCELLED, "the device was switched off")
        await sim.boot()
        assert sim.state is State.IDLE


async def test_an_answer_meanwhile_is_not_heard(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        session.send({"type": "tts", "state": "start"})
        await session.call(1, "tools/call", {"name": "self.get_device_status"})
        assert sim.state is State.NOTIFYING
        session.send({"type": "tts", "state": "stop"})
        await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert len(announced.played) == 100


async def test_an_alert_is_shown_and_its_sound_is_mixed_in_packet_by_packet(broker: MqttServer) -> None:
    async with announcing(broker) as (sim, session, _, announced):
        session.send({"type": "alert", "status": "Door", "message": "It rang", "emotion": "surprised"})
        await sim.wait_for(lambda: sim.screen.system_text == "It rang")
        assert sim.state is State.NOTIFYING
        await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert sim.speaker.own_seconds == pytest.approx(0.54 + 0.84)
        gaps = [later.time - earlier.time for earlier, later in pairwise(announced.played)]
        assert sum(gap > 0.1 for gap in gaps) == 14


async def test_after_a_goodbye_it_plays_on_without_subtitles_while_the_device_seems_idle(
    broker: MqttServer,
) -> None:
    async with FileServer.serving(plain(SONG)) as files, device_2_5(broker) as sim:
        session = await mqtt_listening(broker, sim)
        session.send({"type": "goodbye", "session_id": "session-1"})
        await sim.wait_state(State.IDLE)
        session.send(files.notify((0, "Now."), (3000, "Then.")))
        await sim.wait_for(lambda: len(sim.speaker.played) > 5)
        session.send({"type": "goodbye", "session_id": "another"})
        await settle()
        assert sim.state is State.NOTIFYING
        session.send({"type": "goodbye", "session_id": "session-1"})
        await sim.wait_state(State.IDLE)
        session.send(files.notify())
        second = await sim.wait_announced(2)
        assert second.reason == "the player is busy"
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert len(announced.played) == 100
        assert [text for _, text in announced.shown] == ["Now."]


async def test_a_conversation_that_is_begun_under_it_has_to_wait_until_it_has_been_played(
    broker: MqttServer,
) -> None:
    async with FileServer.serving(plain(SONG)) as files, device_2_5(broker) as sim:
        session = await mqtt_listening(broker, sim)
        session.send({"type": "goodbye", "session_id": "session-1"})
        await sim.wait_state(State.IDLE)
        session.send(files.notify())
        await sim.wait_for(lambda: len(sim.speaker.played) > 5)
        session.send({"type": "goodbye", "session_id": "session-1"})
        await sim.wait_state(State.IDLE)
        await sim.click()
        await sim.wait_state(State.LISTENING)
        await settle()
        assert not sim.listening
        await sim.wait_for(lambda: sim.listening)
        assert len(sim.announcements[0].played) == 100


async def test_closing_the_websocket_under_it_makes_the_device_seem_idle(server: Server) -> None:
    sim = SimulatedDevice(get_profile(version="2.5.0"), server.http.url, pace=AT_ONCE)
    async with FileServer.serving(plain(SONG)) as files, sim:
        await sim.boot()
        await sim.press()
        session = await server.session()
        await sim.release()
        await session.send(files.notify())
        await sim.wait_for(lambda: len(sim.speaker.played) > 5)
        await session.connection.close()
        await sim.wait_state(State.IDLE)
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED


# Other changes of 2.5


async def test_what_comes_too_fast_is_dropped_behind_twenty_packets(broker: MqttServer) -> None:
    async with device_2_5(broker) as sim:
        session = await mqtt_listening(broker, sim)
        await broker.audio.until(lambda: broker.audio.datagrams)
        session.send({"type": "tts", "state": "start"})
        await sim.wait_for(lambda: sim.screen.status == "Speaking...")
        for packet in opus_packets(50):
            broker.audio.send(broker.audio.seal(packet))
        await sim.wait_for(lambda: sim.speaker.dropped > 0)
        await sim.wait_played()
        assert 20 <= len(sim.speaker.played) <= 24
        assert sim.speaker.dropped == 50 - len(sim.speaker.played)
