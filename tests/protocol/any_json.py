"""Arbitrary JSON, for what reads it from outside."""

from typing import Any

from hypothesis import strategies as st


def any_json(*words: str) -> st.SearchStrategy[Any]:
    """Return values of every kind; with `words`, which the reader looks for, as keys and as texts."""
    texts = st.text(st.characters(), max_size=20)
    keys = st.sampled_from(words) | texts if words else texts
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | keys,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
        max_leaves=15,
    )
