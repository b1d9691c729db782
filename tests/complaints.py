"""What Home Assistant says that the integration does wrong, or must no longer do."""

import logging
import re
from typing import Final, override

# It names the code, or where to report what the code does.
_NAMES_US: Final = re.compile(r"custom integration 'xiaozhi'|custom_components[./]xiaozhi|/xiaozhi/issues")
# It writes this of a state that took 0.4 s, as any does on a busy machine.
_SLOW: Final = "Updating state for "


class Complaints(logging.Handler):
    """Keeps them, but not what the integration logs itself."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        ours = record.name.startswith("custom_components.")
        if _NAMES_US.search(line) and not ours and not line.startswith(_SLOW):
            self.lines.append(line)
