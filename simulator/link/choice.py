"""The choice of the transport at the end of the activation. Source: `Application::InitializeProtocol`."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ..application.checkin import TransportKind
from ..application.hardware import Hardware
from ..application.mainloop import Job
from .mqtt_transport import MqttTransport
from .transport import Transport, TransportListener
from .websocket_transport import WebSocketTransport

__all__ = ["make_transport"]


def make_transport(
    kind: TransportKind,
    hardware: Hardware,
    listener: TransportListener,
    *,
    idle: Callable[[], bool],
    schedule: Callable[[Job], None],
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
) -> Transport:
    """Return the transport of that kind with the settings from the flash.

    `idle` tells whether the device is, `schedule` has the main task do something, and `spawn` starts tasks
    that end with the device.
    """
    hardware.recorder.add("transport", name=kind)
    if kind == "websocket":
        return WebSocketTransport(
            hardware.profile,
            hardware.identity,
            hardware.nvs,
            hardware.pace,
            hardware.network,
            listener,
            spawn=spawn,
            hooks=hardware.mischief,
            sent=lambda text: hardware.recorder.add("sent", text=text),
        )
    return MqttTransport(hardware, listener, idle=idle, schedule=schedule, spawn=spawn)
