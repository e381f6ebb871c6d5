"""Long chats: a greeting, turns of several kinds, facts to remember, a farewell."""

from ..chat import Turn
from ..draw import Draw
from .facts_asking import asked
from . import declining, explaining, facts, following, json_chats, lists, memory, rewriting, sums, word_tasks, written


def part(draw: Draw) -> list[Turn]:
    """Returns a few turns of one kind that fit anywhere in a chat."""
    maker = draw.rng.choices([maker for maker, _ in _PARTS], [weight for _, weight in _PARTS])[0]
    return maker(draw)[1]


_PARTS = [
    (sums.chat, 14),
    (facts.chat, 18),
    (explaining.chat, 10),
    (lists.chat, 8),
    (word_tasks.chat, 7),
    (rewriting.chat, 4),
    (json_chats.chat, 3),
    (declining.chat, 4),
    (lambda draw: written.intent_turns(draw, written.FILLING_KINDS), 16),
]


_AGAIN = ["say that again", "can you repeat that", "what did you say", "again please", "sorry, what?", "repeat your answer",
    "what was that", "repeat that please"]


_SHOUTED = ["say that in upper case", "in capitals please", "now in upper case", "write that in all caps", "shout it", "in capital letters",
    "now in capital letters", "and in capitals?", "the same in upper case"]


#: The share of chats of follow-ups, which are shorter than the other ones.
_FOLLOWING_SHARE = 0.55


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns a chat of several parts, or follow-ups that depend on each other."""
    if draw.chance(_FOLLOWING_SHARE):
        return following.chat(draw, part)
    turns = written.starting(draw) if draw.chance(0.5) else []
    remembering = draw.chance(0.5)
    if remembering:
        turns = turns[:1] if turns and "name is" not in turns[0].user else []
        turns += memory.chat(draw, part)[1]
    for _ in range(draw.number(1, 2) if remembering else draw.number(2, 5)):
        turns += part(draw)
        if draw.chance(0.12) and len(turns[-1].answer) < 100:
            turns.append(Turn(asked(draw, _AGAIN), turns[-1].answer))
        elif draw.chance(0.12) and len(turns[-1].answer) < 60:
            turns.append(Turn(asked(draw, _SHOUTED), turns[-1].answer.upper()))
    if draw.chance(0.4):
        turns += written.ending(draw)
    return "conversation", turns[:14]
