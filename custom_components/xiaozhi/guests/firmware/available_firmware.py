"""Available firmware: files in a folder, and a list of releases on the web."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from http import HTTPStatus
from itertools import islice
from operator import attrgetter
import os
from pathlib import Path
import re
from stat import S_ISREG
from typing import Any, Final, Self, override

import aiohttp
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.event import async_track_time_interval
from yarl import URL

from ...const import DOMAIN
from ...device.guest import GatewayPart
from ...device_http.bodies import BodyTooLargeError, read_body
from ...protocol.checkin import Partition
from ...protocol.firmware_version import FirmwareVersion, is_version
from ...settings import settings_of, stored
from ...texts.issues import async_raise_issue
from ...texts.translated import async_explain
from ...util.text import one_line
from ...util.untrusted_json import parse_json
from .firmware_image import MAX_FILE_BYTES, FirmwareError, FirmwareImage, read_firmware, read_partition
from .installation import FirmwareTimeouts
from .owner_files import read_file

FIRMWARE_FOLDER: Final = ("xiaozhi", "firmware")
PACKS_FOLDER: Final = ("xiaozhi", "packs")
"""Relative to Home Assistant's configuration folder."""

CONF_FIRMWARE_RELEASES: Final = "firmware_releases"
STOCK_RELEASES: Final = "https://api.github.com/repos/78/xiaozhi-esp32/releases/latest"
_LATEST: Final = "latest"

_BOARD: Final = r"(?P<board>[0-9A-Za-z][0-9A-Za-z._+-]{0,63})"
_VERSION: Final = r"v?(?P<version>[0-9][0-9A-Za-z.-]{0,31})"
# Names of files in the folder, and of the archives in the firmware's releases.
_NAMES: Final = (
    re.compile(rf"{_BOARD}_{_VERSION}\.(?:bin|zip)"),
    re.compile(rf"{_VERSION}_{_BOARD}\.(?:bin|zip)"),
)
_MAX_FILES: Final = 1000
# A list of GitHub has some 200 KiB and 130 boards for each release.
_MAX_LIST_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareSettings:
    """Settings of the gateway about firmware."""

    firmware_releases: str | None = stored(str)
    """Address of a list of releases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Firmware:
    """A firmware for a board."""

    board: str
    """The build variant, as a device reports it in its check-in."""
    version: str
    number: FirmwareVersion
    """The version, for comparison."""
    source: Path | URL
    page: str | None = None
    download: int | None = None
    """Bytes to fetch, as the list says."""
    chip: str | None = None
    """None until the file is read."""
    size: int | None = None
    """Bytes on the device; None until the file is read."""

    @classmethod
    def from_name(cls, name: str, source: Path | URL, page: str | None = None) -> Self | None:
        """Parse board and version from the name of a file; None if it has neither."""
        for pattern in _NAMES:
            if (match := pattern.fullmatch(name)) is None or not is_version(version := match["version"]):
                continue
            if number := FirmwareVersion.parse(version):
                return cls(board=match["board"], version=version, number=number, source=source, page=page)
        return None

    def check(self, image: FirmwareImage) -> FirmwareImage:
        """Return an image if it has this firmware's version. Raises `FirmwareError`."""
        if image.version != self.version:
            raise FirmwareError("firmware_other_version", named=self.version, version=image.version)
        return image

    def described_by(self, image: FirmwareImage) -> Self:
        """Return this firmware with chip and size from its image."""
        return replace(self, chip=image.chip, size=len(image.content))


