"""The network, and the protocols that the firmware speaks over it; injected faults."""
