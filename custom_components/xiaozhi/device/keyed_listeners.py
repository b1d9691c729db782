"""Who is called when something about a device changes."""

from collections import defaultdict
from collections.abc import Callable, Iterable
import logging

from homeassistant.core import CALLBACK_TYPE, callback

_LOGGER = logging.getLogger(__name__)

type Listener = Callable[[], None]


class KeyedListeners:
    """Listeners by what they follow: keys such as `status.volume`, see `state.py`."""

    def __init__(self) -> None:
        # Dictionaries keep the order, in which the listeners are called.
        self._by_key: defaultdict[str, dict[object, Listener]] = defaultdict(dict)

    @callback
    def listen(self, keys: Iterable[str], listener: Listener) -> CALLBACK_TYPE:
        """Call `listener` whenever one of the keys has changed. Returns a function that ends this."""
        followed, registration = frozenset(keys), object()
        for key in followed:
            self._by_key[key][registration] = listener

        @callback
        def remove() -> None:
            for key in followed & self._by_key.keys():
                self._by_key[key].pop(registration, None)
                if not self._by_key[key]:
                    del self._by_key[key]

        return remove

    @callback
    def notify(self, changed: Iterable[str]) -> None:
        """Call once each listener that follows one of the changed keys."""
        due: dict[object, Listener] = {}
        for key in changed:
            due |= self._by_key.get(key, {})
        for listener in due.values():
            # A failure must affect neither the other listeners nor the source of the change.
            try:
                listener()
            except Exception:
                _LOGGER.exception("A change of a device could not be shown")
