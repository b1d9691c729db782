"""Checks the repository offline as hassfest and HACS do online, and its texts against its code."""
