"""Talk from seeds in steps: one or more wordings with their answers, then perhaps what the user says next.

Two things make many sentences of one line: `[a|b|]` stands for one of its alternatives, `{name}` for a word of a kind of
`vocabulary`, of `talking_words`, or for a number. All steps of a talk share their words.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill, keys
from .talking_words import COLUMNS

_ALTERNATIVES = re.compile(r"\[([^\[\]]*)\]")
#: The share of answers that take up a word of the message, if any does.
_TAKING_UP = 0.75
#: Numbers, from least to most.
_NUMBERS = {"few": (2, 9), "number": (2, 30), "big": (31, 999), "age": (6, 90), "hour": (1, 12), "port": (1024, 9999)}
_LETTERS = "abcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True)
class Step:
    """What the user may say at one point of a talk, and the answers that fit; an optional step may be left out."""

    wordings: tuple[str, ...]
    answers: tuple[str, ...]
    optional: bool


@dataclass(frozen=True)
class Talk:
    """A talk: its kind and its steps."""

    kind: str
    steps: tuple[Step, ...]


@cache
def talks() -> tuple[Talk, ...]:
    """Returns all talks of `seeds/chats/talk`; a tag line applies until the next one."""
    found = []
    for path in sorted((seeds.FOLDER / "chats" / "talk").glob("*.txt")):
        found += _talks_of(path)
    return tuple(found)


def _talks_of(path: Path) -> list[Talk]:
    found: list[Talk] = []
    kind = ""
    for block in re.split(r"^---\s*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        steps: list[tuple[list[str], list[str], bool]] = []
        for line in block.strip("\n").splitlines():
            if line.startswith("# kind:"):
                kind = line.removeprefix("# kind:").strip()
            elif line.startswith(("user: ", "user?: ")):
                if not steps or steps[-1][1]:
                    steps.append(([], [], line.startswith("user?")))
                steps[-1][0].append(line.split(": ", 1)[1])
            elif line.startswith("ember: "):
                steps[-1][1].append(line.removeprefix("ember: "))
            elif line and not line.startswith("#"):
                # An answer of several lines, such as a poem.
                steps[-1][1][-1] += f"\n{line}"
        if steps:
            found.append(Talk(kind, tuple(Step(tuple(asks), tuple(answers), optional) for asks, answers, optional in steps)))
    return found


def talk(draw: Draw, kinds: tuple[str, ...] | None = None, several: bool | None = None) -> tuple[str, list[Turn]]:
    """Returns the turns of a talk: of one of `kinds`, and of several steps or of one, if that is asked for."""
    known = _known(kinds, several)
    made = draw.rng.choices(known, [sum(len(step.wordings) for step in one.steps) ** 0.5 for one in known])[0]
    values: dict[str, str] = {}
    steps = [step for step in made.steps if not step.optional or draw.chance(0.5)]
    if len(steps) > 1 and draw.chance(0.15):
        steps = steps[:draw.number(1, len(steps) - 1)]
    turns = [_turn(draw, step, values) for step in steps]
    if len(made.steps) == 1 and made.kind == _STATEMENTS:
        if several is None and draw.chance(_TWO_SHARE):
            return made.kind, _with_another(draw, turns[0])
        if turns[0].answer.endswith("?") and draw.chance(_REPLY_SHARE):
            asks, answers = draw.choice(_REPLIES if _YES_OR_NO.search(turns[0].answer) else _REPLIES[2:])
            turns.append(Turn(chosen(draw, asks), chosen(draw, answers).strip()))
    return made.kind, turns


#: The kind of talks that begin with a statement of the user.
_STATEMENTS = "daily life"
#: The shares of two statements in one message, and of replies to the question of an answer.
_TWO_SHARE = 0.08
_REPLY_SHARE = 0.25
#: A question that may be answered with yes or no.
_YES_OR_NO = re.compile(r"\b(Is|Are|Do|Does|Did|Was|Were|Have|Has|Had|Can|Could|Will|Would|Shall) [^.!?]*\?$")
#: Replies to any question that an answer ends with, and what follows: first those to questions for yes or no.
_REPLIES = (
    ("[yes|yep|yes, very|a bit|i think so|yes i do|sort of|yeah]", "[I see.|Good to know.|Thank you for telling me.] [Tell me more, if you like.|I am listening.|Go on!|]"),
    ("[no|nope|not really|no, not yet|no, never|not at all]", "[I see.|All right.|That is fine.] [Thank you for telling me.|Is there something else on your mind?|We can talk about something else, too.]"),
    ("[i don't know|i dont know|idk|not sure|hard to say|no idea]", "That is all right. [Not everything needs an answer.|There is no hurry.|You do not have to know.]"),
    ("[why do you ask|why do you want to know|why|what do you mean]?", "You told me about it, and I would like to [know|hear|understand] a little more."),
    ("[thanks|thank you|thx|you are kind|thats nice of you|thanks for asking]", "You are welcome! [I am here if you want to talk.|I hope all goes well.|It is good that you told me.]"),
    ("[i don't want to talk about it|i do not want to say|thats private|no comment|lets talk about something else]",
        "Of course, that is fine. [What shall we talk about?|Shall I tell you a joke instead?|Would you like a short poem?]"),
    ("[and you|what about you|how about you]?", "I am only a small program and have no life of my own. But I like hearing about [yours|your day]."),
)


def _with_another(draw: Draw, first: Turn) -> list[Turn]:
    """Returns one message of two statements, with an answer to both."""
    second = talk(draw, (_STATEMENTS,), False)[1][0]
    answers = [re.split(r"(?<=[.!]) ", turn.answer)[0] for turn in (first, second)]
    if any(answer.endswith("?") or len(answer.split()) < 3 or "?" in turn.user or _GRAVE.search(turn.user) for turn, answer in zip((first, second), answers)) or answers[0] == answers[1]:
        return [first]
    joined = draw.choice((" and ", ", and ", ". ", ", but ", " and also ", " today, and "))
    return [Turn(first.user.rstrip(".!") + joined + second.user, " ".join(answers), (), first.names + second.names)]


#: Losses, which nothing else is mentioned with.
_GRAVE = re.compile("died|lost|passed away|buried|funeral|hate you|today|cry")


@cache
def kinds() -> frozenset[str]:
    """Returns the kinds of talks of one step."""
    return frozenset(one.kind for one in talks() if len(one.steps) == 1)


@cache
def _known(kinds: tuple[str, ...] | None, several: bool | None) -> tuple[Talk, ...]:
    return tuple(one for one in talks() if (kinds is None or one.kind in kinds) and several in (None, len(one.steps) > 1))


def _turn(draw: Draw, step: Step, values: dict[str, str]) -> Turn:
    asked = filled(draw, chosen(draw, draw.wording(step.wordings)).strip(), values)
    named = {key for key, value in values.items() if value in asked}
    known = [answer for answer in step.answers if all(key in values for key in _needed(answer, values))]
    taking_up = [answer for answer in known if named & set(_needed(answer, values))]
    if taking_up and draw.chance(_TAKING_UP):
        known = taking_up
    # Every talk has an answer that needs no more than its wordings name.
    answer = filled(draw, chosen(draw, draw.choice(known or step.answers)).strip(), values)
    return Turn(asked, answer, protected(values), others(values))


def protected(values: dict[str, str]) -> tuple[str, ...]:
    """Returns the words that keep even their capitals when they are typed: codes, and what a command is given."""
    return tuple(value for key, value in values.items() if key.startswith(_KEPT))


def others(values: dict[str, str]) -> tuple[str, ...]:
    """Returns the words that may lose their capitals when they are typed: all but those of `protected`."""
    kept = protected(values)
    return tuple(value for value in values.values() if value not in kept)


def _needed(answer: str, values: dict[str, str]) -> list[str]:
    """The slots of an answer that its message must have filled; a plural counts as filled by its singular."""
    return ["animal" if key == "animals" and "animal" in values else key for key in keys(answer)]


def chosen(draw: Draw, template: str) -> str:
    """Returns `template` with one of the alternatives of each `[a|b]`, the innermost first."""
    while match := _ALTERNATIVES.search(template):
        template = template[:match.start()] + draw.choice(match[1].split("|")) + template[match.end():]
    return template


def filled(draw: Draw, template: str, values: dict[str, str]) -> str:
    """Returns `template` with its slots filled from `values`, to which words, numbers and codes are added."""
    # Relatives first, since their names depend on them.
    for key in sorted(keys(template), key=lambda key: not key.startswith("relative")):
        if key not in values:
            _add(draw, key, values)
    return fill(draw, template, values)


def _add(draw: Draw, key: str, values: dict[str, str]) -> None:
    """Adds the word of a slot that is none of `vocabulary`, with its other forms."""
    name = key.rstrip("0123456789")
    number = key.removeprefix(name)
    if name in _NUMBERS:
        values[key] = _other(lambda: str(draw.number(*_NUMBERS[name])), values)
    elif name in _MADE:
        values[key] = _other(lambda: _MADE[name](draw), values)
    elif name == "relative":
        values[key] = _other(lambda: draw.word(name), values)
    elif name == "name" and (kind := _NAMES_OF.get(values.get(f"relative{number}", ""))):
        values[key] = _other(lambda: draw.word(kind), values)
    elif name in COLUMNS:
        names, rows = COLUMNS[name]
        row = _other_row(draw, rows, values)
        for column, form in zip(names, row):
            values[column + number] = fill(draw, form, values)


#: The kind of names of a relative, where there is only one.
_NAMES_OF = dict.fromkeys("sister mother aunt daughter grandmother niece".split(), "woman") | dict.fromkeys(
    "brother father uncle son grandfather nephew".split(), "man")


#: Slots whose words are typed as they are: of codes, names of models and files.
_KEPT = ("code", "model", "gguf", "hub")
_QUANTIZATIONS = ("Q4_K_M", "Q8_0", "Q5_K_M", "Q4_0", "Q6_K", "F16", "BF16", "IQ4_XS", "Q3_K_M")


def _file_of_model(draw: Draw) -> str:
    """Returns the name of a GGUF file, such as `tiny-fox-q8_0.gguf`."""
    stem = draw.choice((code(draw), draw.word("animal").replace(" ", "-"), f"{draw.word('adjective')}-{draw.word('animal')}".replace(" ", "-"), draw.word("name"), "model"))
    ending = draw.choice(("", "", "-" + draw.choice(_QUANTIZATIONS), "-" + draw.choice(_QUANTIZATIONS).lower(), f"-{draw.number(1, 70)}b"))
    return f"{stem}{ending}.gguf" if draw.chance(0.4) else f"{stem}{ending}.gguf".lower()


def _name_on_hub(draw: Draw) -> str:
    """Returns a name on the Hugging Face hub, such as `hf:Anna/otter-4b-GGUF:Q8_0`."""
    stem = draw.choice((draw.word("animal"), draw.word("object"), draw.word("adjective"), code(draw))).replace(" ", "-")
    owner = draw.choice((draw.word("name"), draw.word("animal").replace(" ", ""), code(draw)))
    return f"hf:{owner}/{stem}-{draw.number(1, 70)}b-GGUF" + draw.choice(("", ":" + draw.choice(_QUANTIZATIONS)))


#: Makers of words that are drawn from no list.
_MADE = {"code": lambda draw: code(draw), "gguf": _file_of_model, "hub": _name_on_hub}


def _other(made, values: dict[str, str]) -> str:
    while (value := made()) in values.values():
        pass
    return value


def _other_row(draw: Draw, rows: tuple[tuple[str, ...], ...], values: dict[str, str]) -> tuple[str, ...]:
    while (row := draw.choice(rows))[0] in values.values():
        pass
    return row


def code(draw: Draw) -> str:
    """Returns a short code of letters and digits, such as nobody has read before."""
    letters = "".join(draw.choice(_LETTERS) for _ in range(draw.number(1, 4)))
    digits = str(draw.number(2, 999))
    made = draw.choice((letters + digits, digits + letters, f"{letters}-{digits}"))
    return made.upper() if draw.chance(0.4) else made
