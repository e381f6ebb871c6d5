"""Stories that are planned: a character with a trait or a problem, a helper, perhaps a thing, a food, a place and a last word.

The problems are in `seeds/chats/stories/problems.txt`. Each has several ways to name it in a request, and a story in four parts with
alternatives, in which it occurs and is solved.
"""

import re
from dataclasses import dataclass, field
from functools import cache

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, listed, with_article
from .bulk import spliced
from .facts_asking import asked

_PARTS = ("intro", "trouble", "turn", "end")


@dataclass(frozen=True)
class Problem:
    """What a story is about: clauses that follow `who`, adjectives that say the same, and the parts of the story.

    Each part has several ways, and the first way of one fits the first of the others.
    """

    clauses: tuple[str, ...]
    adjectives: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    #: Whether the beginning, too, fits only the other parts of its number.
    paired: bool


@dataclass
class Plan:
    """What was asked for and drawn for one story, and its text."""

    character: str
    helper: str
    clause: str
    adjective: str = ""
    name: str = ""
    thing: str = ""
    foods: str = ""
    place: str = ""
    last_word: str = ""
    opening: str = ""
    setting: str = ""
    text: str = ""
    values: dict[str, str] = field(default_factory=dict)


@cache
def problems() -> tuple[Problem, ...]:
    """All problems of the seeds."""
    text = (seeds.FOLDER / "chats" / "stories" / "problems.txt").read_text(encoding="utf-8")
    return tuple(_read(block) for block in re.split(r"^---$", text, flags=re.MULTILINE))


def _read(block: str) -> Problem:
    fields: dict[str, tuple[str, ...]] = {}
    for line in block.strip().splitlines():
        key, _, rest = line.partition(":")
        ways = tuple(re.sub(r"\{A (\w+)\}", r"A {\1}", way.strip()) for way in rest.split(" | "))
        fields[key] = (*fields.get(key, ()), *ways)
    return Problem(fields["who"], fields.get("adjective", ()), tuple(fields[part] for part in _PARTS), "paired" in fields)


#: Characters of tales, apart from animals and jobs.
CREATURES = (
    "robot dragon ghost giant witch wizard knight pirate snowman mermaid troll alien fairy king queen princess prince monster unicorn "
    "astronaut scarecrow boy girl man woman dwarf elf goblin phoenix vampire yeti genie grandmother grandfather child clown magician "
    "inventor spy cowboy viking puppet teddy bear"
).replace("teddy bear", "teddy_bear").split()
_COLORED = {"robot", "dragon", "ghost", "troll", "alien", "monster", "unicorn", "elf", "goblin", "phoenix", "yeti", "puppet", "teddy bear"}
#: Adjectives that fit anybody.
_TRAITS = "old young clever friendly curious kind polite quiet wise merry brave proud gentle careful cheerful".split()
_HE_ONLY = {"king", "prince", "boy", "man", "grandfather", "wizard", "cowboy", "genie"}
_SHE_ONLY = {"queen", "princess", "girl", "woman", "witch", "mermaid", "fairy", "grandmother"}
_PRONOUNS = {"he": ("him", "his", "himself"), "she": ("her", "her", "herself"), "it": ("it", "its", "itself")}


def _character(draw: Draw, kinds: tuple[str, ...] = ("critter", "creature", "job", "animal")) -> str:
    kind = draw.rng.choices(kinds, (10, 7, 4, 3)[: len(kinds)])[0]
    return draw.choice(CREATURES).replace("_", " ") if kind == "creature" else draw.word(kind)


def pronoun_of(draw: Draw, character: str) -> str:
    """Returns `he` or `she`, which is drawn where a character may be either."""
    if character in _HE_ONLY:
        return "he"
    if character in _SHE_ONLY:
        return "she"
    return draw.choice(("he", "she"))


