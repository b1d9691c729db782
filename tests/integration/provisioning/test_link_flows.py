"""The forms in which the owner chooses the link of the gateway, also through a broker."""

import asyncio
from collections.abc import AsyncGenerator, Generator
import logging
from pathlib import Path
import secrets
import socket
from typing import Any

from homeassistant.config_entries import SOURCE_REAUTH, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
import pytest_socket

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.link_settings import AUTO_SUBSCRIBE_TOPIC
from custom_components.xiaozhi.protocol.timeouts import BrokerTimeouts
from tests.integration.boxes import mqtt_client_id, open_issues
from tests.integration.http_device import MAC, TOKEN, HttpDevice, MakeEntry, paired_device, running
from tests.integration.provisioning.forms import check_texts, start, submit, suggested, texts
from tests.protocol.transport.mqtt.brokers import Mosquitto, PushingBroker, command, mosquitto
from tests.protocol.transport.udp.device import until

pytestmark = [
    # The broker is another process.
    pytest.mark.real_time,
    pytest.mark.timeouts(BrokerTimeouts, answer=60, push=0.1, first_retry=600),
    pytest.mark.usefixtures("own_address"),
]


@pytest.fixture
def taken_udp_port() -> Generator[int]:
    with socket.socket(type=socket.SOCK_DGRAM) as other:
        other.bind(("", 0))
        yield other.getsockname()[1]


@pytest.fixture
def settings(free_port: int, mqtt_data: dict[str, Any]) -> dict[str, Any]:
    """What an owner fills in who takes MQTT without a broker."""
    return {"websocket_port": free_port, "understand_alarms": True, **mqtt_data}


@pytest.fixture
async def entry(hass: HomeAssistant, make_entry: MakeEntry, mqtt_data: dict[str, Any]) -> MockConfigEntry:
    """A running gateway that offers MQTT, with a paired device."""
    return await running(hass, make_entry(paired_device(), understand_alarms=True, **mqtt_data))


@pytest.fixture
async def device(entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator) -> HttpDevice:
    """The paired device, which has not checked in yet."""
    return HttpDevice(client=await hass_client_no_auth())


@pytest.fixture
async def broker(hass: HomeAssistant, tmp_path: Path) -> AsyncGenerator[Mosquitto]:
    """A Mosquitto that asks for the password `secret` of the user `ha`.

    It is killed after the gateway has ended: in the moment of an attempt to connect, the library would leave
    an error that nobody catches.
    """
    passwords = tmp_path / "passwords"
    process = await asyncio.create_subprocess_exec(
        command("mosquitto_passwd"), "-c", "-b", str(passwords), "ha", "secret"
    )
    await process.wait()
    async with mosquitto(tmp_path, f"password_file {passwords}", "allow_anonymous false") as running_broker:
        yield running_broker
        for entry in hass.config_entries.async_loaded_entries(DOMAIN):
            await hass.config_entries.async_unload(entry.entry_id)


def at(broker: Mosquitto, **fields: Any) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": broker.port,
        "username": "ha",
        "password": "secret",
        "tls": False,
        **fields,
    }


def opens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


# MQTT without a broker.


async def test_every_port_that_will_be_opened_is_tried(
    hass: HomeAssistant, settings: dict[str, Any], taken_port: int, taken_udp_port: int
) -> None:
    """And what is wrong said at its own field; one that stays closed may be anybody's."""
    form = await start(hass)
    for wrong, errors in (
        (
            {"mqtt_port": taken_port, "udp_port": taken_udp_port},
            {"mqtt_port": "port_in_use", "udp_port": "port_in_use"},
        ),
        ({"mqtt_port": settings["websocket_port"]}, {"mqtt_port": "port_twice"}),
        # On this one devices encrypt, and we do not.
        ({"mqtt_port": 8883}, {"mqtt_port": "port_is_tls"}),
    ):
        form = await submit(hass, form, **settings | wrong)
        assert form["errors"] == errors
    taken = {"mqtt_port": taken_port, "udp_port": taken_udp_port}
    form = await submit(hass, form, **settings | taken | {"link": "websocket"})
    assert form["type"] is FlowResultType.CREATE_ENTRY


async def test_the_ports_of_the_gateway_itself_are_no_fault(
    hass: HomeAssistant, entry: MockConfigEntry, taken_udp_port: int, settings: dict[str, Any]
) -> None:
    """Two of them can even change places."""
    form: Any = await entry.start_reconfigure_flow(hass)
    assert suggested(form) == settings
    form = await submit(hass, form, **settings | {"udp_port": taken_udp_port})
    assert form["errors"] == {"udp_port": "port_in_use"}
    changed = settings | {
        "websocket_port": settings["mqtt_port"],
        "mqtt_port": settings["websocket_port"],
        "address": "ha.lan",
    }
    await submit(hass, form, **changed)
    await hass.async_block_till_done()
    assert entry.data == changed
    assert entry.state is ConfigEntryState.LOADED
    assert opens(settings["mqtt_port"])
    assert opens(settings["websocket_port"])


