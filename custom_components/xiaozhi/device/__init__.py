"""One paired device: its link, what is known of it, its store and its events."""
