"""The Qwen3 decoder, as small as it can be written: grouped-query attention with normalized queries and keys.

Names of parameters are those of the GGUF format, so that the export is a copy (`export.py`).
Source: the Qwen3 technical report (arXiv 2505.09388), section 2.
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


#: Queries that attend together; smaller chunks skip more of the future, larger ones are fewer.
QUERY_CHUNK = 64


@dataclass(frozen=True)
class Config:
    """The shape of the model."""

    vocab_size: int = 4096
    hidden_size: int = 256
    num_layers: int = 5
    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 64
    intermediate_size: int = 704
    context_length: int = 1024
    rope_base: float = 10_000.0
    rms_norm_eps: float = 1e-6

    def as_dict(self) -> dict:
        """The fields by name, for the saved state."""
        return asdict(self)


def rotary_tables(config: Config, length: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotation of each position and pair of dimensions, both `[length, head_dim / 2]`."""
    exponents = torch.arange(0, config.head_dim, 2).float() / config.head_dim
    angles = torch.outer(torch.arange(length).float(), config.rope_base**-exponents)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotates `x` `[batch, heads, length, head_dim]`: dimension i is paired with i + head_dim / 2."""
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cosines - right * sines, right * cosines + left * sines), dim=-1).to(x.dtype)


def attend(query: Tensor, key: Tensor, value: Tensor, documents: Tensor) -> Tensor:
    """Causal attention within each document, in chunks of queries that read no key after their last.

    `query` is `[batch, num_heads, length, head_dim]`, `key` and `value` have `num_kv_heads`, `documents`
    `[batch, length]` numbers the document of each token. On a CPU this takes half the time of torch's own kernel,
    which counts every head of a group and every key.
    """
    batch, num_heads, length, head_dim = query.shape
    num_kv_heads = key.shape[1]
    group = num_heads // num_kv_heads
    query = query.reshape(batch, num_kv_heads, group, length, head_dim)
    chunks = []
    for start in range(0, length, QUERY_CHUNK):
        end = min(start + QUERY_CHUNK, length)
        rows = end - start
        q = query[:, :, :, start:end].reshape(batch * num_kv_heads, group * rows, head_dim)
        k = key[:, :, :end].reshape(batch * num_kv_heads, end, head_dim)
        v = value[:, :, :end].reshape(batch * num_kv_heads, end, head_dim)
        scores = torch.bmm(q, k.transpose(1, 2)).float() * head_dim**-0.5
        causal = torch.ones(rows, end, dtype=torch.bool, device=query.device).tril(start)
        visible = causal & (documents[:, start:end, None] == documents[:, None, :end])
        scores = scores.view(batch, num_kv_heads, group, rows, end)
        scores = scores.masked_fill(~visible[:, None, None], float("-inf"))
        weights = scores.softmax(-1).to(v.dtype).view(batch * num_kv_heads, group * rows, end)
        chunks.append(torch.bmm(weights, v).view(batch, num_kv_heads, group, rows, head_dim))
    return torch.cat(chunks, dim=3).reshape(batch, num_heads, length, head_dim)


class Block(nn.Module):
    """One decoder layer: attention, then a gated feed-forward network, each added to the stream."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        query_size = config.num_heads * config.head_dim
        kv_size = config.num_kv_heads * config.head_dim
        self.attn_norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.attn_q = nn.Linear(config.hidden_size, query_size, bias=False)
        self.attn_k = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.attn_v = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.attn_q_norm = nn.RMSNorm(config.head_dim, eps=config.rms_norm_eps)
        self.attn_k_norm = nn.RMSNorm(config.head_dim, eps=config.rms_norm_eps)
        self.attn_output = nn.Linear(query_size, config.hidden_size, bias=False)
        self.ffn_norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.ffn_gate = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.ffn_up = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.ffn_down = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor, documents: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """`x` is `[batch, length, hidden_size]`, and so is the result."""
        batch, length, _ = x.shape
        normed = self.attn_norm(x)

        def heads(projection: nn.Linear, count: int) -> Tensor:
            return projection(normed).view(batch, length, count, self.config.head_dim).transpose(1, 2)

        query = rotate(self.attn_q_norm(heads(self.attn_q, self.config.num_heads)), cosines, sines)
        key = rotate(self.attn_k_norm(heads(self.attn_k, self.config.num_kv_heads)), cosines, sines)
        value = heads(self.attn_v, self.config.num_kv_heads)
        attended = attend(query, key, value, documents)
        x = x + self.attn_output(attended.transpose(1, 2).reshape(batch, length, -1))
        normed = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(normed)) * self.ffn_up(normed))


class Ember(nn.Module):
    """The whole model; its output head is the embedding itself."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.token_embd = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blk = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.output_norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        cosines, sines = rotary_tables(config, config.context_length)
        self.register_buffer("cosines", cosines, persistent=False)
        self.register_buffer("sines", sines, persistent=False)
        self.apply(self._initialize)
        for block in self.blk:
            # The two projections that add to the stream start at zero: each layer is the identity at first.
            nn.init.zeros_(block.attn_output.weight)
            nn.init.zeros_(block.ffn_down.weight)

    @staticmethod
    def _initialize(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, token_ids: Tensor, documents: Tensor) -> Tensor:
        """Logits `[batch, length, vocab_size]` of the token after each of `token_ids` `[batch, length]`.

        `documents`, of the same shape, numbers the document that each token belongs to.
        """
        length = token_ids.shape[1]
        cosines, sines = self.cosines[:length], self.sines[:length]
        x = self.token_embd(token_ids)
        for block in self.blk:
            x = block(x, documents, cosines, sines)
        return F.linear(self.output_norm(x), self.token_embd.weight)
