"""Devices on the owner's MQTT broker, which takes the place of our own endpoint."""
