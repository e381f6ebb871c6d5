"""Comparisons: two things on one scale, asked in both orders and in both directions, and persons and things with given numbers."""

from dataclasses import dataclass
from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..grammar import bare, capitalized, plural, verdict
from .facts_asking import asked
from .random_words import any_name

#: Most pairs are at most this many levels apart, since nobody asks whether the sun is bigger than an ant.
_NEAR = 5


@dataclass(frozen=True)
class Scale:
    """Things by how big or fast they are, in levels, the lowest first."""

    comparative: str
    opposite: str
    gap: int
    levels: tuple[tuple[str, ...], ...]

    def level_of(self, thing: str) -> int:
        """Returns the level of a thing of the scale."""
        return next(at for at, level in enumerate(self.levels) if thing in level)

    def more(self, first: str, second: str) -> str:
        """Returns that one of two things which has more of what is compared."""
        return max(first, second, key=self.level_of)


@dataclass(frozen=True)
class Pair:
    """Two things of a scale, in the order of the question, and the comparative that is asked for."""

    scale: Scale
    first: str
    second: str
    upward: bool

    @property
    def word(self) -> str:
        """The comparative that is asked for."""
        return self.scale.comparative if self.upward else self.scale.opposite

    @property
    def turned_word(self) -> str:
        """The opposite of the comparative that is asked for."""
        return self.scale.opposite if self.upward else self.scale.comparative

    @property
    def right(self) -> str:
        """The thing of which the comparative is true."""
        more = self.scale.more(self.first, self.second)
        return more if self.upward else self.other_than(more)

    @property
    def holds(self) -> bool:
        """Whether the comparative is true of the first thing."""
        return self.right == self.first

    def other_than(self, thing: str) -> str:
        """Returns the other thing of the pair."""
        return self.second if thing == self.first else self.first


@cache
def scales() -> tuple[Scale, ...]:
    """Returns all scales."""
    found = []
    for row in seeds.facts("scales"):
        levels = tuple(tuple(level.split("; ")) for level in row["levels"].split(" < "))
        found.append(Scale(row["comparative"], row["opposite"], int(row["gap"]), levels))
    # The table of single pairs has two levels each.
    for row in seeds.facts("comparisons"):
        found.append(Scale(row["comparative"], row["opposite"], 1, ((row["less"],), (row["more"],))))
    return tuple(found)


@cache
def _weights() -> tuple[int, ...]:
    """How often each scale is drawn: by its number of things, of single pairs rarely."""
    return tuple(sum(map(len, scale.levels)) if len(scale.levels) > 2 else 1 for scale in scales())


def pair(draw: Draw) -> Pair:
    """Returns two things that differ enough for one of them to be surely bigger, faster or whatever is compared."""
    scale = draw.rng.choices(scales(), _weights())[0]
    top = len(scale.levels) - 1
    low = draw.number(0, top - scale.gap)
    high = draw.number(low + scale.gap, min(top, low + _NEAR) if draw.chance(0.94) else top)
    things = [draw.familiar(scale.levels[low], 2), draw.familiar(scale.levels[high], 2)]
    draw.rng.shuffle(things)
    return Pair(scale, *things, upward=scale.opposite.startswith("less ") or draw.chance(0.6))


