"""What a device's MCP server offers beyond tools: resources, templates for them, and prompts."""

from collections import Counter
from collections.abc import Callable, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Self

from homeassistant.core import CALLBACK_TYPE, callback

from ..protocol.mcp.client import Prompt, Resource, ResourceContents, ResourceTemplate

__all__ = ["FollowedResources", "Offers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """The lists of a device, as last fetched."""

    resources: tuple[Resource, ...] = ()
    templates: tuple[ResourceTemplate, ...] = ()
    prompts: tuple[Prompt, ...] = ()

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read the stored form; what is missing or damaged is left out."""
        data = data if isinstance(data, dict) else {}

        def read[T](key: str, parse: Callable[[Any], T | None]) -> tuple[T, ...]:
            stored = data.get(key)
            items = map(parse, stored if isinstance(stored, list) else ())
            return tuple(item for item in items if item is not None)

        return cls(
            resources=read("resources", Resource.from_dict),
            templates=read("templates", ResourceTemplate.from_dict),
            prompts=read("prompts", Prompt.from_dict),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "resources": [resource.as_dict() for resource in self.resources],
            "templates": [template.as_dict() for template in self.templates],
            "prompts": [prompt.as_dict() for prompt in self.prompts],
        }

    def resource(self, uri: str) -> Resource | None:
        """Return a listed resource."""
        return next((resource for resource in self.resources if resource.uri == uri), None)

    def template(self, uri_template: str) -> ResourceTemplate | None:
        """Return a listed template."""
        return next((each for each in self.templates if each.uri_template == uri_template), None)

    def prompt(self, name: str) -> Prompt | None:
        """Return a listed prompt."""
        return next((prompt for prompt in self.prompts if prompt.name == name), None)


class FollowedResources:
    """The resources of a device that entities show, and their last contents."""

    def __init__(self) -> None:
        self.contents: dict[str, tuple[ResourceContents, ...]] = {}
        """Last contents by URI, in memory only."""
        self.on_change: Callable[[str], None] | None = None
        """Called when a resource starts or stops being followed; set while the device is linked."""
        self._followers: Counter[str] = Counter()

    @property
    def wanted(self) -> tuple[str, ...]:
        """The URIs that are followed."""
        return tuple(self._followers)

    @callback
    def follow(self, uri: str) -> CALLBACK_TYPE:
        """Have a resource read, and read again when it changes. Returns a function that ends this."""
        self._followers[uri] += 1
        if self._followers[uri] == 1 and self.on_change:
            self.on_change(uri)

        @callback
        def end() -> None:
            self._followers[uri] -= 1
            if not self._followers[uri]:
                del self._followers[uri]
                self.contents.pop(uri, None)
                if self.on_change:
                    self.on_change(uri)

        return end

    @callback
    def keep(self, known: AbstractSet[str]) -> None:
        """Forget the contents of resources that are not listed any more."""
        for uri in self.contents.keys() - known:
            del self.contents[uri]
