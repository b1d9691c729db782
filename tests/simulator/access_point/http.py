"""A request without a library, since libraries follow redirects and retry."""

import asyncio


async def get(port: int, path: str, **headers: str) -> tuple[int, bytes]:
    """Return status and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: localhost",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    raw = await reader.read()
    writer.close()
    head, _, body = raw.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body
