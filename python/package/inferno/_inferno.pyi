"""The extension module; use the classes of the package instead."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from .options import AnyPath

__all__ = [
    "CacheEvent",
    "CacheEventStream",
    "ChunkStream",
    "Chunk",
    "LoadedModel",
    "Response",
    "Server",
    "Session",
    "Stage",
    "StageAddresses",
    "Timings",
    "TokenLogprob",
    "Usage",
    "ValueStream",
    "__version__",
    "check_server",
    "check_stage_options",
    "devices",
    "divide",
    "main",
]
__version__: str

def main(arguments: Sequence[str]) -> int: ...
def devices() -> list[dict[str, Any]]:
    """Lists the GPUs of this machine: `index`, `name`, `api`, `kind`, `driver` and `memory_bytes` of each."""

def divide(source: AnyPath | None, num_stages: int) -> list[tuple[int, int]]: ...
def check_server(**options: Any) -> None:
    """Checks the options of `LoadedModel.server`."""

def check_stage_options(num_lanes: int, **options: Any) -> None:
    """Checks the options of `LoadedModel.load_from_stages`."""

@final
class TokenLogprob:
    """The log-probability of a token, and the most probable tokens at its position."""

    def __new__(cls, token: int, logprob: float, rank: int, top: Sequence[tuple[int, float]]) -> TokenLogprob: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...
    @property
    def token(self) -> int:
        """The token."""
    @property
    def logprob(self) -> float:
        """Natural logarithm of its probability."""
    @property
    def rank(self) -> int:
        """How many tokens are more probable, plus one."""
    @property
    def top(self) -> list[tuple[int, float]]:
        """The most probable tokens with their log-probabilities, the most probable first."""

@final
class Usage:
    """The number of tokens of a request."""

    def __new__(cls, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> Usage: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...
    def __hash__(self) -> int: ...
    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt."""
    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that were found in the prefix cache."""
    @property
    def completion_tokens(self) -> int:
        """Generated tokens, including one that ended the generation."""

@final
class Timings:
    """The times of a request, in seconds."""

    def __new__(cls, queued: float, time_to_first_token: float | None, decode: float, total: float) -> Timings: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...
    @property
    def queued(self) -> float:
        """From the request to its first computation."""
    @property
    def time_to_first_token(self) -> float | None:
        """From the request to the first token; `None` without one."""
    @property
    def decode(self) -> float:
        """From the first token to the last."""
    @property
    def total(self) -> float:
        """From the request to the end."""

@final
class Chunk:
    """A part of a generation: a token with the text that it adds, or the end."""

    def __new__(
        cls,
        text: str,
        token: int | None,
        logprob: TokenLogprob | None,
        prompt_logprobs: Sequence[TokenLogprob] | None,
        finish_reason: str | None,
        usage: Usage | None,
        timings: Timings | None,
    ) -> Chunk: ...
    def __getnewargs__(self) -> tuple[Any, ...]: ...
    @property
    def text(self) -> str:
        """The text that can now be shown: complete characters, often none."""
    @property
    def token(self) -> int | None:
        """The token; `None` for the end."""
    @property
    def logprob(self) -> TokenLogprob | None:
        """The log-probability of the token, if it was requested."""
    @property
    def prompt_logprobs(self) -> list[TokenLogprob] | None:
        """The log-probabilities of the prompt from its second token on, if they were requested; in a chunk of their own."""
    @property
    def finish_reason(self) -> str | None:
        """Why the generation ended: `stop`, `length`, `context_full`, `cancelled` or `deadline_exceeded`."""
    @property
    def usage(self) -> Usage | None:
        """The number of tokens; at the end."""
    @property
    def timings(self) -> Timings | None:
        """The times of a request; at the end."""

@final
class CacheEvent:
    """A change of the prefix cache: consecutive blocks were stored, or blocks were removed."""

    @property
    def kind(self) -> str:
        """`stored` or `removed`."""
    @property
    def blocks(self) -> list[int]:
        """The hashes of the blocks, in order. A hash identifies a block's tokens with all tokens before them."""
    @property
    def parent(self) -> int | None:
        """The hash of the block before the first; `None` at the start of a sequence and for removed blocks."""
    @property
    def tokens(self) -> list[int]:
        """The tokens of all stored blocks."""

