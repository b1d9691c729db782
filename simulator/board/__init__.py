"""The board, for all other packages: flash, settings, cJSON, crashes, time and events."""
