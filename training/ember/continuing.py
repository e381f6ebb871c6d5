"""Openings of any kind, and continuations that keep the names and things mentioned in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from . import events, mentioned, seeds, stories, themes, vocabulary
from .draw import Draw
from .fill import fill, keys
from .grammar import capitalized, plural
from .split import Split
from .stories import Frame, Told, people
from .swapping import swapped


@dataclass(frozen=True)
class Body:
    """The continuation of a story whose opening mentions what the body `needs`."""

    needs: str
    frame: Frame
    #: Whether `{A}` may be somebody without a name: `the plumber`, `my aunt`.
    without_names: bool = False


@cache
def bodies() -> tuple[Body, ...]:
    """Returns all bodies, from every `bodies*.txt`."""
    return tuple(Body(needs, Frame(needs, parts), name.startswith("bodies-of-")) for name, needs, parts in _blocks("bodies*.txt", "# needs:"))


def _blocks(pattern: str, tag: str) -> Iterator[tuple[str, str, tuple[tuple[str, ...], ...]]]:
    """Yields the name of the file, the value of the tag line, and the parts of each block of the files of a pattern."""
    for path in sorted((seeds.FOLDER / "continuing").glob(pattern)):
        for block in re.split(r"^---$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            first, *lines = block.strip().splitlines()
            yield path.name, first.removeprefix(tag).strip(), _parts(lines)


@cache
def _with_needs(needs: frozenset[str]) -> tuple[Body, ...]:
    """Returns the bodies that need one of `needs`."""
    return tuple(body for body in bodies() if body.needs in needs)


def _parts(lines: list[str]) -> tuple[tuple[str, ...], ...]:
    """Returns the parts of a body. The alternatives of a line `coda` may follow each alternative of the line before it."""
    parts: list[tuple[str, ...]] = []
    for line in lines:
        label, text = line.split(":", 1)
        ways = tuple(way.strip() for way in text.split("||"))
        if label == "coda":
            parts[-1] += tuple(f"{before} {way}" for before in parts[-1] for way in ways)
        else:
            parts.append(ways)
    return tuple(parts)


def continued(draw: Draw) -> tuple[str, str, Told]:
    """Returns an opening, its continuation, and both as a story. The continuation repeats a name or a thing if the opening has one."""
    if draw.chance(_BROKEN_OFF_SHARE):
        return _broken_off(draw)
    if draw.chance(_EXPLAINED_SHARE):
        return _explained(draw)
    for _ in range(_TRIES):
        opening, rest, told = _continued_once(draw)
        if shares(opening, rest):
            break
    return _divided(draw, opening, rest, told)


def _explained(draw: Draw) -> tuple[str, str, Told]:
    """Returns the first sentence of an explanation, and the rest of it."""
    sentences = [""]
    while len(sentences) < 2 or sentences[0].count(" ") < 4:
        answer = draw.choice(seeds.facts(draw.choice(("explain", "explain", "questions"))))["answer"]
        sentences = re.split(r"(?<=[.!?]) ", answer)
    return sentences[0], " ".join(sentences[1:]), Told("continued/explanation", answer, {})


def _broken_off(draw: Draw) -> tuple[str, str, Told]:
    """Returns the first words of a text, as many as each other number of them, and the rest, which completes their sentence."""
    count = draw.number(1, _MOST_WORDS)
    for _ in range(_TRIES):
        told = _of_first_words(draw)
        opening, rest = after_words(told.text, count)
        if shares(opening, rest):
            break
    return opening, rest, told


def after_words(text: str, count: int) -> tuple[str, str]:
    """Divides a text after so many words, or fewer if hardly anything would follow."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    end = ends[min(count, len(ends) - 3) - 1]
    return text[:end], text[end:].lstrip()


def _of_first_words(draw: Draw) -> Told:
    """Returns a text whose first words may be given: a story, or a question and its answer."""
    if draw.chance(_QUESTION_SHARE):
        return _answered(draw)
    if draw.chance(_STATEMENT_SHARE):
        return _stated(draw)
    if draw.chance(_COMPLETION_SHARE):
        text, names = swapped(draw, draw.choice(_completions(draw.split)))
        return Told("continued/completion", text, names, completion=True)
    kind, frame = draw.choice(fragments())
    return told_fragment(draw, kind, frame)


