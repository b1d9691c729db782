"""The network and what the firmware speaks over it."""
