"""Plain texts to train on: stories, and stories after an opening as somebody might type it."""

from dataclasses import dataclass

from . import continuing, seeds, stories
from .draw import Draw
from .fill import fill
from .kinds import copying


@dataclass(frozen=True)
class Text:
    """A text with an opening, which is not predicted."""

    kind: str
    opening: str
    rest: str


def text(draw: Draw, family: str | None = None) -> Text:
    """Returns a text of any kind, or of one family."""
    names = list(FAMILIES)
    family = family or draw.rng.choices(names, [share for _, share in FAMILIES.values()])[0]
    return FAMILIES[family][0](draw)


def seed_text(draw: Draw) -> Text:
    """Returns a hand-written story with other names and things, predicted from its first word."""
    told = stories.from_seed(draw)
    return Text(told.kind, "", told.text)


def frame_text(draw: Draw) -> Text:
    """Returns a story from a frame."""
    told = stories.from_frame(draw)
    return Text(told.kind, "", told.text)


def opened_text(draw: Draw) -> Text:
    """Returns a story after an opening that may lack capitals or punctuation."""
    told = stories.story(draw)
    opening, rest = stories.cut(draw, told.text, told.completion)
    return _typed(draw, told.kind, opening, _between(told.text, opening, rest), rest)


def short_story_text(draw: Draw) -> Text:
    """Returns a short story, mostly after its first sentence or after some of its first words."""
    told = stories.short_story(draw)
    if draw.chance(_WHOLE_SHARE):
        return Text(told.kind, "", told.text)
    if draw.chance(_BROKEN_OFF_SHARE):
        opening, rest = continuing.after_words(told.text, draw.number(1, 12))
    else:
        opening, rest = stories.cut(draw, told.text)
    return _typed(draw, told.kind, opening, _between(told.text, opening, rest), rest)


#: The share of short stories without an opening, and of openings that break off after one to twelve words among the others.
_WHOLE_SHARE, _BROKEN_OFF_SHARE = 0.15, 0.45


def continued_text(draw: Draw) -> Text:
    """Returns an opening of any kind, and a continuation that keeps what it mentions."""
    opening, rest, told = continuing.continued(draw)
    if told.completion:
        between = _between(told.text, opening, rest)
    else:
        # No line ends within a sentence.
        between = " " if rest[0].islower() else draw.choice((" ", " ", "\n"))
    return _typed(draw, told.kind, opening, between, rest)


def _between(text: str, opening: str, rest: str) -> str:
    """Returns the space between the opening of a text and its rest."""
    return text[len(opening) : len(text) - len(rest)]


def _typed(draw: Draw, kind: str, opening: str, between: str, rest: str) -> Text:
    """Returns a text whose opening lacks capitals or punctuation half of the time, or is in capitals."""
    form = draw.number(0, 5)
    if form == 0:
        opening = opening.lower()
    elif form == 1:
        opening = opening[0].lower() + opening[1:]
    elif form == 2 and opening[-1] in ".!?" and len(opening) > 1:
        opening, rest, between = opening[:-1], opening[-1] + between + rest, ""
    elif form == 3 and draw.chance(0.3):
        opening = opening.upper()
    return Text(f"opened {kind}", opening, between + rest)


def short_text(draw: Draw) -> Text:
    """Returns a few sentences with random words, so that each word occurs in many contexts."""
    values = stories.people(draw, {})
    sentences = [fill(draw, template, values) for template in draw.some(_SENTENCES, draw.number(2, 4))]
    return Text("short", "", " ".join(sentences))


def repeated_text(draw: Draw) -> Text:
    """Returns words without meaning, and the same words again."""
    text = draw.choice((" ", ", ", "\n", " / ")).join(copying.words(draw, 5, 30))
    return Text("repeated", text, draw.choice(("\n", "\n\n", " | ")) + text)


def written_text(draw: Draw) -> Text:
    """Returns a poem, a haiku or an explanation as plain text."""
    what = draw.number(0, 2)
    if what == 0:
        return Text("written", "", draw.choice(seeds.poems())[1])
    if what == 1:
        return Text("written", "", draw.choice(seeds.haiku())[1])
    return Text("written", "", draw.choice(seeds.facts("explain"))["answer"])


_SENTENCES = [
    "There was a {object} {where}.", "{A} took the {object} and sat down {where2}.", "The {job} had a {color} {object}.",
    "\"Whose {object} is this?\" asked {A}.", "A {animal} sat on the {object}.", "It was {day}, and it was {weather}.",
    "{A} liked {foods}, and {B} did not.",
    "Nobody had seen the {animal} since {day}.", "{B} came from {city2} and was {feeling}.", "{A} wrote a letter to {B}.",
    "\"I am {feeling2},\" said {B}.", "They met {where3}.",
    "The {animal2} was faster than the {animal}.", "{B} gave {A} a {object2}.", "They ate {food} and talked about {city}.",
]

#: Generators and shares by name.
FAMILIES = {
    "short stories": (short_story_text, 170),
    "seeds": (seed_text, 10),
    "frames": (frame_text, 8),
    "openings": (opened_text, 12),
    "continued": (continued_text, 34),
    "short": (short_text, 3),
    "written": (written_text, 4),
    # Few: a model that often saw whole texts twice loops.
    "repeated": (repeated_text, 1),
}
