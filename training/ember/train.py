"""Trains Ember on the shards of a folder; stops and resumes at any time.

    python -m ember.train --out out --steps 6000
    python -m ember.train --out out --steps 8000 --resume
    python -m ember.train --out out --steps 2000 --from ../models/ember.gguf
    python -m ember.train --out out --seconds 600 --batch-tokens 32768

Hidden matrices are trained by Muon, embeddings and norms by AdamW. The rate warms up, stays constant, and falls to zero over the
last part of the run, so that a resumed run can be extended or ended early by another `--steps`. `log.csv` gets a line every few
steps, `state.pt` is written every few minutes, with an average of the weights over time.
"""

import argparse
import csv
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from . import released
from .documents import CHAT_SHARES
from .model import Config, Ember, OutputLoss
from .muon import Muon
from .prepare import HELD_OUT

#: Tokens of a step by default.
BATCH_TOKENS = 8_192
PEAK_RATE = 3e-3
WEIGHT_DECAY = 0.1
WARMUP_STEPS = 100
#: The part of the run, at its end, over which the rate falls to zero.
COOLDOWN_SHARE = 0.2
#: The average of the weights moves this far towards the weights, every `AVERAGE_EVERY_STEPS`.
AVERAGE_STEP = 0.06
AVERAGE_EVERY_STEPS = 8
LOG_EVERY_STEPS = 20
#: Positions whose logits are computed at a time: few stay in a processor's cache, many occupy a GPU.
CPU_LOSS_CHUNK, GPU_LOSS_CHUNK = 512, 8_192
EVALUATE_EVERY_STEPS = 200
SAVE_EVERY_SECONDS = 240
HELD_OUT_BATCHES = 4


def rate_at(step: int, progress: float, peak_rate: float, cooldown_share: float = COOLDOWN_SHARE) -> float:
    """Returns the learning rate of `step`, which falls to zero over the last `cooldown_share` of the run's `progress` from 0 to 1."""
    warmup = min(1.0, (step + 1) / WARMUP_STEPS)
    cooldown = min(1.0, (1.0 - progress) / cooldown_share)
    return peak_rate * min(warmup, cooldown)


def batches_of(path: Path, batch_tokens: int) -> list[np.ndarray]:
    """Returns the batches of a shard, each `[rows, length + 1]` with rows of one length, in an order of their own."""
    found = []
    with np.load(path) as archive:
        for rows in archive.values():
            number = batch_tokens // (rows.shape[1] - 1) if rows.size else 1
            found += [rows[start : start + number] for start in range(0, len(rows) - number + 1, number)]
    order = np.random.default_rng(0).permutation(len(found))
    return [found[index] for index in order]


def next_shard(out: Path, name: str | None) -> Path:
    """Returns the shard after the one called `name`, by stage and number, or the first of the last stage after all others.

    Shards may be added while training runs.
    """
    found = [path for stage in CHAT_SHARES for path in sorted(out.glob(f"{stage}-????.npz"))]
    if not found:
        raise FileNotFoundError(f"no shards in {out}: run python -m ember.prepare shards")
    if name is None:
        return found[0]
    stages = list(CHAT_SHARES)

    def order(shard: str) -> tuple[int, str]:
        return stages.index(shard.split("-")[0]), shard

    later = [path for path in found if order(path.name) > order(name)]
    return later[0] if later else next(path for path in found if order(path.name)[0] == order(found[-1].name)[0])


