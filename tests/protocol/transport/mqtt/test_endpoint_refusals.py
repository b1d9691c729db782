"""Whom the MQTT endpoint refuses, and how slowly."""

import asyncio
from contextlib import suppress

import pytest

from tests.protocol.transport.mqtt import wire
from tests.protocol.transport.mqtt.device import MAC
from tests.protocol.transport.mqtt.endpoint_site import TOKEN, Site
from tests.protocol.transport.mqtt.wire import WireClient
from tests.protocol.transport.udp.device import until


async def test_wrong_passwords_are_slowed_and_right_ones_are_not(socket_enabled: None) -> None:
    """Who guesses waits for the answer; the device behind the same address does not."""
    site = Site()
    await site.start(refusal=60)
    guesser = await site.client()
    await guesser.send(wire.connect("id", MAC, "guess"))
    await until(lambda: len(site.seen) == 1)
    device = await site.device()
    answer = asyncio.create_task(guesser.receive())
    await device.send(wire.PINGREQ)
    assert await device.receive() == (0xD0, b"")
    assert not answer.done()
    await site.stop()
    with pytest.raises(asyncio.IncompleteReadError):
        await answer
    await guesser.close()
    await device.close()


async def test_who_calls_from_outside_the_home_network_is_dropped_and_takes_no_place(
    socket_enabled: None,
) -> None:
    """Not even right credentials are read; 64 places wait for devices that are at home."""
    site = Site(admits=lambda address: address != "127.0.0.2")
    await site.start()
    waiting = await site.client()
    for _ in range(100):
        _, writer = connection = await asyncio.open_connection(
            "127.0.0.1", site.endpoint.port, local_addr=("127.0.0.2", 0)
        )
        outside = WireClient(*connection)
        with suppress(ConnectionError):
            await outside.send(wire.connect("id", MAC, TOKEN))
        assert await outside.closed()
        writer.close()
    await waiting.send(wire.connect("id", MAC, TOKEN))
    assert await waiting.receive() == (0x20, b"\x00\x00")
    assert {credentials.remote for credentials in site.seen} == {"127.0.0.1"}
    await waiting.close()
    await site.stop()
