"""The setup of the demo's home, as in the web page: areas, speech, the gateway and devices."""

from enum import StrEnum
from time import monotonic
from typing import Any, Final

from simulator import SimulatedDevice, State

from .client import Client, until
from .engines import Speech
from .errors import DemoError, naming_fault
from .processes import HOST, gateway_ports

LAMP: Final = "light.kitchen_light"
NAMES: Final = (
    "Kitchen light, living room light, bedroom, hall, jazz."
    " Wake me at half past seven. Snooze the alarm. Remind me to turn it off."
)
"""Names that a speech recognition is to expect, besides ordinary words."""
_DOMAIN: Final = "xiaozhi"
_LOOPBACK: Final = "address_known_here_only"
_ASSISTANT: Final = "conversation.demo_assistant"


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
    await client.finish(await client.form("wyoming"), "create_entry", host=HOST, port=port)


async def check_assistant(client: Client) -> None:
    """Ask the assistant by text, to show that it works without speech."""
    reply = await client.post(
        "/api/conversation/process", {"text": "is the kitchen light on", "language": "en"}
    )
    kind = reply["response"]["response_type"]
    if kind != "query_answer":
        raise DemoError(f"the assistant does not know the lamps: {kind}, {reply['response'].get('data')}")


async def set_up_gateway(client: Client) -> None:
    """Add the integration, with ports of its own.

    Devices get MQTT without a broker, until `change_link` gives them another link.
    """
    fields: dict[str, Any] = {"link": "mqtt", **gateway_ports(), "address": HOST}
    end = await client.form(_DOMAIN)
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
    form = await client.form([await _entry_id(client), "access_point"])
    form = await client.submit(form, name=name, url=url)
    form = await client.submit(form, llm_hass_api=["assist"], questions_only=False)
    proposed = {field["name"]: field["description"]["suggested_value"] for field in form["data_schema"]}
    await client.finish(form, "create_entry", **proposed)


async def pair(client: Client, device: SimulatedDevice, name: str, room: Room) -> None:
    """Switch a device on, find its *Discovered* card, type the six digits that it shows, and name it."""
    with naming_fault("the device does not start"):
        await device.boot()
    code = device.pairing_code
    if code is None:
        raise DemoError(f"the device shows no code but {device.screen.status!r} ({device.last_error})")

    async def card() -> dict[str, Any] | None:
        flows = await client.flows(_DOMAIN, "integration_discovery")
        return next((flow for flow in flows if flow["context"]["unique_id"] == device.mac), None)

    found = await until(card, "the device is not shown as discovered")
    form = await client.submit(await client.open_flow(found), code=code)
    await client.finish(form, "device_added", name=name, area_id=room)
    with naming_fault("the device does not learn that it is paired"):
        await device.wait_paired()


async def change_device(client: Client, mac: str, outcome: str, **fields: Any) -> None:
    """Fill in the form of a device, which is to end with this reason."""
    entry_id = await _entry_id(client)
    subentries = await client.command("config_entries/subentries/list", entry_id=entry_id)
    (subentry_id,) = (each["subentry_id"] for each in subentries if each["unique_id"] == mac)
    form = await client.form([entry_id, "device"], subentry_id=subentry_id)
    await client.finish(form, outcome, **fields)


async def change_link(client: Client, device: SimulatedDevice, link: str) -> None:
    """Choose `mqtt` or `websocket` for an idle device on MQTT, and restart it, so that it checks in."""
    await change_device(client, device.mac, "device_restarting", rare={"link": link, "restart_now": True})
    with naming_fault("the device does not restart with its new link"):
        await device.wait_for(lambda: device.link == link and device.state is State.IDLE)


async def set_idle_brightness(client: Client, device: SimulatedDevice, percent: int = 55) -> float:
    """Set the screen brightness of an idle device; return the milliseconds until the action was done."""
    entity_id = await entity_id_of(client, device.mac, "number", "brightness")
    before = device.values["brightness"]
    await has_state(client, entity_id, str(before))
    start = monotonic()
    await client.call("number", "set_value", entity_id=entity_id, value=percent)
    passed = 1000 * (monotonic() - start)
    if (now := device.values["brightness"]) != percent or device.state is not State.IDLE:
        raise DemoError(f"the idle device should have brightness {percent}; it is {device.state} at {now}")
    return passed


async def enable_entity(client: Client, mac: str, key: str) -> None:
    """Enable an entity that is disabled at first, and wait until its device is connected again."""
    entity_id = await entity_id_of(client, mac, "sensor", key)
    await client.command("config/entity_registry/update", entity_id=entity_id, disabled_by=None)
    await client.post(f"/api/config/config_entries/entry/{await _entry_id(client)}/reload")
    await has_state(client, await entity_id_of(client, mac, "media_player"), "idle")


async def has_state(client: Client, entity_id: str, *states: str) -> None:
    """Wait until an entity has one of some states. Raises `DemoError`."""
    shown = ""

    async def has() -> bool:
        nonlocal shown
        shown = await client.state(entity_id)
        return shown in states

    await until(has, lambda: f"{entity_id} is to be {' or '.join(states)} and is {shown}")


async def entity_id_of(client: Client, mac: str, domain: str, name: str = "") -> str:
    """Return the entity of a device and a domain whose unique id ends with a name. Raises `DemoError`."""

    async def look() -> str | None:
        for entity in await client.command("config/entity_registry/list"):
            entity_id: str = entity["entity_id"]
            unique_id = entity["unique_id"]
            if entity_id.startswith(f"{domain}.") and unique_id.startswith(mac) and unique_id.endswith(name):
                return entity_id
        return None

    return await until(look, f"the device {mac} has no {domain} {name}")


async def _entry_id(client: Client) -> str:
    (entry,) = await client.command("config_entries/get", domain=_DOMAIN)
    entry_id: str = entry["entry_id"]
    return entry_id
