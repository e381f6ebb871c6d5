"""Functions compiled for this processor, compared with PyTorch's."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

try:
    import torch
except ImportError:
    torch = None


def has_processor() -> bool:
    """Whether this processor has the instructions that the compiled functions need."""
    path = Path("/proc/cpuinfo")
    return path.exists() and "avx512_bf16" in path.read_text()


@unittest.skipUnless(torch and has_processor(), "needs PyTorch and AVX-512 BF16")
class Kernels(unittest.TestCase):
    def test_attention_and_its_gradients_are_those_of_pytorch(self):
        from ember.kernels import attend, masked_attention

        torch.manual_seed(0)
        lengths = [1, 7, 8, 9, 31, 100, 44]
        documents = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).repeat(3, 1)
        shapes = ((4, 64), (2, 64), (2, 64))
        given = [torch.randn(3, sum(lengths), *shape).bfloat16() for shape in shapes]
        upstream = torch.randn(3, sum(lengths), 4, 64)
        found = []
        for function, kind in ((attend, torch.bfloat16), (masked_attention, torch.float32)):
            inputs = [tensor.detach().to(kind).clone().requires_grad_() for tensor in given]
            output = function(*inputs, documents)
            (output.float() * upstream).sum().backward()
            found.append([output.detach(), *(tensor.grad for tensor in inputs)])
        for ours, theirs in zip(*found):
            difference = (ours.float() - theirs).norm() / theirs.norm()
            self.assertLess(difference.item(), 0.01)

    def test_gates_and_their_gradients_are_those_of_pytorch(self):
        from ember.kernels import gated

        torch.manual_seed(1)
        given = (torch.randn(3, 5, 64) * 8).bfloat16().requires_grad_()
        upstream = torch.randn(3, 5, 32)
        exact = given.detach().float().requires_grad_()
        gate, up = exact.chunk(2, dim=-1)
        expected = torch.nn.functional.silu(gate) * up
        found = gated(given)
        (found.float() * upstream.bfloat16().float()).sum().backward()
        (expected * upstream.bfloat16().float()).sum().backward()
        for ours, theirs in ((found, expected), (given.grad, exact.grad)):
            self.assertLess(((ours.float() - theirs).norm() / theirs.norm()).item(), 0.01)


if __name__ == "__main__":
    unittest.main()
