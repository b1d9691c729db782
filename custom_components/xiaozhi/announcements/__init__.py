"""Announcements of Home Assistant: delivery, volume, several devices, another loudspeaker."""
