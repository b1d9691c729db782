"""Firmware for devices: available files, image format and installation."""
