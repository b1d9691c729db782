"""Firmware images, and the flash partitions that hold them."""
