"""Shards, batches and the schedule of training."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

try:
    import numpy as np
    import tokenizers  # noqa: F401
    import torch
except ImportError:
    torch = None


@unittest.skipUnless(torch, "needs PyTorch, NumPy and tokenizers")
class Shards(unittest.TestCase):
    def test_the_shards_of_the_stages_follow_each_other(self):
        from ember.train import next_shard

        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            with self.assertRaises(FileNotFoundError):
                next_shard(out, None)
            for name in ("language-0000", "language-0001", "conversation-0000", "conversation-0002", "conversation-0001.partial"):
                (out / f"{name}.npz").touch()
            found = [None]
            for _ in range(5):
                found.append(next_shard(out, found[-1]).name)
            self.assertEqual(found[1:], ["language-0000.npz", "language-0001.npz", "conversation-0000.npz",
                "conversation-0002.npz", "conversation-0000.npz"])
            # The current shard may have been removed.
            self.assertEqual(next_shard(out, "conversation-0001.npz").name, "conversation-0002.npz")

    def test_rows_hold_whole_documents_and_lose_none(self):
        from random import Random

        from ember.prepare import ROW_LENGTHS, pack

        rng = Random(1)
        documents = [np.full(rng.randint(2, ROW_LENGTHS[-1] + 1), number, dtype=np.int16) for number in range(1, 400)]
        rows = pack(documents, 0, Random(2))
        counts = sum(np.bincount(part[part >= 0].ravel(), minlength=400) for part in rows.values())
        self.assertEqual([len(document) for document in documents], counts[1:].tolist())
        for length, part in rows.items():
            self.assertEqual(part.shape[1], length + 1)
            for row in part:
                changes = np.flatnonzero(np.diff(row)) + 1
                self.assertEqual(len(changes) + 1, len(set(row.tolist())), "a document is divided")

    def test_only_marked_tokens_are_predicted(self):
        from ember.train import tensors_of

        batch = np.array([[~5, ~6, 7, 8, ~0, 9, 0]], dtype=np.int16)
        inputs, documents, positions, targets, weights = tensors_of(batch, 0, 16)
        self.assertEqual(inputs.tolist(), [[5, 6, 7, 8, 0, 9]])
        self.assertEqual(documents.tolist(), [[0, 0, 0, 0, 0, 1]])
        self.assertEqual(positions[:4].tolist(), [1, 2, 4, 5])
        self.assertEqual(targets[:4].tolist(), [7, 8, 9, 0])
        self.assertEqual(len(weights), 16)
        self.assertAlmostEqual(weights.sum().item(), 1.0)
        self.assertEqual(weights[4:].sum().item(), 0.0)

    def test_the_rate_warms_up_stays_and_falls(self):
        from ember.train import rate_at

        rates = [rate_at(step, step / 1000, 2.0) for step in (0, 99, 799, 900, 999)]
        self.assertEqual([round(rate, 9) for rate in rates[1:4]], [2.0, 2.0, 1.0])
        self.assertLess(rates[0], 0.1)
        self.assertAlmostEqual(rates[4], 0.01)
        self.assertEqual([rate_at(step, step / 1000, 2.0, 0.5) for step in (499, 750)], [2.0, 1.0])

    def test_an_orthogonal_update_has_equal_singular_values(self):
        from ember.muon import Muon, orthogonal

        torch.manual_seed(1)
        for shape in ((3, 64, 128), (2, 128, 64)):
            given = torch.randn(shape)
            singular = torch.linalg.svdvals(orthogonal(given).float())
            self.assertGreater(singular.min().item(), 0.5)
            self.assertLess(singular.max().item(), 1.4)
        # One step of the optimizer of PyTorch has the same result.
        matrices = [torch.nn.Parameter(torch.randn(64, 128)) for _ in range(2)]
        others = [torch.nn.Parameter(matrix.detach().clone()) for matrix in matrices]
        ours = Muon(matrices, lr=0.01, weight_decay=0.1)
        theirs = torch.optim.Muon(others, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
        for _ in range(3):
            for one, other in zip(matrices, others):
                one.grad = torch.randn(one.shape)
                other.grad = one.grad.clone()
            ours.step()
            theirs.step()
        for one, other in zip(matrices, others):
            torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-2)


if __name__ == "__main__":
    unittest.main()
