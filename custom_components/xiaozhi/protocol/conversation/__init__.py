"""A conversation with a device: its turns, what it hears and what it plays."""
