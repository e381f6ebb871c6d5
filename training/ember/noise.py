"""Makes questions look typed: lower case or capitals, missing punctuation and small words, spelling of text messages, typing errors."""

import re
from functools import cache

from . import seeds
from .draw import Draw

_SHORT_FORMS = (
    (r"\bwhat is\b", "whats"), (r"\bWhat is\b", "what's"), (r"\bwho is\b", "whos"), (r"\byou\b", "u"), (r"\byour\b", "ur"),
    (r"\bplease\b", "pls"), (r"\bplease\b", "plz"), (r"\bthanks\b", "thx"), (r"\bI am\b", "im"), (r"\bi am\b", "im"),
    (r"\bare\b", "r"),
    (r"\bdo not\b", "dont"), (r"\band\b", "n"), (r"\bthe color\b", "the colour"), (r"\bfavorite\b", "favourite"),
    (r"\bwhat\b", "wat"),
    (r"\bbecause\b", "cuz"), (r"\btell me\b", "tell me pls"), (r"\bgive me\b", "gimme"),
)
#: Words that are often mistyped, and how.
_MISTYPED = {
    "the": ("teh", "th", "hte"), "what": ("waht", "wht", "whta", "wat"), "capital": ("captial", "capitol", "capitel"),
    "which": ("wich", "whitch"), "how": ("hwo", "hw"), "many": ("mny", "manny"), "does": ("dose", "dos", "deos"),
    "tell": ("tel", "tlel"), "joke": ("jok", "joek", "jokke"), "write": ("wirte", "rite", "writ"), "is": ("si", "iz"),
    "have": ("hav", "ahve"), "name": ("nmae", "naem"), "animal": ("animl", "anmial", "aminal"), "color": ("colr", "coler"),
    "story": ("stroy", "stori"), "please": ("plese", "pleas"), "you": ("yuo", "yu"), "who": ("hwo", "woh"), "can": ("cna", "cann"),
    "are": ("aer", "ar"), "give": ("giv", "gvie"), "explain": ("explane", "expalin"), "bigger": ("biger", "biggr"),
    "because": ("becuase", "becaus"), "opposite": ("oposite", "opposit"), "country": ("contry", "coutnry"),
    "haiku": ("hiaku", "haikoo"), "poem": ("peom", "pome"), "about": ("abuot", "abot"), "where": ("wher", "were"),
    "weather": ("wether", "wheather"), "repeat": ("repaet", "repeet"), "hello": ("helo", "hllo"), "plus": ("pluss", "plsu"),
    "minus": ("mins", "minuss"), "times": ("tiems", "tims"), "list": ("lsit", "lst"), "three": ("thre", "threee"),
    "favorite": ("favorit", "favourit"), "good": ("godo", "gud"), "morning": ("mornin", "moring"), "today": ("tody", "todya"),
    "when": ("wen", "whne", "wehn"), "why": ("wy", "whyy", "whi"), "year": ("yaer", "yer", "yeer"), "month": ("monht", "mounth", "monthe"),
    "letter": ("leter", "lettre", "lettar"), "letters": ("leters", "lettres", "letturs"), "word": ("wrod", "wurd", "werd"),
    "between": ("betwen", "bitween", "beetween"), "difference": ("diference", "differance", "diffrence"), "number": ("numbr", "numer", "nubmer"),
    "people": ("poeple", "peple", "peopel"), "sentence": ("sentance", "sentense", "setence"), "smaller": ("smaler", "smallr"),
    "their": ("thier", "thair"), "friend": ("freind", "frend"), "from": ("form", "fron", "frm"), "with": ("wiht", "wth", "whit"),
    "this": ("tihs", "thsi", "ths"), "that": ("taht", "tath", "tht"), "true": ("treu", "ture", "tru"), "really": ("realy", "relly", "reely"),
    "should": ("shoud", "shuld", "sould"), "would": ("woud", "wuold", "wold"), "could": ("coud", "culd", "cuold"), "know": ("konw", "kno", "nkow"),
    "something": ("somthing", "somethin", "sumthing"), "make": ("mkae", "maek", "mak"), "made": ("mdae", "maed"), "live": ("lvie", "liv"),
    "called": ("caled", "calld", "cald"), "means": ("meens", "menas"), "question": ("qestion", "questoin", "kwestion"), "answer": ("anser", "awnser", "answr"),
    "spell": ("spel", "sepll", "spll"), "count": ("cuont", "cout", "conut"), "rhymes": ("rymes", "rhimes", "rhyms"), "first": ("frist", "firts", "furst"),
    "second": ("secnd", "secound", "sceond"), "biggest": ("bigest", "biggst"), "largest": ("larges", "largset"), "language": ("langauge", "languge", "langwich"),
    "different": ("diferent", "diffrent", "differnt"), "used": ("usd", "uesd"), "people's": ("peoples",), "there": ("ther", "theer", "tehre"),
    "use": ("ues", "yuse"), "want": ("wnat", "wantt"), "need": ("nede", "nead"), "help": ("hlep", "hepl"), "than": ("then", "tahn"),
}
#: How words are spelled in text messages.
_MESSAGE = {
    "you": ("u", "ya"), "your": ("ur", "yr"), "you are": ("ur", "u r"), "are": ("r",), "please": ("pls", "plz", "plss"), "thanks": ("thx", "tnx"),
    "thank you": ("ty", "thx"), "what": ("wat", "wut", "wht"), "what is": ("whats", "wats", "wuts"), "what are": ("wat r",), "who is": ("whos",), "where is": ("wheres",),
    "how is": ("hows",), "because": ("cuz", "bc", "coz"), "and": ("n", "an", "&"), "the": ("da", "th", "teh"), "with": ("w", "wit", "wid"), "people": ("ppl",),
    "about": ("abt", "bout"), "know": ("kno",), "have": ("hav", "hv"), "can you": ("can u", "cn u"), "do you": ("do u", "d u"), "good": ("gd", "gud"),
    "something": ("smth", "sumthin"), "really": ("rly", "rlly"), "this": ("dis", "ths"), "that": ("dat", "tht"), "when": ("wen",), "where": ("whr", "wer"),
    "how": ("hw",), "love": ("luv",), "night": ("nite",), "right": ("rite",), "like": ("lik",), "little": ("lil",), "want to": ("wanna",), "going to": ("gonna",),
    "give me": ("gimme",), "let me": ("lemme",), "kind of": ("kinda",), "do not": ("dont",), "I am": ("im",), "i am": ("im",), "is not": ("isnt", "aint"),
    "number": ("num", "nr"), "from": ("frm",), "should": ("shud",), "would": ("wud",), "could": ("cud",), "morning": ("mornin",), "ok": ("k", "kk"),
    "tell me": ("tel me", "tell meh"), "explain": ("xplain",), "which": ("wich", "whch"), "just": ("jus", "jst"), "does": ("dus", "duz"), "think": ("thnk", "tink"),
    "there": ("ther",), "them": ("em",), "some": ("sum",), "friend": ("frnd",), "friends": ("frnds",), "is it": ("izit", "is it"), "much": ("mch",), "many": ("mny",),
    "difference": ("diff",), "favorite": ("fav", "fave"), "picture": ("pic",), "minutes": ("mins",), "seconds": ("secs",), "kilometers": ("km",), "nothing": ("nuthin",),
    "color": ("colr", "kolor"), "question": ("qn", "ques"), "problem": ("prob",), "answer": ("ans",), "animal": ("animl",), "capital": ("captl", "cap"),
}
#: Spellings of text messages with digits, which would mislead where there are numbers.
_MESSAGE_WITH_DIGITS = {"to": ("2",), "too": ("2",), "for": ("4",), "before": ("b4",), "great": ("gr8",), "today": ("2day",), "tomorrow": ("2moro", "tmrw"),
    "someone": ("sum1",), "wait": ("w8",), "late": ("l8",)}
