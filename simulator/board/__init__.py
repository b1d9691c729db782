"""The hardware and what differs between boards."""