def told_fragment(draw: Draw, kind: str, frame: Frame) -> Told:
    """Returns the text of a fragment. Its slots `{he1}` and `{his1}` stand before the name in its first sentence: `Against {his1}
    will, {A} stayed.`"""
    values = people(draw, {})
    values |= {f"{pronoun}1": values[pronoun] for pronoun in ("he", "him", "his", "himself")}
    return Told(f"continued/{kind}", stories.told_in_parts(draw, frame, values), values, completion=True)


@cache
def _completions(split: Split) -> tuple[seeds.Story, ...]:
    """Returns the stories of a split that were written as completions of their first words."""
    return tuple(story for story in stories.known(split) if story.completion)


@cache
def fragments() -> tuple[tuple[str, Frame], ...]:
    """Returns the texts of every `fragments*.txt`, each with the form of its first words: `fragment, question`."""
    kinds = ((f"fragment, {form}", parts) for _, form, parts in _blocks("fragments*.txt", "# form:"))
    return tuple((kind, Frame(kind, parts)) for kind, parts in kinds)


def _answered(draw: Draw) -> Told:
    """Returns a question of the tables of explanations and its answer."""
    if draw.chance(0.5):
        row = draw.choice(seeds.facts("explain"))
        question, answer = row["ask"], row["answer"]
    else:
        row = draw.choice(seeds.facts("how"))
        question, answer = draw.choice(row["asks"].split(" / ")), row["answer"]
    text = f"{capitalized(question)}? {answer}"
    return Told("continued/question", text, {}, completion=True)


def _stated(draw: Draw) -> Told:
    """Returns a known fact, such as a capital, in one to three sentences."""
    table = draw.choice(("about", "capitals", "food_origins", "premises", "tools"))
    row = draw.choice(seeds.facts(table))
    match table:
        case "about":
            text = f"{row['first']} {row['second']} {row['third']}"
        case "capitals":
            text = f"The capital of {row['country']} is {row['capital']}. It lies in {row['continent']}."
        case "food_origins":
            text = f"{row['food']} {row['verb']} {row['made_from']}."
        case "premises":
            text = f"{row['claim'].replace('{x}', row['right'])}."
        case _:
            text = f"{row['tool']} {'is' if row['tool'].startswith(('a ', 'an ')) else 'are'} used for {row['use']}."
    # The point of `Washington, D.C.` ends its sentence.
    return Told("continued/statement", capitalized(text.replace("D.C..", "D.C.")), {}, completion=True)


#: The largest number of words of an opening that breaks off.
_MOST_WORDS = 12

#: The share of openings that break off after any of their words among openings with a continuation.
_BROKEN_OFF_SHARE = 0.35

#: The share of questions among these, of statements among the others, and of completions without slots among the rest.
_QUESTION_SHARE, _STATEMENT_SHARE, _COMPLETION_SHARE = 0.12, 0.05, 0.2

#: The share of explanations among openings with a continuation.
_EXPLAINED_SHARE = 0.04

#: So many continuations are drawn in search of one that shares a word with its opening.
_TRIES = 8


def _continued_once(draw: Draw) -> tuple[str, str, Told]:
    opening, named, values = _opened(draw)
    told = opening.replace(_BREAK, " ")
    _separate(draw, told, named, values)
    role = None if "a" in named else role_in(told)
    themed = _themed(draw, named, told, values)
    body = draw.choice(_with_needs(frozenset(themed))) if themed else _body(draw, _needs(named, told, values, role), told, values)
    rest = stories.told_in_parts(draw, varied_frame(draw, body.frame), values | _as_role(draw, told, role) if body.without_names else values)
    rest = _within_sentences(rest, role) if role and body.without_names else rest
    return opening, rest, Told(f"continued/{body.needs}", f"{told} {rest}", values)


def _opened(draw: Draw) -> tuple[str, set[str], dict[str, str]]:
    """Returns an opening, the slots that it names, and their values with those of the people of its continuation."""
    values: dict[str, str]
    if draw.chance(_TEMPLATE_SHARE):
        template = varied(draw, draw.choice(seeds.lines("continuing/openings.txt")))
        values = people(draw, {"object": draw.word("object")} if "{thing}" in template else {})
        template = template.replace("{thing}", "{object}")
        named = set(keys(template))
        opening = fill(draw, template, values)
        if opening.startswith("My name"):
            # The narrator has that name, so the characters have other names.
            values = people(draw, {key: values[key] for key in named & {"object", "animal"}})
        found = mentioned.named_in(opening.replace(_BREAK, " "))
        values |= {slot: found[slot] for slot in {"object", "animal", "job", "place"} & set(found) - named}
        return opening, named | set(found), values
    opening = _known_opening(draw) if draw.chance(0.3) else _any_opening(draw)
    found = mentioned.named_in(opening)
    return opening, set(found), people(draw, found | _person_meant(draw, opening, set(found)))


