"""Comparing what only a device should know."""

from hmac import compare_digest

__all__ = ["same"]


def same(one: str, other: str) -> bool:
    """Whether two texts are the same, in a time that does not tell how much of them is.

    A header may hold bytes that are no text; they are the same as themselves only.
    """
    return compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))
