"""`alert` in the states of the device: what is shown for how long, and where its sound goes."""

import asyncio

import pytest

from simulator import ListeningMode, State, get_profile
from tests.simulator.fake_mqtt import MqttServer
from tests.simulator.fake_server import FAST, Server
from tests.simulator.talk import AT_ONCE, listening, mqtt_idle, settle, speaking

ALERT = {"type": "alert", "status": "Door", "message": "It rang", "emotion": "surprised"}
SOUND = 0.84


async def test_it_needs_all_three_texts(server: Server) -> None:
    async with server.device() as sim:
        session = await listening(server, sim)
        await session.send({"type": "alert", "status": "Half", "message": "no emotion"})
        await session.send(ALERT)
        await sim.wait_for(lambda: sim.screen.system_text == "It rang")
        assert sim.screen.status == "Door"
        assert sim.events("sound")[-1] == {"name": "vibration"}
        assert "Half" not in [event.get("status") for event in sim.events("screen")]


async def test_an_idle_device_shows_the_time_ten_seconds_later_and_the_rest_until_its_state_changes(
    broker: MqttServer,
) -> None:
    server_time = {"timestamp": 1_786_000_000_000, "timezone_offset": 120}
    broker.http.replies[0] = {"mqtt": broker.settings, "server_time": server_time}
    async with broker.device(pace=AT_ONCE) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(ALERT)
        await sim.wait_for(lambda: sim.screen.status == "Door")
        await asyncio.sleep(9.9)
        assert sim.screen.status == "Door"
        await sim.wait_for(lambda: sim.screen.status != "Door", 0.2)
        assert sim.screen.status == "09:06"
        assert (sim.screen.emotion, sim.screen.system_text) == ("surprised", "It rang")
        assert sim.speaker.own_seconds == pytest.approx(SOUND)
        await sim.click()
        assert (sim.screen.emotion, sim.screen.system_text) == ("neutral", "")


async def test_without_the_time_it_shows_the_status_on(broker: MqttServer) -> None:
    async with broker.device(pace=AT_ONCE) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(ALERT)
        await asyncio.sleep(60)
        assert (sim.state, sim.screen.status) == (State.IDLE, "Door")


@pytest.mark.parametrize("mode", [ListeningMode.AUTO, ListeningMode.REALTIME])
async def test_a_conversation_that_begins_meanwhile_waits_for_the_sound_or_cuts_it(
    broker: MqttServer, mode: ListeningMode
) -> None:
    async with broker.device(pace=AT_ONCE, board="camera" if mode == "realtime" else "s3") as sim:
        session = await mqtt_idle(broker, sim)
        session.send(ALERT)
        await sim.wait_for(lambda: sim.screen.status == "Door")
        await sim.click()
        await session.expect(type="listen", state="start")
        await sim.wait_for(lambda: sim.speaker.idle)
        if mode is ListeningMode.AUTO:
            assert sim.speaker.own_seconds == pytest.approx(SOUND)
        else:
            assert sim.speaker.own_seconds < 0.2


async def test_while_listening_the_microphone_hears_the_sound(server: Server) -> None:
    async with server.device(profile=get_profile(), pace=AT_ONCE, echo=0.5) as sim:
        session = await listening(server, sim)
        await session.until(lambda: len(session.packets) > 5)
        quiet = max(len(packet) for packet in session.packets[-3:])
        await session.send(ALERT)
        await session.until(lambda: max(len(packet) for packet in session.packets[-3:]) > quiet + 20)
        assert sim.listening
        await sim.wait_for(lambda: sim.speaker.own_seconds > SOUND - 0.01)


async def test_while_speaking_the_sound_comes_after_the_speech(server: Server) -> None:
    async with server.device(pace=AT_ONCE) as sim:
        session = await speaking(server, sim, packets=10)
        await session.send(ALERT)
        await sim.wait_for(lambda: sim.speaker.own_seconds > 0)
        assert len(sim.speaker.played) == 10
        assert sim.state is State.SPEAKING


async def test_an_alert_changes_no_state_and_sends_nothing(server: Server) -> None:
    async with server.device(pace=FAST) as sim:
        session = await listening(server, sim)
        sent = len(session.texts)
        await session.send(ALERT)
        await settle()
        assert (sim.state, len(session.texts)) == (State.LISTENING, sent)
