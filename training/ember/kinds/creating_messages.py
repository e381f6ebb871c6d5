"""Short messages for an occasion, to somebody who is named, with what the user tells about the occasion."""

import re

from ..chat import Turn
from ..draw import Draw
from ..fill import keys
from ..grammar import capitalized
from .creating_messages_data import OCCASIONS, Occasion
from .creating_names_data import PETS
from .facts_asking import asked
from .talking import filled

_WOMEN = "sister mother aunt daughter grandmother niece wife".split()
_MEN = "brother father uncle son grandfather nephew husband".split()
_OTHERS = "cousin boss teacher neighbor doctor friend roommate colleague coach best_friend classmate landlord".split()

#: Relations that nobody is greeted by.
_NEVER_DEAR = {"wife", "husband", "son", "nephew", "niece", "boss", "roommate", "landlord", "classmate"}
#: Relations that several people share.
_OURS = {"aunt", "uncle", "boss", "teacher", "neighbor", "doctor", "friend", "colleague", "coach", "cousin", "grandmother", "grandfather"}

_ASKS = ("write {k} for {p}{r}", "{k} for {p}{r}", "i need {k} for {p}{r}", "can you write {k} for {p}{r}?", "please write {k} for {p}{r}", "help me write {k} for {p}{r}", "write {k} to {p}{r}", "{k} to {p}{r} please",
    "could you write {k} to {p}{r}?", "make {k} for {p}{r}", "I would like {k} for {p}{r}.", "what can i write to {p}{r}? {k} please", "compose {k} for {p}{r}", "Write {k} for {p}{r}.")
_DEAR = ("Dear {n},", "Hello {n},", "Hi {n},", "Dear {n},")
#: Occasions for which nobody writes "Hi".
_SAD = {"condolence", "lost pet"}
_SIGNED = ("Yours, {m}", "Love, {m}", "Warm greetings, {m}", "Best wishes, {m}")
_SIGN_ASKS = ("sign it with {m}", "sign it as {m}", "my name is {m}, add that", "and sign it: {m}", "put my name under it: {m}")
_SHORTER = ("shorter please", "make it shorter", "shorter", "too long", "just one or two sentences please", "can you make it shorter?", "a shorter version")
_FOR_ANOTHER = ("the same for {m}", "now one for {m}", "and one for {m}", "now the same for {m} please", "do the same for {m}")
_ADDED = ("we bring {foods}", "the cake is in the fridge", "i call on {day}", "i have a present", "{name2} sends greetings", "i come by on {day}", "my {critter} says hello", "the {object2} is in the mail",
    "there is a surprise", "we meet at {hour} o'clock", "i think of the summer in {city2}", "the door is always open")


def chat(draw: Draw) -> list[Turn]:
    """A message, and requests to change it."""
    occasion = draw.choice(OCCASIONS)
    who, name = _recipient(draw, occasion)
    values: dict[str, str] = {"name": name} if name else {}
    clause = _chosen(draw, occasion)
    if "{critter}" in clause:
        values["critter"] = draw.choice(PETS).replace("_", " ")
    reason = filled(draw, clause, values)
    slots = {key for key in values if key != "name"}
    person = _person(draw, who, name)
    signed = draw.word("name") if draw.chance(0.12) else ""
    while signed and signed == name:
        signed = draw.word("name")
    request = asked(draw, list(_ASKS), k=draw.choice(occasion.kinds), p=person, r=f" {reason}" if reason else "")
    if signed:
        request = f"{request.rstrip('.?')}, {draw.choice(('from', 'signed by'))} {signed}"
    to = name or who
    sentences = _sentences(draw, occasion, values, slots)
    dear = _DEAR[0] if occasion.name in _SAD else draw.choice(_DEAR)
    ending = f"\n{draw.choice(_SIGNED).format(m=signed)}" if signed else ""
    names = tuple(values.values()) + (signed, name)
    turns = [Turn(request, _written(dear, to, sentences) + ending, (), names)]
    form = draw.rng.random()
    if form < 0.15:
        turns.append(Turn(asked(draw, list(_SHORTER)), _written(dear, to, [sentences[0], sentences[-1]]) + ending))
    elif form < 0.25 and not signed:
        while (me := draw.word("name")) == name:
            pass
        turns.append(Turn(asked(draw, list(_SIGN_ASKS), m=me), f"{_written(dear, to, sentences)}\n{draw.choice(_SIGNED).format(m=me)}", (), (me,)))
    elif form < 0.38:
        while (other := draw.word("name")) == name:
            pass
        turns.append(Turn(asked(draw, list(_FOR_ANOTHER), m=other), _written(dear, other, sentences) + ending, (), (other,)))
    elif form < 0.52:
        turns.append(_with_addition(draw, dear, to, sentences, values, ending))
    elif form < 0.6:
        turns.append(Turn(draw.choice(("another one please", "a different one", "one more version", "write another one")), _written(dear, to, _sentences(draw, occasion, values, slots)) + ending))
    elif form < 0.66 and name:
        turns.append(Turn(draw.choice(("who is it for?", "for whom was that?", "to whom is it?")), f"It is for {_yours(person)}."))
    return turns


