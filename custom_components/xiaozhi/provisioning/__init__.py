"""From a device's first check-in to its token: views, pairing rules, discovery cards and forms."""
