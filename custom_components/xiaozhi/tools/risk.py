"""The risks of tools, and their effect on entities and users' rights.

As in Home Assistant, locks, doors, alarms and the like are not exposed by default.
"""

from enum import StrEnum
from typing import Final

__all__ = ["ADMIN_RISKS", "DISABLED_RISKS", "GUARDED_RISKS", "Risk"]


class Risk(StrEnum):
    """Harm that a tool can do. Its words are in `risk_words`."""

    ACCESS = "access"
    ALARM = "alarm"
    DECLARED = "declared"
    """The device marks the tool as destructive."""
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
"""Only for administrators, in any way."""
ADMIN_RISKS: Final = GUARDED_RISKS | {Risk.RESTART}
"""Only administrators may call such a tool by its name. All users may press restart buttons, as elsewhere."""
DISABLED_RISKS: Final = ADMIN_RISKS | {Risk.ACCESS, Risk.ERASE, Risk.POWER, Risk.SETUP}
"""Entities with these risks are disabled by default."""
