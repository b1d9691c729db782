"""Audio of a conversation: Opus, foreign media, and both directions' sense of time."""
