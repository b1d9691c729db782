"""A device's tools: their entities, values and risks, and the assistant's selection."""
