"""The demo's speech servers, in this process and on real sockets."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from wyoming.client import AsyncTcpClient

from demo.speech_server import HOST, HandlerFactory, serve
from demo.speech_to_text import Recognizer, SpeechToText
from demo.text_to_speech import TextToSpeech


@pytest.fixture(autouse=True)
def real_sockets(socket_enabled: None) -> None:
    """Allow sockets on the loopback interface."""


@pytest.fixture(scope="session")
def recognizer() -> Recognizer:
    """One recognizer, as the demo has: what one command leaves behind in it must not disturb the next."""
    return Recognizer()


@asynccontextmanager
async def _connection(handler: HandlerFactory) -> AsyncIterator[AsyncTcpClient]:
    server = await serve(handler)
    async with AsyncTcpClient(HOST, server.sockets[0].getsockname()[1]) as client:
        yield client
    server.close()
    await server.wait_closed()


@pytest.fixture
async def speech_to_text(recognizer: Recognizer) -> AsyncGenerator[AsyncTcpClient]:
    """A connection to the speech recognition."""
    async with _connection(partial(SpeechToText, recognizer)) as client:
        yield client


@pytest.fixture
async def text_to_speech() -> AsyncGenerator[AsyncTcpClient]:
    """A connection to the voice."""
    async with _connection(TextToSpeech) as client:
        yield client
