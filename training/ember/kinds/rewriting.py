"""Rewriting: politer, more formal, friendlier, shorter, in other words, corrected, in another tense; and short notes."""

import re

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, plural, with_article
from ..noise import misspelled
from .copying import sentences
from .facts_asking import asked
from .rewriting_data import CORES, DIFFICULT, ENDINGS, LEADS, PREDICATES, SIMPLER, SPELLING
from .rewriting_forms import FORMS


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("rewriting", _MAKERS)
    return kind, maker(draw)


def _row(draw: Draw, name: str) -> seeds.Row:
    """A row of a table, its slots filled alike in all columns, each text with a capital where its row has one."""
    row = draw.choice(seeds.rewriting(name))
    values: dict[str, str] = {}
    return {key: fill(draw, text, values) for key, text in row.items()}


_QUOTES = ("{t}", "{t}", '"{t}"')


def _given(draw: Draw, text: str) -> str:
    return draw.choice(_QUOTES).format(t=text)


def _kept(draw: Draw, text: str) -> tuple[str, ...]:
    """Mostly, what is rewritten has no typing errors: words of it are copied."""
    return (text,) if draw.chance(0.8) else ()


def polite(draw: Draw) -> list[Turn]:
    """A blunt sentence rewritten politely, and another."""
    turns: list[Turn] = []
    for number in range(1 + draw.chance(0.3)):
        row = _imperative(draw) if draw.chance(0.5) else _row(draw, "polite")
        wordings = ["make this polite: {t}", "make it polite: {t}", "say this politely: {t}", "how do i say {t} politely",
            "a polite way to say {t}", "polite version: {t}", "Please make this sound polite: {t}", "make this nicer: {t}",
            "say it in a friendly way: {t}", "rewrite politely: {t}",
            "rephrase this more politely: {t}"] if number == 0 else ["and this: {t}", "and {t}", "now {t}", "and how about {t}"]
        blunt = draw.choice((row["blunt"], capitalized(row["blunt"].rstrip("!")) + ("?" if row["blunt"].split()[0] in _ASKING else ".")))
        turns.append(Turn(asked(draw, wordings, t=_given(draw, blunt)), row["polite"], _kept(draw, blunt)))
    return turns


def _imperative(draw: Draw) -> seeds.Row:
    """An order that anybody could give, and the same as a question."""
    order = fill(draw, draw.choice(_ORDERS), {})
    asked_nicely = draw.choice(("Could you please {t}?", "Could you please {t}?", "Would you please {t}?"))
    start = draw.choice(("{t}", "{t}", "{t} now", "{t}!"))
    return {"blunt": start.format(t=order), "polite": asked_nicely.format(t=order)}


_ORDERS = [
    "bring me the {object}", "send me the {object}", "clean the {object}", "move the {object}", "put the {object} away",
    "find my {object}", "give {name} the {object}", "buy some {foods}", "cook {food} tonight", "call {name}", "write to {name}",
    "wait {where}", "meet me {where}", "feed the {animal}", "paint the {object} {color}",
    "carry my {object}", "look at my {object}", "tell {name} the truth", "come back on {day}", "finish this by {day}",
    "open the {object}", "take the {animal} outside", "eat your {foods}", "turn off the light", "read this page", "sit down",
    "stand up", "listen to me", "answer the phone", "park the car somewhere else", "lend {name} your {object}",
    "wash the {object}", "explain this to {name}", "be on time on {day}",
]


def _restyled(draw: Draw, table: str, wordings: list[str]) -> list[Turn]:
    """A row of a table, whose columns are the given and the rewritten text, and perhaps another row."""
    turns: list[Turn] = []
    for number in range(1 + draw.chance(0.25)):
        given, rewritten = _row(draw, table).values()
        asked_for = wordings if number == 0 else ["and this: {t}", "and {t}", "now {t}", "now this one: {t}"]
        turns.append(Turn(asked(draw, asked_for, t=_given(draw, given)), rewritten, _kept(draw, given)))
    return turns


def formal(draw: Draw) -> list[Turn]:
    """A casual sentence in formal words."""
    return _restyled(draw, "formal", ["make this formal: {t}", "rewrite this formally: {t}", "more formal: {t}",
        "say this in formal words: {t}", "how do i write {t} in a formal letter", "formal version: {t}", "make it sound formal: {t}",
        "Rewrite in a formal tone: {t}", "turn this into formal english: {t}", "make this more professional: {t}"])


