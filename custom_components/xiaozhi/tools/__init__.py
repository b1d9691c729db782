"""What becomes of a device's tools: entities, values, and what the assistant gets."""
