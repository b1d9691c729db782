"""The device's microphone, loudspeaker and codec."""