# Through a broker.


# The brokers of these tests are on this computer, and so must be the devices.
HERE = {"link": "broker", "address": "127.0.0.1"}


async def to_broker(hass: HomeAssistant, settings: dict[str, Any]) -> Any:
    """Choose a broker in the form of a new gateway; return the form that asks for it."""
    return await submit_twice(hass, await start(hass), **settings | HERE)


@pytest.mark.timeouts(BrokerTimeouts, push=60)
async def test_a_broker_known_here_only_is_refused_and_a_doubtful_one_warned_of(
    hass: HomeAssistant, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices are told the same host."""
    form = await submit(hass, await start(hass), **settings | {"link": "broker"})
    for host in ("localhost", "127.1.2.3", "box.localhost", "core-mosquitto"):
        form = await submit(hass, form, host=host, port=1883, tls=False)
        assert form["errors"] == {"host": "broker_known_here_only"}
    find = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *rest, **more: find("127.0.0.1", *rest, **more))
    broker = await PushingBroker().start()
    for host in ("emqx.local", "broker.local"):
        form = await submit(hass, form, host=host, port=broker.port, tls=False)
        assert form["errors"] == {"host": "address_local_name"}
    form = await submit(hass, form, host="broker.local", port=broker.port, tls=False)
    await broker.stop()
    assert form["type"] is FlowResultType.CREATE_ENTRY


async def submit_twice(hass: HomeAssistant, form: Any, **fields: Any) -> Any:
    """Fill in a form that warns, and insist."""
    form = await submit(hass, form, **fields)
    assert form["errors"] in ({"base": "broker_does_not_push"}, {"address": "address_known_here_only"})
    return await submit(hass, form, **fields)


async def test_a_broker_is_tried_and_stored_and_taken_without_push_on_insistence(
    hass: HomeAssistant, settings: dict[str, Any], broker: Mosquitto, taken_port: int
) -> None:
    """After the gateway's own settings, and before the address for devices. MQTT needs no port of ours."""
    settings |= {**HERE, "mqtt_port": taken_port}
    form = await to_broker(hass, settings)
    assert (form["type"], form["step_id"]) == (FlowResultType.FORM, "broker")
    assert form["data_schema"]({"host": "broker.lan"}) == {"host": "broker.lan", "port": 1883, "tls": False}
    # Exactly as it is to be typed into the broker.
    assert form["description_placeholders"]["subscribe_topic"] == "xiaozhi/${clientid}/down"
    fields = at(broker, host=" 127.0.0.1 ", username=" ha ")
    # There is firmware that subscribes. Somebody who changes something in between is warned again.
    for change in ({}, {"password": "wrong"}, {}):
        form = await submit(hass, form, **fields | change)
        assert form["step_id"] == "broker"
    assert form["errors"] == {"base": "broker_does_not_push"}
    result = await submit(hass, form, **fields)
    assert result["type"] is FlowResultType.CREATE_ENTRY
    await hass.async_block_till_done()
    assert result["data"] == settings | {"broker": at(broker)}
    assert result["result"].state is ConfigEntryState.LOADED


async def test_what_is_wrong_with_a_broker_is_said(
    hass: HomeAssistant, settings: dict[str, Any], broker: Mosquitto, caplog: pytest.LogCaptureFixture
) -> None:
    """In our words, and in those of the broker in the log; then the right thing can be typed."""
    caplog.set_level(logging.INFO)
    form = await to_broker(hass, settings)
    wrongs: tuple[tuple[dict[str, Any], dict[str, str], str], ...] = (
        ({"password": "wrong"}, {"username": "broker_refused"}, "Not authorized"),
        ({"username": "", "password": ""}, {"username": "broker_refused"}, "Not authorized"),
        ({"tls": True}, {"tls": "broker_tls"}, "reset"),
    )
    for wrong, errors, reason in wrongs:
        caplog.clear()
        form = await submit(hass, form, **at(broker, **wrong))
        assert form["errors"] == errors
        assert form["description_placeholders"] == {"subscribe_topic": AUTO_SUBSCRIBE_TOPIC}
        assert reason in caplog.text
    await broker.stop()
    form = await submit(hass, form, **at(broker))
    assert form["errors"] == {"host": "broker_unreachable"}
    await broker.start()
    assert (await submit_twice(hass, form, **at(broker)))["type"] is FlowResultType.CREATE_ENTRY


async def test_what_devices_could_not_be_told_or_would_encrypt_is_refused(
    hass: HomeAssistant, settings: dict[str, Any], tmp_path: Path
) -> None:
    """A check-in reply with it would harm them."""
    form = await to_broker(hass, settings)
    good = {"host": "127.0.0.1", "port": 1, "username": "ha", "password": "secret", "tls": False}
    for wrong, errors in (
        ({"host": "mqtt://broker.lan"}, {"host": "invalid_address"}),
        ({"host": "fe80::1"}, {"host": "invalid_address"}),
        ({"username": "häuschen"}, {"username": "not_for_devices"}),
        ({"username": "h" * 129}, {"username": "not_for_devices"}),
        ({"password": "two words"}, {"password": "not_for_devices"}),
        ({"username": " "}, {"username": "username_needed"}),
        (
            {"host": "-", "username": "a b", "password": "ö"},
            {"host": "invalid_address", "username": "not_for_devices", "password": "not_for_devices"},
        ),
    ):
        form = await submit(hass, form, **good | wrong)
        assert form["errors"] == errors
    # The number of the port with encryption is built into them, and we do not encrypt on it.
    # A loopback address of its own, at which the port is free.
    host = f"127.{secrets.randbelow(250) + 2}.{secrets.randbelow(250) + 2}.1"
    pytest_socket.socket_allow_hosts(["127.0.0.1", host], allow_unix_socket=True)
    async with mosquitto(tmp_path, f"listener 8883 {host}", "allow_anonymous true") as broker:
        form = await submit(hass, form, **at(broker, host=host, port=8883))
    assert form["errors"] == {"port": "broker_port_tls"}


async def test_a_gateway_can_change_to_a_broker_and_back_with_a_filled_form(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    device: HttpDevice,
    settings: dict[str, Any],
    broker: Mosquitto,
) -> None:
    """Devices learn of it when they check in. What is no longer needed is forgotten, the password first."""
    form: Any = await entry.start_reconfigure_flow(hass)
    form = await submit_twice(hass, form, **settings | HERE)
    assert form["step_id"] == "broker"
    assert entry.data == settings, "nothing is changed before all is filled in"
    result = await submit_twice(hass, form, **at(broker))
    await hass.async_block_till_done()
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "reconfigure_successful")
    assert entry.data == settings | HERE | {"broker": at(broker)}
    assert not opens(settings["mqtt_port"])
    section = (await device.check_in())["mqtt"]
    assert section["endpoint"] == f"127.0.0.1:{broker.port}"
    assert (section["username"], section["password"]) == ("ha", "secret")
    assert section["client_id"].endswith(f"-{mqtt_client_id(MAC)}")

    # The form of a known broker is filled in except for the password, which stays when none is typed.
    before = entry.runtime_data
    for fields, said in (
        ({}, ("reason", "reconfigure_successful")),
        ({"password": "wrong"}, ("errors", {"username": "broker_refused"})),
        # Without a user the old password is not sent, and this broker wants one.
        ({"username": ""}, ("errors", {"username": "broker_refused"})),
    ):
        form = await submit(hass, await entry.start_reconfigure_flow(hass), **settings | HERE)
        assert form["step_id"] == "reconfigure_broker"
        assert suggested(form) == {"host": "127.0.0.1", "port": broker.port, "username": "ha", "tls": False}
        assert said in (await submit(hass, form, **suggested(form) | fields)).items()
        await hass.async_block_till_done()
    assert entry.data["broker"] == at(broker)
    assert entry.runtime_data is before

    form = await entry.start_reconfigure_flow(hass)
    result = await submit(hass, form, **settings)
    await hass.async_block_till_done()
    assert entry.data == settings
    assert (await device.check_in())["mqtt"]["password"] == TOKEN