_WHICH = [
    "which is {w}, {a} or {c}", "What is {w}, {a} or {c}?", "what is {w}: {a} or {c}", "is {a} or {c} {w}", "which one is {w}, {a} or {c}",
    "{a} or {c}, which is {w}?", "what's {w}, {a} or {c}", "tell me what is {w}, {a} or {c}", "{w}: {a} or {c}?", "Which is {w}: {a} or {c}?",
    "{a} or {c}: which one is {w}", "of {a} and {c}, which is {w}", "between {a} and {c}, which is {w}?", "which of the two is {w}, {a} or {c}",
    "{a} and {c}, which one is {w}", "do you know what is {w}, {a} or {c}", "i wonder what is {w}, {a} or {c}", "compare {a} and {c}: which is {w}?",
    "Tell me which is {w}, {a} or {c}.", "guess which is {w}, {a} or {c}", "my son asks what is {w}, {a} or {c}", "if you compare {a} with {c}, which is {w}?",
    "name the {w} one: {a} or {c}", "{a} vs {c}, which is {w}", "which would be {w}, {a} or {c}", "quick question: is {a} or {c} {w}?",
]
_WHICH_BARE = [
    "{w}, {a0} or {c0}", "whats {w} {a0} or {c0}", "{w} {a0} or {c0}?", "{a0} or {c0} {w}", "{a0} vs {c0} which {w}", "which {w} {a0} {c0}",
    "{a0} or {c0} which is {w}", "what is {w} {a0} or {c0}", "{w}: {a0} / {c0}",
]
_WHETHER = [
    "is {a} {w} than {c}", "Is {a} {w} than {c}?", "{a} is {w} than {c}, right?", "is it true that {a} is {w} than {c}", "i say {a} is {w} than {c}",
    "i think {a} is {w} than {c}, true?", "would you say {a} is {w} than {c}", "{a} is {w} than {c}, isn't it?", "so {a} is {w} than {c}?",
    "do you think {a} is {w} than {c}", "true or false: {a} is {w} than {c}", "can {a} be called {w} than {c}", "my friend says {a} is {w} than {c}, is he right",
    "Am I right that {a} is {w} than {c}?", "isn't {a} {w} than {c}", "tell me, is {a} {w} than {c}?", "is {a} really {w} than {c}",
    "{a} is {w} than {c}: yes or no?", "correct or not: {a} is {w} than {c}", "hm, is {a} {w} than {c}", "{a} is {w} than {c}", "{A} is {w} than {c}.", "i am sure {a} is {w} than {c}", "{a} must be {w} than {c}", "{a} is {w} than {c}, or not?",
]
_WHETHER_BARE = ["is {a0} {w} than {c0}", "{a0} {w} than {c0}?", "{a0} is {w} than {c0} right", "{a0} {w} than {c0} yes or no", "is {a0} {w} then {c0}"]
_WHETHER_MANY = ["are {as_} {w} than {cs}", "Are {as_} {w} than {cs}?", "{as_} are {w} than {cs}, right?", "is it true that {as_} are {w} than {cs}",
    "do you think {as_} are {w} than {cs}", "aren't {as_} {w} than {cs}"]


def _values(two: Pair) -> dict[str, str]:
    """What the wordings are filled with: the things with and without their articles."""
    return {"a": two.first, "A": capitalized(two.first), "c": two.second, "a0": bare(two.first), "c0": bare(two.second), "w": two.word}


def _which(draw: Draw, two: Pair) -> Turn:
    wordings = _WHICH_BARE if draw.chance(0.2) else _WHICH
    return Turn(asked(draw, wordings, **_values(two)), _said(two, two.right, two.word))


def _said(two: Pair, thing: str, word: str) -> str:
    return capitalized(f"{thing} is {word} than {two.other_than(thing)}.")


def _whether(draw: Draw, two: Pair) -> Turn:
    word = two.word if two.holds else two.turned_word
    if draw.chance(0.12) and two.scale.comparative != "more" and _has_plural(two.first) and _has_plural(two.second):
        first, second = plural(bare(two.first)), plural(bare(two.second))
        return Turn(asked(draw, _WHETHER_MANY, as_=first, cs=second, w=two.word), verdict(f"{first} are {word} than {second}", two.holds))
    wordings = _WHETHER_BARE if draw.chance(0.12) else _WHETHER
    return Turn(asked(draw, wordings, **_values(two)), verdict(f"{two.first} is {word} than {two.second}", two.holds))


def _has_plural(thing: str) -> bool:
    return thing.startswith(("a ", "an ")) and len(thing.split()) == 2


def _turned(draw: Draw, two: Pair) -> Pair:
    """The same two things in the other order, or with the opposite comparative, or both."""
    if two.scale.opposite.startswith("less "):
        return Pair(two.scale, two.second, two.first, two.upward)
    match draw.number(0, 2):
        case 0:
            return Pair(two.scale, two.second, two.first, two.upward)
        case 1:
            return Pair(two.scale, two.first, two.second, not two.upward)
        case _:
            return Pair(two.scale, two.second, two.first, not two.upward)


