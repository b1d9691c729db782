"""A real Home Assistant for the demo: its configuration folder, its process, its first user."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
import json
from pathlib import Path
import shutil
import sys
from typing import Any, Final

import aiohttp
import imageio_ffmpeg

from .client import Client, until
from .processes import HOST, ROOT, Child, started

USERNAME: Final = "demo"
PASSWORD: Final = "demo-password"
# The first time, all of Home Assistant is compiled, perhaps on a busy computer.
_START_SECONDS: Final = 240
MEDIA: Final = "media"
"""Folder of the media library, in the configuration folder."""
_TEMPORARY: Final = "tmp"
LOG: Final = "output.log"
"""Its output, in the configuration folder."""
_COMPONENTS: Final = {
    "xiaozhi": ROOT / "custom_components" / "xiaozhi",
    "demo_parts": Path(__file__).with_name("parts"),
}
_CONFIGURATION: Final = Path(__file__).with_name("configuration.yaml")


@asynccontextmanager
async def home_assistant(
    folder: Path, port: int, *, language: str = "en"
) -> AsyncGenerator[tuple[Child, Client]]:
    """Run Home Assistant on loopback with a new configuration folder, and log in.

    Raises `DemoError` when it does not come up.
    """
    await asyncio.to_thread(_write_configuration, folder, port, language)
    async with home_assistant_again(folder, port, None) as running:
        yield running


@asynccontextmanager
async def home_assistant_again(
    folder: Path, port: int, token: str | None
) -> AsyncGenerator[tuple[Child, Client]]:
    """Run Home Assistant with the configuration folder of an earlier run, on the same port.

    `token` is that of the earlier client; without one, the first user is created. Raises `DemoError` when it
    does not come up.
    """
    # Nothing is downloaded: the requirements of the used integrations are installed.
    command = [sys.executable, "-m", "homeassistant", "--config", str(folder), "--skip-pip", "--log-no-color"]
    url = f"http://{HOST}:{port}"
    # A Home Assistant that ends soon after a photo was shown to a model leaves its file behind.
    environment = {"TMPDIR": str(folder / _TEMPORARY)}
    async with (
        started("Home Assistant", command, folder / LOG, folder=folder, environment=environment) as child,
        aiohttp.ClientSession(url) as session,
    ):
        await _wait_for_http(child, session)
        client = await Client.connect(session, token or await _create_owner(session, f"{url}/"))
        try:
            failure = partial(child.failure, "has not started up")
            await until(partial(_runs, client), failure, _START_SECONDS)
            if token is None:
                # One that does not expire while the demo runs.
                asked = {"client_name": "Demo", "lifespan": 30}
                client.token = await client.command("auth/long_lived_access_token", **asked)
            yield child, client
        finally:
            await client.close()


def _write_configuration(folder: Path, port: int, language: str) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    (folder / _TEMPORARY).mkdir(parents=True)
    media = folder / MEDIA
    media.mkdir()
    (folder / "automations.yaml").write_text("[]")
    (folder / "media_dirs.yaml").write_text(json.dumps({"local": str(media)}))
    (folder / "ffmpeg.yaml").write_text(json.dumps({"ffmpeg_bin": imageio_ffmpeg.get_ffmpeg_exe()}))
    write_storage(folder, port)
    components = folder / "custom_components"
    components.mkdir()
    for name, source in _COMPONENTS.items():
        (components / name).symlink_to(source)
    (folder / "language.yaml").write_text(json.dumps(language))
    shutil.copy(_CONFIGURATION, folder)


def write_storage(configuration: Path, port: int) -> None:
    """Configure a new Home Assistant to serve its web page on loopback."""
    storage = configuration / ".storage"
    storage.mkdir()
    for key, version, minor_version, data in _storage(port):
        content = {"version": version, "minor_version": minor_version, "key": key, "data": data}
        (storage / key).write_text(json.dumps(content))


def _storage(port: int) -> list[tuple[str, int, int, dict[str, Any]]]:
    """Return the settings that Home Assistant keeps in `.storage`, with the versions of their formats."""
    http = {
        "server_host": [HOST],
        "server_port": port,
        "cors_allowed_origins": [],
        "login_attempts_threshold": -1,
        "ip_ban_enabled": False,
        "ssl_profile": "modern",
        "use_x_frame_options": True,
        "created_at": datetime.now(UTC).isoformat(),
        "error": None,
        "error_message": None,
    }
    return [
        # Settings in YAML are reverted by a restart after five minutes unless confirmed.
        ("http", 2, 2, {"stable": http, "pending": None, "yaml_migration_done": True}),
        # Only the user still has to be created: the other steps would set up internet services.
        ("onboarding", 4, 1, {"done": ["core_config", "analytics", "integration"]}),
    ]


async def _wait_for_http(child: Child, session: aiohttp.ClientSession) -> None:
    async def answers() -> bool:
        if child.ended:
            raise child.failure("ended while it started")
        with suppress(aiohttp.ClientConnectionError):
            async with session.get("/manifest.json") as response:
                return response.ok
        return False

    await until(answers, partial(child.failure, "does not answer"), _START_SECONDS)


async def _create_owner(session: aiohttp.ClientSession, client_id: str) -> str:
    """Create the user, as the welcome page does; return an access token."""
    user = {"name": "Demo", "username": USERNAME, "password": PASSWORD, "language": "en"}
    async with session.post("/api/onboarding/users", json=user | {"client_id": client_id}) as response:
        response.raise_for_status()
        code = (await response.json())["auth_code"]
    grant = {"grant_type": "authorization_code", "code": code, "client_id": client_id}
    async with session.post("/auth/token", data=grant) as response:
        response.raise_for_status()
        token: str = (await response.json())["access_token"]
        return token


async def _runs(client: Client) -> bool:
    return bool((await client.get("/api/config"))["state"] == "RUNNING")