#: Sentences that give the character a thing which helps in any trouble.
_CHARMS = [
    "The {h} put {a t} into the hand of the {c}. \"For courage,\" said the {h}.",
    "In the grass lay {a t}. The {c} picked it up and held it tight, and felt a little better.",
    "The {c} had {a t} in {his} bag. {He} touched it and took a deep breath.",
    "\"Take my {t},\" said the {h}. \"It has always brought me luck.\"",
    "On a shelf stood {a t}. \"That was a present from my mother,\" said the {c}, and smiled for the first time that day.",
    "The {h} had brought {a t}, and showed the {c} how to use it.",
    "\"What is that?\" asked the {h} and pointed at {a t}. \"My lucky thing,\" said the {c}. It was time to use it.",
    "The {c} had carried {a t} all day. Now {he} put it on the ground and sat down next to it.",
    "At the bottom of the bag was {a t}. The {c} had to smile, since {he} had thought it was lost.",
    "They had nothing but {a t}. \"That is enough,\" said the {h}.", "Somebody had left {a t} by the road. \"A sign!\" said the {c}.",
    "The {h} looked at the sky, then at the {c}, and took out {a t}. \"This is for you,\" said the {h}.",
    "\"If I only had {a t},\" said the {c}. The {h} had one.", "The {c} dreamed of {a t}, and when {he} woke up, there it was.",
    "It was hard, but the {c} thought of the {t} at home and did not give up.", "\"Trade with me,\" said the {h}. \"Your fear for my {t}.\" They traded.",
    "{A t} fell out of the {c}'s pocket, and both of them had to laugh.".replace("{A t}", "A {t}"),
]
_MEALS = ["They shared some {foods}, and that helped, too.", "The {h} had a bag of {foods}, and they ate half of them at once.",
    "\"First we eat some {foods},\" said the {h}. \"Then we think.\"", "There were {foods} for both of them.", "It smelled of {foods}, and they felt at home.",
    "The {h} gave the {c} all the {foods} in the house.", "\"I always carry {foods} with me,\" said the {c}. They ate them under a tree.", "On the table stood a bowl of {foods}.",
    "They counted the {foods}: just enough for two.", "\"Do you like {foods}?\" asked the {h}. \"Who does not?\" said the {c}."]
_PLACES = ["They met again the next day, near the {place}.", "Together they walked past the {place}.", "The {h} lived behind the {place}.",
    "In front of the {place} they sat down and talked.", "From there they could see the {place}.", "Nobody was at the {place} so early.", "The way led past the {place}.",
    "\"Meet me at the {place},\" said the {h}, and so they met there.", "It was quiet near the {place}.", "Somebody waved from the {place}."]
_LAST = [
    "And the {t} still lies next to the bed.", "The {c} still has the {t}.", "The {t} was never far away after that.",
]
_ENDINGS = [
    "And if you listen well, you can still hear them laugh.", "They have been friends ever since.", "That night, the {c} slept very well.",
    "It was the best day of the year.", "The {h} only smiled.", "Good friends are worth more than gold.", "And that is the end of the story.",
    "People in {city} still tell this story.", "The moon saw it all and said nothing.", "The next morning they had breakfast together.",
    "Sometimes one small step is enough.", "\"Tomorrow again?\" asked the {h}. \"Tomorrow again,\" said the {c}.",
    "Nobody knows what they did the next day, but it was surely fun.", "The {c} never forgot that {day}.",
    "So it can go, if you only dare.", "They waved until they could not see each other any more.", "And then it was time for bed.",
    "In the evening it rained a little, but nobody minded.", "The {c} told the story to everybody, and each time it grew longer.", "A small bird had seen it all from the roof.",
    "And the soup was still warm.", "The {h} walked home and whistled a song.", "Then the clock struck twelve, and all was quiet.", "From far away somebody called them for dinner.",
    "Since then, the {c} knows what friends are for.", "It was not the last time, but it was the best.", "The {c} looked up at the stars and said thank you.",
    "Next year they will do it again.", "And nobody in {city} was happier that night.", "The {h} had known it all along.", "What a day it had been!", "They shook hands on it.",
    "If they have not moved, they still live there.", "The door stayed open that night.", "And what happened then is another story.", "The {c} hung a picture of that day on the wall.",
    "Even the grumpy cat next door had to smile.", "There was cake for everybody.", "So the long day came to a good end.", "The {c} whistled all the way home.",
    "The {c} wrote it all down, and that is how we know.", "It takes two to be brave.", "After that, everything was a little easier.",
]
_SETTINGS = ["This was in {city}.", "All this happened in {city}.", "The house stood in {city}, near the bridge.", "It was a quiet year in {city}."]
#: First sentences that fit any story.
_OPENINGS = [
    "It was a {weather} morning.", "The bell rang three times.", "Nobody expected what happened on that {day}.", "It began with {a object}.", "It was {month}, and the days were short.",
    "There are stories that begin with a knock.", "Listen, and I will tell you something.", "This is a true story, or nearly.", "The night was long and the tea was cold.",
    "Far away, behind the last hill, things are different.", "Once upon a time, everything was a little slower.", "In {city}, strange things happen on {day}s.", "The wind had changed.",
    "Some say that it never happened.", "It was the year without {foods}.", "Long ago, before the first clock, this happened.", "The moon was as thin as a nail.",
    "A {color} balloon flew over {city}.", "It had rained for nine days.", "My {relative} told me this story.", "Everybody in {city} was asleep.", "The story starts with a smell of {foods}.",
    "On {day}, the river stood still.", "You will not believe this.", "It was just before breakfast.", "The last train had left.", "Somewhere, a dog barked twice.",
]
_START_ASKS = ["{t}. Start with \"{o}\"", "{t}. It should begin with the sentence \"{o}\"", "{t}, first sentence: {o}", "{t}. Begin like this: {o}", "{t}. The first sentence is: {o}"]
_TWO_ASKS = ["tell me a story about {a} and {c}", "a story about {a} and {c}", "write a short story with {a} and {c}", "a story with {a} and {c} in it", "make up a story about {a} and {c}",
    "can you tell a story in which {a} meets {c}", "how {a} met {c}, a story please", "story: {a} and {c}", "a bedtime story about {a} and {c}", "Write a story about {a} and {c}."]
