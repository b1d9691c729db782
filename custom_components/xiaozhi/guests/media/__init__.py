"""Music, radio and files on a device's loudspeaker."""
