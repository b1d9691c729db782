"""Time-outs of pictures."""


class PictureTimeouts:
    """In seconds."""

    slot: float = 5
    """Until one of the pictures that are being received is done. A device waits 30 s for the answer to its
    photo."""
    upload: float = 20
    """For a picture, which the device sends while it compresses it."""
    entity: float = 2
    """For Home Assistant to add the entity of the first picture."""
    answer: float = 25
    """For the vision model. The device gives up after 30 s."""
    fetch: float = 15
    """For a picture from the web."""
