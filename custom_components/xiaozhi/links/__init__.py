"""How devices connect: the ports, the link settings that a device receives, and its credentials."""
