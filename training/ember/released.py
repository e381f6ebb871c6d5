"""Reads the vocabulary and the weights of a model file with Python's `gguf` package, to start a run from them."""

from pathlib import Path

import gguf
import torch
from tokenizers import Tokenizer

from . import tokens
from .model import Config


def tokenizer(path: Path) -> Tokenizer:
    """Returns the vocabulary of a file written by `export`."""
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
    """Returns the parameters of a file written by `export`, by their names in the model."""
    reader = gguf.GGUFReader(path)
    return {
        tensor.name: torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy()) for tensor in reader.tensors
    }


def config(path: Path) -> Config:
    """Returns the shape of the model in a file written by `export`."""
    fields = gguf.GGUFReader(path).fields
    layers, intermediate = (fields[f"qwen3.{key}"].contents() for key in ("block_count", "feed_forward_length"))
    return Config(num_layers=layers, intermediate_size=intermediate)
