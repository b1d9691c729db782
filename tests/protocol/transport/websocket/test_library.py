"""What `WebSocketConnection` uses of the `websockets` library without its documentation."""

import inspect

import pytest
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection
from websockets.protocol import Protocol

from custom_components.xiaozhi.protocol.transport.websocket.websocket_connection import WebSocketConnection


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("connection_made", ["self", "transport"]),
        ("connection_lost", ["self", "exc"]),
        ("data_received", ["self", "data"]),
        ("eof_received", ["self"]),
        ("process_event", ["self", "event"]),
    ],
)
def test_the_library_has_the_methods_that_are_overridden(name: str, parameters: list[str]) -> None:
    """That it calls them is shown by what a flood, a half-closed connection and a full house lead to."""
    assert name in vars(WebSocketConnection)
    assert [*inspect.signature(getattr(ServerConnection, name)).parameters] == parameters


def test_no_other_method_of_the_library_is_overridden() -> None:
    overridden = {
        name
        for name in vars(WebSocketConnection).keys() & set(dir(ServerConnection))
        if not name.startswith("__") and inspect.isfunction(vars(WebSocketConnection)[name])
    }
    assert overridden == {
        "connection_made",
        "connection_lost",
        "data_received",
        "eof_received",
        "process_event",
    }


def test_the_library_has_the_members_that_are_used() -> None:
    assert "self.protocol" in inspect.getsource(Connection.__init__)
    assert "close_timeout" in inspect.signature(Connection.__init__).parameters
    assert [*inspect.signature(Connection.send_data).parameters] == ["self"]
    assert [*inspect.signature(Protocol.fail).parameters] == ["self", "code", "reason"]
    assert [*inspect.signature(Protocol.close_expected).parameters] == ["self"]
