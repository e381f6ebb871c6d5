"""Comparisons and choices, and the reason for the answer when the user asks why."""

from collections.abc import Callable
from dataclasses import dataclass

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, listed, verdict
from .facts_asking import asked

Between = Callable[[Draw], list[Turn]]


@dataclass(frozen=True)
class Scale:
    """Things from least to most, each with what makes it so; neighbors differ clearly."""

    more: str
    less: str
    quality: str
    #: A thing and a clause with its verb: `a mouse` and `fits into one hand`.
    rows: tuple[tuple[str, str], ...]
    #: The verb of the comparison.
    verb: str = "is"


def _scale(more: str, less: str, quality: str, rows: str, verb: str = "is") -> Scale:
    """A scale from lines of things, each divided from its clause by a colon."""
    pairs = (line.split(": ", 1) for line in rows.strip().splitlines())
    return Scale(more, less, quality, tuple((thing.strip(), clause.strip()) for thing, clause in pairs), verb)


SCALES = (
    _scale("bigger", "smaller", "big", """a grain of sand: can hardly be seen
        an ant: is only a few millimeters long
        a bee: is about as long as a fingernail
        a mouse: fits into one hand
        a pigeon: fits into two hands
        a cat: can sleep on a lap
        a sheep: reaches to a person's hip
        a horse: can carry a person on its back
        an elephant: is about three meters tall
        a blue whale: is longer than two buses"""),
    _scale("bigger", "smaller", "big", """a coin: fits between two fingers
        a cup: fits into one hand
        a bucket: needs a handle and a strong arm
        a table: has room for several people around it
        a car: has room for about five people
        a bus: has room for dozens of people
        a castle: has dozens of rooms
        a village: has many houses
        a city: has many thousands of houses
        a country: has many cities
        the moon: is more than three thousand kilometers wide
        the Earth: is more than twelve thousand kilometers wide
        Jupiter: is about eleven times as wide as the Earth
        the sun: is more than a million kilometers wide"""),
    _scale("heavier", "lighter", "heavy", """a feather: weighs less than a gram
        a coin: weighs only a few grams
        an egg: weighs about sixty grams
        a loaf of bread: weighs about a kilo
        a cat: weighs about four kilos
        a bicycle: weighs about fifteen kilos
        a person: weighs about seventy kilos
        a horse: weighs about five hundred kilos
        a car: weighs more than a thousand kilos
        an elephant: weighs about five thousand kilos
        a train: weighs hundreds of thousands of kilos"""),
    _scale("faster", "slower", "fast", """a snail: crawls only a few meters in an hour
        a tortoise: walks only a few hundred meters in an hour
        a walking person: goes about five kilometers in an hour
        a bicycle: goes about twenty kilometers in an hour
        a galloping horse: runs about fifty kilometers in an hour
        a car on a highway: goes more than a hundred kilometers in an hour
        a high-speed train: goes about three hundred kilometers in an hour
        an airliner: flies about nine hundred kilometers in an hour
        a rocket: flies many thousands of kilometers in an hour
        light: travels three hundred thousand kilometers in a second"""),
    _scale("hotter", "colder", "hot", """an ice cube: is frozen
        a fridge: is kept at about five degrees
        a warm bath: has nearly forty degrees
        boiling water: has a hundred degrees
        a hot oven: has about two hundred degrees
        the flame of a candle: has about a thousand degrees
        the sun: has more than five thousand degrees on its surface"""),
    _scale("longer", "shorter", "long", """a second: passes while you say one word
        a minute: has sixty seconds
        an hour: has sixty minutes
        a day: has twenty-four hours
        a week: has seven days
        a month: has about thirty days
        a year: has twelve months
        a decade: has ten years
        a century: has a hundred years"""),
    _scale("taller", "shorter", "tall", """a daisy: reaches to the ankle
        a chair: reaches to the hip or a little higher
        a door: is about two meters high
        a giraffe: is about five meters tall
        an old oak: is often more than twenty meters high
        a skyscraper: has dozens of floors
        a high mountain: is thousands of meters high"""),
    _scale("deeper", "shallower", "deep", """a puddle: only wets your shoes
        a bathtub: is filled up to the knee or the hip
        a swimming pool: is often about two meters deep
        a big lake: can be more than a hundred meters deep
        the ocean: is several kilometers deep"""),
    _scale("harder", "softer", "hard", """butter: can be cut with a spoon
        chalk: breaks easily and can be scratched by hand
        wood: can be cut with a saw
        iron: bends only with great force
        a diamond: scratches nearly everything"""),
    _scale("louder", "quieter", "loud", """a falling leaf: can hardly be heard at all
        a whisper: is heard only from close by
        a normal voice: is heard across a room
        a shout: is heard across the street
        thunder: is heard over many kilometers"""),
    _scale("older", "younger", "old", """a baby: was born not long ago
        a schoolchild: is about ten years old
        a grandmother: has children and grandchildren
        an old castle: has stood for hundreds of years
        a pyramid in Egypt: has stood for thousands of years
        a mountain: is millions of years old
        the Earth: is more than four billion years old"""),
    _scale("farther away", "nearer", "far away", """the next room: is only a few steps away
        the next town: is a short ride away
        another continent: is a long flight away
        the moon: is nearly four hundred thousand kilometers away
        the sun: is about a hundred and fifty million kilometers away
        the next star after the sun: is so far away that its light needs four years to reach us"""),
    _scale("more expensive", "cheaper", "expensive", """a pencil: costs only a few coins
        a book: costs about as much as a simple lunch
        a bicycle: costs as much as many books
        a car: costs as much as many bicycles
        a house: costs as much as many cars
        an airliner: costs as much as many houses"""),
    _scale("longer", "shorter", "long-lived", """a mouse: lives only about two years
        a dog: lives about twelve years
        a horse: lives about twenty-five years
        an elephant: lives about sixty years
        a giant tortoise: often lives more than a hundred years
        an oak: lives for hundreds of years""", "lives"),
    _scale("more legs", "fewer legs", "", """a fish: has no legs
        a hen: has two legs
        a dog: has four legs
        a beetle: has six legs
        a spider: has eight legs
        a crab: has ten legs""", "has"),
    _scale("more wheels", "fewer wheels", "", """a boat: has no wheels
        a wheelbarrow: has one wheel
        a bicycle: has two wheels
        a tricycle: has three wheels
        a car: has four wheels""", "has"),
    _scale("more strings", "fewer strings", "", """a drum: has no strings
        a violin: has four strings
        a guitar: has six strings
        a harp: has dozens of strings""", "has"),
    _scale("sweeter", "less sweet", "sweet", """a lemon: is very sour
        a tomato: has only a little sugar
        an apple: has some sugar and some acid
        honey: is nearly all sugar"""),
    _scale("brighter", "darker", "bright", """a cave: gets no light at all
        starlight: is just enough to see shapes
        a candle: lights up a small table
        a ceiling lamp: lights up a whole room
        the midday sun: lights up half the Earth"""),
    _scale("wetter", "drier", "wet", """a desert: gets hardly any rain
        a meadow: gets rain now and then
        a rain forest: gets rain nearly every day
        the sea: is water all over"""),
)

