"""One turn of a conversation: speech into the Assist pipeline, its answer onto the device."""
