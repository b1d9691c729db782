"""Alarms in spoken language: understanding and descriptions, by data of each language."""

from typing import Final

from ...device.guest import Guest
from .sentence_files import SentenceFiles

SENTENCES: Final = Guest(package=__name__, gateway_parts=[SentenceFiles])
