"""Stories from whole frames: a character with a name, a trait and a problem, which is solved; shorter versions and questions.

The frames are in `seeds/chats/stories/frames.txt`: clauses that follow `who`, a title, a short version, a question with its answer
and the text. `{s}` is the character by name or as `the fox`, `{h}` another one who is met, `{t}` a thing.
"""

import re
from dataclasses import dataclass, field
from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, with_article
from .facts_asking import asked
from .story_plans import CREATURES, NATURAL_ENDS, pronoun_of


@dataclass(frozen=True)
class Frame:
    """A story with slots, and what is asked about it."""

    problems: tuple[str, ...]
    title: str
    short: str
    question: str
    answer: str
    text: str

    @property
    def has_helper(self) -> bool:
        """Whether the character meets another one."""
        return "{h}" in self.text or "{a h}" in self.text


@dataclass
class Cast:
    """Who the story is about: what was drawn or asked for, and the words of the slots."""

    character: str
    trait: str
    name: str
    city: str
    helper_name: str
    last_word: str
    values: dict[str, str] = field(default_factory=dict)

    @property
    def who(self) -> str:
        """The character with the trait and an article."""
        return with_article(f"{self.trait} {self.character}".strip())


@cache
def frames() -> tuple[Frame, ...]:
    """All frames of the seeds."""
    text = (seeds.FOLDER / "chats" / "stories" / "frames.txt").read_text(encoding="utf-8")
    return tuple(_read(block) for block in re.split(r"^---$", text, flags=re.MULTILINE))


def _read(block: str) -> Frame:
    fields = dict(line.split(": ", 1) for line in block.strip().splitlines())
    question, answer = fields["ask"].split(" = ")
    return Frame(tuple(fields["problem"].split(" | ")), fields["title"], fields["short"], question, answer, fields["text"])


#: Traits, each with a sentence that shows it, and with the problems that it does not fit.
_TRAITS = {
    "kind": ("{He} had a good word for everybody.", "angry|mood|share|greedy|quarrel|lie"), "clever": ("{He} could solve any riddle.", "choose|mind"),
    "curious": ("{He} looked into every box and behind every fence.", ""), "old": ("{He} had seen more winters than {he} could count.", "school|swim|bigger"),
    "young": ("{He} was the youngest in the whole street.", "old"), "polite": ("{He} said please and thank you even to the chairs.", "angry|quarrel|mood|talk"),
    "friendly": ("{He} greeted everybody by name.", "angry|quarrel|mood|lonely|friends|share"), "shy": ("{He} spoke so softly that one had to come close.", "talk|quarrel|angry"),
    "brave": ("{He} was not afraid of thunder or of dark cellars.", "afraid|nervous|noise|mind"), "careful": ("{He} always looked twice before {he} took a step.", "lost|break|forgot|late|loses|drops|burns"),
    "cheerful": ("{He} whistled from morning till night.", "angry|sad|mood|lonely|hates|friends|sing"), "modest": ("{He} never spoke about {himself}.", "proud|greedy|talk|bigger|win"),
    "stubborn": ("When {he} had an idea, nobody could talk {him} out of it.", "mind|yes|choose"), "forgetful": ("{He} often went out with two different shoes.", "secret"),
    "funny": ("{He} knew a joke for every day of the year.", "angry|mood|sad"), "poor": ("{He} owned one coat, one cup and one spoon.", "present"),
    "hardworking": ("{He} was up before the sun every day.", "late"), "dreamy": ("{He} could look at the clouds for hours.", "greedy|mood"),
    "clumsy": ("Wherever {he} went, something fell down.", ""), "wise": ("Many came to ask {him} for advice.", "lie|greedy|share|mind|mood|school|quarrel"),
    "gentle": ("{He} never stepped on a flower.", "angry|quarrel|greedy|mood"), "quick": ("{He} was always the first at the door.", "late|slow|misses|race"),
    "serious": ("{He} hardly ever laughed.", ""), "honest": ("{He} always said what {he} thought.", "lie|secret"), "proud": ("{He} walked with {his} nose in the air.", "small|afraid|nervous"),
    "lazy": ("{He} liked to lie in the sun until noon.", "race|alone|yes|cook|wings|boat|impatient"), "nervous": ("{He} jumped at every sound.", "proud"), "generous": ("{He} gave away nearly everything that {he} had.", "share|greedy|keeps"),
    "hungry": ("{He} could eat at any time of the day.", ""), "grumpy": ("{He} grumbled about the weather and the soup.", "yes"), "lonely": ("Hardly anybody ever came to visit {him}.", "quarrel|neighbor|birthday|yes"),
    "inventive": ("{His} house was full of strange machines.", ""), "patient": ("{He} could wait for a whole day without a word.", "impatient|hates|wait|mood|angry"), "messy": ("In {his} room nobody could see the floor.", ""),
    "tidy": ("In {his} house, every spoon had its place.", "cannot find|lost|looking"), "lucky": ("{He} always found a coin on the street.", "misses|loses|sad"),
}

