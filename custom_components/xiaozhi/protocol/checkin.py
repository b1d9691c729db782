"""The check-in: the request that a device posts to the OTA address at boot.

Source: the firmware's `main/ota.cc` and `main/boards/common/*board.cc`; `checkin_reply` has the answers.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
import re
from typing import Final, NamedTuple

from ..util.text import label
from ..util.untrusted_json import parse_json
from .messages import JsonObject

MAX_BODY_BYTES: Final = 16 * 1024
_MAX_PARTITIONS: Final = 95
_MAX_PARTITION_BYTES: Final = 1 << 32

_MAC: Final = re.compile(r"[0-9a-f]{2}([:-]?)(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}")
# The firmware creates a random UUID; other clients may leave out the dashes or use a name.
_CLIENT_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
# A device stores at most 255 characters of a WebSocket's URL, with scheme, port and path.
_HOST: Final = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z._-]{0,198}[0-9A-Za-z])?")
_NUMERIC: Final = re.compile(r"[0-9.]+")


class Partition(NamedTuple):
    """A part of a device's flash."""

    address: int
    size: int


class CheckInError(ValueError):
    """A check-in that does not come from a device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckIn:
    """Identity and facts that a device reports; None where missing or invalid."""

    mac: str
    """Lower case with colons."""
    client_id: str
    """Changes when the device's flash is erased."""
    host: str
    """Name or IPv4 address that the device called."""
    firmware_version: str | None
    """Version as the device writes it."""
    board: str | None
    """The build variant."""
    chip_model: str | None
    """Such as `esp32s3`; empty if the body names none."""
    firmware_space: int | None
    """Largest size of a firmware in bytes."""
    assets: Partition | None = None
    """Partition of its pack of fonts, faces and speech models."""
    free_memory: int | None = None
    """Least free bytes since its start; those of an external memory count."""
    ip: str | None
    """IPv4 address that the device reports; None on a modem."""


def parse_checkin(headers: Mapping[str, str], body: bytes) -> CheckIn:
    """Read a check-in request, with headers whose names are found in any case, as aiohttp's.

    The headers identify the device. The body only adds facts, and may be invalid.
    Raises `CheckInError` when one is missing or malformed.
    """
    mac = parse_mac(headers.get("Device-Id", ""))
    client_id = parse_client_id(headers.get("Client-Id", ""))
    if mac is None:
        raise CheckInError("no Device-Id header with a MAC address")
    if client_id is None:
        raise CheckInError("no Client-Id header with a UUID")
    called = headers.get("Host", "")
    if not is_usable_host(host := called.rpartition(":")[0] or called):
        raise CheckInError("no Host header with a name or an IPv4 address")

    read = _parse_body(body)
    facts = read or {}
    board, application = _object(facts, "board"), _object(facts, "application")
    agent_board, _, agent_version = headers.get("User-Agent", "").rpartition("/")
    version = label(application.get("version"))
    # Programs send the user agent of their HTTP library; the firmware's has the version of its body.
    of_firmware = version is None or version == label(agent_version)
    return CheckIn(
        mac=mac,
        client_id=client_id,
        host=host,
        firmware_version=version or label(agent_version),
        board=(label(agent_board) if of_firmware else None) or label(board.get("name")),
        chip_model=None if read is None else label(facts.get("chip_model_name")) or "",
        firmware_space=_firmware_space(facts.get("partition_table")),
        assets=_assets(facts.get("partition_table")),
        free_memory=_free_memory(facts.get("minimum_free_heap_size")),
        ip=_ipv4(board.get("ip")),
    )


def parse_mac(text: str) -> str | None:
    """Return a MAC address in lower case with colons; None if `text` is not one."""
    mac = text.strip().lower()
    if not _MAC.fullmatch(mac):
        return None
    digits = mac.replace(":", "").replace("-", "")
    return ":".join(digits[start : start + 2] for start in range(0, 12, 2))


def parse_client_id(text: str) -> str | None:
    """Return the client id unchanged; None if `text` cannot be one."""
    text = text.strip()
    return text if _CLIENT_ID.fullmatch(text) else None


def is_usable_host(host: str) -> bool:
    """Whether a device can connect to this name or IPv4 address. The firmware has no IPv6."""
    return bool(_HOST.fullmatch(host)) and (not _NUMERIC.fullmatch(host) or _ipv4(host) is not None)


def _parse_body(body: bytes) -> JsonObject | None:
    """Return the facts; those that a broken body begins with, if they are whole.

    The firmware escapes no text, and writes what may hold a quote, as the name of a Wi-Fi, after `ota`.
    """
    beginning, ota, _ = body.partition(b',"ota":')
    for text in (body, beginning + b"}") if ota else (body,):
        with suppress(ValueError):
            if isinstance(facts := parse_json(text.decode(errors="replace")), dict):
                return facts
    return None


def _object(facts: JsonObject, key: str) -> JsonObject:
    value = facts.get(key)
    return value if isinstance(value, dict) else {}


def _firmware_space(table: object) -> int | None:
    """Return the size of the smallest partition for firmware: ota_0, ota_1, ..."""
    sizes = [
        size
        for entry in _partitions(table)
        if entry.get("type") == 0 and entry.get("subtype") in range(0x10, 0x20)
        if type(size := entry.get("size")) is int and 1 <= size <= _MAX_PARTITION_BYTES
    ]
    return min(sizes, default=None)


def _assets(table: object) -> Partition | None:
    for entry in _partitions(table):
        match entry:
            case {"label": "assets", "type": 1, "address": int(address), "size": int(size)}:
                fits = 0 < address <= _MAX_PARTITION_BYTES and 0 < size <= _MAX_PARTITION_BYTES
                return Partition(address, size) if fits else None
    return None


def _partitions(table: object) -> list[JsonObject]:
    entries = table[:_MAX_PARTITIONS] if isinstance(table, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def _free_memory(value: object) -> int | None:
    """Return a number, which firmware since 1.7.7 writes as a text."""
    text = str(value) if type(value) in {int, str} else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None


def _ipv4(value: object) -> str | None:
    try:
        address = IPv4Address(value if isinstance(value, str) else "")
    except AddressValueError:
        return None
    return None if address.is_unspecified else str(address)
