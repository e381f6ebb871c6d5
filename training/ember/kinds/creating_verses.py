"""Poems with a number of lines that the user names, about subjects with lines of their own, animals, jobs, foods, places, or anything.

A couplet or a single line fits before or after any other one of its subject, so that there is a poem of any length up to eight.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, plural, with_article
from .facts_asking import asked


@dataclass(frozen=True)
class Subject:
    """What a poem is about, as users name it, with couplets and single lines."""

    names: tuple[str, ...]
    couplets: tuple[str, ...]
    lines: tuple[str, ...]


@cache
def subjects() -> tuple[Subject, ...]:
    """All subjects of the seeds."""
    text = (seeds.FOLDER / "facts" / "poems_subjects.txt").read_text(encoding="utf-8")
    return tuple(_read(block) for block in re.split(r"^---$", text, flags=re.MULTILINE))


def _read(block: str) -> Subject:
    tag, *lines = block.strip().splitlines()
    couplets = tuple(line.replace(" / ", "\n") for line in lines if " / " in line)
    return Subject(tuple(tag.removeprefix("# ").split(" | ")), couplets, tuple(line for line in lines if " / " not in line))


#: Couplets and lines for any animal: where it lives, what it eats, what it sounds like.
_ANIMAL = (("The home of the {x} is {home}, so I hear,\nit lived there last winter and lives there this year.", "It likes to have {food} for its favorite treat,\nand nothing on earth is to it half so sweet.",
    "You look for the {x}? Then start looking with care:\nits home is {home}, and it's probably there.", "I asked what it eats, and it answered me soon:\n\"I'd like to eat {food} by the light of the moon.\"",
    "The {x} has a home, and its home is a place\nwhere everyone knows its dear little face.", "It wants to eat {food} when the morning is new,\nand then in the evening it wants some more, too."),
    ("The {x} is {klass}, and proud of it, too.", "The {x} lives in peace, and its home is {home}.", "A breakfast of {food}, and the {x} is content."))
#: For any job: what is done and where.
_JOB = (("Who {does} from morning till late in the night?\nThe {x} does it gladly and does it all right.", "You find the good {x} in {where} every day,\nwith hands full of work and with kind words to say.",
    "The {x} has a job, and it has to be done:\nwho {does} needs patience and sometimes has fun.", "When I am grown up, said a child by the wall,\nI want to be {a_x}, the finest of all."),
    ("The {x} {does}, and we are all glad.", "In {where} stands the {x} with sleeves rolled up high.", "A cheer for the {x}, who is never too tired."))
#: For any food.
_FOOD = (("The {x} on my plate is the best of the day,\nI ate it so quickly it flew right away.", "I smelled it, I saw it, I asked for some more:\nthe {x} on the table, just what it is for.",
    "They ask what I dream of; I tell them it's true:\nI dream about {x} and of sharing with you.", "My grandmother made it, my mother did, too,\nand now I make {x}, and I make it for you."),
    ("A spoonful of {x}, and the evening is good.", "The kitchen is warm, and it smells of {x}.", "There is {x} in the bowl, and the bowl is all mine."))
#: For any thing.
_THING = (("The {x} stood there quietly, day after day,\nand watched how the seasons went walking away.", "I found an old {x}, and I gave it a home,\nnow it has no reason to feel all alone.",
    "I cleaned up the {x} till it shone in the light,\nit smiled, as I think, when I wished it good night.", "My neighbor has gold, and a king has a crown;\nI have the best {x} in the whole of the town.",
    "They asked for the {x}, and I would not say yes,\nfor what I would do with no {x}, you can guess.", "The morning sun came and it looked for a friend;\nit shone on the {x} from the top to the end."),
    ("A {x} can be patient the whole of its life.", "Nobody knows what the {x} thinks at night.", "The {x} has a scratch, and I know where it's from.", "In the last evening light, the {x} looks like new."))
#: For a place.
_PLACE = (("Come walk with me, friend, for the {x} is near,\nand all of the people are friendly round here.", "I walked to the {x} in the first morning light,\nand all that I saw there was quiet and bright.",
    "The {x} has its sounds, and it has its own smell,\nand each of us there has a story to tell.", "When I am away, I remember the day\nthat I came to the {x} and decided to stay."),
    ("At the {x}, every face is a story.", "The {x} in the evening is gentle and still.", "Meet me tonight near the {x}, my friend."))

_ASKS = ("a poem about {t} in {n} lines", "write a poem of {n} lines about {t}", "{n} lines about {t}", "write {n} lines about {t}", "a {n}-line poem about {t}", "write a {n}-line poem about {t}", "give me {n} lines about {t}",
    "a poem with {n} lines about {t}", "can you write a poem with {n} lines about {t}?", "make a poem about {t}, {n} lines", "poem about {t}, exactly {n} lines", "Write a poem about {t} with exactly {n} lines.", "please write {n} lines of poetry about {t}",
    "{n} lines of verse about {t}", "I would like a poem about {t} that has {n} lines.", "in {n} lines, write about {t}")
_ASKS_ONE = ("one line about {t}", "a single line about {t}", "write one line of poetry about {t}", "a poem of one line about {t}", "just one line about {t}", "a one-line poem about {t}")
_PLAIN_ASKS = ("a poem about {t}", "write a poem about {t}", "write a short poem about {t}", "poem about {t} please", "can you write a poem about {t}?", "a rhyme about {t}", "make a little poem about {t}", "i need a poem about {t}", "Write a poem about {t}.",
    "some verses about {t}", "a verse about {t}", "a short rhyme about {t}", "a rhyming poem about {t}")
_WORDS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight")
_AGAIN = ("now in {n} lines", "the same in {n} lines", "and with {n} lines?", "make it {n} lines", "now with {n} lines please", "{n} lines instead", "i wanted {n} lines")

#: The couplets and the single lines of one subject.
Material = tuple[list[str], list[str]]


def chat(draw: Draw) -> list[Turn]:
    """A poem about a subject, then perhaps with another number of lines or about another subject."""
    named, material = _subject(draw)
    count = _count(draw, material)
    plain = draw.chance(0.25)
    if plain:
        count = 4
        turns = [Turn(asked(draw, list(_PLAIN_ASKS), t=named), _poem(draw, material, 4), (), (named,))]
    else:
        turns = [_asked_for(draw, named, material, count)]
    form = draw.rng.random()
    if form < 0.16:
        other = draw.choice([number for number in range(1, 7) if number != count and number <= _longest(material)])
        turns.append(Turn(asked(draw, list(_AGAIN), n=_shown(draw, other)).replace("one lines", "one line").replace("1 lines", "1 line"), _poem(draw, material, other)))
    elif form < 0.3:
        named, material = _subject(draw)
        if count <= _longest(material):
            turns.append(Turn(asked(draw, ["now about {t}", "and about {t}?", "the same about {t}", "and one about {t} please", "do the same for {t}"], t=named), _poem(draw, material, count), (), (named,)))
    elif form < 0.36 and count > 1:
        turns.append(Turn(draw.choice(("how many lines is that?", "how many lines does it have", "count the lines")), f"It has {_WORDS[count]} lines."))
    elif form < 0.42 and count > 2:
        turns.append(Turn(draw.choice(("only the last line please", "repeat the last line", "what was the last line?")), _alone(turns[0].answer.split("\n")[-1])))
    elif form < 0.48 and count > 2:
        turns.append(Turn(draw.choice(("only the first line please", "repeat the first line", "what was the first line?")), _alone(turns[0].answer.split("\n")[0])))
    elif form < 0.54:
        turns.append(Turn(draw.choice(("what is it about?", "what was the poem about", "about what was it?")), f"It is about {re.sub(r'^my ', 'your ', named)}."))
    return turns


def _alone(line: str) -> str:
    """A line of a poem as a sentence."""
    return capitalized(line if line[-1] in "!?\"" else line.rstrip(",;:.") + ".")


def _count(draw: Draw, material: Material) -> int:
    """A number of lines, which the material must have."""
    return min(draw.rng.choices((1, 2, 3, 4, 5, 6), (1, 5, 5, 6, 2, 2))[0], _longest(material))


def _longest(material: Material) -> int:
    return min(6, 2 * len(material[0]) + 1)


def _asked_for(draw: Draw, named: str, material: Material, count: int) -> Turn:
    question = asked(draw, list(_ASKS_ONE), t=named) if count == 1 else asked(draw, list(_ASKS), t=named, n=_shown(draw, count))
    return Turn(question, _poem(draw, material, count), (), (named,))


def _shown(draw: Draw, count: int) -> str:
    return draw.choice((str(count), _WORDS[count]))


def _poem(draw: Draw, material: Material, count: int) -> str:
    """So many lines: couplets, and a single line if the number is odd."""
    couplets, lines = material
    parts = draw.some(couplets, count // 2)
    if count % 2:
        parts.insert(draw.choice((0, len(parts))), draw.choice(lines))
    return "\n".join(capitalized(part) for part in parts)


def _subject(draw: Draw) -> tuple[str, Material]:
    """A subject as the user names it, and what there is to say about it."""
    if draw.chance(0.5):
        subject = draw.choice(subjects())
        return draw.choice(subject.names), (list(subject.couplets), list(subject.lines))
    return draw.choice(_MAKERS)(draw)


def _filled(parts: tuple[tuple[str, ...], tuple[str, ...]], **words: str) -> Material:
    """Couplets and lines with their words."""
    couplets, lines = ([capitalized(text.format(**words)) for text in group] for group in parts)
    return couplets, [re.sub(r"^A (?=[aeiou])", "An ", line) for line in lines]


def _animal(draw: Draw) -> tuple[str, Material]:
    known = set(vocabulary.of_kind("animal", draw.split))
    row = draw.familiar([row for row in seeds.words("animals") if row["animal"] in known], 2)
    noun = row["animal"]
    return draw.choice((with_article(noun), f"the {noun}", plural(noun))), _filled(_ANIMAL, x=noun, a_x=with_article(noun), home=row["home"], food=row["food"], klass=with_article(row["class"]))


def _job(draw: Draw) -> tuple[str, Material]:
    known = set(vocabulary.of_kind("job", draw.split))
    row = draw.choice([row for row in seeds.words("jobs") if row["job"] in known and row["where"].startswith(("a ", "an ", "the "))])
    noun = row["job"]
    return draw.choice((with_article(noun), f"the {noun}")), _filled(_JOB, x=noun, a_x=with_article(noun), does=row["what they do"], where=row["where"])


def _food(draw: Draw) -> tuple[str, Material]:
    noun = draw.word(draw.choice(("food", "dish")))
    return noun, _filled(_FOOD, x=noun)


def _thing(draw: Draw) -> tuple[str, Material]:
    noun = draw.word(draw.choice(("thing", "object", "object", "trinket")))
    return draw.choice((with_article(noun), f"my {noun}", f"the {noun}", f"an old {noun}")), _filled(_THING, x=noun)


def _place(draw: Draw) -> tuple[str, Material]:
    noun = draw.word("place")
    return draw.choice((with_article(noun), f"the {noun}")), _filled(_PLACE, x=noun)


_MAKERS: tuple[Callable[[Draw], tuple[str, Material]], ...] = (_animal, _animal, _job, _food, _thing, _thing, _place)
