"""Draws the losses of a run.

    python -m ember.plot --log out/log.csv --svg loss.svg
"""

import argparse
import csv
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the way of drawing is chosen first)

COLORS = {"train": "#c8c8c8", "stories": "#d1495b", "chats": "#2e7d8c", "short_stories": "#edae49"}
LABELS = {"train": "training", "stories": "held-out stories", "chats": "held-out chats", "short_stories": "held-out short stories"}


def read(log: Path) -> dict[str, list[tuple[int, float]]]:
    """For each kind of loss, steps and values. A step that was trained again after a resume counts once."""
    losses: dict[str, dict[int, float]] = {kind: {} for kind in COLORS}
    with log.open() as file:
        for line in csv.DictReader(file):
            for kind, values in losses.items():
                if line.get(kind):
                    values[int(line["step"])] = float(line[kind])
    return {kind: sorted(values.items()) for kind, values in losses.items()}


def main() -> None:
    """Writes the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, default=Path("out/log.csv"))
    parser.add_argument("--svg", type=Path, default=Path("loss.svg"))
    arguments = parser.parse_args()
    plt.rcParams["svg.hashsalt"] = "ember"
    figure, axes = plt.subplots(figsize=(8, 4))
    for kind, values in read(arguments.log).items():
        axes.plot([step for step, _ in values], [loss for _, loss in values], color=COLORS[kind], label=LABELS[kind],
                  marker="" if kind == "train" else "o", markersize=4, linewidth=1.5)
    axes.set(xlabel="steps", ylabel="loss, nats per token", ylim=(0, 5))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(arguments.svg, metadata={"Date": None})


if __name__ == "__main__":
    main()
