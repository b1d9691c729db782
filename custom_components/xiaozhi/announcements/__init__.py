"""Announcements, questions, the ends of timers and music: what a device says or plays without being asked."""
