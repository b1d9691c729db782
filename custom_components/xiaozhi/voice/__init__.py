"""Speech into the Assist pipeline, its answers onto the device."""
