"""Photos, screenshots and pictures for a device's screen."""