class FirmwareFiles(GatewayPart):
    """The available firmware. Changed files are read again, and the list when it is old."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        super().__init__(hass, entry)
        self._folder = Path(hass.config.path(*FIRMWARE_FOLDER))
        self._releases = settings_of(entry, FirmwareSettings).firmware_releases
        self._stopped = False
        self._busy = asyncio.Lock()
        self._in_folder: dict[str, Firmware | FirmwareError] = {}
        """The files of the folder by name: their firmware, or the reason why they cannot be used."""
        self._listed: list[Firmware] = []
        self._list_due = 0.0
        self._releases_problem: FirmwareError | None = None
        """Why the list could not be fetched the last time."""
        self._issues: set[str] = set()
        self._listeners: set[Callable[[], None]] = set()

    @override
    async def async_start(self) -> None:
        self.entry.async_create_background_task(self.hass, self.async_refresh(), "xiaozhi refresh firmware")
        self.entry.async_on_unload(
            async_track_time_interval(
                self.hass, self.async_refresh, timedelta(minutes=10), cancel_on_shutdown=True
            )
        )

    @override
    async def async_stop(self) -> None:
        """Delete the issues; a late refresh raises none."""
        self._stopped = True
        for issue in self._issues:
            ir.async_delete_issue(self.hass, DOMAIN, issue)

    @callback
    def add_listener(self, listener: Callable[[], None]) -> CALLBACK_TYPE:
        """Call `listener` after every refresh. Returns a function that ends this."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def find(self, board: str) -> Sequence[Firmware]:
        """Return the firmware for a board, the newest first; of one version, the owner's file first."""
        found = [*self._in_folder.values(), *self._listed]
        own = [each for each in found if isinstance(each, Firmware) and each.board == board]
        return sorted(own, key=attrgetter("number"), reverse=True)

    @property
    def releases(self) -> str:
        """The list in which releases are looked up when they are needed."""
        return self._releases or STOCK_RELEASES

    @property
    def has_releases(self) -> bool:
        """Whether a list is known: without newer firmware in it, a device is up to date."""
        return bool(self._listed) and self._releases_problem is None

    async def async_refresh(self, _now: object = None) -> None:
        """Look for firmware, and call the listeners."""
        async with self._busy:
            self._in_folder = await self.hass.async_add_executor_job(_read_folder, self._folder)
            if self._releases is not None and self.hass.loop.time() >= self._list_due:
                await self._refresh(self._releases)
            await self._report()
        for listener in tuple(self._listeners):
            listener()

    async def async_load(self, firmware: Firmware) -> FirmwareImage:
        """Return the checked image of a firmware. Raises `FirmwareError`."""
        data = await self._data(firmware)
        return firmware.check(await self.hass.async_add_executor_job(read_firmware, data))

    async def _data(self, firmware: Firmware) -> bytes:
        if isinstance(firmware.source, Path):
            return await self.hass.async_add_executor_job(_content, firmware.source)
        session = async_get_clientsession(self.hass)
        return await fetch(session, firmware.source, MAX_FILE_BYTES, FirmwareTimeouts.file)

    async def async_load_pack(
        self, board: str, version: str, chip: str, partition: Partition, fetching: Callable[[str, int], None]
    ) -> bytes:
        """Return the asset pack of a release: the owner's file, or else cut out. Raises `FirmwareError`.

        The release is fetched also where the owner does not have Home Assistant look for new firmware.
        `fetching` is called with the host and the number of bytes before that.
        """
        run = self.hass.async_add_executor_job
        problem = FirmwareError("pack_missing", board=board, version=version)
        path = Path(self.hass.config.path(*PACKS_FOLDER, f"{board}_{version}.bin"))
        # The device reports both, and they become part of a path and an address.
        if Firmware.from_name(f"{board}_{version}.bin", path) is None:
            raise problem
        if await run(path.is_file):
            return await run(_content, path)
        try:
            async for firmware in self._released(board, version):
                if isinstance(firmware.source, URL) and firmware.download:
                    fetching(str(firmware.source.host), firmware.download)
                data = await self._data(firmware)
                if pack := await run(read_partition, data, partition, version, chip):
                    return pack
        except FirmwareError as err:
            if err.key not in {"releases_unreachable", "releases_bad_status"}:
                raise
            # Not every version has a release.
            if err.placeholders.get("status") != str(HTTPStatus.NOT_FOUND.value):
                host = err.placeholders["host"]
                raise FirmwareError("pack_unreachable", host=host, board=board, version=version) from err
        raise problem

    async def _released(self, board: str, version: str) -> AsyncGenerator[Firmware]:
        """Yield the firmware of a version for a board, that of its release last. Raises `FirmwareError`."""
        listed = [each for each in self.find(board) if each.version == version]
        for firmware in listed:
            yield firmware
        # The usual list has the latest release only, and a file of the owner's may hold no pack.
        if not any(isinstance(each.source, URL) for each in listed) and self.releases.endswith(_LATEST):
            address = self.releases.removesuffix(_LATEST) + f"tags/v{version}"
            for firmware in await async_fetch_releases(self.hass, address):
                if (firmware.board, firmware.version) == (board, version):
                    yield firmware

    async def _report(self) -> None:
        problems = {
            f"firmware_file_{name}": (name, found)
            for name, found in self._in_folder.items()
            if isinstance(found, FirmwareError)
        }
        if self._releases_problem is not None:
            problems["firmware_releases"] = "", self._releases_problem
        for issue in self._issues - problems.keys():
            ir.async_delete_issue(self.hass, DOMAIN, issue)
        self._issues = set(problems)
        for issue, (name, err) in problems.items():
            key = "firmware_file" if name else "firmware_releases"
            reason = await async_explain(self.hass, err)
            if not self._stopped:
                async_raise_issue(self.hass, issue, key, file=name, reason=reason)

    async def _refresh(self, address: str) -> None:
        try:
            self._listed = await async_fetch_releases(self.hass, address)
        except FirmwareError as err:
            # Firmware listed before stays available: its file may well exist.
            self._releases_problem = FirmwareError(err.key, **err.placeholders)
            self._list_due = self.hass.loop.time() + FirmwareTimeouts.list_retry
        else:
            self._releases_problem = None
            self._list_due = self.hass.loop.time() + FirmwareTimeouts.list_age


