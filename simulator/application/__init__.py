"""The firmware's application: main task, states, check-in, tools, updates and injected faults."""
