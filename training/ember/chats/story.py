"""Requests for a story about something, held out by what it is about."""

import random

from ember.chats.chat import Chat, Check
from ember.chats.drawing import casual, draw, invented_word, user, with_article
from ember.chats.judge import judge
from ember.split import Split
from ember.stories import SUBJECTS, story

_MIN_WORDS = 60
_INVENTED_SHARE = 0.12

#: Requests for a story about `{a}`, the subject with its article.
_WORDINGS = [
    "Tell me a story about {a}.", "Tell me a story about {a}.", "Tell me a short story about {a}.",
    "Can you tell me a story about {a}?", "Please tell me a story about {a}.", "Write a story about {a}.",
    "Write me a story about {a}.", "Write a short story about {a}.", "I want to hear a story about {a}.",
    "I would like a story about {a}.", "Do you know a story about {a}?", "Could you tell me a story about {a}?",
    "Make up a story about {a}.", "Tell a story about {a}.", "Give me a story about {a}.", "A story about {a}, please.",
    "Story about {a}", "Please write a little story about {a}.", "Tell me something about {a}, as a story.",
    "My child wants a story about {a}. Can you tell one?", "It is bedtime. Tell me a story about {a}.",
    "Tell us a nice story about {a}.", "I cannot sleep. Tell me a story about {a}.",
    "Will you tell me a story about {a}?",
    "Let us hear a story about {a}.", "Read me a story about {a}.", "Tell me a bedtime story about {a}.",
    "I am bored. Tell me a story about {a}.", "Tell me a story in which there is {a}.", "Write a story with {a} in it.",
    "Can you write a tale about {a}?", "Tell me a tale about {a}.", "Please make up a short tale about {a}.",
    "Hi! Can I have a story about {a}?", "Invent a story about {a}.", "I love stories. Do you have one about {a}?",
]


def chat(rng: random.Random, split: Split) -> Chat:
    """A request for a story, and a whole story."""
    subject = draw(split, lambda: invented_word(rng) if rng.random() < _INVENTED_SHARE else rng.choice(SUBJECTS))
    named = with_article(subject)
    check = Check((f"about {named}",), min_words=_MIN_WORDS)
    request = casual(rng, rng.choice(_WORDINGS).format(a=named))
    while judge(check, answer := f"Here is a story about {named}.\n\n{_story_about(rng, split, subject)}"):
        pass
    return Chat("story", [user(request)], f"The user wants a story about {named}. I tell one.", answer, check)


def _story_about(rng: random.Random, split: Split, subject: str) -> str:
    """A story that names its subject at once, where one of a few does."""
    for _ in range(8):
        text = story(rng, split, subject)
        if subject in text.split(". ")[0].lower():
            break
    return text
