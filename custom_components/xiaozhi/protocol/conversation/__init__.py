"""A conversation with a device: its turns, its microphone and its loudspeaker."""