def comparison(draw: Draw) -> list[Turn]:
    """Which is bigger? Is a mouse bigger than an elephant? Often the same two things again, in the other order or direction."""
    if draw.chance(0.12):
        return [_most_of_three(draw)]
    two = pair(draw)
    turns = [_which(draw, two) if draw.chance(0.45) else _whether(draw, two)]
    while draw.chance(0.4) and len(turns) < 5:
        form = draw.number(0, 4)
        if form == 0:
            two = pair(draw)
        elif form == 1 and not two.scale.opposite.startswith("less "):
            turns.append(_short(draw, two))
            two = Pair(two.scale, two.first, two.second, not two.upward)
            continue
        else:
            two = _turned(draw, two)
        turns.append(_which(draw, two) if draw.chance(0.35) else _whether(draw, two))
    return turns


def _short(draw: Draw, two: Pair) -> Turn:
    """A short question for the other direction."""
    question = asked(draw, ["and which is {w}?", "and what is {w}", "and the {w} one?", "which one is {w} then", "and {w}?", "so which is {w}",
        "then what is {w}?"], w=two.turned_word)
    return Turn(question, _said(two, two.other_than(two.right), two.turned_word))


_SUPERLATIVES = {"bigger": "biggest", "smaller": "smallest", "heavier": "heaviest", "lighter": "lightest", "faster": "fastest",
    "slower": "slowest", "taller": "tallest", "shorter": "shortest", "longer": "longest", "hotter": "hottest", "colder": "coldest",
    "louder": "loudest", "quieter": "quietest", "harder": "hardest", "softer": "softest", "older": "oldest", "younger": "youngest",
    "newer": "newest", "stronger": "strongest", "weaker": "weakest", "sweeter": "sweetest", "less sweet": "least sweet",
    "more expensive": "most expensive", "cheaper": "cheapest", "deeper": "deepest", "shallower": "shallowest", "brighter": "brightest",
    "darker": "darkest", "wider": "widest", "narrower": "narrowest", "higher": "highest", "lower": "lowest",
    "farther from the sun": "farthest from the sun", "closer to the sun": "closest to the sun", "later in the year": "latest in the year",
    "earlier in the year": "earliest in the year", "later in the week": "latest in the week", "earlier in the week": "earliest in the week",
    "later in the day": "latest in the day", "earlier in the day": "earliest in the day", "farther away": "farthest away", "closer": "closest",
    "later in the alphabet": "last in the alphabet", "earlier in the alphabet": "first in the alphabet", "more": "most", "less": "least"}


def _most_of_three(draw: Draw) -> Turn:
    """The biggest of three or four things, or all of them in order."""
    scale = draw.choice([scale for scale in scales() if len(scale.levels) > 2 * scale.gap])
    start = draw.number(0, scale.gap - 1)
    levels = list(range(start, len(scale.levels), scale.gap))
    first = draw.number(0, max(0, len(levels) - 5))
    levels = sorted(draw.some(levels[first : first + 5], min(len(levels) - first, draw.number(3, 4), 5)))
    upward = draw.chance(0.65)
    ordered = [draw.familiar(scale.levels[level], 2) for level in levels]
    shown = draw.some(ordered, len(ordered))
    names = f"{', '.join(shown[:-1])} or {shown[-1]}"
    word = _SUPERLATIVES[scale.comparative if upward else scale.opposite]
    if draw.chance(0.3):
        question = asked(draw, ["sort from {w} to {o}: {t}", "put these in order, the {w} first: {t}", "order these from {w} to {o}: {t}",
            "from {w} to {o} please: {t}", "rank these, {w} first: {t}"], w=word, o=_SUPERLATIVES[scale.opposite if upward else scale.comparative],
            t=", ".join(shown))
        return Turn(question, f"{capitalized(', '.join(reversed(ordered) if upward else ordered))}.")
    question = asked(draw, ["which is the {w}: {t}", "what is the {w}, {t}?", "which of these is the {w}: {t}", "the {w} of these: {t}",
        "{w}: {t}", "what is {w}, {t}", "Which one is the {w}: {t}?", "find the {w}: {t}", "pick the {w} one: {t}", "{t}: which is the {w}?",
        "is the {w} {t}?"], w=word, t=names)
    return Turn(question, f"{capitalized(ordered[-1 if upward else 0])} is the {word}.")


@dataclass(frozen=True)
class Given:
    """A comparison of two numbers that the question states: its statement, the questions, and the comparatives."""

    stated: tuple[str, ...]
    asked_more: str
    asked_less: str
    more: str
    less: str
    low: int
    high: int