_WHICH = ("which is {m}, {a} or {b}?", "what is {m}, {a} or {b}", "which one is {m}: {a} or {b}", "{a} or {b}: which is {m}?", "which of these is {m}, {a} or {b}")
_WHICH_DOES = ("which {v} {m}, {a} or {b}?", "what {v} {m}, {a} or {b}", "which of these {v} {m}: {a} or {b}")
_WHY = ("why?", "why", "why is that", "how come", "and why?", "what is the reason", "why is that so", "can you say why", "how do you know", "what makes you say that", "explain why",
    "and the reason?", "because?", "why do you think so", "tell me why", "ok but why")
_BOTH = ("{q} and why", "{q} why?", "{q} give a reason", "{q} tell me why, too")
_SURE = ("are you sure", "are you sure?", "really?", "is that true?", "really", "certain?")


def compared(draw: Draw, _: Between) -> list[Turn]:
    """Two things compared, why it is so, and what follows from it."""
    scale = draw.choice(SCALES)
    low, high = sorted(draw.some(range(len(scale.rows)), 2))
    turns = _comparison(draw, scale, low, high, draw.chance(0.2))
    if draw.chance(0.25) and len(scale.rows) > 3:
        left = [at for at in range(len(scale.rows)) if at not in (low, high)]
        other = draw.choice(left)
        first, second = sorted((other, draw.choice((low, high))))
        pair = draw.some([scale.rows[first][0], scale.rows[second][0]], 2)
        turns.append(Turn(f"and {pair[0]} or {pair[1]}?", _most(scale, second), tuple(pair)))
        if draw.chance(0.5):
            turns.append(Turn(asked(draw, list(_WHY)), _reason(scale, first, second)))
    return turns