def friendly(draw: Draw) -> list[Turn]:
    """A cold sentence in friendly words."""
    return _restyled(draw, "friendly", ["make this friendlier: {t}", "say this in a friendlier way: {t}", "friendlier please: {t}",
        "make this sound friendly: {t}", "rewrite this in a kind tone: {t}", "a kinder way to say {t}"])


def rephrase(draw: Draw) -> list[Turn]:
    """A sentence in other words."""
    return _restyled(draw, "rephrase", ["rephrase: {t}", "say this in other words: {t}", "rephrase this: {t}",
        "say it differently: {t}", "put this another way: {t}", "another way to say {t}", "Rewrite this sentence: {t}",
        "rewrite: {t}", "use other words: {t}", "paraphrase: {t}"])


def _padded(draw: Draw) -> seeds.Row:
    """A plain sentence with empty words around it, without them, and its core."""
    values: dict[str, str] = {}
    short, shorter = (fill(draw, text, values) for text in draw.choice(CORES))
    small = short if short.startswith(("I ", *values.values())) else short[0].lower() + short[1:]
    lead, ending = draw.choice(LEADS), draw.choice(ENDINGS) if draw.chance(0.4) else ""
    return {"long": f"{lead} {small.rstrip('.')}{ending}.", "short": short, "shorter": shorter}


def shorten(draw: Draw) -> list[Turn]:
    """A long sentence, shorter, and shorter still."""
    row = _padded(draw) if draw.chance(0.6) else _row(draw, "shorten")
    turns = [Turn(asked(draw, ["make this shorter: {t}", "shorten this: {t}", "Make it shorter: {t}", "shorter please: {t}",
        "say this in fewer words: {t}", "{t} make that shorter", "Please shorten: {t}", "summarize: {t}", "cut this down: {t}",
        "sum this up: {t}"], t=row["long"]), row["short"], _kept(draw, row["long"]))]
    if draw.chance(0.4):
        turns.append(Turn(asked(draw, ["even shorter", "shorter", "make it shorter", "still shorter please", "shorter still",
            "as short as you can"]), row["shorter"]))
    if draw.chance(0.15):
        turns.append(Turn(asked(draw, ["in upper case", "now in capitals", "in all caps please"]), turns[-1].answer.upper()))
    return turns


def _mistake(draw: Draw) -> seeds.Row:
    """A sentence with a mistake of one kind: the form of its verb, a spelling, an article, a plural, or its capitals."""
    values: dict[str, str] = {}
    form = draw.number(0, 7)
    if form >= 6:
        wrong, right = _wrong_tense(draw)
    elif form <= 1:
        one, many, _ = draw.choice(PREDICATES)
        single = draw.chance(0.5)
        subject = draw.choice(("he", "she", "{Name}", "my friend", "the {job}") if single else ("we", "they", "you", "i"))
        wrong, right = f"{subject} {many if single else one}", f"{subject} {one if single else many}"
        if single and draw.chance(0.3):
            wrong, right = f"{subject} don't {many}", f"{subject} doesn't {many}"
    elif form == 2:
        old, right_word = draw.choice(SPELLING)
        right = draw.choice([text for text in _SPELLED if f"<{right_word}>" in text] or ["the word is <x>"])
        right = right.replace("<x>", f"<{right_word}>")
        wrong, right = right.replace(f"<{right_word}>", old), right.replace(f"<{right_word}>", right_word)
    elif form == 3:
        noun = draw.word(draw.choice(("animal", "object", "job")))
        good = with_article(noun)
        bad = f"{'a' if good.startswith('an ') else 'an'} {noun}"
        sentence = draw.choice(("this is {x}", "i saw {x}", "she has {x}", "we need {x}", "it was {x}", "he drew {x}"))
        wrong, right = sentence.format(x=bad), sentence.format(x=good)
    elif form == 4:
        noun = draw.word(draw.choice(("animal", "trinket")))
        number = draw.choice(("two", "three", "four", "many", "five"))
        sentence = draw.choice(("i have {x}", "we saw {x}", "she bought {x}", "there are {x}", "he found {x}"))
        wrong, right = sentence.format(x=f"{number} {noun}"), sentence.format(x=f"{number} {plural(noun)}")
    else:
        right = draw.choice(("{Name} lives in {City}", "we fly to {City} on {Day}", "my name is {Name}", "{Name} and i speak {Language}",
            "i was in {Country} in {Month}", "on {Day} i meet {Name}"))
        wrong = fill(draw, right, values).lower()
    wrong, right = fill(draw, wrong, values), fill(draw, right, values)
    return {"wrong": wrong, "right": _as_sentence(right)}


