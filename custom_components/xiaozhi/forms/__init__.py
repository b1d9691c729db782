"""The forms of the gateway, of devices and of access points."""
