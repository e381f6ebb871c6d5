"""Replaces names, weekdays, colors and numbers in a story, each consistently."""

import re

from . import seeds, vocabulary
from .draw import Draw
from .grammar import article, plural
from .names_data import FAMILY_NAMES, MEN, TITLES, WOMEN

#: Things that may have any color.
_COLORED = (
    "coat|scarf|door|car|bicycle|bike|umbrella|bag|hat|cap|sweater|cup|mug|bowl|dress|ribbon|boat|kite|balloon|button|notebook|pen|envelope|chair|curtain|curtains|shirt|jacket|box|suitcase|blanket|bucket|van|"
    "truck|bus|sofa|towel|plate|pencil|sock|socks|glove|gloves|boots|shoes|backpack|folder|book|lamp|tie|apron|bench|gate|stamp|marble|tent|yarn|wool|paint|ink|chalk"
)
_SWAPPED_COLORS = ["red", "blue", "green", "yellow", "orange", "purple", "pink", "brown", "black", "white", "gray"]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
#: Words that can replace each other.
_ALIKE = [
    ["apple", "pear", "plum", "peach"],
    ["lighthouse keeper", "harbor master"],
    ["violin", "cello", "guitar"],
    ["blackbird", "robin", "sparrow"],
    ["sixteen", "seventeen", "eighteen", "nineteen"],
    ["carrot", "turnip", "parsnip"],
    ["Mill Street", "Park Street", "Bridge Street", "Garden Street", "Station Street"],
]


def swapping_names(draw: Draw, story: seeds.Story) -> dict[str, str]:
    """Returns new names for the known names of a story, of the same gender and with distinct initials."""
    found: dict[str, str] = {}
    taken = set(re.findall(r"[A-Z][\w-]+", story.text))
    for name in story.names:
        *titles, last = name.split(" ")
        if titles and titles[0] in TITLES:
            choices: list[str] = [other for other in FAMILY_NAMES]
            if len(titles) > 1 and (first := _choices(draw, titles[1])):
                found[titles[1]] = _new(draw, first, taken, found) or titles[1]
            name = last
            # A family name that also occurs as a word may not be only a name.
            if re.search(rf"\b{last.lower()}s?\b", story.text) or last in ("Seven", "Beard", "Bear", "Petit"):
                continue
        elif len(titles) == 1 and _choices(draw, titles[0]):
            found[titles[0]] = _new(draw, _choices(draw, titles[0]), taken, found) or titles[0]
            name, choices = last, [other for other in FAMILY_NAMES]
        elif titles:
            continue
        else:
            choices = _choices(draw, name)
        if new := _new(draw, choices, taken, found):
            found[name] = new
    return {old: new for old, new in found.items() if old != new}


def _choices(draw: Draw, name: str) -> list[str]:
    """Returns names that can replace `name`; none if it is unknown."""
    if name in WOMEN:
        return list(vocabulary.of_kind("woman", draw.split))
    if name in MEN:
        return list(vocabulary.of_kind("man", draw.split))
    if not vocabulary.is_name(name):
        return []
    match vocabulary.mark_of(name):
        case "f":
            return list(vocabulary.of_kind("woman", draw.split))
        case "m":
            return list(vocabulary.of_kind("man", draw.split))
        case _:
            return [other for other in vocabulary.of_kind("name", draw.split) if vocabulary.mark_of(other) == "n"]


def _new(draw: Draw, choices: list[str], taken: set[str], found: dict[str, str]) -> str | None:
    """Returns one of `choices` that the story does not contain, if possible with an initial of its own."""
    initials = {new[0] for new in found.values()} | {name[0] for name in taken if vocabulary.is_name(name)}
    fitting = [other for other in choices if other not in taken and other not in found.values()]
    own = [other for other in fitting if other[0] not in initials]
    return draw.choice(own or fitting) if fitting else None


def swapped(draw: Draw, story: seeds.Story, share: float = 0.85) -> tuple[str, dict[str, str]]:
    """Returns the text of a story with other names and things, and the replaced names."""
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
    """Returns `text` with whole words replaced at once and the articles before them corrected."""
    if not words:
        return text
    pattern = re.compile(r"\b(?:(?P<sign>[Aa]n?) )?(?P<word>" + "|".join(map(re.escape,
        sorted(words, key=len, reverse=True))) + r")(?P<plural>s?)(?!\w)")

    def new(match: re.Match) -> str:
        word = plural(words[match["word"]]) if match["plural"] else words[match["word"]]
        if not match["sign"]:
            return word
        sign = article(word)
        return f"{sign.capitalize() if match['sign'][0] == 'A' else sign} {word}"

    return pattern.sub(new, text)


def _days(draw: Draw, text: str) -> dict[str, str]:
    """Returns weekdays shifted by some days, if all remain working days."""
    at = [_WEEKDAYS.index(day) for day in set(re.findall("|".join(_WEEKDAYS), text))]
    if not at or re.search("Saturday|Sunday", text):
        return {}
    shift = draw.number(-min(at), 4 - max(at))
    return {_WEEKDAYS[day]: _WEEKDAYS[day + shift] for day in at}


def _colors(draw: Draw, text: str) -> str:
    """Replaces one color, if every occurrence precedes something that can have any color."""
    for color in draw.some(_SWAPPED_COLORS, len(_SWAPPED_COLORS)):
        everywhere = len(re.findall(rf"\b{color}\b", text, re.IGNORECASE))
        before_things = len(re.findall(rf"\b{color} (?:{_COLORED})\b", text))
        if everywhere and everywhere == before_things:
            new = draw.choice([other for other in _SWAPPED_COLORS if not re.search(rf"\b{other}\b", text)] or [color])
            return renamed(text, {color: new})
    return text


def _one_of_group(draw: Draw, text: str, group: list[str]) -> str:
    """Replaces one word of a group by another, if the text contains only one of them."""
    present = [word for word in group if re.search(rf"\b{word}", text)]
    if len(present) != 1:
        return text
    return renamed(text, {present[0]: draw.choice([word for word in group if word != present[0]])})


def _numbers(draw: Draw, text: str) -> str:
    """Replaces the number of a bus, a room, a platform and the like."""
    match = re.search(r"\b(?:bus|room|Room|platform|gate|Gate|seat|drawer|number|track|flight|house) (\d{1,3})\b", text)
    if not match:
        return text
    old = match.group(1)
    low = 10 ** (len(old) - 1)
    return re.sub(rf"(?<![\d:.,$]){old}(?![\d:.,%])", str(draw.number(low, low * 10 - 1)), text)