_TITLE_ASKS = ["{t}, with a title", "{t}. Give it a title.", "{t} and give it a title"]

#: Stories of fewer words always have one of these sentences at their end.
_SHORT = 74
#: The end of stories whose last word was asked for.
_LAST_WORDS = [
    "Above the door somebody had painted a single word: {w}.", "The {h} asked what the {c} was thinking of. The answer was short: {w}.",
    "Before {he} fell asleep, the {c} whispered one word: {w}.", "And the last word of the song they sang was {w}.",
    "The {c} took a pencil and wrote one word on the wall: {w}.", "What did the {c} dream of that night? Of {w}.",
]
NATURAL_ENDS = {
    "home": "Then they all walked home.", "friends": "Since that day they are friends.", "moon": "Above them shone the moon.",
    "night": "They talked all night.", "sea": "Far away they could hear the sea.", "sleep": "And then the {c} fell into a deep sleep.",
    "tea": "Then they sat down and drank tea.", "rain": "Outside they could hear the rain.", "stars": "Over the roofs shone the stars.",
    "again": "And the next day they did it again.", "happy": "Both of them were very happy.", "love": "It was all done with love.",
    "morning": "They talked until the next morning.", "together": "From then on they did everything together.", "sun": "In the sky shone the sun.",
    "smile": "The {h} answered with a smile.", "light": "In the window burned a light.", "end": "And this is the end.", "snow": "Outside fell the first snow.",
    "forever": "They stayed friends forever.", "goodbye": "They waved and said goodbye.", "bed": "Then the {c} went to bed.",
    "garden": "In the evening they sat in the garden.", "cake": "Then they ate cake.", "hope": "And in the heart of the {c} there was hope.",
    "world": "It was the best day in the world.", "door": "And then somebody knocked at the door.", "tomorrow": "And they will meet again tomorrow.",
    "music": "From the window came music.", "silence": "Then there was silence.", "river": "They walked back along the river.",
}

_SUBJECTS = ["tell me a story about {s}", "a story about {s}", "write a story about {s}", "write a short story about {s}", "a short story about {s} please",
    "can you tell me a story about {s}", "make up a story about {s}", "tell me a bedtime story about {s}", "a bedtime story about {s}",
    "Please tell me a story about {s}.", "Write me a story about {s}.", "i want a story about {s}", "do you know a story about {s}?", "story about {s}",
    "could you write a little story about {s}?", "a tale about {s}", "tell my {r} a story about {s}", "my {r} would like a story about {s}",
    "i would like to hear a story about {s}", "think of a story about {s}", "invent a story about {s}", "story: {s}", "let me hear a story about {s}",
    "Ember, tell us a story about {s}.", "a children's story about {s}", "write a fairy tale about {s}", "give me a story, it should be about {s}"]
_END_ASKS = ["{t}, the last word should be {w}", "{t}, and the story must end with the word \"{w}\"", "{t}. It should end with the word {w}.",
    "{t}. The last word must be {w}.", "{t}, last word: {w}", "{t}. End with the word \"{w}\".", "{t}. Please let it end with the word {w}."]