#: The share of openings with slots.
_TEMPLATE_SHARE = 0.62


def _separate(draw: Draw, opening: str, named: set[str], values: dict[str, str]) -> None:
    """Draws anew what a continuation adds to an opening if the opening already has it in another role."""
    for slot, kind in (("animal2", "critter"), ("object2", "trinket"), ("b", "woman" if values["he2"] == "she" else "man"), ("b2", "woman")):
        while slot not in named and (values[slot] in opening or values[slot] in [values[other] for other in ("a", "b", "animal", "object")
            if other != slot]):
            values[slot] = draw.word(kind)


#: Words for people that are not their jobs, by the pronoun that they take.
_WOMEN = "woman girl lady queen princess witch waitress mother mom grandmother grandma aunt sister daughter wife niece".split()
_MEN = ("man boy king prince wizard waiter fisherman father dad grandfather grandpa uncle brother son husband nephew gentleman monk").split()
_OTHERS = "child kid student pupil player boss neighbor cousin friend stranger guest visitor passenger tourist customer inventor".split()


_PRONOUNS = {
    "f": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
    "m": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
}


@cache
def _roles() -> frozenset[str]:
    """Returns the words for a person without a name."""
    return mentioned.workers() | frozenset([*_WOMEN, *_MEN, *_OTHERS])


def role_in(opening: str) -> str | None:
    """Returns the person without a name who is the subject of an opening: `the plumber`, `my aunt`."""
    match = re.match(r"(The|An?|One|My|Our)((?: [a-z][\w'-]*){1,4})", opening)
    if not match:
        return None
    words = match[2].split()
    for start in (0, 1):
        for end in (start + 3, start + 2, start + 1):
            noun = " ".join(words[start:end])
            if noun in _roles() and len(words) >= end and not (len(words) > end and words[end] in ("of", "and")):
                return f"{match[1].lower() if match[1] in ('My', 'Our') else 'the'} {noun}"
    return None


def _as_role(draw: Draw, opening: str, role: str | None) -> dict[str, str]:
    """Returns the values by which a body calls its first person by a role, with the pronouns of the opening or of the word."""
    if role is None:
        return {}
    noun = role.split(" ", 1)[1]
    said = set(re.findall(r"[a-z]+", opening.lower()))
    woman = noun in _WOMEN or (noun not in _MEN and bool(said & {"she", "her", "hers"}))
    man = noun in _MEN or (not woman and bool(said & {"he", "his", "him"}))
    mark = "f" if woman or (not man and draw.chance(0.5)) else "m"
    return {"a": role} | _PRONOUNS[mark]


def _within_sentences(text: str, role: str) -> str:
    """Returns a text with a role in lower case wherever it does not begin a sentence."""
    return re.sub(rf'(?<=[\w,;"] )(?<![.!?]" ){re.escape(capitalized(role))}\b', role, text)


_ALTERNATIVES = re.compile(r"\[([^\]]*)\]")


def varied(draw: Draw, template: str) -> str:
    """Returns a template with one of each `[red/blue/old]`."""
    return _ALTERNATIVES.sub(lambda match: draw.choice(match[1].split("/")), template)


def varied_frame(draw: Draw, frame: Frame) -> Frame:
    """Returns a frame with one of each `[red/blue/old]` in its parts."""
    return Frame(frame.kind, tuple(tuple(varied(draw, way) for way in part) for part in frame.parts))


#: The largest share of the bodies of an event among the continuations of openings that tell of it, and the share of a single one.
_EVENT_SHARE, _EVENT_SHARE_OF_ONE = 0.9, 0.2


def _body(draw: Draw, needs: set[str], opening: str, values: dict[str, str]) -> Body:
    """Returns a body that continues what the opening tells of its thing or animal, mostly, or one that only names it."""
    of_event = _with_needs(frozenset(_needs_of_event(needs, opening, values)))
    share = min(_EVENT_SHARE, len(of_event) * _EVENT_SHARE_OF_ONE)
    return draw.choice(of_event if draw.chance(share) else _with_needs(frozenset(needs)))