def _comparison(draw: Draw, scale: Scale, low: int, high: int, at_once: bool) -> list[Turn]:
    """A question for the one that is more or less, and the reason, in the same turn or in the next."""
    pair = draw.some([scale.rows[low][0], scale.rows[high][0]], 2)
    more = draw.chance(0.7)
    word = scale.more if more else scale.less
    answer = _most(scale, high) if more else f"{capitalized(scale.rows[low][0])} {scale.verb} {scale.less}."
    wordings = _WHICH if scale.verb == "is" else _WHICH_DOES
    question = asked(draw, list(wordings), m=word, a=pair[0], b=pair[1], v=scale.verb)
    if scale.verb == "is" and draw.chance(0.25):
        question = f"is {pair[0]} {word} than {pair[1]}?"
        winner = scale.rows[high if more else low][0]
        answer = verdict(f"{winner} is {word} than {scale.rows[low if more else high][0]}", pair[0] == winner)
    reason = _reason(scale, low, high)
    if at_once:
        question = asked(draw, list(_BOTH), q=question.rstrip("?") + "?")
        return [Turn(question, f"{answer.rstrip('.')}: {reason.removeprefix('Because ')}", tuple(pair))]
    turns = [Turn(question, answer, tuple(pair))]
    if draw.chance(0.15):
        turns.append(Turn(asked(draw, list(_SURE)), f"Yes, I am sure: {reason.removeprefix('Because ')}"))
    else:
        why = f"why is {scale.rows[high][0]} {scale.more}?" if scale.verb == "is" and draw.chance(0.15) else asked(draw, list(_WHY))
        turns.append(Turn(why, reason))
    if draw.chance(0.2):
        other = scale.less if more else scale.more
        thing = scale.rows[low if more else high][0]
        turns.append(Turn(draw.choice((f"and which one {scale.verb} {other}?", f"so which {scale.verb} {other}", f"then what {scale.verb} {other}?")), f"{capitalized(thing)} {scale.verb} {other}."))
    return turns


def _most(scale: Scale, high: int) -> str:
    return f"{capitalized(scale.rows[high][0])} {scale.verb} {scale.more}."


def _reason(scale: Scale, low: int, high: int) -> str:
    (less, of_less), (more, of_more) = scale.rows[low], scale.rows[high]
    return f"Because {more} {of_more}, and {less} {of_less}."


#: What is told with a number: one sentence, the words for more and less, and the unit.
_TOLD = (
    ("name", "{x} is {n}", "older", "younger", "{x} is {n} years old"), ("name", "{x} is {n} years old", "older", "younger", "{x} is {n} years old"),
    ("object", "the {x} costs {n} euros", "more expensive", "cheaper", "the {x} costs {n} euros"), ("object", "the {x} weighs {n} kilos", "heavier", "lighter", "the {x} weighs {n} kilos"),
    ("city", "{x} is {n} kilometers away", "farther away", "nearer", "{x} is {n} kilometers away"), ("name", "{x} has {n} points", "ahead", "behind", "{x} has {n} points"),
    ("name", "{x} ran {n} kilometers", "better trained", "less trained", "{x} ran {n} kilometers"), ("animal", "the {x} is {n} years old", "older", "younger", "the {x} is {n} years old"),
    ("object", "the {x} is {n} centimeters wide", "wider", "narrower", "the {x} is {n} centimeters wide"),
)