_END_FIRST = ["a story that ends with the word {w}, about {s}", "write a story which ends with the word \"{w}\". It is about {s}",
    "the last word must be {w}: a story about {s}", "tell me a story that ends with the word {w} and is about {s}"]


def _plan(draw: Draw) -> tuple[Plan, Problem, bool]:
    """A plan without its text, its problem, and whether the problem is named by its adjective."""
    problem = draw.choice(problems())
    character = _character(draw)
    while (helper := _character(draw, ("critter", "creature", "job"))) == character:
        pass
    plan = Plan(character, helper, draw.choice(problem.clauses))
    subject = pronoun_of(draw, character)
    him, his, himself = _PRONOUNS[subject]
    by_adjective = bool(problem.adjectives) and draw.chance(0.6)
    if by_adjective:
        plan.adjective = draw.choice(problem.adjectives)
    elif draw.chance(0.2):
        plan.adjective = draw.word("color") if character in _COLORED or character in vocabulary.everything("critter") else draw.choice(_TRAITS)
    plan.values = {"c": character, "h": helper, "he": subject, "him": him, "his": his, "himself": himself, "t": draw.word("trinket")}
    return plan, problem, by_adjective


def _told(draw: Draw, plan: Plan, problem: Problem) -> None:
    """Writes the text of a plan."""
    way = draw.number(0, len(problem.parts[-1]) - 1)
    intro, trouble, turn, end = (part[way] for part in problem.parts)
    if not problem.paired:
        intro = draw.choice(problem.parts[0])
    if plan.setting and "{city}" not in intro:
        intro = f"{intro} {draw.choice(_SETTINGS)}"
    if plan.adjective:
        intro, changed = re.subn("|".join(rf"\b{word}\b" for word in problem.adjectives) or "(?!)", "{trait}", intro)
        if not changed:
            intro = intro.replace("{c}", "{trait} {c}", 1)
        plan.values["trait"] = plan.adjective
    if plan.name:
        first, *rest = re.split(r"(?<=[.!?]\") (?=[A-Z{])|(?<=[.!?]) (?=[A-Z{])", intro)
        called = draw.choice(("{He} was called {n}.", "The name of the {c} was {n}.", "{n} was {his} name."))
        intro = " ".join([first, called.replace("{n}", plan.name), *rest])
        end = end.replace("the {c}", plan.name, 1).replace("The {c}", plan.name, 1)
    if plan.thing and "{t}" not in intro + trouble + turn and "{a t}" not in intro + trouble + turn:
        turn = f"{turn} {draw.choice(_CHARMS)}"
        end = f"{end} {draw.choice(_LAST)}" if draw.chance(0.4) else end
    if plan.foods and "{foods}" not in trouble + turn + end:
        turn = f"{turn} {draw.choice(_MEALS)}"
    if plan.place:
        turn = f"{turn} {draw.choice(_PLACES)}"
    if plan.last_word:
        natural = NATURAL_ENDS.get(plan.last_word)
        end = f"{end} {natural or draw.choice(_LAST_WORDS).replace('{w}', plan.last_word)}"
    elif draw.chance(0.3) or len(f"{intro} {trouble} {turn} {end}".split()) < _SHORT:
        end = f"{end} {draw.choice(_ENDINGS)}"
    text = fill(draw, _introduced(" ".join((intro, trouble, turn, end))), plan.values)
    plan.text = f"{plan.opening} {text}".strip()


def _introduced(text: str) -> str:
    """The helper and the thing with `a` where they are mentioned first, and with `the` after that."""
    for slot in ("h", "t"):
        mentions = list(re.finditer(rf"(?:\b([Tt]he|[Aa]|[Mm]y)|\{{his\}}) \{{{slot}\}}|\{{a {slot}\}}", text))
        for number, match in reversed(list(enumerate(mentions))):
            upper = text[match.start()].isupper()
            if number == 0 and text[: match.start()].endswith("friend, ") or match.group().lower().startswith(("my", "{his")):
                continue
            word = f"{'A' if upper else 'a'} " if number == 0 else f"{'The' if upper else 'the'} "
            text = text[: match.start()] + word + "{" + slot + "}" + text[match.end() :]
    return text


