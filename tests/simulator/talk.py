"""Steps of a conversation that several tests share."""

import asyncio
from typing import Any

from simulator import Pace, SimulatedDevice
from tests.simulator.fake_mqtt import MqttServer, Session as MqttSession
from tests.simulator.fake_server import Server, Session, opus_packets

AT_ONCE = Pace(main_loop_delay=0)
"""Real time, and a main task that is never busy."""


async def listening(server: Server, sim: SimulatedDevice) -> Session:
    """Boot, click and wait until the microphone streams."""
    await sim.boot()
    await sim.click()
    session = await server.session()
    await session.expect(type="listen", state="start")
    await sim.wait_for(lambda: sim.listening)
    return session


async def speaking(server: Server, sim: SimulatedDevice, packets: int = 0) -> Session:
    """Go on until the device speaks, with that many packets to play."""
    session = await listening(server, sim)
    await session.start_speaking()
    await sim.wait_for(lambda: sim.screen.status == "Speaking...")
    for packet in opus_packets(packets):
        await session.send(packet)
    if packets:
        await sim.wait_for(lambda: bool(sim.played))
    return session


async def settle() -> None:
    """Let everything that was sent arrive."""
    await asyncio.sleep(0.05)


async def linked(server: Server, sim: SimulatedDevice) -> Session:
    """Boot, click and return the conversation."""
    await sim.boot()
    await sim.click()
    return await server.session()


async def call(session: Session, name: str, **arguments: Any) -> Any:
    """Call a tool and return its text, or the message of the error."""
    reply = await session.call(1, "tools/call", {"name": name, "arguments": arguments})
    if "error" in reply:
        assert set(reply["error"]) == {"message"}
        return reply["error"]["message"]
    assert reply["result"]["isError"] is False
    (content,) = reply["result"]["content"]
    assert content["type"] == "text"
    return content["text"]


def device_2_5(broker: MqttServer, board: str = "s3", **options: Any) -> SimulatedDevice:
    """Return a device that plays announcements, in real time."""
    return broker.device("2.5.0", board, **{"pace": AT_ONCE} | options)


async def mqtt_idle(server: MqttServer, sim: SimulatedDevice) -> MqttSession:
    """Boot and return the MQTT connection of the idle device."""
    await sim.boot()
    await sim.wait_for(lambda: sim.connected)
    return await server.session()


async def mqtt_listening(server: MqttServer, sim: SimulatedDevice) -> MqttSession:
    """Boot, click and wait until the microphone streams over UDP."""
    session = await mqtt_idle(server, sim)
    await sim.click()
    await session.expect(type="listen", state="start")
    await sim.wait_for(lambda: sim.listening)
    return session


async def answer(session: Session, heard: int, *, close: bool) -> None:
    """Wait for a turn of speech and answer it."""
    start = len(session.packets)
    await session.until(lambda: len(session.packets) >= start + heard or session.closed)
    await session.send({"type": "stt", "text": "hello there"})
    await session.start_speaking()
    # Answered by the main task, after it has entered `speaking`.
    await session.call(1, "tools/call", {"name": "self.get_device_status"})
    await session.send({"type": "llm", "emotion": "happy"})
    await session.send({"type": "tts", "state": "sentence_start", "text": "Hello yourself."})
    for packet in opus_packets(10):
        await session.send(packet)
    if close:
        await session.connection.close()
    else:
        await session.stop_speaking()
