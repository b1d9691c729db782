"""Bodies of HTTP messages, of bounded size."""

import asyncio

from aiohttp import ClientResponse, web


class BodyTooLargeError(Exception):
    """A body has more bytes than allowed."""


async def read_body(message: ClientResponse | web.Request, limit: int) -> bytes:
    """Return a body of at most `limit` bytes.

    Raises `BodyTooLargeError` as soon as there are more, and what aiohttp raises for a body that breaks off.
    """
    body = bytearray()
    async for chunk in message.content.iter_any():
        body += chunk
        if len(body) > limit:
            raise BodyTooLargeError
    return bytes(body)


async def receive_body(request: web.Request, limit: int, seconds: float) -> bytes:
    """Return the body of a request. Raises aiohttp's HTTP errors when it is too large or takes too long."""
    try:
        async with asyncio.timeout(seconds):
            return await read_body(request, limit)
    except BodyTooLargeError as err:
        raise web.HTTPRequestEntityTooLarge(limit, text="Body too large") from err
    except TimeoutError as err:
        raise web.HTTPRequestTimeout(text="Body too slow") from err
    except web.RequestPayloadError as err:
        raise web.HTTPBadRequest(text="Body that cannot be decoded") from err
