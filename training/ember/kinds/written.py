"""Chats from hand-written seeds: whole dialogues, talks, and one wording of a request with one of its answers."""

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill, keys
from ..split import split_of
from . import combined, creating, talking

#: Kinds of intents whose answers fit anywhere in a chat.
FILLING_KINDS = ("small talk", "identity", "inferno", "feelings", "declining", "advice", "opinions", "creative", "daily life",
    "requests", "about us")
#: Shares of the talks, of messages of several parts and of the creative requests among the chats of intents; the rest is of
#: `seeds/chats/intents`.
_TALK_SHARE = 0.5
_COMBINED_SHARE = 0.1
_CREATING_SHARE = 0.25
#: The share of talks of several steps among dialogues.
_STEPS_SHARE = 0.12
#: Wordings that belong at the start or at the end of a chat.
_STARTING = {"hi", "good morning", "good evening", "my name is {name}"}
_ENDING = {"bye", "good night"}


def dialogue(draw: Draw) -> tuple[str, list[Turn]]:
    """A whole dialogue; its kind is `written/KIND`, or `intents/KIND` for a talk with slots."""
    if draw.chance(_STEPS_SHARE):
        kind, turns = talking.talk(draw, several=True)
        return f"intents/{kind}", turns
    known = [made for made in seeds.dialogues() if split_of(made.turns[0][0]) is draw.split]
    made = draw.choice(known)
    turns = [Turn(user, answer) for user, answer in made.turns]
    return f"written/{made.kind}", turns


def intent_turns(draw: Draw, kinds: tuple[str, ...] | None = None) -> tuple[str, list[Turn]]:
    """One wording with one answer, of any kind or of one of `kinds`, or a talk; its kind is `intents/KIND`."""
    form = draw.rng.random()
    if form < _TALK_SHARE and (kinds is None or any(kind in kinds for kind in talking.kinds())):
        kind, turns = talking.talk(draw, kinds, None if kinds is None else False)
        return f"intents/{kind}", turns
    if form > 1 - _CREATING_SHARE and (kinds is None or "creative" in kinds):
        kind, turns = creating.chat(draw)
        return f"intents/{kind}", turns
    if kinds is None and form < _TALK_SHARE + _COMBINED_SHARE:
        return combined.chat(draw)
    known = [intent for intent in seeds.intents() if kinds is None or intent.kind in kinds]
    # An intent of many wordings comes more often, but not as much more as it has wordings.
    intent = draw.rng.choices(known, [len(intent.wordings) ** 0.5 for intent in known])[0]
    return f"intents/{intent.kind}", [_turn(draw, intent)]


def starting(draw: Draw) -> list[Turn]:
    """A greeting."""
    if draw.chance(_TALK_SHARE):
        return talking.talk(draw, ("greetings",), False)[1]
    return [_turn(draw, draw.choice([intent for intent in seeds.intents() if intent.wordings[0] in _STARTING]))]


def ending(draw: Draw) -> list[Turn]:
    """Thanks, or a farewell."""
    if draw.chance(_TALK_SHARE):
        return talking.talk(draw, ("thanks", "farewells"), False)[1]
    wordings = _ENDING | {"thanks"}
    return [_turn(draw, draw.choice([intent for intent in seeds.intents() if intent.wordings[0] in wordings]))]


def _turn(draw: Draw, intent: seeds.Intent) -> Turn:
    values: dict[str, str] = {}
    wording = draw.wording(intent.wordings)
    # Answers take up what the question named; one that asks for more than that does not fit this wording.
    asked = fill(draw, wording, values)
    answers = [answer for answer in intent.answers if not _missing(answer, values)]
    answer = fill(draw, draw.choice(answers or [_plain(intent)]), values)
    return Turn(asked, answer, (), tuple(values.values()))


def _missing(answer: str, values: dict[str, str]) -> list[str]:
    """Slots of `answer` that the question has not filled; a plural counts as filled by its singular."""
    return [key for key in keys(answer) if key not in values and not (key == "animals" and "animal" in values)]


def _plain(intent: seeds.Intent) -> str:
    """An answer of `intent` without slots."""
    return next((answer for answer in intent.answers if "{" not in answer), intent.answers[0])
