"""What people say of alarms, through the recogniser of Home Assistant."""
