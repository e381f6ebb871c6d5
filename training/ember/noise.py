"""Makes questions look typed: lower case, missing punctuation, abbreviations, typing errors."""

import re

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
    "minus": ("mins", "minuss"), "times": ("tiems", "tims"), "list": ("lsit", "lst"), "three": ("thre", "tree"),
    "favorite": ("favorit", "favourit"), "good": ("godo", "gud"), "morning": ("mornin", "moring"), "today": ("tody", "todya"),
}
_NEIGHBORS = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo", "j": "hk", "k": "jl",
    "l": "k", "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "w", "r": "et", "s": "ad", "t": "ry", "u": "yi", "v": "cb",
    "w": "qe", "x": "zc", "y": "tu", "z": "x",
}
_GREETINGS = ("hi, ", "hey, ", "hello, ", "ok, ", "ember, ", "hi ember, ", "so, ", "well, ", "and now, ", "hey ember ", "ok ",
    "um, ")
_ENDINGS = (" please", " pls", ", please", " ok?", " thanks", " thank you", "??", "!", "...", " ?", " plz", " please!")


def noisy(draw: Draw, text: str, protected: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> str:
    """Returns `text` as somebody might type it.

    `protected` parts stay unchanged; `names` may lose their capitals only.
    """
    style = draw.rng.random()
    if style < 0.3 or "\n" in text:
        return text
    pieces = _pieces(text, (*protected, *names))
    if style < 0.75:
        pieces = [(piece if safe and piece not in names else piece.lower(), safe) for piece, safe in pieces]
    if draw.chance(0.12):
        old, new = draw.choice(_SHORT_FORMS)
        pieces = [(piece if safe else re.sub(old, new, piece), safe) for piece, safe in pieces]
    if draw.chance(0.35):
        share = draw.choice((0.2, 0.5, 0.9))
        pieces = [(piece if safe else _mistyped(draw, piece, share), safe) for piece, safe in pieces]
        for _ in range(draw.rng.choices((0, 1, 2, 3), (3, 5, 3, 2))[0]):
            pieces = [(piece if safe else _slip(draw, piece), safe) for piece, safe in pieces]
    elif draw.chance(0.06):
        pieces = [(piece if safe else piece.upper(), safe) for piece, safe in pieces]
    if draw.chance(0.3):
        pieces = [(piece if safe else piece.replace("'", ""), safe) for piece, safe in pieces]
    if draw.chance(0.5) and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0].rstrip("?.! "), False)
    noised = "".join(piece for piece, _ in pieces)
    # A message that consists of punctuation keeps it.
    if not noised.strip():
        return text
    # Nothing is appended to a part that must be copied.
    if draw.chance(0.06) and not pieces[-1][1] and not noised.endswith(("'", '"')):
        noised += draw.choice(_ENDINGS)
    if draw.chance(0.06):
        noised = draw.choice(_GREETINGS) + noised
    return noised


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
        known = _MISTYPED.get(match.group().lower())
        return draw.choice(known) if known and draw.chance(share) else match.group()

    return re.sub(r"[A-Za-z]+", typed, text)


#: What no typing error may produce.
_RUDE = re.compile(r"cunt|shit|fuck|dick|cock|slut|tits|\bass\b|rape|whore|piss|nig|fag|cum\b|porn|sex|\bcraps?\b")


def _slip(draw: Draw, text: str) -> str:
    """Returns `text` with a typing error in one of its longer words, never in a number, and never a rude word."""
    slipped = _slipped(draw, text)
    return text if len(_RUDE.findall(slipped)) > len(_RUDE.findall(text)) else slipped


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


def _slipped(draw: Draw, text: str) -> str:
    words = [match for match in re.finditer(r"[A-Za-z]{4,}", text) if match.group().lower() != "then"]
    if not words:
        return text
    match = draw.choice(words)
    word = match.group()
    at = draw.number(1, len(word) - 2)
    what = draw.number(0, 5)
    if what > 3:
        word = _by_sound(draw, word)
    elif what == 0:
        word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    elif what == 1:
        word = word[:at] + word[at + 1 :]
    elif what == 2:
        word = word[:at] + word[at] + word[at:]
    else:
        word = word[:at] + draw.choice(_NEIGHBORS[word[at].lower()]) + word[at + 1 :]
    return text[: match.start()] + word + text[match.end() :]