_NAMED_INTROS = ("Once there was {w} called {n}.", "There was once {w} named {n}.", "This is the story of {n}, {w}.", "{N} was {w}.", "Long ago there lived {w} whose name was {n}.",
    "Not so long ago, there was {w} called {n}.", "Behind the hill lived {w} called {n}.", "At the end of the village lived {n}, {w}.", "{N} was {w} who lived near the river.")
_INTROS = ("Once there was {w}.", "There was once {w}.", "Long ago there lived {w}.", "At the end of the village lived {w}.", "Behind the hill lived {w}.", "Not so long ago, there was {w}.",
    "Once upon a time, there was {w}.", "In a small house lived {w}.")
_CITY_INTROS = ("In {city} there lived {w}.", "Once there was {w} in {city}.")
_NAMED_CITY_INTROS = ("In {city} there lived {w} called {n}.", "{N} was {w} who lived in {city}.", "Once there was {w} in {city} whose name was {n}.")
_ENDS = ("And that is the story of {s}.", "And that is how it was.", "Since that day, {s} smiles when {he} thinks of it.", "{S} still tells this story.", "And if nobody has woken {him} up, {s} is still asleep.")
_LAST_WORDS = ("Before {he} fell asleep, {s} whispered one word: {word}.", "Above the door {s} wrote a single word: {word}.", "When somebody asked {s} what {he} was thinking of, the answer was: {word}.",
    "And in {his} dreams, {s} saw only one thing: {word}.")

_ASKS = ("tell me a story about {x}", "a story about {x}", "write a story about {x}", "write a short story about {x}", "a short story about {x} please", "can you tell me a story about {x}", "make up a story about {x}",
    "tell me a bedtime story about {x}", "a bedtime story about {x}", "Please tell me a story about {x}.", "Write me a story about {x}.", "i want a story about {x}", "story about {x}",
    "a tale about {x}", "i would like to hear a story about {x}", "think of a story about {x}", "let me hear a story about {x}", "Ember, tell me a story about {x}.", "could you tell a little story about {x}?")
_END_ASKS = ("{r}. The last word should be {word}.", "{r}, last word: {word}", "{r}. It must end with the word \"{word}\".", "{r}. End with the word {word}.",
    "{r}, and the very last word must be {word}", "{r} and let it end with \"{word}\"")
_SHORTER = ("shorter please", "shorter", "make it shorter", "the same story in one sentence", "in one sentence please", "too long, make it shorter", "sum it up", "summarize the story", "can you make that shorter?",
    "a shorter version please", "what happened, in one sentence?", "now the short version", "that was too long", "give me a summary")


