"""A chat model for LangChain. Requires `langchain-core`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Optional

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, UsageMetadata, convert_to_openai_messages
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field

from ._inferno import Usage
from .chat import ChatChunk, ChatCompletion
from .engine import Engine
from .model import Model


class ChatInferno(BaseChatModel):
    """A model in this process as a LangChain chat model.

    `model` is a loaded model (default: the built-in Ember); `options` are fields of OpenAI's chat completions, such as
    `temperature` and `max_tokens`, for every call.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: Model = Field(default_factory=Model)
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "inferno"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model.name, **self.options}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | Any],
        *,
        tool_choice: Optional[str] = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Lets the model call tools. `tool_choice` is `auto`, `none`, `required` (or `any`), or the name of a tool."""
        if tool_choice is not None:
            choice = "required" if tool_choice == "any" else tool_choice
            is_mode = choice in ("auto", "none", "required")
            kwargs["tool_choice"] = choice if is_mode else {"type": "function", "function": {"name": choice}}
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(self.model.chat(_messages(messages), **self._options(stop, kwargs)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(await Engine(self.model).chat(_messages(messages), **self._options(stop, kwargs)))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[CallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self.model.stream_chat(_messages(messages), **self._options(stop, kwargs)):
            generation = _generation_chunk(chunk)
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=generation)
            yield generation

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Optional[AsyncCallbackManagerForLLMRun] = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        engine = Engine(self.model)
        async for chunk in engine.stream_chat(_messages(messages), **self._options(stop, kwargs)):
            generation = _generation_chunk(chunk)
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=generation)
            yield generation

    def _options(self, stop: Optional[list[str]], kwargs: dict[str, Any]) -> dict[str, Any]:
        # LangChain passes its own tracing arguments as well.
        own = ("ls_structured_output_format", "stream")
        options = {**self.options, **{name: value for name, value in kwargs.items() if name not in own}}
        return {**options, "stop": stop} if stop else options


def _messages(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    converted = convert_to_openai_messages(messages)
    return converted if isinstance(converted, list) else [converted]


def _usage(usage: Usage) -> UsageMetadata:
    total = usage.prompt_tokens + usage.completion_tokens
    return UsageMetadata(
        input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, total_tokens=total
    )


def _metadata(finish_reason: Optional[str], response: dict[str, Any]) -> dict[str, Any]:
    """Returns the finish reason, and the log-probabilities if they were requested."""
    logprobs = [choice["logprobs"] for choice in response["choices"] if choice.get("logprobs")]
    return {
        **({"finish_reason": finish_reason} if finish_reason else {}),
        **({"logprobs": logprobs[0]} if logprobs else {}),
    }


def _result(answer: ChatCompletion) -> ChatResult:
    message = AIMessage(
        content=answer.text,
        tool_calls=[
            tool_call(name=call.name, args=call.arguments, id=call.id)
            for call in answer.tool_calls
            if call.arguments is not None
        ],
        invalid_tool_calls=[
            invalid_tool_call(name=call.name, args=call.raw_arguments, id=call.id, error="the answer was cut off")
            for call in answer.tool_calls
            if call.arguments is None
        ],
        usage_metadata=_usage(answer.usage),
        response_metadata=_metadata(answer.finish_reason, answer.response),
        additional_kwargs={"reasoning_content": answer.reasoning} if answer.reasoning else {},
    )
    return ChatResult(generations=[ChatGeneration(message=message)])


def _generation_chunk(chunk: ChatChunk) -> ChatGenerationChunk:
    message = AIMessageChunk(
        content=chunk.text,
        tool_call_chunks=[
            tool_call_chunk(name=call.name or None, args=call.arguments, id=call.id or None, index=call.index)
            for call in chunk.tool_calls
        ],
        usage_metadata=_usage(chunk.usage) if chunk.usage else None,
        response_metadata=_metadata(chunk.finish_reason, chunk.response),
        additional_kwargs={"reasoning_content": chunk.reasoning} if chunk.reasoning else {},
    )
    return ChatGenerationChunk(message=message)
