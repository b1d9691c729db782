"""Whether a sentence is complete, by Home Assistant's own recogniser."""

from .completeness import Completeness
from .judge import Sentences

__all__ = ["Completeness", "Sentences"]
