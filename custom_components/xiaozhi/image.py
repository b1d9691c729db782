"""Images of devices, which only guests have."""

from .entity import entities_from

PARALLEL_UPDATES = 0
async_setup_entry = entities_from()
