"""The risks of tools, and what each means for entities and for the rights of users.

They follow Home Assistant, which does not expose locks, doors, alarms and the like by default.
"""

from enum import StrEnum
from typing import Final

__all__ = ["ADMIN_RISKS", "DISABLED_RISKS", "GUARDED_RISKS", "Risk"]


class Risk(StrEnum):
    """Harm that a tool can do; for the words of each, see `risk_words`."""

    ACCESS = "access"
    ALARM = "alarm"
    DECLARED = "declared"
    """The device itself says so."""
    ERASE = "erase"
    FIRMWARE = "firmware"
    HEAT = "heat"
    IDENTITY = "identity"
    MACHINE = "machine"
    NETWORK = "network"
    POWER = "power"
    RESTART = "restart"
    SETUP = "setup"
    VALVE = "valve"


GUARDED_RISKS: Final = frozenset({Risk.FIRMWARE, Risk.IDENTITY, Risk.NETWORK})
"""Only an administrator does this, in any way."""
ADMIN_RISKS: Final = GUARDED_RISKS | {Risk.RESTART}
"""Only an administrator calls such a tool by its name; all users may press restart buttons, as elsewhere."""
DISABLED_RISKS: Final = ADMIN_RISKS | {Risk.ACCESS, Risk.ERASE, Risk.POWER, Risk.SETUP}
"""Entities that do this are disabled until their owner enables them."""
