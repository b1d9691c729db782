"""Encrypted audio over UDP, which goes with the MQTT link."""
