"""The board and what every other room needs of it: flash, settings, cJSON, crashes, time and events."""
