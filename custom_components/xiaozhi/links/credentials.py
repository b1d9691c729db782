"""Comparing secrets."""

from hmac import compare_digest


def same(one: str, other: str) -> bool:
    """Compare two texts in constant time; headers may hold bytes that are not UTF-8."""
    return compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))
