"""Somebody speaks a message to a device."""

from pathlib import Path

from homeassistant.core import HomeAssistant

from simulator import SimulatedDevice, State
from tests.integration.boxes import Speech, call_action

PROMPT = "Speak after the tone."


def sounds(hass: HomeAssistant) -> list[Path]:
    return sorted(Path(hass.config.path(".storage", "xiaozhi_messages")).glob("*/*.ogg"))


async def send(
    device: SimulatedDevice, speech: Speech, said: bytes, ids: list[str], *, word: str = "hello"
) -> None:
    """Send a message from the first device to the second one in a conversation, and wait for its end."""
    await speak_to(device, speech, said, ids, word=word)
    await device.wait_state(State.IDLE, 60)


async def speak_to(
    device: SimulatedDevice, speech: Speech, said: bytes, ids: list[str], *, word: str = "hello"
) -> None:
    """Begin a conversation with the first device, and send a message to the others in it."""
    await speech.answer_with("Fine.")
    sender, *to = ids
    prompts = device.screen.captions.count(PROMPT)
    await device.wake(word)
    sending = speech.hass.async_create_task(call_action(speech.hass, "send_voice_message", to, sender=sender))
    device.say(speech.command)
    await device.wait_for(lambda: device.screen.captions.count(PROMPT) > prompts, 30)
    await device.wait_state(State.LISTENING, 30)
    device.say(said)
    await sending


async def listens(device: SimulatedDevice) -> None:
    """Wait until a device has asked for a message, and records it."""
    await device.wait_for(lambda: PROMPT in device.screen.captions, 30)
    await device.wait_state(State.LISTENING, 30)
