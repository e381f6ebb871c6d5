"""Muon: momentum whose update is made orthogonal, for the hidden matrices.

Matrices of one shape are updated together, so that a step is a few large operations instead of thousands of small ones.
Source: Jordan et al. 2024; the scale of the update is that of Moonlight (arXiv 2502.16982).
"""

from collections import defaultdict

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
#: Coefficients of the polynomial whose iteration moves singular values to about one.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


def orthogonal(matrices: Tensor) -> Tensor:
    """Returns matrices `[number, rows, columns]` with the singular vectors of those given and singular values of about one."""
    x = matrices.to(torch.bfloat16)
    is_tall = x.shape[1] > x.shape[2]
    if is_tall:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if is_tall else x


class Muon:
    """The optimizer of a list of matrices, with the interface of PyTorch's."""

    def __init__(self, matrices: list[nn.Parameter], lr: float, weight_decay: float):
        self.param_groups = [{"lr": lr}]
        self.weight_decay = weight_decay
        groups: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
        for matrix in matrices:
            groups[tuple(matrix.shape)].append(matrix)
        self.groups = list(groups.values())
        self.momenta = [torch.zeros(len(group), *group[0].shape, device=group[0].device) for group in self.groups]

    @torch.no_grad()
    def step(self) -> None:
        """Updates the matrices from their gradients."""
        rate = self.param_groups[0]["lr"]
        for group, momentum in zip(self.groups, self.momenta, strict=True):
            gradients = torch.stack([matrix.grad for matrix in group])
            momentum.lerp_(gradients, 1 - MOMENTUM)
            update = orthogonal(gradients.lerp(momentum, MOMENTUM)).float()
            # The scale gives the entries of an update the size that AdamW's have.
            scale = 0.2 * max(group[0].shape) ** 0.5
            torch._foreach_mul_(group, 1 - rate * self.weight_decay)
            torch._foreach_add_(group, list(update.unbind()), alpha=-rate * scale)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Discards the gradients."""
        for matrix in (matrix for group in self.groups for matrix in group):
            matrix.grad = None

    def state_dict(self) -> dict:
        """Returns the momenta."""
        return {"momenta": self.momenta}

    def load_state_dict(self, state: dict) -> None:
        """Restores the momenta."""
        self.momenta = state["momenta"]
