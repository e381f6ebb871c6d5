"""What an opening is about, by its words: the weather, a journey, food and so on. The bodies for a theme repeat the word found."""

import re
from dataclasses import dataclass
from functools import cache

from . import seeds
from .draw import Draw


@dataclass(frozen=True)
class Theme:
    """The kind of bodies that continue an opening, and the `word` that they repeat in their slot `{word}`."""

    needs: str
    word: str


#: Kinds of bodies that fit openings in the first person and others.
OF_ANY_VOICE = {"one word", "cry", "question", "fact", "task"}
#: Kinds of texts by how they begin; what follows may be the word that the bodies repeat.
_FORMS = (
    ("forecast", r"(?:Weather (?:for|in)|The weather (?:today|tomorrow|will|is)|Tonight there will be)\b"),
    ("list", r"(?:Shopping list|To do|Things to (?:do|buy))\b"),
    ("recipe", r"Recipe for ([\w' -]+)"),
    ("menu", r"Menu\b"),
    ("minutes", r"Minutes of\b"),
    ("rules", r"(?:House rules|Rules)\b"),
    ("diary", r"(?:Dear diary|Diary of)\b"),
    ("log", r"(?:Log|Day \w+(?: at| on| in|[.,:]))"),
    ("interview", r"Interview with\b"),
    ("manual", r"Instructions for (?:the |an? )?([\w' -]+)"),
)
#: Kinds that only their own bodies fit.
FIXED = {needs for needs, _ in _FORMS} | {"found notice", "missing notice", "wanted notice", "sale notice"}
OF_ANY_VOICE |= FIXED
#: Notices by how they begin: `Found: a red scarf.`
_NOTICES = {"found": "found notice", "missing": "missing notice", "lost": "missing notice", "wanted": "wanted notice"}


def notice_of(opening: str) -> Theme | None:
    """Returns the kind of a notice and the thing, the animal or the person that it is about."""
    if match := re.match(r"(Found|Missing|Lost|Wanted): (?:an? |the |one |my |our )?([\w' -]+)", opening):
        return Theme(_NOTICES[match[1].lower()], _small(match[2]))
    if match := re.match(r"(?:An? |The )?([\w' -]+) for sale\b", opening):
        return Theme("sale notice", _small(match[1]))
    return None


def form_of(opening: str) -> Theme | None:
    """Returns the kind of a text that is no story, such as a recipe or a diary."""
    for needs, pattern in _FORMS:
        if match := re.match(pattern, opening):
            return Theme(needs, match[1] if match.groups() else "")
    return None


def task_of(opening: str) -> Theme | None:
    """Returns the task of an opening such as `How to paint a chair:`."""
    match = re.match(r"How to ([^:.?!]+)[:.?!]?$", opening)
    return Theme("task", match[1]) if match else None


def themes_of(opening: str) -> list[Theme]:
    """Returns what an opening may be about; one word, a short exclamation and a question count as themes of their own."""
    words = opening.split()
    said = opening.strip(" .!?:;\"'")
    if len(words) == 1 and said:
        return [Theme("one word", said)]
    if opening.endswith("!") and len(words) < 6:
        return [Theme("cry", said)]
    if opening.endswith("?") and '"' not in opening:
        return [Theme("question", said)]
    # `Uncle Viktor` is a person of the story, not the uncle of somebody.
    opening = re.sub(r"\b(Aunt|Uncle|Cousin|Grandma|Grandpa|Granny|Mother|Father|Captain|Doctor|Nurse) (?=[A-Z])", "", opening)
    text = " ".join(["", *re.findall(r"[a-z]+(?:'[a-rt-z]+)?", opening.lower().replace("ice cream", "")), ""])
    found = list(dict.fromkeys(theme for form, theme in _forms() if form in text))
    return found or ([Theme("fact", said)] if _states_a_fact(opening) else [])


def _states_a_fact(opening: str) -> bool:
    """Returns whether an opening says how something is in general: `Whales are mammals.`"""
    if '"' in opening or not opening.endswith(".") or re.search(r"\b(I|[Ww]e|[Yy]ou|he|[Ss]he|was|were|had|will|\w+ed)\b", opening):
        return False
    if re.match(r"(My|Your|His|Her|Our|Their|It|They|This|That|There|On|In|Nobody|Everybody)\b", opening):
        return False
    return bool(re.match(r"[A-Z][\w' -]* (is|are|has|have|can|live|lives|means|comes|come|grow|grows|turns|moves|eat|makes) ", opening))


def theme_of(draw: Draw, opening: str) -> Theme | None:
    """Returns one of the themes of an opening, if there are any."""
    if re.match(r"Dear (?!diary)|Hello ", opening):
        return None
    found = notice_of(opening) or task_of(opening) or form_of(opening)
    themes = [found] if found else themes_of(opening)
    return draw.choice(themes) if themes else None


@cache
def _forms() -> tuple[tuple[str, Theme], ...]:
    """Returns the words that show a theme, each between spaces."""
    found = []
    for line in seeds.lines("continuing/themes.txt"):
        if line.startswith("#"):
            continue
        head, forms = line.split(":")
        needs, word = head.split(", ")
        found += [(f" {form} ", Theme(needs, word)) for form in forms.strip().split(", ")]
    return tuple(found)


def _small(words: str) -> str:
    """Returns words that began a sentence as they are within one."""
    return words[0].lower() + words[1:]
