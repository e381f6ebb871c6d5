"""The Qwen3 decoder in its smallest form: grouped-query attention with normalized queries and keys.

Names of parameters are those of the GGUF format, so that the export is a copy (`export.py`).
Source: the Qwen3 technical report (arXiv 2505.09388), section 2.
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .kernels import attend, gated


@dataclass(frozen=True)
class Config:
    """The shape of the model."""

    vocab_size: int = 4096
    hidden_size: int = 256
    num_layers: int = 8
    num_heads: int = 4
    num_kv_heads: int = 2
    head_dim: int = 64
    intermediate_size: int = 768
    context_length: int = 1024
    rope_base: float = 10_000.0
    rms_norm_eps: float = 1e-6
    #: The share of what a layer adds to the residual stream that is set to zero in training.
    dropout: float = 0.0

    def as_dict(self) -> dict:
        """Returns the fields by name, for the saved state."""
        return asdict(self)


def rotary_tables(config: Config, length: int) -> tuple[Tensor, Tensor]:
    """Returns cosines and sines of the rotation of each position and pair of dimensions, both `[length, head_dim / 2]`."""
    exponents = torch.arange(0, config.head_dim, 2).float() / config.head_dim
    angles = torch.outer(torch.arange(length).float(), config.rope_base**-exponents)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotates `x` `[batch, length, heads, head_dim]`: dimension i is paired with i + head_dim / 2."""
    left, right = x.float().chunk(2, dim=-1)
    return torch.cat((left * cosines - right * sines, right * cosines + left * sines), dim=-1).to(torch.bfloat16)


def norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Root-mean-square normalization over the last dimension, computed in float32; the result is bfloat16."""
    x = x.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight).to(torch.bfloat16)


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """A product in bfloat16 with float32 weights."""
    return F.linear(x, weight.to(torch.bfloat16))


class Norm(nn.Module):
    """The weights of a normalization."""

    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalizes the last dimension of `x`."""
        return norm(x, self.weight, self.eps)


class Block(nn.Module):
    """One decoder layer: attention, then a gated feed-forward network, each added to the residual stream."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        query_size = config.num_heads * config.head_dim
        kv_size = config.num_kv_heads * config.head_dim
        self.attn_norm = Norm(config.hidden_size, config.rms_norm_eps)
        self.attn_q = nn.Linear(config.hidden_size, query_size, bias=False)
        self.attn_k = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.attn_v = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.attn_q_norm = Norm(config.head_dim, config.rms_norm_eps)
        self.attn_k_norm = Norm(config.head_dim, config.rms_norm_eps)
        self.attn_output = nn.Linear(query_size, config.hidden_size, bias=False)
        self.ffn_norm = Norm(config.hidden_size, config.rms_norm_eps)
        self.ffn_gate = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.ffn_up = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.ffn_down = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor, documents: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """`x` is `[batch, length, hidden_size]`, and so is the result."""
        batch, length, _ = x.shape
        config = self.config
        normed = self.attn_norm(x)
        query_size, kv_size = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        # One product for all three: larger products use the processor better.
        projections = torch.cat((self.attn_q.weight, self.attn_k.weight, self.attn_v.weight))
        query, key, value = linear(normed, projections).split((query_size, kv_size, kv_size), dim=-1)
        query = rotate(self.attn_q_norm(query.view(batch, length, config.num_heads, config.head_dim)), cosines, sines)
        key = rotate(self.attn_k_norm(key.view(batch, length, config.num_kv_heads, config.head_dim)), cosines, sines)
        value = value.view(batch, length, config.num_kv_heads, config.head_dim)
        x = x + self.dropped(linear(attend(query, key, value, documents).flatten(2), self.attn_output.weight))
        gate_up = linear(self.ffn_norm(x), torch.cat((self.ffn_gate.weight, self.ffn_up.weight)))
        return x + self.dropped(linear(gated(gate_up), self.ffn_down.weight))

    def dropped(self, x: Tensor) -> Tensor:
        """Returns `x`, in training without a random part of it."""
        return F.dropout(x, self.config.dropout, self.training) if self.config.dropout else x


class Ember(nn.Module):
    """The whole model; its output head is the embedding itself."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.token_embd = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blk = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.output_norm = Norm(config.hidden_size, config.rms_norm_eps)
        cosines, sines = rotary_tables(config, config.context_length)
        self.register_buffer("cosines", cosines, persistent=False)
        self.register_buffer("sines", sines, persistent=False)
        self.apply(self._initialize)
        for block in self.blk:
            # The two projections that add to the residual stream start at zero: each layer is the identity at first.
            nn.init.zeros_(block.attn_output.weight)
            nn.init.zeros_(block.ffn_down.weight)

    @staticmethod
    def _initialize(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, token_ids: Tensor, documents: Tensor) -> Tensor:
        """Returns the normalized hidden states `[batch, length, hidden_size]` of `token_ids` `[batch, length]`, in bfloat16.

        `documents`, of the same shape, numbers the document that each token belongs to.
        """
        length = token_ids.shape[1]
        cosines, sines = self.cosines[:length, None], self.sines[:length, None]
        x = self.token_embd(token_ids).to(torch.bfloat16)
        for block in self.blk:
            x = block(x, documents, cosines, sines)
        return self.output_norm(x)


@torch.compile(dynamic=False)
def _losses_and_gradients(logits: Tensor, targets: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of each row of `logits`, and its gradient times the row's weight."""
    logits = logits.float()
    log_sum = logits.logsumexp(-1, keepdim=True)
    losses = log_sum.squeeze(-1) - logits.gather(-1, targets[:, None]).squeeze(-1)
    hits = targets[:, None] == torch.arange(logits.shape[-1], device=logits.device)
    gradient = ((logits - log_sum).exp() - hits.float()) * weights[:, None]
    return losses, gradient.to(torch.bfloat16)


class OutputLoss(torch.autograd.Function):
    """The weighted sum of the cross-entropies after the output head, a chunk of positions at a time.

    Logits are the largest tensor of a step. In chunks they stay in the cache, and their gradient is computed at once.
    """

    @staticmethod
    def forward(ctx, hidden: Tensor, embedding: Tensor, targets: Tensor, weights: Tensor, chunk: int) -> Tensor:  # type: ignore[override]
        """`hidden` `[positions, hidden_size]` in bfloat16, a multiple of `chunk` positions; `embedding` in float32."""
        head = embedding.to(torch.bfloat16)
        hidden_gradient = torch.empty_like(hidden)
        head_gradient = torch.zeros_like(embedding)
        total = torch.zeros((), device=hidden.device)
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            losses, gradient = _losses_and_gradients(hidden[part] @ head.T, targets[part], weights[part])
            total += (losses * weights[part]).sum()
            hidden_gradient[part] = gradient @ head
            head_gradient += gradient.T @ hidden[part]
        ctx.save_for_backward(hidden_gradient, head_gradient)
        return total

    @staticmethod
    def backward(ctx, scale: Tensor):  # type: ignore[override]
        """Scales the gradients of the forward pass."""
        hidden_gradient, head_gradient = ctx.saved_tensors
        return hidden_gradient * scale.to(torch.bfloat16), head_gradient * scale, None, None, None
