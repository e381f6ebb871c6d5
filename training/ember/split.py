"""What is trained on and what is held out, decided by the material alone.

A name, a pair of numbers or a subject belongs to one split for ever: the digest of its text says which. So no
run, seed or order of generation can leak held-out material into training.
"""

import hashlib
from enum import Enum


class Split(Enum):
    """The part of the data that a piece of material belongs to."""

    TRAIN = "train"
    HELD_OUT = "held_out"


#: One in this many pieces of material is held out.
HELD_OUT_ONE_IN = 12


def split_of(material: str) -> Split:
    """The split that `material` belongs to, the same on every machine and in every run."""
    digest = hashlib.blake2b(material.encode(), digest_size=8).digest()
    held_out = int.from_bytes(digest, "big") % HELD_OUT_ONE_IN == 0
    return Split.HELD_OUT if held_out else Split.TRAIN


def of_split(materials: list[str], split: Split) -> list[str]:
    """Those of `materials` that belong to `split`, in their order."""
    return [material for material in materials if split_of(material) is split]
