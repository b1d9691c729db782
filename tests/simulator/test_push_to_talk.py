"""The channel that push-to-talk leaves open: what the server can do with it, and when it counts as closed."""

import asyncio

from simulator import Outcome, State
from tests.simulator.fake_mqtt import MqttServer, Session as MqttSession
from tests.simulator.fake_server import Server, opus_packets
from tests.simulator.ogg_file import FileServer, music, plain
from tests.simulator.talk import AT_ONCE, device_2_5, mqtt_idle


async def speak(broker: MqttServer, session: MqttSession) -> None:
    """Speak as long as three packets last."""
    session.send({"type": "tts", "state": "start"})
    await session.call(1, "tools/call", {"name": "self.get_device_status"})
    for packet in opus_packets(3):
        broker.audio.send(broker.audio.seal(packet))
    await asyncio.sleep(0.3)
    session.send({"type": "tts", "state": "stop"})


async def test_over_mqtt_the_server_may_speak_or_announce_something_in_it(broker: MqttServer) -> None:
    async with FileServer.serving(plain(music(5))) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        await sim.press()
        await session.expect(type="listen", state="start", mode="manual")
        await broker.audio.until(lambda: broker.audio.datagrams)
        await sim.release()
        await session.expect(type="listen", state="stop")
        await asyncio.sleep(100)
        await speak(broker, session)
        await sim.wait_for(lambda: len(sim.speaker.played) == 3)
        await sim.wait_state(State.IDLE)
        assert sim.channel_open
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert sim.channel_open
        await asyncio.sleep(119)
        assert sim.channel_open
        await sim.press()
        await session.expect(type="listen", state="start", mode="manual")
        assert session.seen(type="hello") == 1


async def test_over_mqtt_it_counts_as_closed_120_seconds_after_the_last_message(broker: MqttServer) -> None:
    async with broker.device(pace=AT_ONCE) as sim:
        session = await mqtt_idle(broker, sim)
        await sim.press()
        await sim.release()
        await asyncio.sleep(121)
        assert not sim.channel_open
        await sim.press()
        await session.expect(type="listen", state="stop")
        await session.expect(type="hello")
        await session.expect(type="listen", state="start", mode="manual")
        assert session.seen(type="goodbye") == 0


async def test_over_websocket_it_counts_as_closed_120_seconds_after_the_last_message(server: Server) -> None:
    async with server.device(pace=AT_ONCE) as sim:
        await sim.boot()
        await sim.press()
        first = await server.session()
        await sim.release()
        await asyncio.sleep(100)
        await first.send({"type": "llm", "emotion": "happy"})
        await asyncio.sleep(119)
        assert sim.channel_open
        await asyncio.sleep(2)
        assert not sim.channel_open
        assert not first.closed
        await sim.press()
        second = await server.session(2)
        await first.until(lambda: first.closed)
        # The replaced socket ends the conversation that has just begun.
        await sim.wait_state(State.IDLE)
        assert second.seen(type="hello") == 1


async def test_the_loss_of_the_wifi_while_idle_does_not_close_it(broker: MqttServer) -> None:
    async with broker.device(pace=AT_ONCE) as sim:
        await mqtt_idle(broker, sim)
        await sim.press()
        await sim.release()
        sim.lose_network()
        await asyncio.sleep(1)
        assert (sim.state, sim.channel_open) == (State.IDLE, True)