_A_NUMBER = re.compile(r"\d|\b(zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|count|number|times)\b", re.IGNORECASE)
_NEIGHBORS = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo", "j": "hk", "k": "jl",
    "l": "k", "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "w", "r": "et", "s": "ad", "t": "ry", "u": "yi", "v": "cb",
    "w": "qe", "x": "zc", "y": "tu", "z": "x",
}
_GREETINGS = ("hi, ", "hey, ", "hello, ", "ok, ", "ember, ", "hi ember, ", "so, ", "well, ", "and now, ", "hey ember ", "ok ",
    "um, ")
_ENDINGS = (" please", " pls", ", please", " ok?", " thanks", " thank you", "??", "!", "...", " ?", " plz", " please!", "???", "?!", "!!", " :)", " lol", " thx", " pleeease", " haha", "..?",
    " asap", " tho", " ;)", " !!!", " hm?", " now", ", quick")
#: Words that people stretch in writing.
_STRETCHED = re.compile(r"\b(so|why|hi|hey|hello|please|thanks|no|yes|ok|cool|wow|really|love|bored|sad|happy|funny|good|bye|nice|very|help|what|who|ember|great|tired|hungry)\b", re.IGNORECASE)


def noisy(draw: Draw, text: str, protected: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> str:
    """Returns `text` as somebody might type it.

    `protected` parts stay unchanged; `names` may lose their capitals only.
    """
    style = draw.rng.random()
    if style < 0.25 or "\n" in text:
        return text
    pieces = _pieces(text, (*protected, *names))
    if style < 0.75:
        pieces = [(piece if safe and piece not in names else piece.lower(), safe) for piece, safe in pieces]
    form = draw.rng.choices(("none", "capitals", "message", "errors", "missing"), (50, 10, 12, 22, 6))[0]
    # A letter that is asked about must not be one of a text message.
    if form == "message" and any(len(part) == 1 for part in protected):
        form = "errors"
    pieces = _in_form(draw, pieces, form, text, names)
    if draw.chance(0.05):
        pieces = [(piece if safe else _STRETCHED.sub(lambda match: match.group() + match.group()[-1] * draw.number(1, 4), piece, count=1), safe) for piece, safe in pieces]
    if draw.chance(0.02):
        pieces = [(piece if safe else piece.replace(*draw.choice(((" ", "  "), (", ", ","), (", ", " "), (" ", ", "))), 1), safe) for piece, safe in pieces]
    if draw.chance(0.35):
        pieces = [(piece if safe else piece.replace("'", ""), safe) for piece, safe in pieces]
    if draw.chance(0.85 if form == "message" else 0.5) and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0].rstrip("?.! "), False)
    noised = "".join(piece for piece, _ in pieces)
    # A message that consists of punctuation keeps it.
    if not noised.strip():
        return text
    # Nothing is appended to a part that must be copied.
    if draw.chance(0.07) and not pieces[-1][1] and not noised.endswith(("'", '"')):
        noised += draw.choice(_ENDINGS)
    if draw.chance(0.06):
        noised = draw.choice(_GREETINGS) + noised
    return noised


