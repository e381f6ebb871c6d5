"""Trains ember on prepared rows, and can be stopped and resumed at any time.

    python -m ember.train --out out
    python -m ember.train --out out --resume
    python -m ember.train --out out --from ../models/ember.gguf

Hidden matrices are trained by Muon, embeddings and norms by AdamW. The rate warms up, stays, and falls to zero over
the last part of the run. `log.csv` gets a line every few steps, `state.pt` is written every few minutes.
Source: Muon, Jordan et al. 2024; the scale of its update is that of Moonlight (arXiv 2502.16982).
"""

import argparse
import csv
import signal
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from . import released
from .model import Config, Ember

BATCH_ROWS = 8
PEAK_RATE = 3e-3
WEIGHT_DECAY = 0.1
WARMUP_STEPS = 100
#: The part of the run, at its end, over which the rate falls to zero.
COOLDOWN_SHARE = 0.5
LOG_EVERY_STEPS = 20
EVALUATE_EVERY_STEPS = 400
SAVE_EVERY_SECONDS = 240
HELD_OUT_BATCHES = 4


def rate_at(step: int, num_steps: int, peak_rate: float) -> float:
    """The learning rate of `step`."""
    warmup = min(1.0, (step + 1) / WARMUP_STEPS)
    cooldown = min(1.0, (num_steps - step) / (COOLDOWN_SHARE * num_steps))
    return peak_rate * min(warmup, cooldown)


def load_rows(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows and weights as `prepare` wrote them."""
    with np.load(path) as archive:
        return archive["rows"], archive["weights"]


def batch_of(rows: np.ndarray, weights: np.ndarray, end_of_text: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Inputs, their documents, targets and weights of targets, each `[rows, length]`."""
    tokens = torch.from_numpy(rows.astype(np.int64))
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    ends = (inputs == end_of_text).int()
    documents = ends.cumsum(1) - ends
    return inputs.contiguous(), documents.contiguous(), targets.contiguous(), torch.from_numpy(weights[:, 1:].astype(np.float32))


def main() -> None:
    """Runs the training from the beginning or from the saved state."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="the folder that prepare wrote")
    parser.add_argument("--steps", type=int, default=5_500, help="batches of %d rows" % BATCH_ROWS)
    parser.add_argument("--rate", type=float, default=PEAK_RATE, help="the learning rate at its highest")
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on from OUT/state.pt")
    start.add_argument("--from", dest="start", type=Path, help="begin a new run with the weights of a model file")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    out: Path = arguments.out

    torch.manual_seed(0)
    device = torch.device(arguments.device)
    model = Ember(Config()).to(device)
    if arguments.start:
        model.load_state_dict(released.weights(arguments.start))
    hidden = [p for p in model.blk.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if not any(p is matrix for matrix in hidden)]
    optimizers = [
        torch.optim.Muon(hidden, lr=arguments.rate, weight_decay=WEIGHT_DECAY, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=arguments.rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]
    rows, weights = load_rows(out / "train.npz")
    held_out = {path.stem.removeprefix("held_out_"): load_rows(path) for path in sorted(out.glob("held_out_*.npz"))}
    end_of_text = int(rows[0, -1])

    state_path = out / "state.pt"
    step = 0
    seconds_before = 0.0
    if arguments.resume:
        state = torch.load(state_path, map_location=device)
        model.load_state_dict(state["model"])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        step, seconds_before = state["step"], state["seconds"]

    @torch.compile
    def loss_of(inputs: Tensor, documents: Tensor, targets: Tensor, target_weights: Tensor) -> Tensor:
        with torch.autocast(device.type, torch.bfloat16):
            logits = model(inputs, documents)
        losses = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), reduction="none")
        return (losses * target_weights.flatten()).sum() / target_weights.sum()

    def batch_at(rows: np.ndarray, weights: np.ndarray, index: int) -> list[Tensor]:
        chosen = np.arange(index * BATCH_ROWS, (index + 1) * BATCH_ROWS) % len(rows)
        return [part.to(device) for part in batch_of(rows[chosen], weights[chosen], end_of_text)]

    asked_to_stop = False

    def stop(*_: object) -> None:
        nonlocal asked_to_stop
        asked_to_stop = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)

    started = time.monotonic()

    def elapsed() -> float:
        return seconds_before + time.monotonic() - started

    def save() -> None:
        state = {
            "model": model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            "config": model.config.as_dict(),
            "step": step,
            "seconds": elapsed(),
        }
        partial = state_path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(state_path)

    log_path = out / "log.csv"
    names = ["step", "seconds", "train", *held_out]
    with log_path.open("a" if arguments.resume else "w", newline="") as log_file:
        log = csv.DictWriter(log_file, names)
        if not arguments.resume:
            log.writeheader()
        recent: list[float] = []
        saved_at = time.monotonic()
        while step < arguments.steps and not asked_to_stop:
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = rate_at(step, arguments.steps, arguments.rate)
            loss = loss_of(*batch_at(rows, weights, step))
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            recent.append(loss.item())
            step += 1
            last = step == arguments.steps
            if step % LOG_EVERY_STEPS == 0 or last:
                line = {"step": step, "seconds": round(elapsed()), "train": round(sum(recent) / len(recent), 4)}
                recent.clear()
                if step % EVALUATE_EVERY_STEPS == 0 or last:
                    with torch.no_grad():
                        for source, (held_rows, held_weights) in held_out.items():
                            losses = [loss_of(*batch_at(held_rows, held_weights, i)).item() for i in range(HELD_OUT_BATCHES)]
                            line[source] = round(sum(losses) / len(losses), 4)
                log.writerow(line)
                log_file.flush()
                print(line, flush=True)
            if last or asked_to_stop or time.monotonic() - saved_at > SAVE_EVERY_SECONDS:
                save()
                saved_at = time.monotonic()


if __name__ == "__main__":
    main()