def told(draw: Draw, between: Between) -> list[Turn]:
    """Two numbers told by the user, which is more, and why."""
    kind, telling, more, less, saying = draw.choice(_TOLD)
    things = draw.words(kind, 2)
    numbers = draw.some(range(2, 99), 2)
    low, high = sorted((0, 1), key=lambda at: numbers[at])
    named = [f"the {thing}" if "the {x}" in telling else thing for thing in things]
    statement = f"{telling.format(x=things[0], n=numbers[0])} and {telling.format(x=things[1], n=numbers[1])}"
    for_more = draw.chance(0.6)
    winner, word = (high, more) if for_more else (low, less)
    question = f"{'who' if kind == 'name' else 'which'} is {word}?"
    protected = (*things, *map(str, numbers))
    answer = f"{capitalized(named[winner])} is {word}."
    turns = [Turn(f"{statement}. {question}", answer, protected)] if draw.chance(0.7) else [
        Turn(statement, draw.choice(("I see.", "All right.", "Thank you for telling me.", "Good to know.")), protected), Turn(question, answer)]
    first, second = (high, low) if for_more else (low, high)
    reason = f"Because {saying.format(x=things[first], n=numbers[first])} and {saying.format(x=things[second], n=numbers[second])}."
    turns.append(Turn(asked(draw, list(_WHY)), reason))
    if draw.chance(0.3):
        turns.append(Turn(draw.choice(("by how much?", "what is the difference", "how big is the difference?")), f"{numbers[high]} - {numbers[low]} = {numbers[high] - numbers[low]}."))
    return turns


def numbers(draw: Draw, _: Between) -> list[Turn]:
    """Two numbers below a hundred, which is more, and why."""
    first, second = draw.some(range(10, 100), 2)
    more = draw.chance(0.6)
    winner, other = (max(first, second), min(first, second)) if more else (min(first, second), max(first, second))
    word = "more" if more else "less"
    turns = [Turn(asked(draw, ["which is {w}, {a} or {b}?", "what is {w}, {a} or {b}", "{a} or {b}, which is {w}?", "which number is {w}: {a} or {b}"], w=word, a=first, b=second),
        f"{winner} is {word} than {other}.", (str(first), str(second)))]
    tens, other_tens = winner // 10, other // 10
    reason = f"Because {winner} has {tens} {'ten' if tens == 1 else 'tens'}, and {other} has {other_tens}." if tens != other_tens else \
        f"Because both have {tens} {'ten' if tens == 1 else 'tens'}, but {winner} has {winner % 10} ones and {other} has {other % 10}."
    return [*turns, Turn(asked(draw, list(_WHY)), reason)]


#: Things to choose between, in the order in which Ember prefers them, each with a reason.
_CHOICES = tuple(tuple(tuple(one.split(": ", 1)) for one in group.split(" | ")) for group in (
    "tea: it is gentle and comes in many kinds | coffee: it smells good and wakes people up | hot chocolate: it is sweet and warms the hands | lemonade: it is fresh on a hot day",
    "cats: they are soft, quiet and independent | dogs: they are loyal and love long walks | rabbits: they are gentle and hop in a funny way | fish: they are calm to look at",
    "summer: the days are long and warm | spring: everything begins to grow | autumn: the leaves turn red and gold | winter: snow makes the world quiet",
    "the train: you can read and look out of the window | the bike: it is quiet and keeps you healthy | the bus: it takes many people at once | the car: it goes from door to door",
    "the mountains: the air is clear and the view is wide | the sea: one can listen to the waves for hours | the forest: it is green and quiet | the city: there is always something to see",
    "morning: everything still lies ahead | evening: one can rest and talk | night: one can see the stars | noon: there is lunch",
    "reading: a book takes you anywhere | music: it can change a mood in a minute | drawing: one needs only paper and a pencil | dancing: the whole body has fun",
    "soup: it is warm and easy to share | salad: it is fresh and crunchy | bread: it goes with nearly everything | rice: it fills you up and fits many dishes",
    "apples: they are crisp and keep for a long time | bananas: they need no knife and no washing | grapes: they are easy to share | melons: they are juicy on a hot day",
    "the piano: one can play melody and chords at once | the guitar: one can carry it to the campfire | the violin: it sings nearly like a voice | the drums: nobody falls asleep",
    "chess: it needs no luck at all | cards: they fit into a pocket | dice: everybody can win | puzzles: one can do them together",
    "football: one needs only a ball and friends | swimming: it trains the whole body | running: one can start at the front door | tennis: it is fast and needs good eyes",
    "a letter: one can keep it for years | a phone call: one hears the voice of the other | a message: it is short and quick | a visit: one can share a cake",
    "a garden: one can watch things grow | a balcony: it needs little work | a park: one can meet other people there | a field: there is room to run",
    "blue: it is the color of the sky and the sea | green: it is the color of leaves and calms the eyes | yellow: it looks like sunshine | red: it is warm and easy to see",
    "pancakes: they are soft and warm | cake: it makes every day a little feast | ice cream: it cools you down | biscuits: they fit into a pocket",
    "owls: they fly without a sound | sparrows: they are small and bold | swans: they look like sailing boats | parrots: they can learn to say words",
    "history: one learns how we came to be here | math: its answers can be checked | biology: it is about everything that lives | geography: it takes you around the world",
    "a bath: one can dream in it | a shower: it is quick and saves water | a swim: it is a bath with adventures",
    "old books: they have a story of their own | new books: nobody knows yet how they end | audiobooks: one can listen while cooking",
    "pizza: everybody can put on it what they like | pasta: it is quick and goes with any sauce | potatoes: one can cook them in a dozen ways | beans: they are cheap and healthy",
    "the moon: it looks different every night | the sun: it keeps us all alive | the stars: there are more of them than anyone can count | the clouds: they look like animals",
))


