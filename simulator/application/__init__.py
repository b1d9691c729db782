"""The firmware's application: main task, states, check-in, tools and updates."""
