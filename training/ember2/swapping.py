"""Swaps names, weekdays, colors and numbers in a story, each alike wherever it stands, so that the story stays whole."""

import re

from . import seeds, vocabulary
from .draw import Draw
from .grammar import article, plural

#: What may have any color, so that the color before it can be another one.
_COLORED = (
    "coat|scarf|door|car|bicycle|bike|umbrella|bag|hat|cap|sweater|cup|mug|bowl|dress|ribbon|boat|kite|balloon|button|notebook|pen|envelope|chair|curtain|curtains|shirt|jacket|box|suitcase|blanket|bucket|van|"
    "truck|bus|sofa|towel|plate|pencil|sock|socks|glove|gloves|boots|shoes|backpack|folder|book|lamp|tie|apron|bench|gate|stamp|marble|tent|yarn|wool|paint|ink|chalk"
)
_SWAPPED_COLORS = ["red", "blue", "green", "yellow", "orange", "purple", "pink", "brown", "black", "white", "gray"]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
#: Things that can stand for each other.
_ALIKE = [
    ["apple", "pear", "plum", "peach"],
    ["cousin", "neighbor"],
    ["lighthouse keeper", "harbor master"],
    ["violin", "cello", "guitar"],
    ["blackbird", "robin", "sparrow"],
    ["sixteen", "seventeen", "eighteen", "nineteen"],
    ["carrot", "turnip", "parsnip"],
    ["Mill Street", "Park Street", "Bridge Street", "Garden Street", "Station Street"],
]


def swapping_names(draw: Draw, story: seeds.Story) -> dict[str, str]:
    """New names for the names of a story that are in the table of names, each of the same mark and a new letter."""
    found: dict[str, str] = {}
    taken = set(re.findall(r"[A-Z]\w+", story.text))
    known = {row["name"] for row in seeds.words("names")}
    for name in story.names:
        if name not in known:
            continue
        kind = {"f": "woman", "m": "man"}.get(vocabulary.mark_of(name))
        choices = vocabulary.of_kind(kind, draw.split) if kind else [other for other in vocabulary.of_kind("name", draw.split) if vocabulary.mark_of(other) == "n"]
        initials = {new[0] for new in found.values()}
        fitting = [other for other in choices if other not in taken and other[0] not in initials]
        if fitting:
            found[name] = draw.choice(fitting)
    return found


def swapped(draw: Draw, story: seeds.Story, share: float = 0.85) -> tuple[str, dict[str, str]]:
    """The text of a story with other names and things, and the names that were swapped."""
    names = swapping_names(draw, story) if draw.chance(share) else {}
    text = renamed(story.text, names)
    if draw.chance(share):
        text = renamed(text, _days(draw, text))
    if draw.chance(share):
        text = _colors(draw, text)
    for group in _ALIKE:
        if draw.chance(0.5):
            text = _one_of_group(draw, text, group)
    if draw.chance(share):
        text = _numbers(draw, text)
    return text, names


def renamed(text: str, words: dict[str, str]) -> str:
    """`text` with whole words replaced, all at once, and the articles before them put right."""
    if not words:
        return text
    pattern = re.compile(r"\b(?:(?P<sign>[Aa]n?) )?(?P<word>" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + r")(?P<plural>s?)(?!\w)")

    def new(match: re.Match) -> str:
        word = plural(words[match["word"]]) if match["plural"] else words[match["word"]]
        if not match["sign"]:
            return word
        sign = article(word)
        return f"{sign.capitalize() if match['sign'][0] == 'A' else sign} {word}"

    return pattern.sub(new, text)


def _days(draw: Draw, text: str) -> dict[str, str]:
    """Weekdays moved on by some days, in their order, where none leaves the week of work."""
    at = [_WEEKDAYS.index(day) for day in set(re.findall("|".join(_WEEKDAYS), text))]
    if not at or re.search("Saturday|Sunday", text):
        return {}
    shift = draw.number(-min(at), 4 - max(at))
    return {_WEEKDAYS[day]: _WEEKDAYS[day + shift] for day in at}


def _colors(draw: Draw, text: str) -> str:
    """The color of one thing, where every color word of it stands before something that can have any."""
    for color in draw.some(_SWAPPED_COLORS, len(_SWAPPED_COLORS)):
        everywhere = len(re.findall(rf"\b{color}\b", text, re.IGNORECASE))
        before_things = len(re.findall(rf"\b{color} (?:{_COLORED})\b", text))
        if everywhere and everywhere == before_things:
            new = draw.choice([other for other in _SWAPPED_COLORS if not re.search(rf"\b{other}\b", text)] or [color])
            return renamed(text, {color: new})
    return text


def _one_of_group(draw: Draw, text: str, group: list[str]) -> str:
    """One word of a group for another, where only one of them is in the text."""
    present = [word for word in group if re.search(rf"\b{word}", text)]
    if len(present) != 1:
        return text
    return renamed(text, {present[0]: draw.choice([word for word in group if word != present[0]])})


def _numbers(draw: Draw, text: str) -> str:
    """The number of a bus, a room, a platform and the like."""
    match = re.search(r"\b(?:bus|room|Room|platform|gate|Gate|seat|drawer|number|track|flight|house) (\d{1,3})\b", text)
    if not match:
        return text
    old = match.group(1)
    low = 10 ** (len(old) - 1)
    return re.sub(rf"(?<![\d:.,$]){old}(?![\d:.,%])", str(draw.number(low, low * 10 - 1)), text)