#: Statements about persons with numbers, and what is asked.
_GIVEN = (
    Given(("{a} is {x} years old and {c} is {y}", "{a} is {x} and {c} is {y} years old", "{a} is {x}, {c} is {y}"), "who is older",
        "who is younger", "is older", "is younger", 1, 99),
    Given(("{a} is {x} centimeters tall and {c} is {y}", "{a} is {x} cm tall, {c} is {y} cm tall"), "who is taller", "who is shorter",
        "is taller", "is shorter", 90, 199),
    Given(("{a} has {x} points and {c} has {y}", "in the game {a} got {x} points and {c} got {y}"), "who has more points", "who has fewer points",
        "has more points", "has fewer points", 0, 99),
    Given(("{a} ran {x} kilometers and {c} ran {y}", "{a} walked {x} km and {c} walked {y} km"), "who went farther", "who went less far",
        "went farther", "went less far", 1, 42),
    Given(("{a} read {x} books and {c} read {y}", "this year {a} read {x} books, {c} read {y}"), "who read more books", "who read fewer books",
        "read more books", "read fewer books", 1, 80),
    Given(("{a} has {x} dollars and {c} has {y}", "{a} saved {x} dollars, {c} saved {y} dollars"), "who has more money", "who has less money",
        "has more money", "has less money", 1, 99),
    Given(("{a} needs {x} minutes to school and {c} needs {y}", "{a} finished in {x} minutes, {c} in {y} minutes"), "who is slower", "who is faster",
        "is slower", "is faster", 2, 60),
    Given(("{a} was born in {x} and {c} in {y}", "{a} was born in {x}, {c} was born in {y}"), "who is younger", "who is older", "is younger",
        "is older", 1900, 2020),
    Given(("{a} lives {x} kilometers away and {c} lives {y} kilometers away",), "who lives farther away", "who lives closer", "lives farther away",
        "lives closer", 1, 99),
    Given(("{a} has {x} marbles and {c} has {y}", "{a} picked {x} apples and {c} picked {y}"), "who has more", "who has fewer", "has more",
        "has fewer", 1, 99),
)


def given(draw: Draw) -> list[Turn]:
    """Ben is 12 and Ana is 9, who is older? The answer compares the numbers first."""
    form = draw.choice(_GIVEN)
    first, second = any_name(draw), any_name(draw)
    while second == first:
        second = any_name(draw)
    numbers = draw.some(range(form.low, form.high + 1), 2)
    statement = draw.wording(form.stated).format(a=first, c=second, x=numbers[0], y=numbers[1])
    upward = draw.chance(0.6)
    turns = [_given_turn(draw, form, statement, (first, second), numbers, upward)]
    if draw.chance(0.4):
        question = form.asked_less if upward else form.asked_more
        turns.append(Turn(asked(draw, ["and {q}?", "{q}", "and {q}", "so {q}?"], q=question),
            _given_answer(form, (first, second), numbers, not upward)))
    return turns


def _given_turn(draw: Draw, form: Given, statement: str, names: tuple[str, str], numbers: list[int], upward: bool) -> Turn:
    question = form.asked_more if upward else form.asked_less
    if draw.chance(0.3):
        name = draw.choice(names)
        claim = f"{name} {form.more if upward else form.less}"
        right = (max if upward else min)(numbers)
        wordings = ["{s}. is it true that {q}?", "{s}, so {q}, right?", "{s}. I say {q}. Am I right?", "{s}. {q}: yes or no?"]
        holds = numbers[names.index(name)] == right
        return Turn(asked(draw, wordings, s=statement, q=claim), verdict(_given_answer(form, names, numbers, upward).replace(", so ", " and "), holds), names)
    wordings = ["{s}. {Q}?", "{s}, {q}?", "{s}. {q}", "{q} if {s}?", "if {s}, {q}?", "{s}: {q}", "{s}. tell me {q}", "{Q}: {s}?"]
    return Turn(asked(draw, wordings, s=statement, q=question, Q=capitalized(question)), _given_answer(form, names, numbers, upward), names)


def _given_answer(form: Given, names: tuple[str, str], numbers: list[int], upward: bool) -> str:
    """Which number is more or less, and whose it is."""
    right = (max if upward else min)(numbers)
    word = "more" if upward else "less"
    if form.low >= 1900:
        word = "later" if upward else "earlier"
    other = next(number for number in numbers if number != right)
    return f"{right} is {word} than {other}, so {names[numbers.index(right)]} {form.more if upward else form.less}."
