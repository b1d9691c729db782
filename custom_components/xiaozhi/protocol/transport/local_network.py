"""IP addresses from which devices may connect."""

from functools import lru_cache
from ipaddress import ip_address


@lru_cache(maxsize=256)
def is_local(address: str) -> bool:
    """Whether an IP address is one of this computer or of a private network (RFC 1918, 3927, 4193)."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    return ip.is_loopback or ip.is_link_local or (ip.is_private and not ip.is_unspecified)
