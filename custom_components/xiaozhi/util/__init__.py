"""Helpers that every room uses, and that are no protocol."""
