"""Questions about what the message itself states, such as the color of a hat: claims that are right and wrong, choices, and open questions.

What is stated is drawn from wide vocabularies, so that the verdict can only come from comparing the claim with the statement.
"""

from dataclasses import replace

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, number_word, plural, verdict, with_article
from .facts_asking import asked
from .facts_forms import Maker, Subject, _either_turn, _open_turn, _verdict_turn
from .random_words import _RUDE, any_name, rare_word

_STATED = ["{s}. {q}", "{s}. {q}", "{s}: {q}", "{s}, {q}", "i tell you that {s}. {q}", "{S}. {Q}", "{s}. so {q}", "listen: {s}. {q}", "suppose {s}. {q}", "{s}, ok? {q}", "let us say {s}. {q}",
    "imagine that {s}. {q}", "if {s}, {q}", "{s}. now tell me: {q}", "read this: {s}. {q}", "as we know, {s}. {q}", "in a story {s}. {q}", "{s}. question: {q}", "{S}. And now: {q}",
    "remember this: {s}. {q}"]


def _others(draw: Draw, kind: str, right: str) -> tuple[str, ...]:
    return tuple(word for word in draw.words(kind, 4) if word != right)


def _colored(draw: Draw) -> Subject:
    name, thing, right = any_name(draw), draw.word("object"), draw.word("color")
    thing = thing.rpartition(" of ")[2]
    x = f"{name}'s {thing}"
    return Subject(f"{x} is {{v}}", f"is {x} {{v}}", (f"what color is {x}", f"which color does {x} have", f"what is the color of {x}"), (f"what color {x} is",), right,
        _others(draw, "color", right), "", (), (name,))


def _owned(draw: Draw) -> Subject:
    name, right = any_name(draw), draw.word(kind := draw.choice(("object", "animal")))
    verb, base = draw.choice((("has", "have"), ("found", "find"), ("wants", "want"), ("sees", "see"), ("likes", "like")) if kind == "object" else (("has", "have"), ("saw", "see"), ("drew", "draw"),
        ("feeds", "feed"), ("likes", "like")))
    helper = "did" if verb in ("found", "saw", "drew") else "does"
    wrong = tuple(map(with_article, _others(draw, kind, right)))
    return Subject(f"{name} {verb} {{v}}", f"{helper} {name} {base} {{v}}", (f"what {helper} {name} {base}",), (f"what {name} {verb}",), with_article(right), wrong, "", (), (name,))


def _placed(draw: Draw) -> Subject:
    thing, right = draw.word(draw.choice(("object", "animal"))), draw.word("where")
    return Subject(f"the {thing} is {{v}}", f"is the {thing} {{v}}", (f"where is the {thing}", f"where can i find the {thing}"), (f"where the {thing} is",), right, _others(draw, "where", right))


def _called(draw: Draw) -> Subject:
    animal, right = draw.word(draw.choice(("animal", "relative"))), any_name(draw)
    wrong = tuple(name for name in dict.fromkeys((any_name(draw), any_name(draw), any_name(draw))) if name != right) or ("Oscar",)
    verb = draw.choice(("called", "named"))
    return Subject(f"the {animal} is {verb} {{v}}", f"is the {animal} {verb} {{v}}", (f"what is the {animal} {verb}", f"what is the name of the {animal}"), (f"what the {animal} is {verb}",),
        right, wrong, "", (), (right, *wrong))


def _counted(draw: Draw) -> Subject:
    name, things, right = any_name(draw), plural(draw.word(draw.choice(("object", "animal")))), draw.number(2, 99)
    shown = str if draw.chance(0.6) else number_word
    wrong = tuple(shown(number) for number in dict.fromkeys((right + 1, right - 1, right + 10, draw.number(2, 99))) if 1 < number != right and number < 100)
    return Subject(f"{name} has {{v}} {things}", f"does {name} have {{v}} {things}", (f"how many {things} does {name} have", f"how many {things} has {name}"), (f"how many {things} {name} has",),
        shown(right), wrong, "", (), (name,))


def _job(draw: Draw) -> Subject:
    name, right = any_name(draw), draw.word("job")
    return Subject(f"{name} is {{v}}", f"is {name} {{v}}", (f"what is {name}'s job", f"what does {name} do for a living"), (f"what {name}'s job is",), with_article(right),
        tuple(map(with_article, _others(draw, "job", right))), "", (), (name,))


def _day(draw: Draw) -> Subject:
    what, kind = draw.choice((("party", "day"), ("test", "day"), ("concert", "day"), ("market", "day"), ("trip", "month"), ("wedding", "month"), ("holiday", "month"), ("race", "day")))
    right, on = draw.word(kind), "on" if kind == "day" else "in"
    return Subject(f"the {what} is {on} {{v}}", f"is the {what} {on} {{v}}", (f"when is the {what}", f"on which day is the {what}" if kind == "day" else f"in which month is the {what}"),
        (f"when the {what} is",), right, _others(draw, kind, right))


