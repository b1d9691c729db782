"""Malformed input for everything that parses data of the network or of files."""