def _known_opening(draw: Draw) -> str:
    """Returns one of the openings without slots, mostly one that names somebody or something."""
    opening = draw.choice(seeds.lines("openings.txt"))
    while not mentioned.named_in(opening) and draw.chance(0.6):
        opening = draw.choice(seeds.lines("openings.txt"))
    return opening


#: Where an opening may end within a sentence.
_BREAK = " | "


def _person_meant(draw: Draw, opening: str, named: set[str]) -> dict[str, str]:
    """Returns a name for the person whom an opening without names calls only `he` or `she`."""
    said = set(re.findall(r"[a-z]+", opening.lower()))
    if "a" in named or ("she" in said) == ("he" in said):
        return {}
    return {"a": draw.word("woman" if "she" in said else "man")}


def _themed(draw: Draw, named: set[str], opening: str, values: dict[str, str]) -> set[str]:
    """Returns what a body on the theme of the opening needs, mostly, and adds the word of the theme to `values`."""
    theme = themes.theme_of(draw, opening)
    if theme is None or (theme.needs == "one word" and "a" in named):
        return set()
    in_first_person = theme.needs not in themes.OF_ANY_VOICE and _in_first_person(opening)
    needs = f"{theme.needs}, first person" if in_first_person else theme.needs
    # A theme with few bodies is rarer, so that none of them is told over and over.
    chance = min(0.92 if theme.word == NO_WORD else 0.75, len(_with_needs(frozenset({needs}))) / (1 if theme.word == NO_WORD else 6))
    if named & {"object", "animal"} and theme.needs not in themes.OF_ANY_VOICE:
        chance = min(0.75 if theme.word == NO_WORD else 0.4, chance)
    if theme.needs not in themes.FIXED and not draw.chance(chance):
        return set()
    values["word"] = theme.word
    return {needs}


#: The word of a theme whose bodies have words of their own.
NO_WORD = "-"


def _in_first_person(opening: str) -> bool:
    """Returns whether the narrator appears in an opening outside of what somebody says."""
    said = re.sub(r'"[^"]*"?', "", opening)
    return bool(re.search(r"\b(I|me|[Mm]y|[Ww]e|us|[Oo]ur)\b", said))


def _divided(draw: Draw, opening: str, rest: str, told: Told) -> tuple[str, str, Told]:
    """Returns some of the openings without their last words, which then belong to the rest."""
    start, _, end = opening.partition(_BREAK)
    if end and draw.chance(0.7):
        return start, f"{end} {rest}", told
    opening = f"{start} {end}" if end else start
    words = opening.split(" ")
    if len(words) > 4 and draw.chance(0.15):
        at = draw.number(2, len(words) - 1)
        return " ".join(words[:at]), f"{' '.join(words[at:])} {rest}", told
    return opening, rest, told


def shares(opening: str, rest: str) -> bool:
    """Returns whether a continuation repeats one of the names and known nouns of its opening, if there are any."""
    words = content_words(opening)
    return not words or bool(words & content_words(rest))


def content_words(text: str) -> set[str]:
    """Returns the names and the known nouns of a text; nouns in lower case and in the singular."""
    words = re.findall(r"[A-Za-z]+", text)
    names = {word for word in words if word[0].isupper() and vocabulary.is_name(word)}
    return names | {_singulars()[word.lower()] for word in words if word not in names and word.lower() in _singulars()}


@cache
def _singulars() -> dict[str, str]:
    """Returns the nouns of animals, things, foods, people and places of one word, singular and plural, with their singular."""
    found = {plural(noun): noun for noun in mentioned.animals() | mentioned.objects() | mentioned.workers() | mentioned.places() if " " not in noun}
    found |= {row["plural"]: row["food"] for row in seeds.words("foods") if row["plural"] != "-" and " " not in row["food"]}
    return found | {noun: noun for noun in found.values()}


def _any_opening(draw: Draw) -> str:
    """Returns a sentence from the middle of a story, a heading or one word, some of them in capitals."""
    if draw.chance(0.1):
        opening = capitalized(draw.word("any")) + draw.choice((".", ".", "!", "?", "..."))
    elif draw.chance(0.7):
        opening = draw.choice(_sentences())
    else:
        opening = fill(draw, draw.choice(seeds.lines("continuing/headings.txt")), {})
    return opening.upper() if draw.chance(0.06) else opening


