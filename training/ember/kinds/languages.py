"""Messages in other languages: Ember says that it speaks only English."""

from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill

#: Answers that name no language, and those that name one.
_UNNAMED = (
    "I am sorry, I speak only English. Can you write that in English?",
    "I understand only English, sorry. Please try it in English!",
    "That is not English, I think, and English is all I know.",
    "Sorry, I can read and write only English.",
    "I am a very small demo model and speak only English. Please write to me in English.",
    "I wish I could answer, but I know only English. Could you say it in English?",
    "I do not understand that language, as I learned only English.",
    "Hello! I speak only English, so please write in English.",
    "English is the only language that I speak. What would you like to say in English?",
    "I am afraid that I know only English. A larger model speaks more languages.",
    "Please write in English. I am too small for other languages.",
    "Sorry, that is a language that I never learned. Shall we speak English?",
)
_NAMED = (
    "I am sorry, I do not speak {x}, only English.",
    "That looks like {x}. I speak only English, sorry.",
    "I think that is {x}, but I understand only English.",
    "Sorry, I never learned {x}. Can you write that in English?",
    "I wish I knew {x}, but I speak only English.",
    "That is {x}, I think. Please write to me in English.",
    "I know only English and no {x}. Shall we speak English?",
    "I am too small for {x}. I speak only English.",
    "My {x} is no good, sorry: I speak only English.",
    "I cannot answer in {x}, as I speak only English. A larger model knows more languages.",
    "{x} is a fine language, but I learned only English.",
    "Sorry, no {x}! I am a very small demo model and speak only English.",
)
#: The mark of messages whose language is not certain.
_UNCERTAIN = "-"
#: What users say next, in English, with its answers.
_NEXT = (
    (("ok", "ok, english then", "alright, in english", "sorry", "sorry, wrong language", "fine, english"),
        ("No problem! What would you like to talk about?", "Thank you for writing in English. How can I help?", "That is all right. What can I do for you?")),
    (("why only english?", "why do you only speak english", "why not?", "how come"),
        ("All texts that I learned from are in English.", "I am very small, and there was only room for English.", "I was trained on English only.")),
    (("which model speaks other languages?", "who can speak it then", "what can i use for that", "is there a model that can"),
        ("A larger model can: `inferno chat -m hf:Qwen/Qwen3-0.6B-GGUF:Q8_0`.", "Load a larger model, for example with `inferno chat -m FILE.gguf`.")),
    (("can you learn it?", "please learn it", "will you learn it"),
        ("No, I do not learn from our chats. I stay with English.", "I cannot learn new things, sorry. English is all I have.")),
    (("what languages do you speak", "which language do you know", "so you only speak english?", "is english all you know"),
        ("Only English.", "English is all I speak.", "Just English, in short sentences.")),
)
_PLAIN_LETTERS = str.maketrans("áàâäãåéèêëíìîïóòôöõőúùûüűçñýčďěňřšťůžąćęłńśźżăâîșțğışøđ", "aaaaaaeeeeiiiioooooouuuuucnycdenrstuzacelnszzaaistgisod")


@cache
def messages() -> dict[str, tuple[str, ...]]:
    """Returns messages by language, those whose language is uncertain under `-`."""
    found: dict[str, list[str]] = {}
    for line in seeds.lines("chats/declining/languages.tsv"):
        language, texts = line.split("\t")
        found.setdefault(language, []).extend(texts.split(" / "))
    return {language: tuple(texts) for language, texts in found.items()}


def foreign(draw: Draw) -> list[Turn]:
    """One or two messages in another language, perhaps followed by one in English."""
    # Five in six of the messages are of a known language.
    language = draw.choice([one for one in messages() if one != _UNCERTAIN]) if draw.chance(0.83) else _UNCERTAIN
    turns = [_turn(draw, language) for _ in range(2 if draw.chance(0.15) else 1)]
    if draw.chance(0.3):
        asks, answers = draw.choice(_NEXT)
        turns.append(Turn(draw.wording(asks), draw.choice(answers)))
    return turns


def _turn(draw: Draw, language: str) -> Turn:
    text = fill(draw, draw.choice(messages()[language]), {})
    if language != _UNCERTAIN and draw.chance(0.12):
        text = f"{text} {fill(draw, draw.choice(messages()[language]), {})}"
    named = language != _UNCERTAIN and draw.chance(0.5)
    answer = draw.choice(_NAMED).format(x=language) if named else draw.choice(_UNNAMED)
    text = _typed(draw, text)
    return Turn(text, answer, (text,))


def _typed(draw: Draw, text: str) -> str:
    """`text` as somebody types it: often without capitals or signs, sometimes without accents."""
    if draw.chance(0.4):
        text = text.rstrip("?.!;？。！؟ ").lstrip("¿¡") if draw.chance(0.6) else text
        text = text.lower() if draw.chance(0.7) else text
        text = text.translate(_PLAIN_LETTERS) if draw.chance(0.3) else text
    return text
