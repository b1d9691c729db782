"""What the device hears and plays."""
