"""Firmware images, where they lie in flash, and installing one."""
