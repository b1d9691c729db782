"""Devices through an MQTT broker of the owner's, instead of our own server."""