def _lives(draw: Draw) -> Subject:
    name, right = any_name(draw), draw.word("city")
    verb, base = draw.choice((("lives", "live"), ("works", "work"), ("sleeps", "sleep"), ("studies", "study")))
    return Subject(f"{name} {verb} in {{v}}", f"does {name} {base} in {{v}}", (f"where does {name} {base}", f"in which city does {name} {base}"), (f"where {name} {verb}",), right,
        _others(draw, "city", right), "", (), (name,))


def _eats(draw: Draw) -> Subject:
    name, right = any_name(draw), draw.word("foods")
    verb, base = draw.choice((("eats", "eat"), ("likes", "like"), ("buys", "buy"), ("sells", "sell")))
    return Subject(f"{name} {verb} {{v}}", f"does {name} {base} {{v}}", (f"what does {name} {base}",), (f"what {name} {verb}",), right, _others(draw, "foods", right), "", (), (name,))


_MAKERS: tuple[tuple[Maker, int], ...] = ((_colored, 6), (_owned, 6), (_placed, 4), (_called, 4), (_counted, 5), (_job, 4), (_day, 3), (_lives, 4), (_eats, 4))


def stated(draw: Draw) -> list[Turn]:
    """A statement with a question about it, and more questions about it."""
    maker = draw.rng.choices([maker for maker, _ in _MAKERS], [weight for _, weight in _MAKERS])[0]
    subject = maker(draw)
    turns: list[Turn] = []
    holds = draw.chance(0.5)
    for _ in range(draw.rng.choices((1, 2, 3), (6, 4, 2))[0]):
        form = draw.rng.choices(("verdict", "open", "either"), (12, 5, 3))[0]
        if form == "verdict":
            holds = not holds if draw.chance(0.75) else holds
            value = subject.right if holds else draw.choice(subject.wrong)
            turn, question = _verdict_turn(draw, subject, value), _claimed(draw, subject, value)
        elif form == "open":
            turn, question = _open_turn(draw, subject), draw.choice((*subject.opened, f"tell me {draw.choice(subject.indirect)}"))
        else:
            turn = _either_turn(draw, subject)
            question = subject.question.format(v=" or ".join(draw.some((subject.right, draw.choice(subject.wrong)), 2)))
        if not turns:
            said, sign = subject.said(), draw.choice(("?", ""))
            turn = replace(turn, user=asked(draw, _STATED, s=said, S=capitalized(said), q=question + sign, Q=capitalized(question + sign)))
        turns.append(turn)
    return list({turn.user.lower().strip("?. "): turn for turn in turns}.values())


def _claimed(draw: Draw, subject: Subject, value: str) -> str:
    """A short question for yes or no, to stand after the statement."""
    claim, question = subject.claim.format(v=value), subject.question.format(v=value)
    return draw.choice((question, question, question, f"is it true that {claim}", f"is it right that {claim}", f"tell me if {claim}", f"can we say that {claim}", f"does that mean that {claim}",
        f"yes or no, {question}", f"{question} or not"))


_SAME = ["are {a} and {c} the same", "Are {a} and {c} the same?", "is {a} the same as {c}", "is {a} equal to {c}?", "{a} and {c} are the same, right?", "is it true that {a} and {c} are the same",
    "{a} = {c}?", "does {a} match {c}", "do {a} and {c} match?", "is {a} identical to {c}", "compare {a} and {c}: are they the same?", "{a} and {c}: same?", "i think {a} is the same as {c}",
    "are these two the same: {a}, {c}", "tell me if {a} and {c} are the same", "yes or no: is {a} the same as {c}", "{a}, {c}: are they equal?", "did i type the same twice: {a} {c}",
    "check if {a} equals {c}", "{a} is {c}, true or false?", "are both the same? {a} and {c}", "would you say {a} and {c} are the same"]


def same(draw: Draw) -> list[Turn]:
    """Whether two words, codes or numbers are the same: the other one differs in a letter, or in everything."""
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (4, 3, 2))[0]):
        first = str(draw.number(10, 999)) if draw.chance(0.25) else rare_word(draw).lower()
        holds = draw.chance(0.5)
        second = first if holds else _other(draw, first)
        answer = verdict(f"the first is {first} and the second is {second}", holds)
        turns.append(Turn(asked(draw, _SAME, a=first, c=second), answer, (first, second)))
    return turns


def _other(draw: Draw, word: str) -> str:
    """Something like `word`, or nothing like it."""
    signs = "0123456789" if word.isdigit() else "abcdefghijklmnoprstuvw"
    if draw.chance(0.35):
        other = str(draw.number(10, 999)) if word.isdigit() else rare_word(draw).lower()
    else:
        at = draw.number(0, len(word) - 1)
        other = word[:at] + draw.choice(signs) + word[at + 1 :]
    return other if other != word and not other.startswith("0") and not _RUDE.search(other) else _other(draw, word)
