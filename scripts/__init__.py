"""Commands of the project: set-up, checks, texts and releases."""
