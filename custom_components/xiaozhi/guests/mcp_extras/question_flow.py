"""The form of a repair in which a person answers a device."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from homeassistant.components.repairs import RepairsFlow, RepairsFlowResult
from homeassistant.core import callback
from homeassistant.data_entry_flow import AbortFlow
from homeassistant.helpers.selector import (
    BooleanSelector,
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    SelectOptionDict,
    SelectSelector,
    SelectSelectorConfig,
    TextSelector,
)
import voluptuous as vol

from .person_questions import OPEN_QUESTIONS, OpenQuestion
from .question_form import FormField

_NUMBERS: Final = frozenset({"integer", "number"})


class QuestionFlow(RepairsFlow):
    """Offers to answer, to decline, or to close the question."""

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Show the question."""
        return self.async_show_menu(
            step_id="init",
            menu_options=["answer", "decline", "cancel"],
            description_placeholders=self._question.placeholders,
        )

    async def async_step_answer(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Show the form, and check the input."""
        question = self._question
        # The web page shows a field of a repair only with a label from the translations: there is one for
        # each of these keys, which is a placeholder.
        keys = {f"field_{number}": field for number, field in enumerate(question.fields, 1)}
        errors: dict[str, str] = {}
        if user_input is not None:
            content, errors = _read(keys, user_input)
            if not errors:
                question.resolve("accept", content)
                return self.async_create_entry(data={})
        schema = vol.Schema({_marker(field, key): _selector(field) for key, field in keys.items()})
        return self.async_show_form(
            step_id="answer",
            data_schema=self.add_suggested_values_to_schema(schema, user_input),
            errors=errors,
            description_placeholders=question.placeholders | _labels(keys),
        )

    async def async_step_decline(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Decline."""
        return self._resolve("decline")

    async def async_step_cancel(self, user_input: dict[str, Any] | None = None) -> RepairsFlowResult:
        """Close the question without an answer."""
        return self._resolve("cancel")

    @property
    def _question(self) -> OpenQuestion:
        if (question := self.hass.data.get(OPEN_QUESTIONS, {}).get(self.issue_id)) is None:
            raise AbortFlow("gone")
        return question

    @callback
    def _resolve(self, action: Any) -> RepairsFlowResult:
        self._question.resolve(action)
        return self.async_create_entry(data={})


def _read(
    keys: Mapping[str, FormField], user_input: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    content: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for key, field in keys.items():
        value = user_input.get(key)
        if value is None or (value == "" and not field.required):
            continue
        if fault := field.fault(value):
            errors[key] = fault
        content[field.name] = int(value) if field.kind == "integer" else value
    return content, errors


def _labels(keys: Mapping[str, FormField]) -> dict[str, str]:
    """Return the placeholders with the labels of the fields: their titles, and the limits of numbers."""
    labels: dict[str, str] = {}
    for key, field in keys.items():
        label = field.title
        if field.kind in _NUMBERS and (limits := _limits(field)):
            label = f"{label} ({limits})"
        if label in labels.values():
            label = f"{label} ({field.name})"
        labels[key.replace("field", "label")] = label
    return labels


def _limits(field: FormField) -> str:
    low, high = field.minimum, field.maximum
    if isfinite(low) and isfinite(high):
        return f"{low:g}–{high:g}"
    if isfinite(low):
        return f"≥ {low:g}"
    return f"≤ {high:g}" if isfinite(high) else ""


def _marker(field: FormField, key: str) -> vol.Marker:
    kind = vol.Required if field.required else vol.Optional
    if field.default is not None:
        return kind(key, default=field.default)
    if field.kind in _NUMBERS and field.required and isfinite(field.minimum):
        return kind(key, description={"suggested_value": field.minimum})
    return kind(key)


def _selector(field: FormField) -> Any:
    match field.kind:
        case "boolean":
            return BooleanSelector()
        case "integer" | "number":
            # The web page shows no error of a selector, so that the limits are checked here.
            step: Any = 1 if field.kind == "integer" else "any"
            return NumberSelector(NumberSelectorConfig(mode=NumberSelectorMode.BOX, step=step))
        case "choice":
            options = [SelectOptionDict(value=value, label=shown) for value, shown in field.choices]
            return SelectSelector(SelectSelectorConfig(options=options))
    return TextSelector()
