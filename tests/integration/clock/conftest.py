"""What rings in the place of a device."""

from tests.integration.announcements.test_room_player import chosen, player

__all__ = ["chosen", "player"]
