"""Provisioning: check-in and activation views, pairing rules, discovery cards and forms."""
