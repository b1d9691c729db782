"""Names of tools that the language models of all providers accept."""

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

MAX_NAME: Final = 64
_HASH_LENGTH: Final = 8


def distinct_names(plain: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return a name for each tool: the prefix, and its plain name.

    A hash of the tool is added where the plain name is empty or that of several tools, and where the whole is
    too long.
    """
    count = Counter(plain.values())
    return {
        tool: prefix + name
        if name and len(prefix + name) <= MAX_NAME and count[name] == 1
        else _with_hash(prefix + name, tool)
        for tool, name in plain.items()
    }


def _with_hash(name: str, tool: str) -> str:
    digest = sha256(tool.encode(errors="replace")).hexdigest()[:_HASH_LENGTH]
    return f"{name[: MAX_NAME - _HASH_LENGTH - 1].rstrip('_')}__{digest}"[:MAX_NAME]
