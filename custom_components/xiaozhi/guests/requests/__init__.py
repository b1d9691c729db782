"""Requests in words: alarms, voice messages, *Do not disturb* and the microphone."""
