"""How devices connect: the ports, what a device is told of its link, and its credentials."""
