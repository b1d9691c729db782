"""Why a file of the firmware folder cannot be read."""

import errno

from custom_components.xiaozhi.firmware import library


def test_a_file_that_may_not_be_read_is_told_by_a_translation() -> None:
    """Here because tests may run as root, who may read every file."""
    assert (
        library._unreadable(PermissionError(errno.EACCES, "Permission denied")).key == "firmware_not_allowed"
    )