def tensors_of(batch: np.ndarray, end_of_text: int, chunk: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Returns inputs and documents `[rows, length]`; and positions, targets and weights of what is predicted, filled up with
    weights of zero to a multiple of `chunk`."""
    predicted = batch >= 0
    tokens = torch.from_numpy(np.where(predicted, batch, ~batch).astype(np.int64))
    inputs = tokens[:, :-1].contiguous()
    ends = (inputs == end_of_text).int()
    positions = torch.from_numpy(np.flatnonzero(predicted[:, 1:]))
    number = len(positions)
    filled = -(-number // chunk) * chunk
    weights = torch.zeros(filled)
    weights[:number] = 1 / number
    positions = torch.cat((positions, positions.new_zeros(filled - number)))
    return inputs, (ends.cumsum(1) - ends).contiguous(), positions, tokens[:, 1:].flatten()[positions], weights


class Trainer:
    """The model with its optimizers, and everything that a saved state holds."""

    def __init__(self, out: Path, config: Config, rate: float, batch_tokens: int, end_of_text: int, device: torch.device):
        self.out = out
        self.rate = rate
        self.batch_tokens = batch_tokens
        self.end_of_text = end_of_text
        self.device = device
        self.loss_chunk = CPU_LOSS_CHUNK if device.type == "cpu" else GPU_LOSS_CHUNK
        self.model = Ember(config).to(device)
        hidden = [p for p in self.model.blk.parameters() if p.ndim == 2]
        others = [p for p in self.model.parameters() if not any(p is matrix for matrix in hidden)]
        self.optimizers = [
            Muon(hidden, lr=rate, weight_decay=WEIGHT_DECAY),
            torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]
        self.average = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.step = 0
        self.seconds = 0.0
        self.shard: str | None = None
        self.batch = 0
        # All blocks share one compiled form, so that compiling costs seconds rather than minutes.
        for block in self.model.blk:
            block.compile(dynamic=False)

    def start_from(self, weights: dict[str, Tensor]) -> None:
        """Sets the weights of a new run."""
        self.model.load_state_dict(weights)
        self.average = {name: value.clone() for name, value in self.model.state_dict().items()}

    def restore(self, state: dict) -> None:
        """Continues from what `save` wrote."""
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.average = state["average"]
        self.step, self.seconds, self.shard, self.batch = state["step"], state["seconds"], state["shard"], state["batch"]

    def save(self) -> None:
        """Writes `state.pt`."""
        state = {
            "model": self.model.state_dict(),
            "average": self.average,
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "config": self.model.config.as_dict(),
            "step": self.step,
            "seconds": self.seconds,
            "shard": self.shard,
            "batch": self.batch,
        }
        partial = self.out / "state.partial"
        torch.save(state, partial)
        partial.replace(self.out / "state.pt")

    def loss(self, batch: np.ndarray) -> Tensor:
        """Returns the mean cross-entropy of the predicted tokens of a batch."""
        parts = tensors_of(batch, self.end_of_text, self.loss_chunk)
        if self.device.type == "cuda":
            # Copies from pinned memory do not wait for the steps before.
            parts = tuple(part.pin_memory().to(self.device, non_blocking=True) for part in parts)
        inputs, documents, positions, targets, weights = parts
        hidden = self.model(inputs, documents).flatten(0, 1)[positions]
        return OutputLoss.apply(hidden, self.model.token_embd.weight, targets, weights, self.loss_chunk)

    def train(self, batch: np.ndarray, rate: float) -> Tensor:
        """Takes one step and returns the loss before it, which a GPU may still be computing."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        loss = self.loss(batch)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        if self.step % AVERAGE_EVERY_STEPS == 0:
            weight = max(AVERAGE_STEP, AVERAGE_EVERY_STEPS / self.step)
            torch._foreach_lerp_(list(self.average.values()), list(self.model.state_dict().values()), weight)
        return loss.detach()

    def evaluate(self) -> dict[str, float]:
        """Returns the loss of each kind of held-out documents."""
        found = {}
        self.model.eval()
        for path in sorted(self.out.glob("held-out-*.npz")):
            batches = batches_of(path, self.batch_tokens)[:HELD_OUT_BATCHES]
            # Gradients stay enabled, since without them everything would be compiled once more, as it is for a model with dropout.
            found[path.stem.removeprefix("held-out-")] = round(sum(self.loss(b).item() for b in batches) / len(batches), 4)
        self.model.train()
        return found


def main() -> None:
    """Runs the training from the beginning or from the saved state."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder that prepare wrote")
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--steps", type=int, help="number of steps")
    length.add_argument("--seconds", type=float, help="seconds of training, with those of the runs that are resumed")
    parser.add_argument("--layers", type=int, default=Config().num_layers, help="number of layers of a new model; --resume and --from keep those they find")
    parser.add_argument("--dropout", type=float, default=Config().dropout, help="share of each layer's output that is dropped in training; --resume keeps what it finds")
    parser.add_argument("--batch-tokens", type=int, default=BATCH_TOKENS, help="tokens per step; more suit a GPU")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rate", type=float, default=PEAK_RATE, help="highest learning rate")
    parser.add_argument("--cooldown", type=float, default=COOLDOWN_SHARE, help="share of the steps over which the rate falls to zero")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="resume from OUT/state.pt")
    start.add_argument("--from", dest="start", type=Path, help="start a new run with the weights of a model file")
    arguments = parser.parse_args()
    out: Path = arguments.out
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))
    with np.load(out / "held-out-chats.npz") as archive:
        end_of_text = int(~archive["rows_256"][0, -1])
    device = torch.device(arguments.device)
    state = torch.load(out / "state.pt", map_location=device) if arguments.resume else None
    if state:
        config = Config(**state["config"])
    else:
        config = released.config(arguments.start) if arguments.start else Config(num_layers=arguments.layers)
        config = replace(config, dropout=arguments.dropout)
    trainer = Trainer(out, config, arguments.rate, arguments.batch_tokens, end_of_text, device)
    if arguments.start:
        trainer.start_from(released.weights(arguments.start))
    if state:
        trainer.restore(state)
    run(trainer, arguments.steps, arguments.seconds, arguments.cooldown, arguments.resume)


def run(trainer: Trainer, num_steps: int | None, num_seconds: float | None, cooldown_share: float, resumed: bool) -> None:
    """Trains up to `num_steps` or `num_seconds`, or until SIGINT or SIGTERM, and saves."""
    stopping = False

    def progress() -> float:
        return trainer.step / num_steps if num_steps else min(1.0, trainer.seconds / (num_seconds or 1.0))

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)

    def steps() -> Iterator[np.ndarray]:
        first = trainer.out / trainer.shard if trainer.shard else None
        while True:
            path = first if first and first.exists() else next_shard(trainer.out, trainer.shard)
            if path is not first:
                trainer.batch = 0
            first = None
            trainer.shard = path.name
            for batch in batches_of(path, trainer.batch_tokens)[trainer.batch :]:
                trainer.batch += 1
                yield batch

    saved_at = clock = time.monotonic()
    recent: list[Tensor] = []
    with (trainer.out / "log.csv").open("a" if resumed else "w", newline="") as file:
        log = csv.DictWriter(file, ["step", "seconds", "train", *HELD_OUT])
        if not resumed:
            log.writeheader()
        for batch in steps():
            recent.append(trainer.train(batch, rate_at(trainer.step, progress(), trainer.rate, cooldown_share)))
            now = time.monotonic()
            trainer.seconds += now - clock
            clock = now
            last = progress() >= 1.0 or stopping
            if trainer.step % LOG_EVERY_STEPS == 0 or last:
                line = {"step": trainer.step, "seconds": round(trainer.seconds), "train": round(torch.stack(recent).mean().item(), 4)}
                recent.clear()
                if trainer.step % EVALUATE_EVERY_STEPS == 0 or last:
                    line |= trainer.evaluate()
                log.writerow(line)
                file.flush()
                print(line, f"{trainer.shard} cpu {time.process_time():.0f}", flush=True)
            if last or now - saved_at > SAVE_EVERY_SECONDS:
                trainer.save()
                saved_at = now
            if last:
                return


if __name__ == "__main__":
    main()
