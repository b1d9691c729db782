"""Encrypted audio over UDP, for the MQTT link."""
