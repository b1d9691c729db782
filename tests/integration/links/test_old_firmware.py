"""What the firmware does wrong, and a server can spare it."""

from homeassistant.components.notify import ATTR_MESSAGE, DOMAIN as NOTIFY, SERVICE_SEND_MESSAGE
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from simulator import State, converse, get_profile
from tests.integration.boxes import COMMAND, MAC, Boot, Speech, introduce, wait_for_state


async def test_a_long_text_does_not_end_a_conversation_of_firmware_with_a_small_buffer(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """Four hundred and eighty emoji are cut; a call that is as long is refused, and says why."""
    device = await boot(get_profile("s3", "1.7.6"))
    await introduce(hass, device)
    await wait_for_state(hass, "number.kitchen_box_volume", "70", 10)
    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    await hass.services.async_call(
        NOTIFY,
        SERVICE_SEND_MESSAGE,
        {ATTR_ENTITY_ID: "notify.kitchen_box_screen_message", ATTR_MESSAGE: "😀" * 480},
        blocking=True,
    )
    await device.wait_for(lambda: device.screen.system_text.startswith("😀" * 300), 10)
    assert device.screen.system_text.endswith("…")
    known = linked_entry.runtime_data.devices[MAC]
    with pytest.raises(HomeAssistantError, match="longer than the 1440 bytes that this firmware takes"):
        await known.commands.call_tool("self.screen.set_theme", {"theme": "x" * 2000})
    assert device.channel_open


async def test_a_refusal_that_is_no_good_json_is_told_at_once(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """The firmware repeats a name in quotes as it is."""
    device = await boot()
    await introduce(hass, device)
    await wait_for_state(hass, "number.kitchen_box_volume", "70", 10)
    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    known = linked_entry.runtime_data.devices[MAC]
    with pytest.raises(HomeAssistantError, match='Unknown tool: say "hi"'):
        await known.commands.call_tool('say "hi"')
    assert not known.session.mcp.dropped


async def test_a_device_that_misses_a_quick_answer_to_its_request_talks(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    """The answer would come within a millisecond, before the client of the firmware looks for it."""
    speech.recognizer.lines = [COMMAND]
    device = await boot(get_profile(answer_missed_seconds=0.02))
    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    assert (await converse(device, command)).heard == [COMMAND]
