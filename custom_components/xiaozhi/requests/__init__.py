"""What people ask for in words: alarms, voice messages, *Do not disturb* and the microphone."""