def _wrong_tense(draw: Draw) -> tuple[str, str]:
    """A sentence with a time of the past and its verb in another tense, and the same in the past tense."""
    one, many, past = draw.choice([row for row in PREDICATES if not row[0].endswith("{Day}")])
    subject = draw.choice(("he", "she", "{Name}", "my friend", "the {job}", "we", "they", "you", "i", "my sister", "the children"))
    when = draw.choice(_PAST_TIMES)
    sentence = draw.choice(("{s} {v} {w}", "{s} {v} {w}", "{w} {s} {v}"))
    return (sentence.format(s=subject, v=draw.choice((one, many, many)), w=when), sentence.format(s=subject, v=past, w=when))


_PAST_TIMES = ["yesterday", "yesterday", "last week", "last night", "two days ago", "last year", "last {Day}", "this morning", "an hour ago", "in 2019"]

#: Sentences with a word that is often misspelled, in angle brackets.
_SPELLED = ["i will come <tomorrow>", "she is my <friend>", "i <believe> you", "they lost <their> {object}", "<which> one is it",
    "wait <until> {day}", "i stayed <because> it rained", "did you <receive> my letter", "we have <a lot> of {foods}",
    "that is <definitely> my {object}", "it was a <beautiful> day", "see you on <Wednesday>", "the <weather> is nice",
    "my <favorite> animal is the {animal}", "i <really> like {foods}", "the <house> is big", "my <family> lives in {City}"]


def fix(draw: Draw) -> list[Turn]:
    """A sentence with mistakes, corrected."""
    row = _mistake(draw) if draw.chance(0.65) else _row(draw, "fix")
    turns = [Turn(asked(draw, ["fix this sentence: {t}", "correct this: {t}", "fix the grammar: {t}", "Please correct: {t}",
        "correct my sentence: {t}", "what is wrong with: {t}", "is this right: {t}", "fix the mistakes: {t}", "proofread: {t}",
        "fix the spelling and grammar: {t}", "correct my english: {t}"], t=row["wrong"]), row["right"], (row["wrong"],))]
    if draw.chance(0.3):
        row = _mistake(draw) if draw.chance(0.65) else _row(draw, "fix")
        turns.append(Turn(asked(draw, ["and this: {t}", "now this one: {t}", "and {t}"], t=row["wrong"]), row["right"],
            (row["wrong"],)))
    return turns