def sloppy(draw: Draw, text: str, protected: tuple[str, ...] = ()) -> str:
    """Returns `text` as somebody types it in a hurry: always in capitals, as a text message, with typing errors, or without small words."""
    form = draw.rng.choices(("capitals", "message", "errors", "missing"), (25, 30, 40, 10))[0]
    text = text if draw.chance(0.1) else text.lower()
    pieces = _in_form(draw, _pieces(text, tuple(part.lower() for part in protected)), form, text, ())
    typed = "".join(piece for piece, _ in pieces)
    return typed.rstrip("?.! ") if draw.chance(0.5) else typed


def misspelled_content(draw: Draw, text: str, protected: tuple[str, ...] = ()) -> str:
    """Returns `text` with typing errors in most of its longer words that questions of other contents do not share."""

    def typed(match: re.Match) -> str:
        word = match.group()
        shared = word.lower() in _MISTYPED or word.lower() in _SMALL_WORDS
        return word if shared or draw.chance(0.2) else _slip(draw, word)

    pieces = _pieces(text, protected)
    return "".join(piece if safe else re.sub(r"[A-Za-z]{4,}", typed, piece) for piece, safe in pieces)


def _in_form(draw: Draw, pieces: list[tuple[str, bool]], form: str, text: str, names: tuple[str, ...]) -> list[tuple[str, bool]]:
    """The pieces of `text` in one form of noise."""
    if form == "capitals":
        loud = draw.chance(0.7)
        pieces = [(piece.upper() if not safe or loud and piece.capitalize() in names else piece, safe) for piece, safe in pieces]
        return _slipping(draw, pieces, 1) if draw.chance(0.25) else pieces
    if form == "message":
        share, digits = draw.choice((0.5, 0.8, 1.0)), not _A_NUMBER.search(text)
        pieces = [(piece if safe else _as_message(draw, piece, share, digits), safe) for piece, safe in pieces]
        if draw.chance(0.3):
            pieces = _slipping(draw, pieces, 1)
        return _without_small_words(draw, pieces) if draw.chance(0.3) else pieces
    if form == "errors":
        share = draw.choice((0.1, 0.2, 0.5, 0.9))
        pieces = [(piece if safe else _mistyped(draw, piece, share), safe) for piece, safe in pieces]
        return _slipping(draw, pieces, draw.rng.choices((0, 1, 2, 3, 4), (2, 5, 4, 2, 1))[0])
    if form == "missing":
        pieces = _without_small_words(draw, pieces)
        return _slipping(draw, pieces, 1) if draw.chance(0.3) else pieces
    if draw.chance(0.12):
        old, new = draw.choice(_SHORT_FORMS)
        return [(piece if safe else re.sub(old, new, piece), safe) for piece, safe in pieces]
    return pieces


