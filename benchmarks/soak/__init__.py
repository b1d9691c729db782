"""Hours of a house in minutes: devices talk, fail and misbehave, strangers attack, and nothing may leak."""
