"""The WebSocket link."""
