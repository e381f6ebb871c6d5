"""Short stories on request, about a thing, an animal or a person that occurs in them."""

import re
from functools import cache

from .. import mentioned, seeds, stories, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..grammar import with_article
from ..split import Split
from ..swapping import swapped
from .facts_asking import asked

#: Requests for a story about something.
ABOUT = [
    "tell me a story about {t}", "a story about {t}", "write a story about {t}", "story about {t} please", "Tell me a story about {t}.",
    "can you write a short story about {t}", "make up a story about {t}", "i want a story with {t}", "Write a short story about {t}.",
    "a short story with {t} in it", "tell a story with {t}", "a short story: {t}", "Please write a story about {t}.", "{t} story",
    "Can you tell me a short story about {t}?", "tell me something about {t}, a story", "invent a story with {t}",
    "a bedtime story about {t}", "Tell me a bedtime story about {t}.", "story with {t}",
]


def about(draw: Draw) -> list[Turn]:
    """A story about one or two things or people that it begins with, or about somebody by name."""
    one, subjects = draw.choice(_with_subjects(draw.split))
    text, names = swapped(draw, one)
    # A thing that was replaced is no longer in the story.
    subjects = [subject for subject in subjects if re.search(rf"\b{subject}\b", text)]
    named = [name for name in names.values() if text.count(name) > 1]
    if named and (not subjects or draw.chance(0.3)):
        name = draw.choice(named)
        both = subjects and draw.chance(0.5)
        wanted = f"{name} and {with_article(draw.choice(subjects))}" if both else name
        return [Turn(asked(draw, ABOUT, t=wanted), text, (), (name,))]
    if not subjects:
        return about(draw)
    chosen = draw.some(subjects, 2 if len(subjects) > 1 and draw.chance(0.4) else 1)
    return [Turn(asked(draw, ABOUT, t=" and ".join(map(with_article, chosen))), text, tuple(chosen))]


@cache
def _with_subjects(split: Split) -> tuple[tuple[seeds.Story, tuple[str, ...]], ...]:
    """Returns the short stories of a split with the things, animals and people that they begin with and return to, or with names."""
    found = ((one, _subjects(one.text)) for one in stories.known_short(split))
    return tuple((one, subjects) for one, subjects in found if subjects or any(map(vocabulary.is_name, one.names)))


def _subjects(text: str) -> tuple[str, ...]:
    beginning = " ".join(text.split()[:25])
    known = mentioned.animals() | mentioned.objects() | mentioned.workers()
    return tuple(sorted(word for word in set(re.findall(r"(?<=\b(?:the|The) )[a-z]+|(?<=\ba )[a-z]+|(?<=\ban )[a-z]+", text)) & known
        if re.search(rf"\b{word}\b", beginning) and len(re.findall(rf"\b{word}\b", text)) > 1))
