"""Makes the vocabulary and the rows of tokens that training reads.

    python -m ember.prepare --corpus ../../shared/corpus/children-books.txt.xz --out out --stage language

A row is `ROW_TOKENS` + 1 tokens of whole documents, each closed by `<|endoftext|>`, filled up with that same mark; its
weights say which tokens are to be predicted. Of a chat only the answer is.
"""

import argparse
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from . import released, tokens
from .books import passages
from .chat_text import answer_text, prompt_text
from .chats import chat as make_chat
from .model import Config
from .split import Split
from .stories import story as make_story

#: Tokens that a row predicts: as many as the model is said to hold.
ROW_TOKENS = Config().context_length
#: Documents that wait to find a row they fit in.
PACKING_WINDOW = 64
#: A rest of a row that is not worth another text.
SHORTEST_REST = 16

#: Rows of each source to train on, stage by stage, enough for the steps that the README names.
STAGES = {
    "language": {"books": 5_000, "stories": 19_000, "chats": 16_000},
    "conversation": {"books": 500, "stories": 4_000, "chats": 10_500},
    "refinement": {"books": 700, "stories": 13_000, "chats": 17_100},
}
HELD_OUT_ROWS = 48

#: One chat in this many is told to answer without thinking.
THINKING_SHARE = 0.5


@dataclass(frozen=True)
class Document:
    """Token ids of one text, and from which of them on it is to be predicted."""

    token_ids: list[int]
    first_predicted: int


def book_documents(tokenizer: Tokenizer, corpus: Path, split: Split, rng: random.Random) -> Iterator[Document]:
    """Passages of the books in random order, again and again."""
    texts = list(passages(corpus, split))
    while True:
        rng.shuffle(texts)
        for text in texts:
            yield Document(tokenizer.encode(text).ids, 0)


def story_documents(tokenizer: Tokenizer, split: Split, rng: random.Random) -> Iterator[Document]:
    """Stories without end."""
    while True:
        yield Document(tokenizer.encode(make_story(rng, split)).ids, 0)


def chat_documents(tokenizer: Tokenizer, split: Split, rng: random.Random, refining: bool) -> Iterator[Document]:
    """Chats without end, thinking or not; the few that are longer than a row are left out."""
    while True:
        chat = make_chat(rng, split, refining)
        thinking = rng.random() < THINKING_SHARE
        prompt = tokenizer.encode(prompt_text(chat, thinking)).ids
        answer = tokenizer.encode(answer_text(chat, thinking) + tokens.TURN_END).ids
        if len(prompt) + len(answer) <= ROW_TOKENS:
            yield Document(prompt + answer, len(prompt))


def pack(documents: Iterable[Document], end_of_text: int, num_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of tokens and of weights `[num_rows, ROW_TOKENS + 1]`, each filled with the largest documents that fit.

    Where none fits, a text that is predicted whole is cut to fill the row; an answer without its end teaches nothing.
    """
    size = ROW_TOKENS + 1
    rows = np.full((num_rows, size), end_of_text, dtype=np.uint16)
    weights = np.zeros((num_rows, size), dtype=np.uint8)
    source = iter(documents)
    waiting: list[Document] = []
    for row in range(num_rows):
        filled = 0
        while size - filled > SHORTEST_REST:
            waiting.extend(islice(source, PACKING_WINDOW - len(waiting)))
            room = size - filled - 1
            if filled == 0:
                document = waiting[0]
            else:
                fitting = [document for document in waiting if len(document.token_ids) <= room]
                cuttable = [document for document in waiting if document.first_predicted == 0]
                if not fitting and not cuttable:
                    break
                document = max(fitting, key=lambda document: len(document.token_ids)) if fitting else cuttable[0]
            waiting.remove(document)
            whole = len(document.token_ids) <= room
            ids = document.token_ids[:room]
            end = filled + len(ids)
            rows[row, filled:end] = ids
            weights[row, filled + document.first_predicted : end] = 1
            # The end of a text that is predicted whole is predicted too; a chat ends with its own mark.
            weights[row, end] = whole and document.first_predicted == 0
            filled = end + 1
    return rows, weights


def vocabulary_texts(corpus: Path) -> Iterator[str]:
    """About ten million characters of every source, for learning the merges."""
    rng = random.Random("vocabulary")
    books = list(passages(corpus, Split.TRAIN))
    yield from rng.sample(books, min(2_000, len(books)))
    yield from (make_story(rng, Split.TRAIN) for _ in range(3_000))
    for _ in range(8_000):
        chat = make_chat(rng, Split.TRAIN)
        yield from (message["content"] for message in chat.messages)
        yield from (chat.thought, chat.answer)
    for _ in range(200):
        yield prompt_text(make_chat(rng, Split.TRAIN), thinking=True).replace(tokens.TURN_START, "").replace(tokens.TURN_END, "")


def main() -> None:
    """Writes `tokenizer.json`, `train.npz` and a `held_out_*.npz` for each source."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="children-books.txt.xz")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--stage", choices=STAGES, default="language", help="the first stage makes the vocabulary")
    parser.add_argument("--seed", type=int, default=0, help="another number makes other rows")
    parser.add_argument("--rows", type=int, help="so many rows instead, in the stage's shares")
    parser.add_argument("--from", dest="start", type=Path, help="a model file whose vocabulary to take")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    vocabulary = arguments.out / "tokenizer.json"
    if arguments.start:
        tokenizer = released.tokenizer(arguments.start)
        tokenizer.save(str(vocabulary))
    elif arguments.stage == "language":
        tokenizer = tokens.train(vocabulary_texts(arguments.corpus))
        tokenizer.save(str(vocabulary))
    else:
        tokenizer = tokens.load(vocabulary)
    end_of_text = tokenizer.token_to_id(tokens.END_OF_TEXT)

    def documents(source: str, split: Split) -> Iterator[Document]:
        rng = random.Random(f"{arguments.stage} {arguments.seed} {source} {split.value}")
        match source:
            case "books":
                return book_documents(tokenizer, arguments.corpus, split, rng)
            case "stories":
                return story_documents(tokenizer, split, rng)
            case _:
                return chat_documents(tokenizer, split, rng, refining=arguments.stage == "refinement")

    packed = []
    stage = STAGES[arguments.stage]
    scale = arguments.rows / sum(stage.values()) if arguments.rows else 1.0
    for source, rows_of_stage in stage.items():
        num_rows = round(rows_of_stage * scale)
        held_out = pack(documents(source, Split.HELD_OUT), end_of_text, HELD_OUT_ROWS)
        np.savez(arguments.out / f"held_out_{source}.npz", rows=held_out[0], weights=held_out[1])
        packed.append(pack(documents(source, Split.TRAIN), end_of_text, num_rows))
        rows, weights = packed[-1]
        print(f"{source}: {rows.size / 1e6:.1f} M tokens, {weights.mean():.0%} of them predicted", flush=True)
    rows = np.concatenate([rows for rows, _ in packed])
    weights = np.concatenate([weights for _, weights in packed])
    order = np.random.default_rng(0).permutation(len(rows))
    np.savez(arguments.out / "train.npz", rows=rows[order], weights=weights[order])


if __name__ == "__main__":
    main()