def typos(draw: Draw) -> list[Turn]:
    """A sentence or a question with many typing errors, corrected."""
    names: dict[str, str] = {}
    if draw.chance(0.5):
        text = draw.choice(sentences())
    else:
        row = draw.choice(seeds.facts(draw.choice(("questions", "why", "science_yes_no"))))
        text = draw.choice((row.get("questions") or row["question"]).split(" / "))
        # Questions are in lower case, but names in their answers are not.
        names = {name.lower(): name for name in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", "\n".join(row.values()))}
    wrong = misspelled(draw, text, draw.number(1, 1 + len(text.split()) // 2))
    right = capitalized(" ".join("I" if word == "i" else names.get(word, word) for word in text.split()))
    if text[-1] not in ".!?":
        right += "?" if text.split()[0] in _ASKING else "."
    return [Turn(asked(draw, ["correct the typos: {t}", "fix the spelling: {t}", "what did i mean: {t}", "without typos: {t}",
        "correct the spelling: {t}", "{t} - fix my typing", "type this correctly: {t}", "clean this up: {t}"],
        t=draw.choice((wrong, wrong.lower()))), right, (wrong, wrong.lower()))]


_ASKING = set("what which who whose why how when where is are do does did can could will would has have was were should".split())


def simplify(draw: Draw) -> list[Turn]:
    """A sentence with long words, in plain ones."""
    values: dict[str, str] = {}
    template = draw.choice(DIFFICULT)
    hard = re.sub(r"<(\w+)>", r"\1", template)
    easy = re.sub(r"<(\w+)>", lambda match: SIMPLER[match[1]], template)
    hard, easy = (_as_sentence(fill(draw, text, values)) for text in (hard, easy))
    return [Turn(asked(draw, ["say it more simply: {t}", "simplify: {t}", "in simple words: {t}", "make this easier: {t}",
        "simpler please: {t}", "use simple words: {t}", "make this easier to understand: {t}"], t=_given(draw, hard)), easy, (hard,))]


def _as_sentence(text: str) -> str:
    """`text` with its capitals and a full stop."""
    return f"{capitalized(' '.join('I' if word == 'i' else word for word in text.split()))}."


def _composed_tenses(draw: Draw) -> seeds.Row:
    """A sentence of a subject and a predicate in all tenses."""
    one, many, past = draw.choice(PREDICATES)
    single = draw.chance(0.6)
    subject = draw.choice(("he", "she", "{Name}", "my friend", "the {job}", "my sister") if single else ("we", "they", "I", "the children"))
    helper = "does" if single else "do"
    values: dict[str, str] = {}
    forms = {"present": f"{subject} {one if single else many}", "past": f"{subject} {past}", "future": f"{subject} will {many}",
        "question": f"{helper} {subject} {many}", "negative": f"{subject} {helper} not {many}"}
    texts = {form: capitalized(fill(draw, text, values)) + ("?" if form == "question" else ".") for form, text in forms.items()}
    if draw.chance(0.4):
        texts["present"] = texts["present"][0].lower() + texts["present"][1:-1] if subject[0] != "I" else texts["present"][:-1]
    return texts


def _tense(draw: Draw, form: str) -> list[Turn]:
    row = _composed_tenses(draw) if draw.chance(0.7) else _row(draw, "tenses")
    turns = [Turn(asked(draw, _TENSES[form], t=row["present"]), row[form], _kept(draw, row["present"]))]
    if form in ("past", "future") and draw.chance(0.35):
        other = "future" if form == "past" else "past"
        turns.append(Turn(asked(draw, _TENSES_NEXT[other]), row[other]))
    return turns


_TENSES = {
    "past": ["put this in the past: {t}", "past tense: {t}", "rewrite in past tense: {t}", "rewrite this in the past tense: {t}", "make it past tense: {t}", "change to the past: {t}",
    "write this in the past tense: {t}", "{t}, but yesterday"],
    "future": ["put this in the future: {t}", "future tense: {t}", "rewrite in the future: {t}", "make it future tense: {t}",
    "write this in the future tense: {t}", "{t}, but tomorrow"],
    "question": ["turn this into a question: {t}", "make it a question: {t}", "as a question: {t}"],
    "negative": ["make this negative: {t}", "make this sentence negative: {t}", "rewrite as a negative sentence: {t}", "say the opposite with not: {t}", "negate this: {t}", "make it negative: {t}"],
}
_TENSES_NEXT = {"past": ["now in the past", "and in the past tense?", "past tense"],
    "future": ["now in the future", "and in the future?", "future tense"]}


def tense(draw: Draw) -> list[Turn]:
    """A sentence in the past or the future, or with a not."""
    return _tense(draw, draw.choice(("past", "past", "future", "negative")))


def question(draw: Draw) -> list[Turn]:
    """A sentence as a question: a held-out kind."""
    return _tense(draw, "question")


def note(draw: Draw) -> list[Turn]:
    """A short note, and a shorter one."""
    row = _row(draw, "notes")
    turns = [Turn(asked(draw, ["write {t}", "Please write {t}.", "can you write {t}", "help me write {t}", "i need {t}",
        "compose {t}", "draft {t}", "write me {t}"], t=row["request"]), row["text"], _kept(draw, row["request"]))]
    if draw.chance(0.4):
        turns.append(Turn(asked(draw, ["make it shorter", "shorter please", "too long, shorter", "a shorter one", "in one line"]),
            row["shorter"]))
    return turns


_MAKERS = {"polite": (polite, 16), "formal": (formal, 14), "friendly": (friendly, 5), "rephrase": (rephrase, 10), "simplify": (simplify, 8),
    "shorten": (shorten, 18), "fix": (fix, 24), "tense": (tense, 16), "question": (question, 4),
    "note": (note, 14), "typos": (typos, 26), **FORMS}
