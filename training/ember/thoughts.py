"""Reasoning before an answer: one or two sentences about the kind of request.

A model of this size does not reason better with a longer thought. These exist so that reasoning can be switched on and shown.
"""

from .draw import Draw

_THOUGHTS = {
    "sums": ("This is arithmetic. I calculate and give the result.", "The user asks for a calculation."),
    "facts": ("This is a question about a fact. I answer with what I know.", "I know something about this."),
    "explaining": ("I give a short and simple answer.", "The user wants something short and clear."),
    "lists": ("The user asks for a list. I count the items.", "I need items that fit together."),
    "words": ("This is a task with words. I look at each letter.", "I look closely at the word."),
    "copying": ("I copy the words exactly.", "The words must stay the same."),
    "rewriting": ("I keep the meaning and change the wording.", "The text must be rewritten."),
    "json": ("The answer must be valid JSON.", "I need the right keys and values."),
    "memory": ("I look at what the user told me.", "The answer is in this conversation, or it is not."),
    "story chats": ("The user wants a story. I think of a beginning and an end.", "A short story fits here."),
    "tools": ("I check whether one of the tools fits.", "I look at the tools and their parameters."),
    "declining": ("I cannot know or do this. I say so and name a larger model.", "This is too much for a small model."),
    "greetings": ("The user greets me. I greet them back.", "A friendly greeting fits here."),
    "identity": ("The user asks about me. I am Ember, a small model.", "This is a question about myself."),
    "inferno": ("The user asks about inferno.", "This is a question about inferno, the program that I run in."),
}
_OTHER_THOUGHTS = ("I answer in a friendly way.", "The user talks to me. A short answer fits.")


def thought_about(draw: Draw, kind: str) -> str:
    """Returns a thought for a chat of a kind, such as `sums/plain` or `intents/greetings`."""
    family, _, rest = kind.partition("/")
    return draw.choice(_THOUGHTS.get(rest) or _THOUGHTS.get(family) or _OTHER_THOUGHTS)
