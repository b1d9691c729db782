"""The setup of the demo's home, as in the web page: areas, speech, the gateway and devices."""

import asyncio
from enum import StrEnum
from time import monotonic
from typing import Any, Final

from simulator import DeviceCrashed, SimulatedDevice, State

from .client import Client
from .engines import Speech
from .errors import DemoError
from .processes import HOST

__all__ = [
    "LAMP",
    "LAMPS",
    "NAMES",
    "Room",
    "add_access_point",
    "add_engine",
    "change_device",
    "change_link",
    "check_assistant",
    "enable_entity",
    "entity_id_of",
    "furnish",
    "pair",
    "set_idle_brightness",
    "set_up_gateway",
    "set_up_speech",
    "switch_lamp_off",
]

LAMP: Final = "light.kitchen_light"
NAMES: Final = "Kitchen light, living room light, bedroom, hall, jazz."
"""What a speech recognition is to expect, besides ordinary words."""
_DOMAIN: Final = "xiaozhi"
_LOOPBACK: Final = "address_known_here_only"
_ASSISTANT: Final = "conversation.demo_assistant"
_CARD_SECONDS: Final = 60
_RESTART_SECONDS: Final = 60
_KNOWN_SECONDS: Final = 60


class Room(StrEnum):
    """Areas: those that Home Assistant creates with the first user, and one more."""

    KITCHEN = "kitchen"
    LIVING_ROOM = "living_room"
    BEDROOM = "bedroom"
    HALL = "hall"


LAMPS: Final = {LAMP: Room.KITCHEN, "light.living_room_light": Room.LIVING_ROOM}
"""The room of each."""


async def furnish(client: Client) -> None:
    """Add the hall, assign the lamps to their rooms, and switch them off."""
    await client.command("config/area_registry/create", name=Room.HALL.value.capitalize())
    for lamp, room in LAMPS.items():
        await client.command("config/entity_registry/update", entity_id=lamp, area_id=room)
    await client.call("light", "turn_off", entity_id=list(LAMPS))


async def switch_lamp_off(client: Client) -> None:
    """Switch the lamp off, so that a spoken command can switch it on."""
    await client.call("light", "turn_off", entity_id=LAMP)
    if (state := await client.state(LAMP)) != "off":
        raise DemoError(f"the lamp should be off and is {state}")


async def set_up_speech(client: Client, speech: Speech) -> None:
    """Add the speech engines by Home Assistant's own Wyoming integration, and use them.

    What Home Assistant does not understand by itself is answered by the demo's assistant.
    """
    for port in (speech.hearing.port, speech.speaking.port):
        await add_engine(client, port)
    [ears], [voice] = [
        (await client.command(f"{kind}/engine/list", language="en", country="US"))["providers"]
        for kind in ("stt", "tts")
    ]
    pipeline = await client.command(
        "assist_pipeline/pipeline/create",
        name="Demo",
        language="en",
        conversation_engine=_ASSISTANT,
        prefer_local_intents=True,
        conversation_language="en",
        stt_engine=ears["engine_id"],
        stt_language=ears["supported_languages"][0],
        tts_engine=voice["engine_id"],
        tts_language=voice["supported_languages"][0],
        tts_voice=None,
        wake_word_entity=None,
        wake_word_id=None,
    )
    await client.command("assist_pipeline/pipeline/set_preferred", pipeline_id=pipeline["id"])


async def add_engine(client: Client, port: int) -> None:
    """Add a speech engine by Home Assistant's own Wyoming integration. Raises `DemoError`."""
    form = await client.start_flow("wyoming")
    end = await client.submit(form, host=HOST, port=port)
    if end["type"] != "create_entry":
        raise DemoError(f"Wyoming does not take the speech server on port {port}: {end.get('reason')}")


async def check_assistant(client: Client) -> None:
    """Ask the assistant by text, to show that it works without speech."""
    reply = await client.post(
        "/api/conversation/process", {"text": "is the kitchen light on", "language": "en"}
    )
    kind = reply["response"]["response_type"]
    if kind != "query_answer":
        raise DemoError(f"the assistant does not know the lamps: {kind}, {reply['response'].get('data')}")


async def set_up_gateway(client: Client, *, websocket_port: int, mqtt_port: int, udp_port: int) -> None:
    """Add the integration, with ports of its own.

    Devices get MQTT without a broker, until `change_link` gives them another link.
    """
    fields: dict[str, Any] = {
        "link": "mqtt",
        "websocket_port": websocket_port,
        "mqtt_port": mqtt_port,
        "udp_port": udp_port,
        "address": HOST,
    }
    end = await client.start_flow(_DOMAIN)
    # The first time, the form warns of the loopback address.
    for _ in range(2):
        if end["type"] == "form":
            above = {field["name"] for field in end["data_schema"]}
            answers = {name: value for name, value in fields.items() if name in above}
            below = {name: value for name, value in fields.items() if name not in above}
            end = await client.submit(end, warned={_LOOPBACK}, **answers, advanced=below)
    if end["type"] != "create_entry":
        raise DemoError(f"the gateway is not set up: {end.get('reason', end['type'])}")


