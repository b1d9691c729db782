"""Alarms as people say them: what sentences mean, and how alarms are described, by data of each language."""
