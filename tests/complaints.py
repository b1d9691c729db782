"""What Home Assistant says that the integration does wrong, or must no longer do."""

import logging
import re
from typing import Final, override

# It names the code, or where to report what the code does.
_NAMES_US: Final = re.compile(r"custom integration 'xiaozhi'|custom_components[./]xiaozhi|/xiaozhi/issues")


class Complaints(logging.Handler):
    """Keeps them, but not what the integration logs itself."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if _NAMES_US.search(line := record.getMessage()) and not record.name.startswith("custom_components."):
            self.lines.append(line)
