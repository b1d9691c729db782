"""Sentences from the translations."""
