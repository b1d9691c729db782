"""Alarms in spoken language: understanding and descriptions, by data of each language."""