def _slipping(draw: Draw, pieces: list[tuple[str, bool]], count: int) -> list[tuple[str, bool]]:
    """The pieces with so many typing errors, each in one that may have them."""
    for _ in range(count):
        free = [at for at, (piece, safe) in enumerate(pieces) if not safe and len(piece) > 3]
        if free:
            at = draw.rng.choices(free, [len(pieces[at][0]) for at in free])[0]
            pieces = [*pieces[:at], (_slip(draw, pieces[at][0], 3), False), *pieces[at + 1 :]]
    return pieces


def _as_message(draw: Draw, text: str, share: float, digits: bool) -> str:
    """Returns `text` in the spelling of text messages, with digits for sounds if these mislead nobody."""
    known = _MESSAGE | _MESSAGE_WITH_DIGITS if digits and draw.chance(0.5) else _MESSAGE

    def typed(match: re.Match) -> str:
        return draw.choice(known[match.group().lower()]) if draw.chance(share) else match.group()

    words = sorted((word.lower() for word in known), key=len, reverse=True)
    return re.sub(rf"\b({'|'.join(words)})\b(?!')", typed, text, flags=re.IGNORECASE)


#: An article that belongs to a noun: no letter, and no part of `a to z`.
_ARTICLES = re.compile(r"\b(the|a|an) (?!(to|or|and|in|is|are|at|of|for|word)\b)(?=[A-Za-z])", re.IGNORECASE)
_AUXILIARIES = re.compile(r"\b(is|are|does|do) (?!not\b)(?=\w)", re.IGNORECASE)


