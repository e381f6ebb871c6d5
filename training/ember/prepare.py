"""Makes the vocabulary and the shards of tokens that training reads.

    python -m ember.prepare vocabulary --out out
    python -m ember.prepare shards --out out --stage conversation --count 20 --processes 4
    python -m ember.prepare held-out --out out

A shard holds rows of whole documents, each document followed by `<|endoftext|>`, in two lengths: attention within a row costs
the square of its length, and most documents are short. Attention never crosses documents. The sign of a token says whether it
is predicted.
"""

import argparse
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from random import Random

import numpy as np
from tokenizers import Tokenizer

from . import documents, released, tokens
from .documents import CHAT_SHARES, Document
from .draw import Draw
from .split import Split

#: Tokens that the rows of a shard predict at most, in increasing order. Longer documents are left out.
ROW_LENGTHS = (256, 512)
#: Documents of a shard.
SHARD_DOCUMENTS = 16_000
HELD_OUT_DOCUMENTS = 6_000
#: What is held out, by name.
HELD_OUT = {
    "chats": documents.chat_document,
    "stories": documents.text_document,
    "short_stories": partial(documents.text_document, family="short stories"),
}
VOCABULARY_DOCUMENTS = 60_000


def encoded(tokenizer: Tokenizer, document: Document) -> np.ndarray:
    """Returns the tokens of a document `[length]`, those that are not predicted as their bitwise complement."""
    parts = tokenizer.encode_batch([segment.text for segment in document.segments])
    ids = [np.array(part.ids, dtype=np.int16) for part in parts]
    return np.concatenate([part if segment.predicted else ~part for part, segment in zip(ids, document.segments)])


def closed(ids: np.ndarray, end_of_text: int, is_text: bool) -> np.ndarray:
    """Returns a document with `<|endoftext|>`, which is predicted after a text."""
    return np.append(ids, np.int16(end_of_text if is_text else ~end_of_text))


def pack(found: list[np.ndarray], end_of_text: int, rng: Random) -> dict[int, np.ndarray]:
    """Returns rows `[number, length + 1]` of whole documents by length, and leaves out documents longer than a row.

    A row begins with a document that needs its length and is filled up with the longest documents that fit.
    """
    waiting = sorted((document for document in found if len(document) <= ROW_LENGTHS[-1] + 1), key=len)
    lengths = [len(document) for document in waiting]
    rows: dict[int, np.ndarray] = {}
    for at, length in reversed(list(enumerate(ROW_LENGTHS))):
        shortest = ROW_LENGTHS[at - 1] + 1 if at else 0
        made = []
        while waiting and lengths[-1] > shortest:
            row = np.full(length + 1, ~end_of_text, dtype=np.int16)
            index = rng.randrange(bisect_right(lengths, shortest), len(lengths))
            filled = 0
            while index >= 0:
                document = waiting.pop(index)
                lengths.pop(index)
                row[filled : filled + len(document)] = document
                filled += len(document)
                index = bisect_right(lengths, length + 1 - filled) - 1
            made.append(row)
        rng.shuffle(made)
        rows[length] = np.array(made, dtype=np.int16).reshape(-1, length + 1)
    return rows


def drawn(draw: Draw, chat_share: float, number: int) -> Iterator[Document]:
    """Yields documents."""
    return (documents.document(draw, chat_share) for _ in range(number))


def rows_of(tokenizer: Tokenizer, found: Iterator[Document], rng: Random) -> dict[str, np.ndarray]:
    """Returns packed documents by the name under which a shard stores them."""
    end_of_text = tokenizer.token_to_id(tokens.END_OF_TEXT)
    ids = [closed(encoded(tokenizer, one), end_of_text, not one.segments[-1].text.endswith(tokens.TURN_END)) for one in found]
    return {f"rows_{length}": rows for length, rows in pack(ids, end_of_text, rng).items()}


def make_vocabulary(path: Path) -> None:
    """Learns the merges from documents of both stages."""
    rng = Random("vocabulary")
    draw = Draw(rng)
    special = [*tokens.CONTROL_TOKENS, *tokens.TEXT_TOKENS]

    def plain() -> Iterator[str]:
        for document in drawn(draw, 0.6, VOCABULARY_DOCUMENTS):
            text = "".join(segment.text for segment in document.segments)
            for token in special:
                text = text.replace(token, "\n")
            yield text

    tokens.train(plain()).save(str(path))


def make_shard(out: Path, stage: str, number: int) -> None:
    """Writes one shard; the same number of the same stage always holds the same documents."""
    tokenizer = tokens.load(out / "tokenizer.json")
    rng = Random(f"{stage} {number}")
    rows = rows_of(tokenizer, drawn(Draw(rng), CHAT_SHARES[stage], SHARD_DOCUMENTS), rng)
    path = out / f"{stage}-{number:04}.npz"
    np.savez(path.with_suffix(".partial.npz"), **rows)
    path.with_suffix(".partial.npz").replace(path)
    size = sum(part.size for part in rows.values())
    predicted = sum(int((part >= 0).sum()) for part in rows.values())
    print(f"{path}: {size / 1e6:.2f} M tokens, {predicted / size:.0%} predicted, rows "
        + ", ".join(f"{len(part)} x {part.shape[1] - 1}" for part in rows.values()), flush=True)


def make_held_out(tokenizer: Tokenizer, out: Path) -> None:
    """Writes documents of held-out words, wordings, stories and kinds: `held-out-chats.npz` and so on."""
    for name, document in HELD_OUT.items():
        rng = Random(f"held out {name}")
        draw = Draw(rng, Split.HELD_OUT)
        found = (document(draw) for _ in range(HELD_OUT_DOCUMENTS))
        np.savez(out / f"held-out-{name}.npz", **rows_of(tokenizer, found, rng))


def main() -> None:
    """Makes one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("vocabulary", "shards", "held-out"))
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--stage", choices=CHAT_SHARES, default="conversation")
    parser.add_argument("--first", type=int, default=0, help="number of the first shard")
    parser.add_argument("--count", type=int, default=1, help="number of shards")
    parser.add_argument("--processes", type=int, default=1, help="number of shards to make at a time")
    parser.add_argument("--from", dest="start", type=Path, help="model file whose vocabulary to use instead of learning one")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    vocabulary = out / "tokenizer.json"
    if arguments.what == "vocabulary":
        released.tokenizer(arguments.start).save(str(vocabulary)) if arguments.start else make_vocabulary(vocabulary)
        return
    if arguments.what == "held-out":
        make_held_out(tokens.load(vocabulary), out)
        return
    numbers = range(arguments.first, arguments.first + arguments.count)
    with Pool(arguments.processes) as pool:
        for _ in pool.imap(partial(make_shard, out, arguments.stage), numbers):
            pass


if __name__ == "__main__":
    main()
