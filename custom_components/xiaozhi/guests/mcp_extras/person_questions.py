"""Asks people the questions of a device: a repair with a form, and a notification."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import uuid4

from homeassistant.components import persistent_notification
from homeassistant.core import Event, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.util.hass_dict import HassKey

from ...const import DOMAIN
from ...device.device import Device
from ...protocol.messages import JsonObject
from ...texts.translated import async_text
from ...util.text import one_line, plain_markdown, plain_name
from .question_form import FormField, parse_question_form


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question that a person can answer now."""

    fields: tuple[FormField, ...]
    placeholders: dict[str, str]
    """Placeholders for the texts of its form, without Markdown."""
    answer: asyncio.Future[JsonObject]

    @callback
    def resolve(
        self, action: Literal["accept", "decline", "cancel"], content: dict[str, Any] | None = None
    ) -> None:
        """Answer it; a second answer is ignored."""
        if not self.answer.done():
            self.answer.set_result({"action": action} | ({} if content is None else {"content": content}))


OPEN_QUESTIONS: Final = HassKey[dict[str, OpenQuestion]](f"{DOMAIN}_open_questions")
"""The questions that a person can answer now, by the ids of their repair issues."""
# For a person to answer.
_PATIENCE: Final = 300.0


async def ask_people(device: Device, params: JsonObject) -> JsonObject:
    """Return the result of `elicitation/create`. Raises `RequestError`."""
    message, fields = parse_question_form(params)
    hass, issue_id = device.hass, f"device_question_{uuid4().hex}"
    described = (f"{field.title}: {field.description}" for field in fields if field.description)
    question = OpenQuestion(
        fields=fields,
        placeholders={
            "name": plain_name(one_line(device.name, 64)),
            "message": plain_markdown(message),
            "fields": "\n\n".join(map(plain_markdown, described)),
        },
        answer=hass.loop.create_future(),
    )
    notice = await async_text(hass, "device_asks", **question.placeholders)
    title = await async_text(hass, "device_asks_title", **question.placeholders)

    @callback
    def dismissed(event: Event[Any]) -> None:
        issue = ir.async_get(hass).async_get_issue(DOMAIN, issue_id)
        if event.data["issue_id"] == issue_id and issue is not None and issue.dismissed_version:
            question.resolve("cancel")

    stop = hass.bus.async_listen(ir.EVENT_REPAIRS_ISSUE_REGISTRY_UPDATED, dismissed)
    hass.data.setdefault(OPEN_QUESTIONS, {})[issue_id] = question
    try:
        ir.async_create_issue(
            hass,
            DOMAIN,
            issue_id,
            is_fixable=True,
            severity=ir.IssueSeverity.WARNING,
            translation_key="device_question",
            translation_placeholders=question.placeholders,
        )
        persistent_notification.async_create(hass, notice, title, issue_id)
        async with asyncio.timeout(_PATIENCE):
            return await question.answer
    except TimeoutError:
        return {"action": "cancel"}
    finally:
        stop()
        del hass.data[OPEN_QUESTIONS][issue_id]
        ir.async_delete_issue(hass, DOMAIN, issue_id)
        persistent_notification.async_dismiss(hass, issue_id)
