"""One conversation with a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import _inferno
from ._inferno import Chunk
from .completion import Completion, completed
from .options import Prompt
from .prompt import text_or_ids
from .streams import read

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import AnyPath, SamplingOptions


class Session:
    """A sequence of tokens that prompts and generations extend; see `Model.session`.

    >>> import inferno
    >>> session = inferno.Model().session()
    >>> first = session.generate("Once upon a time", max_tokens=4, temperature=0)
    >>> second = session.generate(" and then", max_tokens=4, temperature=0)  # continues the text
    >>> len(session.tokens) > len(first.tokens) + len(second.tokens)
    True
    """

    def __init__(self, session: _inferno.Session) -> None:
        self._session = session

    @property
    def tokens(self) -> list[int]:
        """All tokens that the model has read and generated."""
        return self._session.tokens

    def generate(self, prompt: Prompt = "", **options: Unpack[SamplingOptions]) -> Completion:
        """Appends `prompt` and generates a continuation.

        At the start of the session, a text is preceded by the tokens that the model requires, such as BOS. An empty prompt
        continues the tokens of the session. Ctrl-C stops the generation.
        """
        return completed(self._session.submit(text_or_ids(prompt), dict(options)))

    def stream(self, prompt: Prompt = "", **options: Unpack[SamplingOptions]) -> Iterator[Chunk]:
        """Generates as `generate` does, and yields each token with its text.

        Closing the iterator stops the generation; the tokens so far remain in the session. The session cannot be used
        otherwise before that.
        """
        return read(self._session.submit(text_or_ids(prompt), dict(options)))

    def extend(self, prompt: Prompt) -> None:
        """Appends `prompt` and computes it, without generating. Ctrl-C stops it, and leaves the session unchanged."""
        self._session.extend(text_or_ids(prompt))

    def truncate(self, num_tokens: int) -> None:
        """Removes all but the first `num_tokens` tokens."""
        self._session.truncate(num_tokens)

    def reset(self) -> None:
        """Removes all tokens."""
        self._session.truncate(0)

    def save(self, path: AnyPath) -> None:
        """Writes the session with its keys and values to a file, which `load` restores without computing them again."""
        self._session.save(path)

    def load(self, path: AnyPath) -> None:
        """Replaces the session with a saved one of the same model and KV cache format."""
        self._session.load(path)