def _chosen(draw: Draw, occasion: Occasion) -> str:
    """The clause of the request that tells the reason; the occasion needs it if its sentences have slots."""
    needed = any(keys(sentence) for sentence in (*occasion.first, *occasion.details))
    return draw.choice(occasion.reasons) if occasion.reasons and (needed or draw.chance(0.7)) else ""


def _sentences(draw: Draw, occasion: Occasion, values: dict[str, str], slots: set[str]) -> list[str]:
    """The first sentence, what concerns the reason, one or two more, and the last one."""
    fitting = [sentence for sentence in occasion.details if set(keys(sentence)) <= slots]
    middle = [sentence for sentence in occasion.middle if set(keys(sentence)) <= slots]
    chosen = [draw.choice(occasion.first), *([draw.choice(fitting)] if fitting else []), *draw.some(middle, draw.number(1, 2)), draw.choice(occasion.last)]
    return [capitalized(filled(draw, sentence, values)) for sentence in chosen]


def _written(dear: str, to: str, sentences: list[str]) -> str:
    return f"{dear.format(n=to)} {' '.join(_after_comma(at, sentence) for at, sentence in enumerate(sentences))}"


def _after_comma(at: int, sentence: str) -> str:
    """The first sentence follows the comma of the greeting in lower case, unless it begins with a name or with `I`."""
    word = re.split(r"[\s,']", sentence)[0]
    return sentence[:1].lower() + sentence[1:] if at == 0 and word in _LOWER else sentence


#: Words that lose their capital after the greeting.
_LOWER = frozenset("Happy Congratulations All A Get Thank Many What You Would Please Well Today It Good Welcome May Could This My There Goodbye We Rise Sleep Do Head How Hooray Now Warm".split())


def _recipient(draw: Draw, occasion: Occasion) -> tuple[str, str]:
    """A relation, and perhaps a name that fits; one of them may be missing."""
    relations = _WOMEN + _MEN + _OTHERS if occasion.to == "anybody" else occasion.to.split(",")
    who = draw.choice(relations).replace("_", " ")
    name = draw.word("woman" if who in _WOMEN else "man" if who in _MEN else "name")
    form = draw.rng.choices(("both", "name", "relation"), (5, 3, 2))[0]
    if form == "name" and occasion.to == "anybody":
        return "", name
    return (who, "") if form == "relation" and who not in _NEVER_DEAR else (who, name)


def _person(draw: Draw, who: str, name: str) -> str:
    """The recipient as the user names the person."""
    if not who:
        return name
    whose = draw.choice(("my", "our")) if who in _OURS else "my"
    return f"{whose} {who} {name}" if name else f"{whose} {who}"


def _yours(person: str) -> str:
    return re.sub(r"^(my|our) ", "your ", person)


def _with_addition(draw: Draw, dear: str, to: str, sentences: list[str], values: dict[str, str], ending: str) -> Turn:
    """The same message with one more sentence that the user gives, before its end."""
    added = filled(draw, draw.choice(_ADDED), values)
    sentence = re.sub(r"\bi\b", "I", capitalized(added)) + "."
    text = _written(dear, to, [*sentences[:-1], sentence, sentences[-1]]) + ending
    return Turn(draw.choice((f"add that {added}", f"also say that {added}", f"add: {added}", f"and mention that {added}", f"put in that {added}")), text, (), tuple(values.values()))