async def add_access_point(client: Client, name: str, url: str) -> None:
    """Offer the home's tools at an address of a cloud: those that the form proposes."""
    (entry,) = await client.command("config_entries/get", domain=_DOMAIN)
    form = await client.add_subentry(entry["entry_id"], "access_point")
    form = await client.submit(form, name=name, url=url)
    form = await client.submit(form, llm_hass_api=["assist"], questions_only=False)
    proposed = {field["name"]: field["description"]["suggested_value"] for field in form["data_schema"]}
    end = await client.submit(form, **proposed)
    if end["type"] != "create_entry":
        raise DemoError(f"the access point is not added: {end.get('reason', end['type'])}")


async def pair(client: Client, device: SimulatedDevice, name: str, room: Room) -> None:
    """Switch a device on, find its *Discovered* card, type the six digits that it shows, and name it."""
    try:
        await device.boot()
    except (DeviceCrashed, TimeoutError) as err:
        raise DemoError(f"the device does not start: {err or 'it does not come to rest'}") from err
    code = device.pairing_code
    if code is None:
        raise DemoError(f"the device shows no code but {device.screen.status!r} ({device.last_error})")
    form = await client.open_flow(await _card(client))
    form = await client.submit(form, code=code)
    end = await client.submit(form, name=name, area_id=room)
    if end.get("reason") != "device_added":
        raise DemoError(f"the device is not paired: {end.get('reason', end['type'])}")
    try:
        await device.wait_paired()
    except (DeviceCrashed, TimeoutError) as err:
        raise DemoError(f"the device does not learn that it is paired: {err or 'timeout'}") from err


async def change_device(client: Client, mac: str, **fields: Any) -> str | None:
    """Fill in the form of a device; return how it ended."""
    for entry in await client.command("config_entries/get", domain=_DOMAIN):
        entry_id = entry["entry_id"]
        for subentry in await client.command("config_entries/subentries/list", entry_id=entry_id):
            if subentry["unique_id"] == mac:
                form = await client.change_subentry(entry_id, "device", subentry["subentry_id"])
                return (await client.submit(form, **fields)).get("reason")
    raise DemoError(f"Home Assistant does not know the device {mac} that was paired")


async def change_link(client: Client, device: SimulatedDevice, link: str) -> None:
    """Choose `mqtt` or `websocket` for an idle device on MQTT, and restart it, so that it checks in."""
    end = await change_device(client, device.mac, link=link, restart_now=True)
    if end != "device_restarting":
        raise DemoError(f"the device does not get another link: {end}")
    try:
        await device.wait_for(lambda: device.link == link and device.state is State.IDLE, _RESTART_SECONDS)
    except (DeviceCrashed, TimeoutError) as err:
        raise DemoError(
            f"the device does not restart with its new link: {err or f'it is {device.state}'}"
        ) from err


async def set_idle_brightness(client: Client, device: SimulatedDevice, percent: int = 55) -> float:
    """Set the screen brightness of an idle device; return the milliseconds until the action was done."""
    entity_id = await entity_id_of(client, f"{device.mac}_brightness")
    for _ in range(_KNOWN_SECONDS * 10):
        if (known := await client.state(entity_id)) == str(device.values["brightness"]):
            break
        await asyncio.sleep(0.1)
    else:
        raise DemoError(f"the brightness is {device.values['brightness']}, but said to be {known}")
    start = monotonic()
    await client.call("number", "set_value", entity_id=entity_id, value=percent)
    passed = 1000 * (monotonic() - start)
    if (now := device.values["brightness"]) != percent or device.state is not State.IDLE:
        raise DemoError(f"the idle device should have brightness {percent}; it is {device.state} at {now}")
    return passed


async def enable_entity(client: Client, mac: str, key: str) -> None:
    """Enable an entity that is disabled at first, and wait until its device is connected again."""
    entity_id = await entity_id_of(client, f"{mac}_{key}")
    await client.command("config/entity_registry/update", entity_id=entity_id, disabled_by=None)
    for entry in await client.command("config_entries/get", domain=_DOMAIN):
        await client.post(f"/api/config/config_entries/entry/{entry['entry_id']}/reload")
    speaker = await entity_id_of(client, f"{mac}_speaker")
    for _ in range(_RESTART_SECONDS * 10):
        if await client.state(speaker) not in ("unavailable", "unknown"):
            return
        await asyncio.sleep(0.1)
    raise DemoError(f"the device is not connected {_RESTART_SECONDS} s after its {key} was enabled")


async def entity_id_of(client: Client, unique_id: str) -> str:
    """Wait until there is an entity, and return its id. Raises `DemoError`."""
    for _ in range(_KNOWN_SECONDS * 10):
        for entity in await client.command("config/entity_registry/list"):
            if entity["platform"] == _DOMAIN and entity["unique_id"] == unique_id:
                entity_id: str = entity["entity_id"]
                return entity_id
        await asyncio.sleep(0.1)
    raise DemoError(f"there is no entity {unique_id} within {_KNOWN_SECONDS} s")


async def _card(client: Client) -> dict[str, Any]:
    for _ in range(_CARD_SECONDS * 10):
        if cards := await client.flows(_DOMAIN, "integration_discovery"):
            return cards[0]
        await asyncio.sleep(0.1)
    raise DemoError(f"Home Assistant does not show the device as discovered within {_CARD_SECONDS} s")
