"""Address and account of the owner's broker, and its problems."""

from dataclasses import dataclass, field
from enum import StrEnum
import ssl
from typing import Final

from ....util.text import one_line

BROKER_MODULE: Final = f"{__package__}.broker_connection"
"""To be imported in an executor where a broker is used, and only there: its library takes 90 ms."""


class BrokerProblem(StrEnum):
    """Reasons why a broker cannot be used."""

    UNREACHABLE = "unreachable"
    """Host and port do not answer, or not as a broker does."""
    UNKNOWN_HOST = "unknown_host"
    TLS = "tls"
    """The encrypted connection fails, as it does on a port without encryption."""
    CERTIFICATE = "certificate"
    """The broker's certificate is not trusted, or is made for another name."""
    REFUSED = "refused"
    """User or password are wrong, or the user may not connect."""
    FORBIDDEN = "forbidden"
    """The user may not subscribe to the topics of the devices."""


class BrokerError(Exception):
    """The broker cannot be used; the text holds the words of the network or the broker."""

    def __init__(self, problem: BrokerProblem, text: str) -> None:
        super().__init__(one_line(text))
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Address and account of the owner's broker, and how it is used."""

    host: str
    port: int = 1883
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
