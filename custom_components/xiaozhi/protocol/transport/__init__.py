"""What carries messages and audio between a device and Home Assistant."""
