"""Timers and alarms of a device: what rings when, kept over restarts."""