def story(draw: Draw) -> list[Turn]:
    """A story about a character as the user describes it, and what follows."""
    two = draw.chance(0.2)
    frame = draw.choice([frame for frame in frames() if frame.has_helper or not two])
    cast = _cast(draw, frame, two)
    clause = fill(draw, draw.choice(frame.problems), cast.values) if draw.chance(0.75) else ""
    request = asked(draw, list(_ASKS), x=_described(draw, cast, clause, two))
    if cast.last_word:
        request = draw.choice(_END_ASKS).format(r=request.rstrip(".?"), word=cast.last_word)
    text = _told(draw, frame, cast)
    title = draw.chance(0.08)
    if title:
        request = f"{request.rstrip('.?')}, {draw.choice(('with a title', 'and give it a title'))}"
        text = f"{_title(draw, frame, cast)}\n\n{text}"
    names = (cast.name, cast.helper_name, cast.city)
    turns = [Turn(request, text, (cast.last_word,), names)]
    # The same story with somebody else comes last, since questions after it would be about that one.
    for form in sorted(dict.fromkeys(draw.some(_FOLLOW_UPS, draw.rng.choices((0, 1, 2, 3), (5, 5, 3, 1))[0])), key=lambda form: form is _again):
        turns += form(draw, frame, cast)
    return turns


def _cast(draw: Draw, frame: Frame, two: bool) -> Cast:
    """A character, its name and trait, and the words of the other slots."""
    character = _character(draw)
    while (helper := _character(draw, 0)) == character:
        pass
    he = pronoun_of(draw, character)
    fitting = [trait for trait, (_, unfit) in _TRAITS.items() if not unfit or not re.search(unfit, " ".join(frame.problems))]
    cast = Cast(character, draw.choice(fitting) if draw.chance(0.65) else "", _name(draw, he) if draw.chance(0.7) else "", draw.word("city") if draw.chance(0.15) else "", "", "")
    if draw.chance(0.22):
        cast.last_word = draw.choice(list(NATURAL_ENDS)) if draw.chance(0.4) else draw.word(draw.choice(("any", "trinket", "foods", "color", "animal", "place", "word")))
    cast.values = {"h": helper, "he": he, **dict(zip(("him", "his", "himself"), {"he": ("him", "his", "himself"), "she": ("her", "her", "herself")}[he])),
        "t": draw.word("trinket"), "foods": draw.word("crops"), "s": cast.name or f"the {character}", "word": cast.last_word, "city": cast.city, "n": cast.name, "w": cast.who}
    if two and draw.chance(0.7):
        while (other := draw.word("name")) == cast.name:
            pass
        cast.helper_name = other
    return cast


def _character(draw: Draw, in_water: int = 2) -> str:
    """An animal, a creature of tales or somebody with a job; animals of the water with the share `in_water`."""
    kind = draw.rng.choices(("critter", "creature", "job", "animal"), (10, 7, 5, in_water))[0]
    return draw.choice(CREATURES).replace("_", " ") if kind == "creature" else draw.word(kind)


def _name(draw: Draw, he: str) -> str:
    return draw.word("woman" if he == "she" else "man")


def _described(draw: Draw, cast: Cast, clause: str, two: bool) -> str:
    """The subject as the user describes it: `a shy fox called Tim who has lost his key in Oslo`."""
    subject = cast.who
    if cast.name:
        subject = draw.choice((f"{cast.who} called {cast.name}", f"{cast.who} named {cast.name}", f"{cast.name}, {cast.who}" if not clause else f"{cast.who} called {cast.name}"))
    if two:
        other = with_article(cast.values["h"])
        return f"{subject} and {other} called {cast.helper_name}" if cast.helper_name else f"{subject} and {other}"
    if cast.city:
        subject += f" in {cast.city}"
    return f"{subject} {draw.choice(('who', 'who', 'that'))} {clause}" if clause else subject


def _told(draw: Draw, frame: Frame, cast: Cast) -> str:
    """The text of a frame with its cast."""
    intros = (_NAMED_CITY_INTROS if cast.name else _CITY_INTROS) if cast.city else _NAMED_INTROS if cast.name else _INTROS
    parts = [fill(draw, draw.choice(intros), cast.values)]
    if cast.trait:
        parts.append(_TRAITS[cast.trait][0])
    text = frame.text
    if cast.helper_name:
        text = re.sub(r"([Tt])he \{h\}", lambda match: cast.helper_name, text)
        text = re.sub(r"(\{a h\}|A \{h\})", lambda match: f"{match[1]} called {cast.helper_name}", text, count=1)
    parts.append(text)
    natural = NATURAL_ENDS.get(cast.last_word, "")
    if cast.last_word and natural and not _OF_TWO.search(natural):
        parts.append(natural.replace("the {c}", "{s}").replace("The {c}", "{S}"))
    elif cast.last_word:
        parts.append(draw.choice(_LAST_WORDS))
    elif draw.chance(0.3):
        parts.append(draw.choice(_ENDS))
    return fill(draw, " ".join(parts), cast.values)


