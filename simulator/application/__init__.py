"""The firmware's application: its main task, states, check-in and tools."""
