"""The flash storage of settings. Source: the firmware's `settings.cc` and `ota.cc`."""

import json
from typing import Any, Final, Self

from .crash import DeviceCrashed

type _Value = str | int

_MAX_KEY_BYTES: Final = 15
_MAX_STRING_BYTES: Final = 4000
_INT32: Final = (-(2**31), 2**31 - 1)


class Nvs:
    """Namespaces of typed values: a string cannot be read as a number, nor a number as a string."""

    def __init__(self, content: dict[str, dict[str, _Value]] | None = None) -> None:
        """Start with `content`, or empty as after an erase."""
        self._content: dict[str, dict[str, _Value]] = content or {}

    def get_string(self, namespace: str, key: str, default: str = "") -> str:
        """Read a string."""
        value = self._content.get(namespace, {}).get(key)
        return value if isinstance(value, str) else default

    def get_int(self, namespace: str, key: str, default: int = 0) -> int:
        """Read a number."""
        value = self._content.get(namespace, {}).get(key)
        return value if isinstance(value, int) else default

    def set(self, namespace: str, key: str, value: _Value) -> None:
        """Write a value. Raises `DeviceCrashed` for one that flash cannot hold, where the firmware aborts."""
        if len(key.encode()) > _MAX_KEY_BYTES:
            raise DeviceCrashed(f"NVS key {key!r} is longer than {_MAX_KEY_BYTES} bytes")
        if isinstance(value, str) and len(value.encode()) > _MAX_STRING_BYTES:
            raise DeviceCrashed(f"NVS string {namespace}/{key} is longer than {_MAX_STRING_BYTES} bytes")
        self._content.setdefault(namespace, {})[key] = value

    def merge(self, namespace: str, section: dict[str, Any]) -> None:
        """Store the strings and numbers of a section of the check-in reply under their own names.

        Values that the section does not name are kept; booleans, null, arrays and objects are skipped.
        """
        for key, value in section.items():
            if isinstance(value, str):
                if self.get_string(namespace, key) != value:
                    self.set(namespace, key, value)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                number = max(_INT32[0], min(_INT32[1], int(value)))
                if self.get_int(namespace, key) != number:
                    self.set(namespace, key, number)

    def erase(self) -> None:
        """Forget everything, as a factory reset does."""
        self._content.clear()

    def dump(self) -> str:
        """Return the content as JSON."""
        return json.dumps(self._content, indent=2)

    @classmethod
    def load(cls, text: str) -> Self:
        """Load the result of `dump`. Raises `ValueError` for other texts."""
        content = json.loads(text)
        if not isinstance(content, dict) or not all(isinstance(part, dict) for part in content.values()):
            raise ValueError("settings are not an object of objects")
        return cls(content)