#: Ends that need two characters.
_OF_TWO = re.compile(r"\{h\}|[Tt]hey|[Bb]oth|friends")


def _title(draw: Draw, frame: Frame, cast: Cast) -> str:
    title = fill(draw, frame.title, cast.values | {"t": " ".join(capitalized(word) for word in cast.values["t"].split())})
    return f"{cast.name} and {title}" if cast.name and not re.match(r"(Two|One|Snow|Midnight)\b", title) else capitalized(title)


def _shorter(draw: Draw, frame: Frame, cast: Cast) -> list[Turn]:
    subject = f"{cast.who} called {cast.name}" if cast.name else cast.who
    return [Turn(asked(draw, list(_SHORTER)), capitalized(fill(draw, f"{subject} {frame.short}.", cast.values)))]


def _asked_about(draw: Draw, frame: Frame, cast: Cast) -> list[Turn]:
    return [Turn(fill(draw, frame.question, cast.values) + draw.choice(("?", "")), capitalized(fill(draw, frame.answer, cast.values)))]


def _helper_asked(draw: Draw, frame: Frame, cast: Cast) -> list[Turn]:
    """Who else was in the story."""
    if not frame.has_helper:
        return _asked_about(draw, frame, cast)
    helper = with_article(cast.values["h"]) + (f" called {cast.helper_name}" if cast.helper_name else "")
    met = cast.values["s"]
    return [Turn(asked(draw, ["who else was in the story", "who did {s} meet?", "who else was there?", "whom did {s} meet"], s=met), f"{capitalized(met)} met {helper}.")]


def _name_asked(draw: Draw, _: Frame, cast: Cast) -> list[Turn]:
    if not cast.name:
        return [Turn(draw.choice(("who was the story about?", "who is the story about", "who was in it?")), f"It is about {cast.who}.")]
    return [Turn(draw.choice(("what was the name?", f"what was the {cast.character} called", f"what is the name of the {cast.character}", "who was the story about?", f"what was {cast.values['he']} called again")),
        draw.choice((f"The {cast.character} was called {cast.name}.", f"{cast.name}, the {cast.character}.")))]


def _titled(draw: Draw, frame: Frame, cast: Cast) -> list[Turn]:
    return [Turn(asked(draw, ["give it a title", "what could be the title", "a title for the story please", "what is a good title for it?", "it needs a title"]), _title(draw, frame, cast))]


def _again(draw: Draw, frame: Frame, cast: Cast) -> list[Turn]:
    """The same story with another character."""
    other = _cast(draw, frame, False)
    other.last_word, other.city = "", ""
    other.values["t"], other.values["foods"], other.values["h"] = (cast.values[slot] for slot in ("t", "foods", "h"))
    if not other.name:
        other.name = _name(draw, other.values["he"])
        other.values |= {"n": other.name, "s": other.name}
    called = f"{other.who} called {other.name}"
    return [Turn(asked(draw, ["the same story, but with {x}", "tell it again with {x}", "now with {x}", "again, but about {x} please", "and the same with {x}"], x=called), _told(draw, frame, other), (), (other.name,))]


def _described_again(draw: Draw, frame: Frame, cast: Cast) -> list[Turn]:
    """What the character was like."""
    if not cast.trait:
        return _asked_about(draw, frame, cast)
    return [Turn(draw.choice((f"what was {cast.values['s']} like?", f"what kind of {cast.character} was {cast.values['he']}?", f"describe {cast.values['s']}")),
        fill(draw, f"{{S}} was {cast.trait}. {_TRAITS[cast.trait][0]}", cast.values))]


_FOLLOW_UPS = (_shorter, _shorter, _asked_about, _asked_about, _helper_asked, _name_asked, _titled, _again, _described_again)