def _subject(draw: Draw, plan: Plan, by_adjective: bool) -> str:
    """The character as it is asked for, with the trait or the problem."""
    noun = with_article(f"{plan.adjective} {plan.character}" if plan.adjective else plan.character)
    if plan.name:
        noun += draw.choice((f" called {plan.name}", f" named {plan.name}"))
    return noun if by_adjective else f"{noun} {draw.choice(('who', 'who', 'that'))} {fill(draw, plan.clause, plan.values)}"


def planned(draw: Draw) -> list[Turn]:
    """A story about a character with a problem, and questions about it."""
    plan, problem, by_adjective = _plan(draw)
    if draw.chance(0.15):
        plan.name = _name(draw, plan.values["he"]) if draw.chance(0.8) else capitalized(spliced(draw))
    if draw.chance(0.2) and "{t}" not in plan.clause:
        plan.thing = plan.values["t"]
    if draw.chance(0.15):
        plan.last_word = draw.choice(list(NATURAL_ENDS)) if draw.chance(0.6) else draw.word(draw.choice(("any", "trinket", "foods")))
    form = draw.rng.choices(("plain", "opening", "setting", "two", "title"), (66, 8, 8, 12, 6))[0]
    if form == "opening":
        plan.opening = fill(draw, draw.choice(_OPENINGS), plan.values)
    elif form == "setting":
        plan.setting = plan.values["city"] = draw.word("city")
    if form in ("opening", "title"):
        plan.last_word = ""
    elif form == "two":
        plan.adjective, plan.thing, plan.last_word = "", "", ""
    _told(draw, plan, problem)
    subject = _subject(draw, plan, by_adjective and form != "two")
    if form == "two":
        pair = draw.some([with_article(plan.character), with_article(plan.helper)], 2)
        turns = [Turn(asked(draw, _TWO_ASKS, a=pair[0], c=pair[1]), plan.text, (plan.character, plan.helper))]
        return turns + [_follow_up(draw, plan, subject)] if draw.chance(0.2) else turns
    if plan.setting:
        subject += f" in {plan.setting}"
    shown = subject
    if plan.thing:
        forms = ("{s} and {t}", "{t} and {s}", "{s}, with {t}") if by_adjective else ("{t} and {s}", "{s}. There should be {t} in it", "{s}, with {t} in it")
        shown = draw.choice(forms).format(s=subject, t=with_article(plan.thing))
    request = asked(draw, _SUBJECTS, s=shown, r=draw.word("relative"))
    if plan.last_word and draw.chance(0.4):
        request = asked(draw, _END_FIRST, w=plan.last_word, s=shown)
    elif plan.last_word:
        request = draw.choice(_END_ASKS).format(t=request.rstrip(".?"), w=plan.last_word)
    if plan.opening:
        request = draw.choice(_START_ASKS).format(t=request.rstrip(".?"), o=plan.opening)
    elif form == "title":
        request = draw.choice(_TITLE_ASKS).format(t=request.rstrip(".?"))
        plan.text = f"{_title(f'the {plan.character} and the {plan.helper}')}\n\n{plan.text}"
    turns = [Turn(request, plan.text, (shown, plan.last_word, plan.opening))]
    if draw.chance(0.3):
        turns.append(_follow_up(draw, plan, subject))
    return turns


def _name(draw: Draw, pronoun: str) -> str:
    """A name for somebody who is called he or she."""
    return draw.word("woman" if pronoun == "she" else "man")


def _title(text: str) -> str:
    """`text` with capitals, apart from its small words."""
    return capitalized(" ".join(word if word in ("and", "the", "of") else capitalized(word) for word in text.split()))


def _follow_up(draw: Draw, plan: Plan, subject: str) -> Turn:
    """A question about the story, a summary of it, or another one about the same character."""
    form = draw.number(0, 4)
    if form == 0 and plan.name:
        return Turn(asked(draw, ["what was the name of the {c}", "what was the {c} called", "who was the {c}?"], c=plan.character),
            f"The {plan.character} was called {plan.name}.", (plan.character,))
    if form == 1:
        return Turn(asked(draw, ["who else was in the story", "who else was there", "who did the {c} meet", "was there anybody else?"], c=plan.character),
            f"{capitalized(with_article(plan.helper))}.", (plan.character,))
    if form == 2:
        return Turn(asked(draw, ["sum it up", "summarize the story in one sentence", "what is it about, in one sentence", "shorter please"]),
            capitalized(f"{subject} meets {with_article(plan.helper)}, and in the end all is well."))
    other, problem, _ = _plan(draw)
    other.character, other.adjective = plan.character, ""
    other.values |= {slot: plan.values[slot] for slot in ("c", "he", "him", "his", "himself")}
    _told(draw, other, problem)
    clause = fill(draw, other.clause, other.values)
    return Turn(asked(draw, ["another story about the {c}, now {he} {k}", "one more: the {c} {k}", "and now a story in which the {c} {k}"],
        c=plan.character, he=plan.values["he"], k=clause), other.text, (plan.character, clause))