#: A word for somebody or something that a sentence does not name.
_PERSON_MEANT = re.compile(r"\b(he|she|him|her|his|hers|they|them|their)\b|^(It|This|That|These|Those)\b", re.IGNORECASE)


@cache
def _sentences() -> tuple[str, ...]:
    """Returns the sentences of the stories that are trained on and that name somebody or something, apart from very short and long
    ones, and from those about somebody who was named before."""
    found = [sentence.strip() for one in stories.known(Split.TRAIN) for sentence in re.split(r"(?<=[.!?:])[\"']? |\n", one.text)]
    return tuple(dict.fromkeys(one for one in found if 8 < len(one) < 90 and one[0].isupper() and one.count('"') % 2 == 0
        and mentioned.named_in(one) and (mentioned.named_in(one).get("a") or not _PERSON_MEANT.search(one))))


def _needs(named: set[str], opening: str, values: dict[str, str], role: str | None = None) -> set[str]:
    """Returns what bodies may need to continue an opening that names these slots: a thing or an animal, then a person."""
    if opening.startswith("Dear") and not opening.startswith("Dear diary"):
        return {_kind_of_letter(opening)}
    if opening.startswith("How to "):
        return {"steps"}
    if re.search(r"^(Found|Missing|Lost|Wanted)\b|\bfor sale\b", opening):
        return {"notice"}
    if role and "object" in named:
        # Only these bodies call their first person by a role.
        kind = f"object of the {mentioned.class_of(values['object'])}"
        return {f"{kind}, first person"} if _in_first_person(opening) else {kind}
    if role and not {"a", "animal"} & named:
        if _in_first_person(opening):
            return {"role, first person"}
        return {"role", "job"} if "job" in named else {"role"}
    if kinds := _kinds_of_thing(named, values):
        return {f"{kind}, first person" for kind in kinds} if _in_first_person(opening) else kinds
    if _in_first_person(opening):
        return {"none, first person"}
    if "a" in named:
        # The bodies that need one person introduce the second one themselves.
        return {"both"} if "b" in named else {"a"}
    slot = next((slot for slot in ("job", "place", "foods") if slot in named), None)
    if slot == "place" and values["place"] in mentioned.nature():
        return {"place", "nature"}
    if slot == "place" and values["place"] in mentioned.buildings():
        return {"place", "building"}
    if slot:
        return {slot}
    return {"none"} if opening.count(" ") > 2 else {"none", "none, first person"}


def _needs_of_event(needs: set[str], opening: str, values: dict[str, str]) -> set[str]:
    """Returns what bodies may need that continue what an opening tells of its thing or animal: `object, lost`."""
    first_person = any(need.endswith("first person") for need in needs)
    for kind in ("object", "animal"):
        if any(need.startswith(kind) for need in needs) and (kind == "object" or values[kind] in vocabulary.everything("critter")):
            event = events.event_of(kind, re.sub(rf"\b{re.escape(values[kind])}\b", "THING", opening))
            told = {event, events.ALSO.get(event, event)}
            return {f"{kind}, {event}, first person" if first_person else f"{kind}, {event}" for event in told}
    return set()


def _kinds_of_thing(named: set[str], values: dict[str, str]) -> set[str]:
    """Returns what bodies may need to continue an opening with a thing or an animal; nothing if it has neither."""
    if "object" in named:
        kinds = {f"object of the {mentioned.class_of(values['object'])}"}
        if values["object"] in mentioned.small_objects():
            return kinds | {"small object"}
        return kinds | {"large object"} if values["object"] in mentioned.landmarks() else kinds
    if "animal" in named:
        return {"animal", "land animal"} if values["animal"] in mentioned.walkers() else {"animal"}
    return set()


def _kind_of_letter(opening: str) -> str:
    """Returns what the continuation of a letter needs, by the person whom it addresses."""
    if re.match(r"Dear (all|customers?|passengers?|guests?|parents|neighbors|residents|members|visitors|students|friends of)\b", opening):
        return "customer letter"
    return "formal letter" if re.match(r"Dear (Sir|Madam|editor|director|manager|mayor|Mayor)\b", opening) else "letter"


#: What a thing is for, by the place where it is found.
