"""Malformed input for all that reads what comes from the network or from a file."""
