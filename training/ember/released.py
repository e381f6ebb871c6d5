"""A model file as the beginning of a run: its vocabulary and its weights, read by Python's own `gguf` package."""

from pathlib import Path

import gguf
import torch
from tokenizers import Tokenizer

from . import tokens


def tokenizer(path: Path) -> Tokenizer:
    """The vocabulary of a file that `export` wrote."""
    reader = gguf.GGUFReader(path)
    texts = reader.fields["tokenizer.ggml.tokens"].contents()
    special = {*tokens.CONTROL_TOKENS, *tokens.TEXT_TOKENS}
    vocabulary = {text: token_id for token_id, text in enumerate(texts) if text not in special}
    merges = [tuple(merge.split(" ")) for merge in reader.fields["tokenizer.ggml.merges"].contents()]
    made = tokens.from_merges(vocabulary, merges)
    moved = [text for token_id, text in enumerate(texts) if made.token_to_id(text) != token_id]
    if moved:
        raise ValueError(f"{path} numbers {len(moved)} tokens differently, {moved[0]!r} first: it is not one of ember's")
    return made


def weights(path: Path) -> dict[str, torch.Tensor]:
    """The parameters of a file that `export` wrote, by the names that the model uses."""
    reader = gguf.GGUFReader(path)
    return {
        tensor.name: torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy()) for tensor in reader.tensors
    }
