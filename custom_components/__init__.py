"""Makes `custom_components.xiaozhi` importable from the repository, as Home Assistant imports it."""
