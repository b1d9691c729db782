"""Typed questions for a satellite.

Both `async_accept_pipeline_from_satellite` and `async_pipeline_from_audio_stream` take only audio. Home
Assistant's own chat window runs a text with `PipelineInput`, as this does. The state of a satellite and its
conversation with the assistant are in members that Home Assistant does not document: the tests of typed
questions fail when these change.
"""

from homeassistant.components.assist_pipeline import PipelineStage, async_get_pipeline
from homeassistant.components.assist_pipeline.pipeline import PipelineInput, PipelineRun
from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.core import Context
from homeassistant.helpers.chat_session import async_get_chat_session

__all__ = ["TypedQuestionSatellite"]


class TypedQuestionSatellite(AssistSatelliteEntity):
    """A satellite that can also be asked in writing."""

    async def async_accept_text_from_satellite(self, question: str) -> None:
        """Run the chosen pipeline on a text. One without a voice ends with the text of the answer."""
        pipeline = async_get_pipeline(self.hass, self._resolve_pipeline())
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
