"""inferno: run large language models from GGUF files, in this process.

>>> import inferno
>>> model = inferno.Model()  # the built-in Ember; or a path, or "hf:OWNER/REPO:QUANTIZATION"
>>> model.generate("Once upon a time", max_tokens=8, temperature=0).text
' there was a tree that bore brown'
"""

from ._inferno import CacheEvent, Chunk, Timings, TokenLogprob, Usage, __version__, devices
from .asgi import AsgiApp, asgi_app
from .chat import ChatChunk, ChatCompletion, ToolCall, ToolCallDelta
from .completion import Completion
from .engine import Engine
from .errors import (
    ContextLengthError,
    DeviceError,
    EngineStoppedError,
    HubError,
    InfernoError,
    InvalidRequestError,
    ModelFileError,
    QueueFullError,
    SavedStateError,
)
from .model import Model
from .pipelines import TextGenerationPipeline, pipeline
from .session import Session
from .stages import Stage, StageAddresses, divide

__all__ = [
    "AsgiApp",
    "CacheEvent",
    "ChatChunk",
    "ChatCompletion",
    "Chunk",
    "Completion",
    "ContextLengthError",
    "DeviceError",
    "Engine",
    "EngineStoppedError",
    "HubError",
    "InfernoError",
    "InvalidRequestError",
    "Model",
    "ModelFileError",
    "QueueFullError",
    "SavedStateError",
    "Session",
    "Stage",
    "StageAddresses",
    "TextGenerationPipeline",
    "Timings",
    "TokenLogprob",
    "ToolCall",
    "ToolCallDelta",
    "Usage",
    "__version__",
    "asgi_app",
    "devices",
    "divide",
    "pipeline",
]