async def test_a_broker_that_refuses_the_password_has_its_owner_type_another(
    hass: HomeAssistant, make_entry: MakeEntry, settings: dict[str, Any], broker: Mosquitto
) -> None:
    """Nothing else is asked for, and nothing is saved before the broker accepts it."""
    refused = at(broker, password="old")
    entry = await running(hass, make_entry(**settings | HERE | {"broker": refused}))
    # A card asks for another one, as soon as the broker has refused it.
    await until(lambda: bool(hass.config_entries.flow.async_progress_by_handler(DOMAIN)))
    (card,) = hass.config_entries.flow.async_progress_by_handler(DOMAIN)
    assert card["context"]["source"] == SOURCE_REAUTH
    form = await hass.config_entries.flow.async_configure(card["flow_id"])
    form = check_texts(texts("config"), form)
    assert form["step_id"] == "reauth_confirm"
    assert form["description_placeholders"]["host"] == "127.0.0.1"
    assert suggested(form) == {"username": "ha"}
    assert not open_issues(hass)
    form = await submit(hass, form, username="ha", password="wrong")
    assert form["errors"] == {"username": "broker_refused"}
    form = await submit(hass, form, password="secret")
    assert form["errors"] == {"username": "username_needed"}
    await broker.stop()
    form = await submit(hass, form, username="ha", password="secret")
    assert form["errors"] == {"base": "broker_unreachable"}, "a broker that is away is no wrong password"
    await broker.start()
    assert entry.data["broker"] == refused
    before = entry.runtime_data
    result = await submit(hass, form, username=" ha ", password="secret")
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "broker_accepted")
    await hass.async_block_till_done()
    assert entry.data["broker"] == at(broker)
    assert entry.runtime_data is not before
    assert not hass.config_entries.flow.async_progress_by_handler(DOMAIN)