async def async_fetch_releases(hass: HomeAssistant, address: str) -> list[Firmware]:
    """Return the firmware in a list of releases. Raises `FirmwareError`.

    The list is one release or several as GitHub's API returns them: `html_url`, and `assets` with `name` and
    `browser_download_url`.
    """
    if (url := _web_address(address)) is None:
        raise FirmwareError("releases_bad_address")
    body = await fetch(async_get_clientsession(hass), url, _MAX_LIST_BYTES, FirmwareTimeouts.list)
    found = await hass.async_add_executor_job(_parse_releases, body)
    if not found:
        raise FirmwareError("releases_empty")
    return found


def _parse_releases(body: bytes) -> list[Firmware]:
    try:
        listed = parse_json(body)
    except ValueError as err:
        raise FirmwareError("releases_no_list") from err
    releases = listed if isinstance(listed, list) else [listed]
    found = (firmware for release in releases if isinstance(release, dict) for firmware in _assets(release))
    return list(islice(found, 1000))


def _assets(release: dict[str, Any]) -> Iterator[Firmware]:
    assets, page = release.get("assets"), release.get("html_url")
    if not isinstance(assets, list) or release.get("draft") or release.get("prerelease"):
        return
    for asset in assets:
        match asset:
            case {"name": str(name), "browser_download_url": str(address)}:
                url = _web_address(address)
                shown = page if isinstance(page, str) and _web_address(page) else None
                if url and (firmware := Firmware.from_name(name, url, shown)):
                    size = asset.get("size")
                    yield replace(firmware, download=size if isinstance(size, int) else None)


def _web_address(text: str) -> URL | None:
    try:
        url = URL(text)
    except ValueError:
        return None
    return url if url.scheme in {"http", "https"} and url.host else None


async def fetch(session: aiohttp.ClientSession, url: URL, limit: int, seconds: float) -> bytes:
    """Return a file of at most `limit` bytes. Raises `FirmwareError`."""
    try:
        async with asyncio.timeout(seconds), session.get(url) as answer:
            if answer.status != HTTPStatus.OK:
                raise FirmwareError("releases_bad_status", host=str(url.host), status=str(answer.status))
            return await read_body(answer, limit)
    except BodyTooLargeError as err:
        raise FirmwareError("releases_too_large", host=str(url.host), limit=str(limit // 1024**2)) from err
    except (TimeoutError, aiohttp.ClientError, ValueError) as err:
        raise FirmwareError("releases_unreachable", host=str(url.host)) from err


def _read_folder(folder: Path) -> dict[str, Firmware | FirmwareError]:
    """Return the files of a folder by name: their firmware, or the reason why they cannot be used."""
    try:
        paths = sorted(folder.iterdir())[:_MAX_FILES]
    except FileNotFoundError:
        # The folder is optional.
        return {}
    except OSError as err:
        return {_printable(folder): _unreadable(err)}
    found: dict[str, Firmware | FirmwareError] = {}
    for path in paths:
        if path.suffix.lower() not in {".bin", ".zip"}:
            continue
        try:
            status = path.stat()
        except OSError as err:
            found[_printable(path)] = _unreadable(err)
            continue
        if S_ISREG(status.st_mode):
            found[_printable(path)] = _describe(path, status.st_ctime_ns, status.st_size)
    return found


def _printable(path: Path) -> str:
    """Return the name of a file, which may be any bytes, as text."""
    return one_line(os.fsencode(path.name).decode(errors="replace"))


def _unreadable(err: OSError) -> FirmwareError:
    return FirmwareError(
        "firmware_not_allowed" if isinstance(err, PermissionError) else "firmware_unreadable"
    )


@lru_cache(_MAX_FILES)
def _describe(path: Path, _changed: int, _size: int) -> Firmware | FirmwareError:
    """Read a file. One that has not changed is not read again."""
    firmware = Firmware.from_name(path.name, path)
    if firmware is None:
        return FirmwareError("firmware_bad_name")
    try:
        return firmware.described_by(firmware.check(read_firmware(_content(path))))
    except FirmwareError as err:
        # Without the traceback, which keeps the content of the file.
        return FirmwareError(err.key, **err.placeholders)


def _content(path: Path) -> bytes:
    try:
        data = read_file(path, MAX_FILE_BYTES)
    except OSError as err:
        raise _unreadable(err) from err
    if len(data) > MAX_FILE_BYTES:
        raise FirmwareError("firmware_too_large", limit=str(MAX_FILE_BYTES // 1024**2))
    return data
