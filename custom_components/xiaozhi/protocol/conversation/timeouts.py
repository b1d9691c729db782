"""How long things may take in a conversation."""

from dataclasses import dataclass

__all__ = ["ConversationTimeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTimeouts:
    """Time-outs of a conversation, in seconds."""

    listen: float = 10
    """For the device to open its microphone, after its channel or after an answer."""
    push_to_talk: float = 60
    """For the next press of the button in push-to-talk. Below the 120 s after which the device counts its
    channel as stale and mixes up its sessions."""
    typed: float = 2
    """From a text of the device, without sound, until it counts as typed: `listen start` follows a wake word
    at once, or when a sound of the device's own has ended."""
    wake_sound: float = 3
    """For which a text that follows a sound is that sound's wake word."""
    late_wake_sound: float = 0.12
    """For which the sound of a wake word may arrive on UDP after the message on MQTT that the microphone is
    on; the microphone itself gives nothing for so long."""
    turn: float = 30
    """For a spoken command, in audio: a device that is left listening would stream without end."""
    held: float = 60
    """For a spoken command in push-to-talk, in audio: the user ends it, and may take time to think."""
    ready: float = 2
    """For the proof that the device speaks; one that does not give it has to do with a pause from then on."""
    reading: float = 3
    """For a person to read an alert before the end of the conversation wipes it off the screen."""
