"""Firmware for devices: what there is, what an image holds, and installing it."""