def _without_small_words(draw: Draw, pieces: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """The pieces without most articles, and mostly without an auxiliary verb, as learners of English write."""
    pieces = [(piece if safe else _ARTICLES.sub(lambda match: "" if draw.chance(0.85) else match.group(), piece), safe) for piece, safe in pieces]
    if draw.chance(0.6):
        at = next((at for at, (piece, safe) in enumerate(pieces) if not safe and _AUXILIARIES.search(piece)), None)
        if at is not None:
            pieces[at] = (_AUXILIARIES.sub("", pieces[at][0], count=1), False)
    return pieces


def misspelled(draw: Draw, text: str, slips: int) -> str:
    """Returns `text` with most of the words that are often mistyped as people mistype them, and `slips` more typing errors."""
    text = _mistyped(draw, text, 0.8)
    for _ in range(slips):
        text = _slip(draw, text)
    return text


def misspelled_word(draw: Draw, word: str) -> str:
    """Returns `word` with one typing error, or two in a long one, if it is long enough for any."""
    for _ in range(1 + (len(word) > 6 and draw.chance(0.3))):
        word = _slip(draw, word)
    return word


def _pieces(text: str, protected: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Returns `text` in pieces, each with whether it is protected."""
    known = sorted({part for part in protected if part}, key=len, reverse=True)
    if not known:
        return [(text, False)]
    pattern = "(" + "|".join(rf"(?<!\w){re.escape(part)}(?!\w)" for part in known) + ")"
    return [(piece, piece in known) for piece in re.split(pattern, text) if piece] or [("", False)]


def _mistyped(draw: Draw, text: str, share: float) -> str:
    """Returns `text` with about this share of the words that are often mistyped as people mistype them."""

    def typed(match: re.Match) -> str:
        known = _MISTYPED.get(match.group().lower()) or _misspellings(match.group().lower())
        return draw.choice(known) if known and draw.chance(share) else match.group()

    return re.sub(r"[A-Za-z]+", typed, text)


@cache
def _misspelled_nouns() -> dict[str, tuple[str, ...]]:
    return {row["word"]: tuple(row["spellings"].split(", ")) for row in seeds.words("misspelled")}


def _misspellings(word: str) -> tuple[str, ...]:
    """How people misspell a common noun, or its plural."""
    known = _misspelled_nouns()
    if word in known or not word.endswith("s"):
        return known.get(word, ())
    return tuple(f"{spelling}s" for spelling in known.get(word[:-1], ()))


#: What no typing error may produce.
_RUDE = re.compile(r"cunt|shit|fuck|dick|cock|slut|tits|\bass\b|rape|whore|piss|nig|fag|cum\b|porn|sex|bug+[aeiu]r|bitch|anal\b|tit\b|\bcraps?\b")


@cache
def _words() -> frozenset[str]:
    """English words, which no typing error may produce: it would mean something else."""
    found = {word for story in seeds.stories() for word in re.findall(r"[a-z]{2,}", story.text.lower())}
    for name in ("animals", "capitals", "classes_of_things", "colors", "foods", "opposites", "rhymes", "tools", "units"):
        found |= {word for row in seeds.facts(name) for value in row.values() for word in re.findall(r"[a-z]{2,}", value.lower())}
    return frozenset(found | set(seeds.plain_words()))


def _slip(draw: Draw, text: str, shortest: int = 4) -> str:
    """Returns `text` with a typing error in one of its longer words, never in a number, and never a rude or another known word."""
    if shortest < 4 and draw.chance(0.12):
        return _spaced(draw, text)
    for _ in range(4):
        slipped = _slipped(draw, text, shortest)
        new = set(re.findall(r"[a-z]+", slipped.lower())) - set(re.findall(r"[a-z]+", text.lower()))
        if not {word.removesuffix("s") for word in new} & _words() and not new & _words() and len(_RUDE.findall(slipped)) <= len(_RUDE.findall(text)):
            return slipped
    return text


def _spaced(draw: Draw, text: str) -> str:
    """Returns `text` with a small word joined to the one before or after, or with a long word in two parts."""
    if draw.chance(0.75):
        joints = list(re.finditer(r"(?<=\b(?:is|of|to|in|it|do|me)) (?=[A-Za-z]{2})|(?<=\b(?:the|how|are|can|you)) (?=[A-Za-z]{2})|(?<=[A-Za-z]{3}) (?=(?:is|of|the|are|to|do)\b)",
            text, re.IGNORECASE))
        if not joints:
            return text
        joint = draw.choice(joints)
        return text[: joint.start()] + text[joint.end() :]
    words = list(re.finditer(r"[A-Za-z]{6,}", text))
    if not words:
        return text
    word = draw.choice(words)
    at = word.start() + draw.number(3, len(word.group()) - 3)
    return f"{text[:at]} {text[at:]}"


#: Spellings that sound alike, or nearly.
_ALIKE = (
    ("ph", "f"), ("ck", "k"), ("ee", "ea"), ("ea", "ee"), ("ie", "ei"), ("ei", "ie"), ("gh", "g"), ("gh", ""), ("wh", "w"), ("kn", "n"),
    ("wr", "r"), ("ou", "u"), ("oo", "u"), ("ai", "a"), ("ay", "ai"), ("oa", "o"), ("tion", "shun"), ("sion", "tion"), ("er", "ar"),
    ("ar", "er"), ("or", "er"), ("le", "el"), ("qu", "kw"), ("x", "ks"), ("z", "s"), ("s", "z"), ("c", "k"), ("c", "s"), ("k", "c"),
    ("y", "i"), ("i", "y"), ("e", "a"), ("a", "e"), ("i", "e"), ("e", "i"), ("u", "o"), ("o", "u"), ("j", "g"), ("g", "j"), ("v", "w"),
)


def _by_sound(draw: Draw, word: str) -> str:
    """Returns `word` spelled by its sound: a double letter single, a silent vowel left out, or another spelling of a sound."""
    ways = [word[:match.start()] + match[1] + word[match.end():] for match in re.finditer(r"(\w)\1", word)] * 3
    ways += [word[:-1]] if word.endswith("e") else []
    for old, new in _ALIKE:
        at = word.find(old, 1)
        if at > 0:
            ways.append(word[:at] + new + word[at + len(old):])
    return draw.choice(ways) if ways else word


#: Small words whose typing errors say little.
_SMALL_WORDS = frozenset("then and the for you are not but one two six ten was has had".split())


def _slipped(draw: Draw, text: str, shortest: int) -> str:
    words = [match for match in re.finditer(rf"[A-Za-z]{{{shortest},}}", text) if match.group().lower() not in _SMALL_WORDS]
    if not words:
        return text
    # Words such as nouns, which differ from question to question, are mistyped more often than those of the question itself.
    match = draw.rng.choices(words, [1 if one.group().lower() in _MISTYPED else 2 for one in words])[0]
    word = _with_error(draw, match.group().lower() if match.group().isupper() else match.group())
    return text[: match.start()] + (word.upper() if match.group().isupper() else word) + text[match.end() :]


def _with_error(draw: Draw, word: str) -> str:
    """Returns `word` with letters swapped, left out, doubled, mistyped or added, or spelled by its sound; its first letter stays."""
    known = [spelling for spelling in _misspellings(word.lower()) if spelling[0] == word[0].lower()]
    if known and draw.chance(0.35):
        return word[0] + draw.choice(known)[1:]
    at = draw.number(1, len(word) - 2)
    what = draw.number(0, 8)
    if what > 5:
        return _by_sound(draw, word)
    if what == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if what == 1:
        return word[:at] + word[at + 1 :]
    if what == 2:
        return word[:at] + word[at] + word[at:]
    if what == 3:
        return word[:-1] if len(word) > 4 and draw.chance(0.5) else word + word[-1]
    letter = draw.choice(_NEIGHBORS[word[at].lower()])
    return word[:at] + letter + word[at + 1 :] if what == 4 else word[:at] + draw.choice((letter + word[at], word[at] + letter)) + word[at + 1 :]
