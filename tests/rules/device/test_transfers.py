"""One-time addresses end with their own use only."""

from aiohttp import web
import pytest

from custom_components.xiaozhi.device_http.transfers import Download, Stream, Transfers


def test_an_address_that_is_asked_for_as_another_kind_stays_open() -> None:
    transfers = Transfers()
    download = Download(b"file", "text/plain")
    with transfers.offer(download) as path:
        token = path.rpartition("/")[2]
        with pytest.raises(web.HTTPNotFound):
            transfers.take(Stream, token)
        assert transfers.take(Download, token) is download
        with pytest.raises(web.HTTPNotFound):
            transfers.take(Download, token)
