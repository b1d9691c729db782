"""The Model Context Protocol, as a client of the device's server."""
