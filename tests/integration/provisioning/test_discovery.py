"""What check-ins lead to: cards, codes, links and repair issues."""

import asyncio

from homeassistant.config_entries import ConfigFlowResult
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import device_registry as dr, issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.cloud.access_points import AccessPoints
from custom_components.xiaozhi.provisioning.discovery import MAX_CARDS_FROM_ADDRESS
from custom_components.xiaozhi.texts.issues import async_raise_issue
from tests.integration.boxes import open_issues
from tests.integration.http_device import CLIENT_ID, TOKEN, MakeDevice, paired_device
from tests.integration.names import registered_devices
from tests.integration.provisioning.forms import cards, start_device, submit_device

OTHER_MAC = "94:a9:90:00:00:01"
with_paired_device = pytest.mark.parametrize("gateway_entry", [[paired_device()]], indirect=True)


async def card_names(hass: HomeAssistant) -> list[str]:
    return sorted(flow["context"]["title_placeholders"]["name"] for flow in await cards(hass))


async def submit(hass: HomeAssistant, flow_id: str, **user_input: str) -> ConfigFlowResult:
    return await hass.config_entries.flow.async_configure(flow_id, user_input)


async def test_each_unknown_device_gets_one_card_and_made_up_ones_a_few(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """However often it calls while its owner looks for the code; the end of the MAC tells two apart."""
    device = make_device()
    codes = {await device.code() for _ in range(3)}
    assert len(codes) == 1
    assert await card_names(hass) == ["bread-compact-wifi (A4:5F)"]
    await make_device(mac=OTHER_MAC).check_in()
    assert await card_names(hass) == ["bread-compact-wifi (00:01)", "bread-compact-wifi (A4:5F)"]
    # A flood of made-up devices stays bounded, and leaves room for those of others.
    for number in range(MAX_CARDS_FROM_ADDRESS):
        last = await make_device(mac=f"94:a9:90:00:01:{number:02x}").code()
    names = await card_names(hass)
    assert len(names) == MAX_CARDS_FROM_ADDRESS
    assert "bread-compact-wifi (A4:5F)" in names
    # One without a card is added at *Add device*.
    assert f"bread-compact-wifi (01:{number:02x})".upper() not in map(str.upper, names)
    form = await submit_device(hass, await start_device(hass, gateway_entry), code=last)
    assert form["step_id"] == "details"


@pytest.mark.parametrize(("minutes", "count"), [(0, 1), (11, 0)], ids=["waits", "has gone"])
# Home Assistant holds back such cards until it has started, which it does once.
@pytest.mark.own_home
async def test_a_device_that_calls_during_the_start_gets_its_card_later(
    hass: HomeAssistant, make_device: MakeDevice, minutes: int, count: int
) -> None:
    """After a power cut both start at once. Nobody could type the code of one that has gone meanwhile."""
    hass.set_state(CoreState.starting)
    await make_device().check_in()
    await make_device().check_in()
    assert await cards(hass) == []
    await asyncio.sleep(60 * minutes)
    hass.set_state(CoreState.running)
    hass.bus.async_fire("homeassistant_started")
    assert len(await cards(hass)) == count


async def test_a_device_that_stops_calling_loses_its_card(
    hass: HomeAssistant, make_device: MakeDevice
) -> None:
    """It was switched off or given back to its cloud. One that goes on calling keeps its card."""
    await make_device().check_in()
    await make_device(mac=OTHER_MAC).check_in()
    await asyncio.sleep(60 * 6)
    await make_device(mac=OTHER_MAC).check_in()
    await asyncio.sleep(60 * 5)
    assert await card_names(hass) == ["bread-compact-wifi (00:01)"]
    assert await make_device().activate() == 404
    assert await make_device(mac=OTHER_MAC).activate() == 202
    await asyncio.sleep(60 * 6)
    assert await cards(hass) == []


async def test_the_owners_code_works_while_a_stranger_uses_the_same_mac(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """Both have a code on one card; the one that is typed tells which device is added."""
    device, stranger = make_device(), make_device(client_id="a-stranger")
    code = await device.code()
    (card,) = await cards(hass)
    assert await stranger.code() != code
    assert await device.activate() == 202
    assert len(await cards(hass)) == 1
    await submit(hass, card["flow_id"], code=code)
    await stranger.check_in()
    await submit(hass, card["flow_id"], name="Kitchen box")
    (subentry,) = gateway_entry.subentries.values()
    assert subentry.data["client_id"] == CLIENT_ID
    assert await device.activate() == 200
    assert await stranger.activate() == 202
    assert "websocket" not in await stranger.check_in()


@with_paired_device
async def test_another_client_id_gets_a_code_a_card_and_an_issue_but_no_token(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """Either the device was reset, or something poses as it: only its owner can tell."""
    registry = dr.async_get(hass)
    (paired,) = registered_devices(hass, gateway_entry)
    registry.async_update_device(paired.id, name_by_user="Robbie")
    reset = make_device(client_id="after-the-reset")
    reply = await reset.check_in()
    assert "websocket" not in reply
    assert await reset.activate() == 202
    assert await card_names(hass) == ["bread-compact-wifi (A4:5F)"]
    (issue,) = open_issues(hass)
    assert (issue.translation_key, issue.severity) == ("identity_changed", ir.IssueSeverity.WARNING)
    assert not issue.is_fixable
    # It is called as on its page.
    assert issue.translation_placeholders == {"name": "Robbie", "device": "bread-compact-wifi (A4:5F)"}
    # A stranger cannot take a device away from its owner: the device is there, and so there is no question.
    assert (await make_device().check_in())["websocket"]["token"] == TOKEN
    assert await make_device().activate() == 200
    assert open_issues(hass) == []
    reply = await reset.check_in()
    (issue,) = open_issues(hass)
    # Only pairing again or removing it settles the question.
    (subentry,) = gateway_entry.subentries.values()
    hass.config_entries.async_update_subentry(gateway_entry, subentry, title="Another name")
    await hass.async_block_till_done()
    assert open_issues(hass) == [issue]
    # It stays the same device to Home Assistant: nothing is added, named or placed differently.
    (before,) = (subentry.as_dict() for subentry in gateway_entry.subentries.values())
    result = await submit(hass, (await cards(hass))[0]["flow_id"], code=reply["activation"]["code"])
    assert result["reason"] == "device_paired_again"
    assert result["description_placeholders"] == {"name": "Robbie"}
    (after,) = (subentry.as_dict() for subentry in gateway_entry.subentries.values())
    assert after["data"]["client_id"] == "after-the-reset"
    assert after["data"]["token"] != TOKEN
    assert {**after, "data": None} == {**before, "data": None}
    assert (await reset.check_in())["websocket"]["token"] == after["data"]["token"]
    assert await reset.activate() == 200
    assert open_issues(hass) == []
    assert await cards(hass) == []
    assert "activation" in await make_device(client_id=CLIENT_ID).check_in()


@with_paired_device
async def test_the_issue_of_a_stranger_goes_with_it(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """Followed later, it would take the token from a device that works."""
    await make_device(client_id="a-stranger").check_in()
    assert len(open_issues(hass)) == 1
    await asyncio.sleep(60 * 12)
    assert open_issues(hass) == []


@with_paired_device
async def test_unloading_takes_cards_and_issues_away(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """They come back when the devices call the gateway again."""
    await make_device(client_id="a-stranger").check_in()
    await make_device(mac=OTHER_MAC).check_in()
    assert len(await cards(hass)) == 2
    assert await hass.config_entries.async_unload(gateway_entry.entry_id)
    assert await cards(hass) == []
    assert open_issues(hass) == []
    listeners = len(gateway_entry.update_listeners)
    assert await hass.config_entries.async_setup(gateway_entry.entry_id)
    await make_device(mac=OTHER_MAC).check_in()
    assert len(await cards(hass)) == 1
    assert await hass.config_entries.async_unload(gateway_entry.entry_id)
    assert len(gateway_entry.update_listeners) == listeners


@with_paired_device
async def test_a_hanging_gateway_ends_in_time_and_takes_its_issues_away(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home Assistant waits for ten seconds; then the next gateway would find the ports in use."""
    for issue in ("broker_unusable", "no_speech_detector", "no_vision_model", "newer_version"):
        async_raise_issue(hass, issue)

    async def hang(_: object) -> None:
        await asyncio.sleep(100)

    monkeypatch.setattr(Device, "async_close", hang)
    monkeypatch.setattr(Announcer, "async_close", hang)
    monkeypatch.setattr(AccessPoints, "async_stop", hang)
    began = hass.loop.time()
    assert await hass.config_entries.async_reload(gateway_entry.entry_id)
    assert hass.loop.time() - began < 10
    assert [issue.issue_id for issue in open_issues(hass)] == ["newer_version"]
