"""The MQTT link: the gateway's own endpoint, or the owner's broker."""
