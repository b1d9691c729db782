"""The MQTT link, over the gateway's own endpoint or the owner's broker."""