@final
class CacheEventStream:
    def next(self) -> list[CacheEvent] | None: ...
    def poll(self, callback: Callable[[], object]) -> list[list[CacheEvent]] | None: ...
    def close(self) -> None: ...

@final
class ChunkStream:
    @property
    def seed(self) -> int: ...
    def next(self) -> Chunk | None: ...
    def rest(self) -> list[Chunk]: ...
    def poll(self, callback: Callable[[], object]) -> list[Chunk] | None: ...
    def close(self) -> None: ...

@final
class ValueStream:
    def next(self) -> bytes | None: ...
    def poll(self, callback: Callable[[], object]) -> list[bytes] | None: ...
    def close(self) -> None: ...

@final
class Response:
    def next(self) -> bytes | tuple[int, list[tuple[str, bytes]]] | None: ...
    def poll(
        self, callback: Callable[[], object]
    ) -> list[bytes | tuple[int, list[tuple[str, bytes]]]] | None: ...
    def close(self) -> None: ...

@final
class Server:
    @property
    def max_body_bytes(self) -> int: ...
    def request(
        self, method: str, target: str, headers: Sequence[tuple[str, bytes]], body: bytes
    ) -> Response: ...

@final
class Session:
    @property
    def tokens(self) -> list[int]: ...
    def submit(self, prompt: str | Sequence[int], options: Mapping[str, Any]) -> ChunkStream: ...
    def extend(self, prompt: str | Sequence[int]) -> None: ...
    def truncate(self, num_tokens: int) -> None: ...
    def save(self, path: AnyPath) -> None: ...
    def load(self, path: AnyPath) -> None: ...

@final
class Stage:
    @staticmethod
    def start(
        source: AnyPath | None, first: int, end: int, address: str, key: str, **options: Any
    ) -> Stage: ...
    @property
    def address(self) -> str | None: ...
    @property
    def has_stopped(self) -> bool: ...
    def close(self) -> None: ...

@final
class StageAddresses:
    def __new__(cls, addresses: Sequence[str], key: str, recovery_timeout: float) -> StageAddresses: ...
    def __len__(self) -> int: ...
    @property
    def is_used(self) -> bool: ...
    def close(self) -> None: ...
    def set(self, index: int, address: str) -> None: ...

@final
class LoadedModel:
    @staticmethod
    def load(source: AnyPath | None, **options: Any) -> LoadedModel: ...
    @staticmethod
    def load_from_stages(
        source: AnyPath | None, stages: StageAddresses, num_lanes: int, **options: Any
    ) -> LoadedModel: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def context_length(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def embedding_size(self) -> int: ...
    @property
    def devices(self) -> list[str]: ...
    @property
    def kv_dtype(self) -> str: ...
    @property
    def bos_token_id(self) -> int | None: ...
    @property
    def eos_token_id(self) -> int | None: ...
    @property
    def has_chat_template(self) -> bool: ...
    @property
    def max_num_ahead(self) -> int: ...
    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]: ...
    def tokenize_prompt(self, text: str) -> list[int]: ...
    def detokenize(self, tokens: Sequence[int], skip_special: bool) -> str: ...
    def submit(self, prompt: Sequence[int], options: Mapping[str, Any]) -> ChunkStream: ...
    def submit_embedding(self, prompt: Sequence[int]) -> ValueStream: ...
    def logits(self, prompt: Sequence[int], all_positions: bool) -> bytes: ...
    def metrics(self) -> dict[str, int | float]: ...
    def cache_events(self) -> CacheEventStream: ...
    def block_hashes(self, prompt: Sequence[int]) -> list[int]: ...
    def session(self) -> Session: ...
    def request(
        self, method: str, target: str, headers: Sequence[tuple[str, bytes]], body: bytes
    ) -> Response: ...
    def server(self, **options: Any) -> Server: ...
