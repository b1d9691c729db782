"""What Home Assistant's satellite does not offer to integrations: typed questions, and speech without an end.

Both `async_accept_pipeline_from_satellite` and `async_pipeline_from_audio_stream` take only audio. Home
Assistant's own chat window runs a text with `PipelineInput`, as this does. The state of a satellite, its
conversation with the assistant, the pause that ends speech and the running pipeline are in private
members. They are used in this module only, and `tests/rules/test_private_parts.py` fails when they change.
"""

from typing import override

from homeassistant.components.assist_pipeline import Pipeline, PipelineStage
from homeassistant.components.assist_pipeline.pipeline import PipelineInput, PipelineRun
from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.core import Context, callback
from homeassistant.helpers.chat_session import async_get_chat_session

__all__ = ["CoreSatellite"]


class CoreSatellite(AssistSatelliteEntity):
    """A satellite that can also be asked in writing, and that can be told when speech has ended."""

    @property
    def longest_pause(self) -> float | None:
        """Seconds of silence that end speech in this turn; None for what the user has chosen."""
        return None

    async def async_accept_text_from_satellite(self, question: str, pipeline: Pipeline) -> None:
        """Run a pipeline on a text. One without a voice ends with the text of the answer."""
        context = Context()
        self.async_set_context(context)
        with async_get_chat_session(self.hass, self._conversation_id) as session:
            self._conversation_id = session.conversation_id
            run = PipelineRun(
                self.hass,
                context=context,
                pipeline=pipeline,
                start_stage=PipelineStage.INTENT,
                end_stage=PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS,
                event_callback=self._internal_on_pipeline_event,
                tts_audio_output=self.tts_options,
            )
            await PipelineInput(
                run=run,
                session=session,
                intent_input=question,
                device_id=self.registry_entry.device_id if self.registry_entry else None,
                satellite_id=self.entity_id,
            ).execute(validate=True)

    @override
    async def _cancel_running_pipeline(self) -> None:
        """Forget a pipeline that does not end.

        `VoiceConversations` has cancelled it, and waited for it as long as the device can wait.
        """
        self._pipeline_task = None

    @callback
    @override
    def _resolve_vad_sensitivity(self) -> float:
        pause = self.longest_pause
        return super()._resolve_vad_sensitivity() if pause is None else pause