def given_words(draw: Draw) -> list[Turn]:
    """A story with three given words."""
    plan, problem, _ = _plan(draw)
    plan.adjective = ""
    plan.thing, plan.foods = plan.values["t"], draw.word("foods")
    plan.values["foods"] = plan.foods
    words = [plan.character, plan.thing, plan.foods]
    if draw.chance(0.4):
        words[2] = plan.values["place"] = plan.place = draw.word("place")
    _told(draw, plan, problem)
    draw.rng.shuffle(words)
    shown = draw.choice((listed(words), ", ".join(words)))
    return [Turn(asked(draw, ["a story with the words {w}", "write a story with these words: {w}", "tell me a story with {w} in it",
        "make a short story from these words: {w}", "use these words in a story: {w}", "story with {w}", "three words: {w}. make a story",
        "Write a short story that contains the words {w}."], w=shown), plan.text, (shown,))]


#: Sentences by what they contain: an animal, a thing, a place, a food, a job, a name, a color, a city, a day.
_SENTENCES = [
    "The {animal} hid the {trinket} behind the {place}.", "At the {place}, the {animal} stole the {foods}.", "The {job} found a {trinket} in {city}.",
    "On {day}, the {job} gave the {animal} some {foods}.", "{name} bought a {trinket} and some {foods}.", "{name} lost a {trinket} near the {place}.",
    "The {color} {trinket} belongs to the {job}.", "In {city}, {name} saw a {animal}.", "{name} and the {animal} share the {foods}.",
    "Nobody at the {place} knew the {job} with the {trinket}.", "The {animal} sleeps next to the {trinket}.", "The {job} carries {foods} to the {place}.",
    "A {animal} and a {animal2} met at the {place}.", "My {relative} keeps a {trinket} and a {animal}.", "The {trinket} of the {job} is {color}.",
    "With a {trinket} in one hand, the {job} ran to the {place}.", "{name} painted the {animal} and the {trinket} on {day}.",
    "The {animal} ate the {foods} while the {job} was at the {place}.", "There is a {color} {animal} in front of the {place}.",
    "Every {day}, the {animal} waits for {name} at the {place}.", "The {job} traded a {trinket} for some {foods}.",
    "A {adjective} {animal} sat on the {trinket}.", "{name} likes {foods}, but the {animal} likes the {trinket}.",
    "The {place} was empty, except for a {animal} and a {trinket}.", "When the {job} opened the box, there was a {trinket} and a {animal} in it.",
    "{name} told the {job} about the {place}.", "We ate {foods} at the {place} with the {job}.", "The {animal} looked at the {color} {trinket}.",
    "In {month}, the {job} of {city} sold {foods}.", "Without the {trinket}, the {job} cannot go to the {place}.",
]


def sentence(draw: Draw) -> list[Turn]:
    """One sentence with two or three given words, and another one with other words."""
    turns: list[Turn] = []
    for number in range(draw.rng.choices((1, 2, 3), (5, 3, 1))[0]):
        values: dict[str, str] = {}
        text = fill(draw, draw.choice(_SENTENCES), values)
        words = draw.some(list(values.values()), len(values))
        shown = draw.choice((listed(words), ", ".join(words), listed([f'"{word}"' for word in words])))
        wordings = ["make a sentence with {w}", "a sentence with the words {w}", "write a sentence with {w}", "use {w} in a sentence",
            "one sentence with {w} please", "put these words in one sentence: {w}", "Write one sentence that contains {w}.", "sentence with {w}",
            "can you make a sentence from {w}", "form a sentence: {w}", "use these words in a sentence: {w}"] if number == 0 else [
            "now with {w}", "and with {w}", "and {w}", "another one with {w}"]
        turns.append(Turn(asked(draw, wordings, w=shown), text, (shown,)))
    return turns