def chosen(draw: Draw, _: Between) -> list[Turn]:
    """A choice between two things, the reason, and what speaks for the other one."""
    group = draw.choice(_CHOICES)
    first, second = sorted(draw.some(range(len(group)), 2))
    (winner, reason), (other, other_reason) = group[first], group[second]
    pair = draw.some([winner, other], 2)
    turns = [Turn(asked(draw, ["{a} or {b}?", "what do you prefer, {a} or {b}?", "which do you like better, {a} or {b}", "what is better, {a} or {b}", "would you choose {a} or {b}?", "{a} or {b}, what do you say"],
        a=pair[0], b=pair[1]), draw.choice((f"I would choose {winner}.", f"If I had to choose: {winner}.", f"I would say {winner}.")), tuple(pair))]
    turns.append(Turn(asked(draw, list(_WHY)), f"Because {reason}."))
    if draw.chance(0.5):
        turns.append(Turn(draw.choice((f"and why not {other}?", f"what about {other}?", f"what speaks for {other}?", f"and {other}?", f"and what is good about {other}?")),
            draw.choice((f"There is something to say for that, too: {other_reason}.", f"That would be a good choice, too: {other_reason}.")), (other,)))
    if draw.chance(0.25):
        turns.append(Turn(asked(draw, ["which one did you choose", "so which one again?", "what was your choice", "remind me, what did you choose"]), f"I chose {winner}."))
    return turns


def ordered(draw: Draw, _: Between) -> list[Turn]:
    """Three or four things in order, the first or the last of them, and why."""
    scale = draw.choice([scale for scale in SCALES if scale.verb == "is" and len(scale.rows) > 4])
    places = sorted(draw.some(range(len(scale.rows)), draw.number(3, 4)))
    named = [scale.rows[at][0] for at in draw.some(places, len(places))]
    most, least = _superlative(scale.more), _superlative(scale.less)
    for_most = draw.chance(0.6)
    winner, word = (places[-1], most) if for_most else (places[0], least)
    turns = [Turn(asked(draw, ["which is {m}: {t}?", "what is {m}, {t}", "{t}: which of them is {m}?"], m=word, t=listed(named, "or")), f"{capitalized(scale.rows[winner][0])} is {word}.", tuple(named))]
    thing, clause = scale.rows[winner]
    turns.append(Turn(asked(draw, list(_WHY)), f"Because {thing} {clause}."))
    if draw.chance(0.5):
        order = [scale.rows[at][0] for at in places]
        turns.append(Turn(asked(draw, ["put them in order", "now all of them in order", "order them from {l} to {m}", "sort them from {l} to {m}"], l=least.removeprefix("the "), m=most.removeprefix("the ")),
            capitalized(f"{', '.join(order)}.")))
    return turns


def _superlative(comparative: str) -> str:
    """`the biggest` of `bigger`."""
    special = {"farther away": "the farthest away", "more expensive": "the most expensive", "less sweet": "the least sweet"}
    return special.get(comparative, f"the {comparative.removesuffix('er')}est")


MAKERS: dict[str, tuple[Callable[[Draw, Between], list[Turn]], int]] = {
    "reasons": (compared, 26), "reasons of what was told": (told, 12), "reasons of numbers": (numbers, 6), "reasons of a choice": (chosen, 12), "reasons in order": (ordered, 8),
}
