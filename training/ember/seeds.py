"""Reads `training/seeds`: tables of words and facts, dialogues, wordings, poems, stories."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "seeds"

Row = dict[str, str]


@dataclass(frozen=True)
class Dialogue:
    """A hand-written dialogue: its kind and its turns, each a message and its answer."""

    kind: str
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Intent:
    """One request in many wordings, with answers that fit all of them."""

    kind: str
    wordings: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Story:
    """A story with its tags: kind, setting and the names in it."""

    kind: str
    setting: str
    names: tuple[str, ...]
    text: str
    #: Whether it was written as a completion of its first words.
    completion: bool = False


@cache
def table(folder: str, name: str) -> tuple[Row, ...]:
    """Returns the rows of `seeds/FOLDER/NAME.tsv`, by column name."""
    lines = (FOLDER / folder / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    header = lines[0].split("\t")
    return tuple(dict(zip(header, line.split("\t"))) for line in lines[1:] if line.strip())


def rewriting(name: str) -> tuple[Row, ...]:
    """Returns a table of sentences and their rewritten forms."""
    return table("chats/rewriting", name)


def facts(name: str) -> tuple[Row, ...]:
    """Returns a table of facts."""
    return table("facts", name)


def words(name: str) -> tuple[Row, ...]:
    """Returns a table of words."""
    return table("words", name)


def _blocks(path: Path) -> list[str]:
    """Returns the parts of a file, which are separated by lines of three dashes."""
    parts = re.split(r"^---\s*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [part.strip("\n") for part in parts if part.strip()]


@cache
def dialogues() -> tuple[Dialogue, ...]:
    """Returns all dialogues; a tag line applies until the next one."""
    found = []
    for path in sorted((FOLDER / "chats").glob("*.txt")):
        kind = ""
        for block in _blocks(path):
            turns: list[tuple[str, str]] = []
            for line in block.splitlines():
                if line.startswith("# kind:"):
                    kind = line.removeprefix("# kind:").strip()
                elif line.startswith("user: "):
                    turns.append((line.removeprefix("user: "), ""))
                elif line.startswith("ember: "):
                    turns[-1] = (turns[-1][0], line.removeprefix("ember: "))
                else:
                    user, answer = turns[-1]
                    turns[-1] = (user, f"{answer}\n{line}") if answer else (f"{user}\n{line}", answer)
            found.append(Dialogue(kind, tuple(turns)))
    return tuple(found)


@cache
def intents() -> tuple[Intent, ...]:
    """Returns all wordings with their answers."""
    found = []
    for path in sorted((FOLDER / "chats" / "intents").glob("*.txt")):
        kind = ""
        for block in _blocks(path):
            lines = block.splitlines()
            kind = next((line.removeprefix("# kind:").strip() for line in lines if line.startswith("# kind:")), kind)
            users = [line.removeprefix("user: ") for line in lines if line.startswith("user: ")]
            answers: list[str] = []
            for line in lines:
                if line.startswith("ember: "):
                    answers.append(line.removeprefix("ember: "))
                elif answers:
                    # An answer of several lines, such as a limerick.
                    answers[-1] += f"\n{line}"
            found.append(Intent(kind, tuple(users), tuple(answers)))
    return tuple(found)


@cache
def haiku() -> tuple[tuple[str, str], ...]:
    """Returns topics with haiku of three lines."""
    lines = (FOLDER / "facts" / "haiku.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.split(" / ") for line in lines if line.strip()]
    return tuple((topic, "\n".join(lines)) for topic, *lines in parts)


@cache
def poems() -> tuple[tuple[str, str], ...]:
    """Returns topics with short poems."""
    found = []
    for block in _blocks(FOLDER / "facts" / "poems.txt"):
        tag, text = block.split("\n", 1)
        found.append((tag.removeprefix("# topic:").strip(), text))
    return tuple(found)


@cache
def haiku_frames() -> tuple[str, ...]:
    """Returns haiku about any small thing, with a slot for its name by the number of syllables: `{1}`, `{2}` or `{3}`."""
    lines = (FOLDER / "facts" / "haiku_frames.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line.replace(" / ", "\n") for line in lines if line and not line.startswith("#"))


@cache
def poem_frames() -> tuple[str, ...]:
    """Returns poems about any thing, with the slot `{x}` for its name."""
    return tuple(_blocks(FOLDER / "facts" / "poem_frames.txt"))


@cache
def stories() -> tuple[Story, ...]:
    """Returns the stories of many voices, of which some were written as completions of their first words."""
    return _stories([*sorted((FOLDER / "stories").glob("*.txt")), *sorted((FOLDER / "continuing").glob("completions-*.txt"))])


@cache
def short_stories() -> tuple[Story, ...]:
    """Returns the short stories in simple words, each of which stays with its first sentence."""
    return _stories(sorted((FOLDER / "short_stories").glob("*.txt")))


def _stories(paths: list[Path]) -> tuple[Story, ...]:
    """Returns the stories of files. A tag line reads `# kind: letter | setting: bus station | names: Amara, Theo`."""
    found = []
    for path in paths:
        for block in _blocks(path):
            tag, _, text = block.partition("\n")
            tags = dict(part.split(":", 1) for part in tag.lstrip("# ").split("|") if ":" in part)
            tags = {key.strip(): value.strip() for key, value in tags.items()}
            names = tuple(name.strip() for name in tags.get("names", "").split(",") if name.strip() not in ("", "-", "none"))
            completion = path.name.startswith("completions")
            found.append(Story(tags.get("kind", ""), tags.get("setting", ""), names, text.strip(), completion))
    return tuple(found)


@cache
def lines(name: str) -> tuple[str, ...]:
    """Returns the lines of `seeds/NAME`; none if the file does not exist."""
    path = FOLDER / name
    return tuple(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()) if path.exists() else ()


@cache
def plain_words() -> tuple[str, ...]:
    """Returns the words of the texts in lower case that consist of 3 to 10 letters, in alphabetical order."""
    found: set[str] = set()
    for path in FOLDER.rglob("*.txt"):
        found.update(re.findall(r"(?<![\w'{<])[a-z]{3,10}(?![\w'}>])", path.read_text(encoding="utf-8")))
    return tuple(sorted(found))
