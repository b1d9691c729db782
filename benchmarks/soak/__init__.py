"""Hours of operation in minutes: devices talk, fail and misbehave, attackers connect, nothing may leak."""
