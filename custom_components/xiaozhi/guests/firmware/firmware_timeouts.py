"""Time-outs and pauses of installations and of the list of releases."""


class FirmwareTimeouts:
    """In seconds."""

    by_hand: float = 15 * 60
    """For a person to switch the device off and on."""
    restart: float = 3 * 60
    """For the device to restart and check in."""
    begin: float = 60
    """For the device to begin to fetch, after its check-in."""
    come_back: float = 5 * 60
    """For the device to verify the firmware, restart and join the Wi-Fi."""
    list: float = 30
    """For the list of releases."""
    file: float = 300
    """For a file of the list."""
    list_age: float = 6 * 3600
    """Until the list is fetched again. GitHub allows 60 requests an hour without an account."""
    list_retry: float = 15 * 60
    """Until a list that could not be fetched is tried again."""
