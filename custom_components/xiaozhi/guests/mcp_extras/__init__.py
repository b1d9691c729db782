"""MCP beyond tools: resources, prompts and questions of a device. Stock firmware has none of it."""

from typing import Final

from ...device.guest import Guest
from .device_questions import DeviceQuestions

MCP_EXTRAS: Final = Guest(package=__name__, parts=[DeviceQuestions])
