"""How devices connect: the ports, who is let in, the owner's broker, and the versions of libraries."""
