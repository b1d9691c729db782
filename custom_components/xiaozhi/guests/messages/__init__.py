"""Voice messages: spoken to one device, kept for others, and heard on them."""
