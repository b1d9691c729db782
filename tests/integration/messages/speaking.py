"""Somebody speaks a message to a device."""

from pathlib import Path

from homeassistant.core import HomeAssistant

from simulator import SimulatedDevice, State
from tests.integration.boxes import Speech, call_action

PROMPT = "Speak after the tone."


def sounds(hass: HomeAssistant) -> list[Path]:
    return sorted(Path(hass.config.path(".storage", "xiaozhi_messages")).glob("*/*.ogg"))


async def send(
    hass: HomeAssistant,
    device: SimulatedDevice,
    speech: Speech,
    command: bytes,
    said: bytes,
    ids: list[str],
    *,
    word: str = "hello",
) -> None:
    """Send a message from the first device to the second one in a conversation, and wait for its end."""
    await speak_to(hass, device, speech, command, said, *ids, word=word)
    await device.wait_state(State.IDLE, 60)


async def speak_to(
    hass: HomeAssistant,
    device: SimulatedDevice,
    speech: Speech,
    command: bytes,
    said: bytes,
    sender: str,
    *to: str,
    word: str = "hello",
) -> None:
    """Begin a conversation, and send a message in it."""
    await speech.answer_with("Fine.")
    prompts = device.screen.captions.count(PROMPT)
    await device.wake(word)
    sending = hass.async_create_task(call_action(hass, "send_voice_message", [*to], sender=sender))
    device.say(command)
    await device.wait_for(lambda: device.screen.captions.count(PROMPT) > prompts, 30)
    await device.wait_state(State.LISTENING, 30)
    device.say(said)
    await sending
