"""Transports for messages and audio between a device and Home Assistant."""
