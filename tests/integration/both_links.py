"""A device on each link, and the same conversation with both at the same time."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant

from custom_components.xiaozhi.const import CONF_LINK
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Conversation, Misbehaviour, SimulatedDevice, State, converse
from tests.integration.boxes import CLIENT_ID, Boot, mac_of, satellite_states
from tests.integration.http_device import paired_device

MACS = {kind: mac_of(number) for number, kind in enumerate(LinkKind, 1)}
SATELLITES = {kind: f"assist_satellite.{kind}_box" for kind in LinkKind}


def paired_on_both() -> tuple[ConfigSubentryData, ...]:
    """Return a paired device for each link; the gateway has to offer MQTT."""
    boxes = {kind: paired_device(mac, CLIENT_ID, title=f"{kind} box") for kind, mac in MACS.items()}
    return tuple({**box, "data": {**box["data"], CONF_LINK: kind.value}} for kind, box in boxes.items())


@contextmanager
def states_of_both(hass: HomeAssistant) -> Generator[dict[LinkKind, list[str]]]:
    """Collect the states of each satellite, from the first time that it listens."""
    with (
        satellite_states(hass, SATELLITES[LinkKind.WEBSOCKET]) as on_websocket,
        satellite_states(hass, SATELLITES[LinkKind.MQTT]) as on_mqtt,
    ):
        yield {LinkKind.WEBSOCKET: on_websocket, LinkKind.MQTT: on_mqtt}


async def boot_both(boot: Boot, *misbehaviours: Misbehaviour) -> dict[LinkKind, SimulatedDevice]:
    """Switch on the device on each link."""
    devices = {kind: await boot(mac=mac, misbehaviours=misbehaviours) for kind, mac in MACS.items()}
    assert {kind: device.link for kind, device in devices.items()} == {kind: str(kind) for kind in LinkKind}
    return devices


def word_for(kind: LinkKind, word: str = "hello") -> str:
    """Return the wake word for the device on a link.

    Many that hear the same word within two seconds hear one person, to whom Home Assistant lets one answer.
    """
    return f"{word} over {kind}"


async def say_to_both(devices: dict[LinkKind, SimulatedDevice], sound: bytes) -> None:
    """Say something to both devices, and wait for the end of their conversations."""

    async def say(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.wake(word_for(kind))
        device.say(sound)
        await device.wait_state(State.IDLE, 15)

    await asyncio.gather(*(say(kind, device) for kind, device in devices.items()))


async def converse_with_both(
    devices: dict[LinkKind, SimulatedDevice], *sounds: bytes, word: str = "hello"
) -> dict[LinkKind, Conversation]:
    """Have the same conversation with both devices."""
    talks = await asyncio.gather(
        *(converse(device, *sounds, word=word_for(kind, word)) for kind, device in devices.items())
    )
    return dict(zip(devices, talks, strict=True))
