"""Calendars of devices, which only guests have."""

from .entity import async_setup_guests as async_setup_entry

PARALLEL_UPDATES = 0

__all__ = ["PARALLEL_UPDATES", "async_setup_entry"]
