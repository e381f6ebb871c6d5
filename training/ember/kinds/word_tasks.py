"""Tasks on given words: repeating, upper case, spelling, reversing, letters, forms of verbs and adjectives."""

from .. import seeds, vocabulary
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, irregular_nouns, listed, number_word, plural, verdict, with_article
from . import facts_stated, word_drills, word_finding
from .facts_asking import asked
from .random_words import any_name, full_name, random_code, rare_word
from .word_sentences import claimed_form, with_words


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("words", _MAKERS)
    return kind, maker(draw)


def _text(draw: Draw, longest: int = 4) -> str:
    """A word or a few, such as `the red kettle`."""
    form = draw.number(1, 7)
    if form <= 2 or longest == 1:
        return _word(draw)
    if form == 3:
        return " ".join(_word(draw) for _ in range(draw.number(2, longest)))
    return fill(draw, draw.choice(_PHRASES), {})


def _word(draw: Draw) -> str:
    """A word of any kind: a common one, one that is less common, or one that no list contains."""
    return rare_word(draw) if draw.chance(0.35) else draw.word(draw.choice(("word", "any")))


def _words(draw: Draw, count: int) -> list[str]:
    """Distinct words without spaces."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[_word(draw).lower()] = None
    return list(found)


_PHRASES = [
    "the {color} {object}", "a {adjective} {animal}", "my {object}", "good morning", "the {animal} sleeps", "see you on {day}",
    "hello {name}", "{name} and {name2}", "two {animals}", "i like {foods}",
    "we meet {where}", "the {object} is {color}", "please bring a {object}", "open the door", "no {foods} today",
    "{name} is here", "a {object} and a {object2}", "welcome to {city}", "it is {day}", "happy birthday {name}",
    "the {animal} and the {animal2}", "where is the {object}", "never give up", "thank you {name}", "the {job} is late",
]

_QUOTES = ["{t}", "{t}", "{t}", '"{t}"', '"{t}"', "'{t}'"]


def _quoted(draw: Draw, text: str) -> str:
    return draw.choice(_QUOTES).format(t=text)


def say(draw: Draw) -> list[Turn]:
    """Repeats a text, once or several times."""
    text = _text(draw)
    if draw.chance(0.6):
        question = asked(draw, ["say {t}", "Say {t}", "repeat {t}", "repeat after me: {t}", "say this: {t}", "please say {t}",
            "write {t}", "echo {t}", "repeat this: {t}", "can you say {t}", "just say {t}", "type {t}", "say the words: {t}",
            "print {t}", "copy this: {t}", "reply with {t}", "answer only with {t}", "write exactly: {t}"], t=_quoted(draw, text))
        turns = [Turn(question, text, (text,))]
        if draw.chance(0.2):
            turns.append(Turn(asked(draw, ["again", "once more", "again please", "and again", "one more time"]), text))
        if draw.chance(0.2):
            turns.append(Turn(asked(draw, ["now in upper case", "in capitals", "and in upper case", "all caps"]), text.upper()))
        return turns
    count = draw.number(2, 6)
    text = _word(draw) if draw.chance(0.7) else _text(draw, 2)
    shown = draw.choice((str(count), number_word(count)))
    times = f"{shown} times" if not (count == 2 and draw.chance(0.5)) else "twice"
    comma = draw.chance(0.15)
    question = asked(draw, ["say {t} {n}", "repeat {t} {n}", "write {t} {n}", "Repeat the word {t} {n}.", "please repeat {t} {n}",
        "can you say {t} {n}", "{t}, {n} please", "give me {t} {n}"], t=_quoted(draw, text), n=times)
    return [Turn(question + (", with commas" if comma else ""), (", " if comma else " ").join([text] * count), (text,))]


def case(draw: Draw) -> list[Turn]:
    """Upper case, lower case, capitals at the start."""
    text = _text(draw)
    form = draw.rng.choices(("upper", "lower", "title", "first"), (6, 3, 1, 1))[0]
    turns = [_cased(draw, text, form)]
    if draw.chance(0.25):
        text = _text(draw)
        given = text.upper() if form == "lower" else text
        turns.append(Turn(asked(draw, ["and {t}", "now {t}", "the same with {t}", "and this: {t}", "{t} too"], t=given),
            _in_case(text, form), (given,)))
    elif draw.chance(0.15) and form == "upper":
        turns.append(Turn(asked(draw, ["now in lower case", "back to lower case", "and lower case?"]), text.lower()))
    return turns


def _in_case(text: str, form: str) -> str:
    return {"upper": text.upper(), "lower": text.lower(), "title": " ".join(map(capitalized, text.split())),
        "first": capitalized(text)}[form]


def _cased(draw: Draw, text: str, form: str) -> Turn:
    given = text.upper() if form == "lower" else text.lower() if form in ("title", "first") else text
    wordings = {
        "upper": ["upper case: {t}", "write {t} in upper case", "put {t} in capital letters", "make this upper case: {t}",
        "{t} in uppercase please", "Write this in capitals: {t}", "convert to upper case: {t}", "turn {t} into capitals",
        "can you write {t} in all caps", "uppercase {t}", "shout {t}", "make {t} all caps"],
        "lower": ["lower case: {t}", "write {t} in lower case", "make this lower case: {t}", "{t} in lowercase please",
        "convert to lower case: {t}", "put {t} in small letters", "lowercase {t}"],
        "title": ["start each word with a capital: {t}", "title case: {t}", "write {t} as a title", "capitalize every word: {t}"],
        "first": ["start with a capital: {t}", "capitalize the first letter of {t}", "make the first letter big: {t}"],
    }[form]
    return Turn(asked(draw, wordings, t=_quoted(draw, given)), _in_case(text, form), (given,))


def spell(draw: Draw) -> list[Turn]:
    """Spells words, forward and backward."""
    word = _word(draw)
    backward = draw.chance(0.15)
    wordings = ["spell {t} backward", "spell {t} backwards", "Spell the word {t} backward.", "how do you spell {t} backward",
        "spell {t} from the end"] if backward else ["spell {t}", "Spell {t}.", "how do you spell {t}", "How is {t} spelled?",
        "spell the word {t}", "can you spell {t}", "please spell {t}", "how do i spell {t}", "the letters of {t}?",
        "{t}, spelled letter by letter", "spelling of {t}"]
    turns = [Turn(asked(draw, wordings, t=_quoted(draw, word)), spelled(word, backward), (word,))]
    while draw.chance(0.3) and len(turns) < 4:
        if draw.chance(0.3) and "letters." not in turns[-1].answer:
            turns.append(Turn(asked(draw, ["how many letters is that", "how many letters?", "count the letters"]),
                letter_answer(word, "count")))
        else:
            word = _word(draw)
            turns.append(Turn(asked(draw, ["and {t}", "now {t}", "and {t}?", "what about {t}", "next: {t}"], t=word),
                spelled(word, backward), (word,)))
    return turns


def spelled(word: str, backward: bool = False) -> str:
    """Returns the letters of a word with dashes, from the end if `backward`."""
    return "-".join(reversed(word.upper()) if backward else word.upper())


def reverse(draw: Draw) -> list[Turn]:
    """Reverses words letter by letter, or the order of words."""
    if draw.chance(0.6):
        word = _word(draw)
        return [Turn(asked(draw, ["reverse {t}", "Reverse the word {t}.", "write {t} backwards", "{t} backward",
            "what is {t} backwards", "turn {t} around", "reverse the letters of {t}", "mirror the word {t}"],
            t=_quoted(draw, word)), word[::-1], (word,))]
    words = _words(draw, draw.number(2, 4))
    return [Turn(asked(draw, ["reverse the order of the words: {t}", "put these words in reverse order: {t}",
        "write these words in the opposite order: {t}", "last word first: {t}"], t=" ".join(words)), " ".join(reversed(words)),
        (" ".join(words),))]


def letters(draw: Draw) -> list[Turn]:
    """First and last letters, and how many there are."""
    word = _word(draw)
    asked_first = draw.choice(("first", "last", "count", "count"))
    turns = [_letter_turn(draw, word, asked_first)]
    if draw.chance(0.3):
        form = draw.choice([form for form in ("first", "last", "count") if form != asked_first])
        turns.append(Turn(*_letter_follow_up(draw, word, form)))
    if draw.chance(0.15):
        letter = draw.choice(word) if draw.chance(0.5) else draw.choice("abcdefghijklmnoprstuvw")
        said = f"the letters of {word} are {spelled(word)}"
        return [Turn(asked(draw, ["is there an {l} in {t}", "does {t} contain the letter {l}", "is the letter {l} in {t}?"],
            t=word, l=letter), verdict(said, letter in word), (word, letter))]
    return turns


def letter_answer(word: str, form: str) -> str:
    """Returns what is said about the `first` or `last` letter of a word, or about their number (`count`)."""
    if form == "count":
        # The letters precede their number, which depends on them.
        return f"{spelled(word)} has {len(word)} letters."
    return f"The {form} letter of {word} is {(word[0] if form == 'first' else word[-1]).upper()}."


def _letter_turn(draw: Draw, word: str, form: str) -> Turn:
    wordings = {
        "first": ["first letter of {t}", "what is the first letter of {t}", "What letter does {t} start with?",
        "which letter begins {t}", "with what letter does {t} begin"],
        "last": ["last letter of {t}", "what is the last letter of {t}", "What letter does {t} end with?",
        "which letter ends {t}"],
        "count": ["how many letters does {t} have", "How many letters are in {t}?", "count the letters in {t}", "letters in {t}?",
        "how long is the word {t}", "number of letters in {t}", "how many letters has the word {t}"],
    }[form]
    return Turn(asked(draw, wordings, t=_quoted(draw, word)), letter_answer(word, form), (word,))


def _letter_follow_up(draw: Draw, word: str, form: str) -> tuple[str, str]:
    wordings = {"first": ["and the first?", "and the first letter", "the first one?"],
        "last": ["and the last?", "and the last letter", "the last one?"],
        "count": ["and how many letters", "how many letters is it", "and its length?"]}[form]
    return asked(draw, wordings), letter_answer(word, form)


def forms(draw: Draw) -> list[Turn]:
    """Plurals, past tenses, comparatives."""
    form = draw.choice(("plural", "past", "past", "participle", "comparative", "superlative"))
    word, answer = _form(draw, form)
    turns = [Turn(asked(draw, _FORM_QUESTIONS[form], t=word), answer, (word,))]
    while draw.chance(0.3) and len(turns) < 4:
        word, answer = _form(draw, form)
        turns.append(Turn(asked(draw, ["and {t}", "and of {t}?", "what about {t}", "and {t}?", "now {t}"], t=word), answer,
            (word,)))
    return turns


_FORM_QUESTIONS = {
    "plural": ["plural of {t}", "what is the plural of {t}", "What is the plural of {t}?", "more than one {t} is called",
    "one {t}, two what", "{t} in the plural", "give me the plural of {t}", "plural form of {t}", "plural: {t}", "whats the plural of {t}",
    "how do i say more than one {t}", "many {t}, what is the right form?", "i have one {t}, you have two ...", "what do you call two of them: {t}", "tell me the plural of {t}", "{t}, plural?"],
    "past": ["past tense of {t}", "what is the past tense of {t}", "What is the past of {t}?", "past of {t}",
    "{t} in the past tense", "put {t} in the past", "past tense: {t}", "whats the past of {t}", "the past form of {t}", "today i {t}, yesterday i ...",
    "how do you say {t} in the past", "past of the verb {t}?", "give me the past tense of {t}", "{t}, past tense?", "simple past of {t}", "tell me the past tense of {t}"],
    "participle": ["past participle of {t}", "what is the past participle of {t}", "the participle of {t}?", "i have ... ({t})", "participle: {t}", "give me the past participle of {t}", "have plus {t}, which form?"],
    "comparative": ["comparative of {t}", "what is the comparative of {t}", "more {t} is called what",
    "comparative: {t}", "whats the comparative of {t}", "give me the comparative of {t}", "how do i say more {t}"],
    "superlative": ["superlative of {t}", "what is the superlative of {t}", "the most {t} is called what", "superlative: {t}", "whats the superlative of {t}", "give me the superlative of {t}"],
}


def _form(draw: Draw, form: str) -> tuple[str, str]:
    if form == "plural":
        word = draw.choice(irregular_nouns()) if draw.chance(0.4) else draw.word(draw.choice(("animal", "object")))
        return word, f"The plural of {word} is {plural(word)}."
    if form in ("past", "participle"):
        row = draw.familiar(seeds.words("verbs"))
        name = "past tense" if form == "past" else "past participle"
        return row["verb"], f"The {name} of {row['verb']} is {row['past' if form == 'past' else 'participle']}."
    row = draw.choice([row for row in seeds.words("adjectives") if row["comparative"] not in ("-", "")])
    return row["adjective"], f"The {form} of {row['adjective']} is {row[form]}."


def sorting(draw: Draw) -> list[Turn]:
    """Alphabetical order, and picking one of several."""
    words = _words(draw, draw.choice((2, 2, 3, 4, 5)))
    form = draw.number(0, 4) if len(words) > 2 else 4
    shown = ", ".join(words)
    if form <= 1:
        return [Turn(asked(draw, ["sort alphabetically: {t}", "put these in alphabetical order: {t}",
            "alphabetical order please: {t}", "sort these words: {t}", "sort from a to z: {t}"], t=shown),
            ", ".join(sorted(words)), tuple(words))]
    at = draw.number(0, len(words) - 1)
    ordinal = ("first", "second", "third", "fourth", "fifth")[at]
    if form == 2:
        turns = [Turn(asked(draw, ["what is the {o} word: {t}", "which is the {o} of these: {t}", "{t}. which one is {o}?",
            "take the {o} word of {t}"], t=shown, o=ordinal), words[at], tuple(words))]
        other = draw.choice([index for index in range(len(words)) if index != at])
        if draw.chance(0.4):
            turns.append(Turn(asked(draw, ["and the {o}?", "and the {o} one", "the {o}?"],
                o=("first", "second", "third", "fourth", "fifth")[other]), words[other]))
        return turns
    if form == 3:
        return [Turn(asked(draw, ["how many words are this: {t}", "count the words: {t}", "how many words: {t}",
            "number of words in: {t}"], t=" ".join(words)), f"That is {number_word(len(words))} words.", tuple(words))]
    longest = max(words, key=len)
    if sum(len(word) == len(longest) for word in words) > 1:
        return [Turn(asked(draw, ["join these words with dashes: {t}", "put dashes between these words: {t}"], t=" ".join(words)),
            "-".join(words), tuple(words))]
    if len(words) == 2 and draw.chance(0.4):
        return [Turn(asked(draw, ["which word is shorter: {t}", "shorter word: {t}", "which one is shorter, {t}?",
            "which of these words is shorter: {t}"], t=listed(words, "or")), longer_answer(*words, "shorter"), tuple(words))]
    if len(words) == 2:
        return [Turn(asked(draw, ["which word is longer: {t}", "longer word: {t}", "which one is longer, {t}?",
            "which of these words is longer: {t}", "{t}: which is the longer word"], t=listed(words, "or")), longer_answer(*words, "longer"), tuple(words))]
    return [Turn(asked(draw, ["which word is the longest: {t}", "longest word of {t}?", "find the longest word: {t}"], t=shown),
        longest, tuple(words))]


def longer_answer(first: str, second: str, form: str) -> str:
    """Returns which of two words of different lengths is `longer` or `shorter`, after their numbers of letters."""
    pick = (max if form == "longer" else min)((first, second), key=len)
    return f"{capitalized(first)} has {len(first)} letters and {second} has {len(second)}, so {pick} is {form}."


def replaced(draw: Draw) -> list[Turn]:
    """Replaces, adds and removes a word."""
    values: dict[str, str] = {}
    text = fill(draw, draw.choice(["the {animal} sits on the {object}", "{name} has a {color} {object}",
        "my {object} is {adjective}", "we saw a {animal} {where}", "the {job} bought a {object}", "a {animal} and a {animal2}",
        "{name} and {name2} went home"]), values)
    key = draw.choice([key for key in values if key != "where"])
    new = draw.word(key.rstrip("2"))
    if new == values[key] or text.count(values[key]) != 1:
        return replaced(draw)
    after = text.replace(values[key], new)
    from_article = [f" {sign} {values[key]}" for sign in ("a", "an")]
    for old in from_article:
        after = after.replace(old.replace(values[key], new), f" {with_article(new)}")
        if text.startswith(old.strip()):
            after = with_article(new) + after[len(old.strip().split()[0]) + 1 + len(new):]
    wordings = ["replace {o} with {n}: {t}", "put {n} in place of {o}: {t}", "change {o} to {n}: {t}",
        "swap {o} for {n} in this: {t}", "{t}. now with {n} instead of {o}"]
    return [Turn(asked(draw, wordings, o=values[key], n=new, t=text), after, (text, values[key], new))]


def edited(draw: Draw) -> list[Turn]:
    """A word added or removed, and signs around or between words."""
    text, word = _text(draw), draw.word("word")
    parts = text.split()
    gone = draw.choice(parts)
    edits = [
        (f"{text} {word}", ["add {w} at the end: {t}", "add the word {w} to the end of {t}", "put {w} after this: {t}", "add {w} to this: {t}"]),
        (f"{word} {text}", ["add {w} at the beginning: {t}", "put {w} in front of this: {t}", "start this with {w}: {t}"]),
        (f'"{text}"', ["put quotes around this: {t}", "put this in quotes: {t}", "in quotation marks: {t}"]),
        (f"{text}!", ["add an exclamation mark: {t}", "put an exclamation mark after this: {t}"]),
        (f"{text}.", ["end this with a dot: {t}", "add a full stop: {t}"]),
        ("-".join(parts), ["put dashes between the words: {t}", "replace the spaces with dashes: {t}"]),
        ("".join(parts), ["remove the spaces: {t}", "write this without spaces: {t}"]),
        (", ".join(parts), ["put commas between the words: {t}", "separate these with commas: {t}"]),
    ]
    if len(set(parts)) > 1 and parts.count(gone) == 1:
        left = " ".join(part for part in parts if part != gone)
        edits += [(left, ["remove {g} from this: {t}", "delete the word {g}: {t}", "{t} - without {g}", "leave out {g}: {t}"])] * 2
    answer, wordings = draw.choice(edits)
    return [Turn(asked(draw, wordings, t=text, w=word, g=gone), answer, (text, word, gone))]


def sentence(draw: Draw) -> list[Turn]:
    """A sentence with a given word, and a shorter one or another."""
    word = draw.word(draw.choice(("thing", "animal")))
    row = next((row for row in seeds.words("objects") if row["object"] == word), None)
    where = row["found"] if row else draw.word("where")
    texts = draw.some(_SENTENCES, 3)
    texts = [fill(draw, text, {"x": word, "found": where}) for text in texts]
    turns = [Turn(asked(draw, ["use {t} in a sentence", "make a sentence with {t}", "a sentence with the word {t}",
        "Write a sentence with {t}.", "write one sentence about {a}", "put the word {t} in a sentence",
        "can you use {t} in a sentence", "example sentence for {t}", "give me a sentence with {t}"], t=word,
        a=with_article(word)), texts[0], (word,))]
    if draw.chance(0.35):
        form = draw.number(0, 2)
        if form == 0:
            turns.append(Turn(asked(draw, ["another one", "one more", "another", "a different one"]), texts[1]))
        elif form == 1:
            turns.append(Turn(asked(draw, ["shorter", "make it shorter", "a shorter one", "even shorter please"]),
                draw.choice([f"I like the {word}.", f"Here is the {word}.", f"The {word} is mine.", f"Look at the {word}."])))
        else:
            turns.append(Turn(asked(draw, ["in upper case", "now in capitals", "write it in upper case"]), texts[0].upper()))
    return turns


_SENTENCES = [
    "The {x} was still there in the morning.", "{Name} found a {x} {found}.", "There is a {x} {found}.",
    "Nobody knew where the {x} came from.", "My {x} is older than I am.", "{Name} drew a {x} on the back of an envelope.",
    "She looked at the {x} and smiled.", "A {x} can make a gray day better.", "He has never seen a {x} like this one.",
    "They took a picture of the {x}.", "We talked about the {x} all evening.", "The {x} looked smaller than before.",
    "{Name} told the children about the {x}.", "Suddenly there was a {x} in front of us.", "I had a dream about a {color} {x}.",
]


def upper_and_reverse(draw: Draw) -> list[Turn]:
    """Upper case and reversed, in one: a kind that is held out."""
    word = draw.word("word")
    return [Turn(asked(draw, ["reverse {t} and write it in upper case", "write {t} backwards and in capitals"], t=word),
        word[::-1].upper(), (word,))]


def swapped(draw: Draw) -> list[Turn]:
    """Two words change places: a kind that is held out."""
    first, second = draw.words("word", 2)
    return [Turn(asked(draw, ["swap these two words: {a} {c}", "put {a} and {c} the other way round"], a=first, c=second),
        f"{second} {first}", (first, second))]


#: Verbs that are no nouns.
_ONLY_VERBS = """accept admire admit advise agree allow amaze amuse announce annoy apologize appear applaud argue arrange arrive attach avoid bake bathe
    become beg begin behave believe belong bleed bless borrow bring build buy calculate carry celebrate choose collect come compare compete complain
    confess confuse connect consider contain continue decide decorate deliver depend describe deserve destroy develop disappear discover discuss eat
    encourage enjoy enter examine exist explain explode explore forbid forget forgive gather get give go happen hear hesitate identify ignore imagine
    impress improve include inform inspect interrupt introduce invent join kneel know learn lend listen live lose make manage marry mend obey observe
    oversleep overhear perform pray prefer prepare pretend protect prove provide read realize receive recognize reduce refuse remain remember remind
    remove repay replace scatter scold see seek sell send serve sew sing solve speak spend subtract succeed suffer suggest suppose surround teach tell
    thank think translate tremble understand undo unlock unpack untie vanish weave weep weigh withdraw write"""


def is_it_a_word(draw: Draw) -> list[Turn]:
    """What part of speech a word is."""
    row_kind = draw.choice(("verb", "adjective", "object"))
    # A verb that is a noun as well has no clear answer.
    clear = set(_ONLY_VERBS.split()) if row_kind == "verb" else set()
    name = {"verb": "verb", "adjective": "adjective", "object": "noun"}[row_kind]
    others = {kind: vocabulary.of_kind(kind, draw.split) for kind in ("verb", "adjective", "object")}
    while " " in (word := draw.word(row_kind)) or clear and word not in clear or any(word in words for kind, words in others.items() if kind != row_kind):
        pass
    said = f"{word} is {with_article(name)}."
    if draw.chance(0.5):
        return [Turn(asked(draw, ["is {t} a noun, a verb or an adjective", "what kind of word is {t}",
            "which part of speech is {t}", "{t}: noun, verb or adjective?"], t=word), capitalized(said), (word,))]
    # Many nouns are verbs, too, so no question opposes the two.
    claim = draw.choice((name, "verb" if name == "adjective" else "adjective"))
    return [Turn(asked(draw, ["is {t} {c}", "is the word {t} {c}?"], t=word, c=with_article(claim)),
        verdict(said, claim == name), (word,))]


#: Questions about one word, each with what is answered; `{t}` is the word.
_ABOUT_A_WORD = {
    "spell": ["spell {t}", "how do you spell {t}", "spell the word {t}", "letters of {t}", "spell out {t}", "{t}: spell it", "how is {t} spelled", "{t} letter by letter"],
    "backward": ["spell {t} backward", "spell {t} backwards", "spell {t} from the end", "{t} backward, letter by letter", "the letters of {t} from last to first"],
    "reverse": ["reverse {t}", "write {t} backwards", "{t} backwards", "turn {t} around", "mirror {t}", "reverse the letters of {t}"],
    "upper": ["{t} in upper case", "write {t} in capitals", "upper case: {t}", "{t} in capital letters", "make {t} all caps", "uppercase {t}"],
    "repeat": ["say {t}", "repeat {t}", "write {t}", "copy {t}", "echo {t}", "type {t}", "just say {t}"],
    "twice": ["say {t} twice", "write {t} two times", "repeat {t} twice", "{t} two times"],
    "first": ["first letter of {t}", "what is the first letter of {t}", "{t} starts with which letter", "which letter does {t} begin with", "first letter: {t}",
        "what letter is at the start of {t}"],
    "last": ["last letter of {t}", "what is the last letter of {t}", "{t} ends with which letter", "which letter does {t} end with", "last letter: {t}",
        "what letter is at the end of {t}"],
    "count": ["how many letters does {t} have", "count the letters of {t}", "how long is {t}", "number of letters in {t}", "letters in {t}, how many", "{t}: how many letters"],
    "second": ["second letter of {t}", "what is the second letter of {t}", "which letter comes second in {t}"],
}


def _about(word: str, form: str) -> str:
    """The answer to a question of `_ABOUT_A_WORD`."""
    match form:
        case "spell" | "backward":
            return spelled(word, form == "backward")
        case "reverse":
            return word[::-1]
        case "upper":
            return word.upper()
        case "repeat" | "twice":
            return " ".join([word] * (2 if form == "twice" else 1))
        case "second":
            return f"The second letter of {word} is {word[1].upper()}."
        case _:
            return letter_answer(word, form)


def taken_apart(draw: Draw) -> list[Turn]:
    """One rare word in several ways, or several rare words in the same way: copied, spelled, turned around, measured."""
    word, form = rare_word(draw), draw.choice(list(_ABOUT_A_WORD))
    turns = [Turn(asked(draw, _ABOUT_A_WORD[form], t=_quoted(draw, word)), _about(word, form), (word,))]
    for _ in range(draw.rng.choices((0, 1, 2, 3), (4, 4, 3, 2))[0]):
        if draw.chance(0.5):
            word = rare_word(draw)
            turns.append(Turn(asked(draw, ["and {t}", "and {t}?", "now {t}", "next: {t}", "what about {t}"], t=word), _about(word, form), (word,)))
        else:
            form = draw.choice(list(_ABOUT_A_WORD))
            turns.append(Turn(asked(draw, _ABOUT_A_WORD[form], t=word), _about(word, form), (word,)))
    return turns


def two_words(draw: Draw) -> list[Turn]:
    """Which of two rare words is longer or shorter, in both orders, and whether one is."""
    turns: list[Turn] = []
    first, second = rare_word(draw).lower(), rare_word(draw).lower()
    for number in range(draw.rng.choices((1, 2, 3), (4, 3, 2))[0]):
        if number and draw.chance(0.4):
            first, second = rare_word(draw).lower(), rare_word(draw).lower()
        elif number:
            first, second = second, first
        if len(first) == len(second):
            answer = f"{capitalized(first)} has {len(first)} letters and {second} has {len(second)}, so they are equally long."
            turns.append(Turn(asked(draw, ["which is longer, {a} or {c}", "which word is longer: {a} or {c}", "which is shorter, {a} or {c}"], a=first, c=second), answer,
                (first, second)))
            continue
        form = draw.choice(("longer", "longer", "shorter"))
        answer = longer_answer(first, second, form)
        if draw.chance(0.35):
            holds = answer.endswith(f"so {first} is {form}.")
            answer = verdict(f"{capitalized(first)} has {len(first)} letters and {second} has {len(second)}", holds)
            wordings = ["is {a} {f} than {c}", "is the word {a} {f} than {c}?", "{a} is {f} than {c}, right?", "is it true that {a} is {f} than {c}", "is {a} a {f} word than {c}"]
        else:
            wordings = ["which is {f}, {a} or {c}", "which word is {f}: {a} or {c}", "{f} word: {a} or {c}", "is {a} or {c} {f}", "{a} or {c}, which word is {f}",
                "Which word is {f}, {a} or {c}?", "the {f} one of {a} and {c}", "{f}: {a} or {c}?", "compare the words {a} and {c}, which is {f}"]
        turns.append(Turn(asked(draw, wordings, a=first, c=second, f=form), answer, (first, second)))
    return turns


def typed_exactly(draw: Draw) -> list[Turn]:
    """Names, codes, invented words and phrases of them that must be repeated letter by letter."""
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (4, 3, 2))[0]):
        form = draw.number(0, 3)
        if form == 0:
            text = random_code(draw)
        elif form == 1:
            text = full_name(draw)
        elif form == 2:
            text = " ".join(rare_word(draw) for _ in range(draw.number(2, 5)))
        else:
            text = fill(draw, draw.choice(_PHRASES), {"name": any_name(draw)})
        turns.append(Turn(asked(draw, ["say {t}", "repeat: {t}", "repeat after me: {t}", "write {t}", "type exactly: {t}", "copy this: {t}", "say exactly: {t}", "echo: {t}",
            "write this down: {t}", "please repeat: {t}", "print {t}", "only say: {t}", "repeat word for word: {t}", "answer with: {t}"], t=_quoted(draw, text)), text, (text,)))
    return turns


_MAKERS = {
    "say": (say, 20),
    "case": (case, 32),
    "spell": (spell, 30),
    "reverse": (reverse, 5),
    "letters": (letters, 20),
    "forms": (forms, 20),
    "sorting": (sorting, 12),
    "replaced": (replaced, 6),
    "edited": (edited, 14),
    "sentence": (sentence, 8),
    "sentence with words": (with_words, 18),
    "claimed form": (claimed_form, 8),
    "taken apart": (taken_apart, 26),
    "two words": (two_words, 14),
    "starting with": (word_finding.starting, 10),
    "counted letter": (word_finding.counted_letter, 10),
    "first in the alphabet": (word_finding.first_in_alphabet, 6),
    "of a length": (word_finding.of_length, 6),
    "typed exactly": (typed_exactly, 14),
    "backward": (word_drills.backward, 34),
    "articles": (word_drills.articles, 14),
    "several with a letter": (word_drills.several_with_letter, 22),
    "meant": (word_drills.meant, 22),
    "same": (facts_stated.same, 16),
    "upper and reverse": (upper_and_reverse, 2),
    "two words swapped": (swapped, 2),
    "part of speech": (is_it_a_word, 4),
}
