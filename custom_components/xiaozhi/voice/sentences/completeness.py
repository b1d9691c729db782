"""What a transcript is to Home Assistant's recogniser."""

from enum import StrEnum

__all__ = ["Completeness"]


class Completeness(StrEnum):
    """Whether who said something has said it all."""

    COMPLETE = "complete"
    """A command, and nothing that follows makes it another or a longer one."""
    DETAIL_MAY_FOLLOW = "detail_may_follow"
    """A command to which only details can be added, such as the name of a new timer."""
    MAY_GO_ON = "may_go_on"
    """A command, but a longer sentence that means something else begins with it, or any words may follow."""
    BEGINNING = "beginning"
    """No command, but the beginning of one."""
    UNKNOWN = "unknown"
    """Anything else, such as a question to a language model, and what could not be told in time."""
