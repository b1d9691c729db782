"""Tools of a device: their entities, values and risks, and the assistant's selection."""
