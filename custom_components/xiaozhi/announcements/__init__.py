"""What Home Assistant says of its own accord: delivery, volume, several devices, another loudspeaker."""
