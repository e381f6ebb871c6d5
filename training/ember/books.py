"""The children's books: read where they lie, cut into passages that begin with a paragraph."""

import lzma
from collections.abc import Iterator
from pathlib import Path

from .split import Split, split_of


def books(corpus: Path) -> list[str]:
    """The texts of the books in `children-books.txt.xz`, which lie divided by `<|endoftext|>`."""
    text = lzma.open(corpus, "rt", encoding="utf-8").read()
    return [book.strip() for book in text.split("<|endoftext|>") if book.strip()]


def passages(corpus: Path, split: Split, max_characters: int = 1600) -> Iterator[str]:
    """Passages of whole paragraphs, as many as fit `max_characters`; whole books are held out."""
    for book in books(corpus):
        if split_of(f"book {book[:200]}") is not split:
            continue
        passage: list[str] = []
        size = 0
        for paragraph in filter(None, map(str.strip, book.split("\n"))):
            if passage and size + len(paragraph) > max_characters:
                yield "\n\n".join(passage)
                passage, size = [], 0
            passage.append(paragraph)
            size += len(paragraph)
        if passage:
            yield "\n\n".join(passage)
