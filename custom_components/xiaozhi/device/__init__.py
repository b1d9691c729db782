"""One paired device: its links, state, store and events."""
