"""Photos that a device takes, and pictures of and for its screen."""
