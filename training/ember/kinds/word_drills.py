"""Words turned around, articles of words, several words with a letter, and misspelled words with what is meant by them."""

from functools import cache

from .. import vocabulary
from ..chat import Turn
from ..draw import Draw
from ..grammar import article, capitalized, listed, number_word, verdict, with_article
from ..noise import misspelled_word
from .facts_asking import asked
from .random_words import rare_word


def _dashed(text: str) -> str:
    return "-".join(text.upper())


_SPELL_BACK = ["spell {t} backward", "spell {t} backwards", "Spell {t} backwards.", "spell the word {t} backwards", "how do you spell {t} backwards", "How do you spell {t} backward?",
    "can you spell {t} backwards", "spell {t} from the end", "spell {t} from back to front", "spell {t} in reverse", "the letters of {t} from last to first", "{t} spelled backwards",
    "please spell {t} backwards", "letters of {t} in reverse order", "spell {t} starting with the last letter", "how is {t} spelled backwards?", "backwards spelling of {t}",
    "try to spell {t} backwards", "i want {t} spelled backwards", "give me the letters of {t} backwards", "start at the end and spell {t}", "reverse spelling: {t}"]
_WRITE_BACK = ["write {t} backwards", "Write {t} backwards.", "{t} backwards", "what is {t} backwards", "What is {t} backwards?", "reverse {t}", "reverse the word {t}", "turn {t} around",
    "turn the word {t} around", "say {t} backwards", "{t} in reverse", "flip the word {t}", "the word {t} backwards", "{t} from back to front", "can you write {t} backwards", "mirror {t}",
    "how does {t} look backwards", "read {t} from the end"]
_SPELL = ["spell {t}", "how do you spell {t}", "first spell {t}", "spell the word {t}", "the letters of {t}"]


def backward(draw: Draw) -> list[Turn]:
    """Words and rows of letters from the end: spelled with dashes, or written as a word; often spelled forward before."""
    turns: list[Turn] = []
    form = draw.choice(("spell", "spell", "write"))
    for number in range(draw.rng.choices((1, 2, 3, 4), (6, 5, 3, 2))[0]):
        word = _to_turn(draw)
        if draw.chance(0.25):
            turns.append(Turn(asked(draw, _SPELL, t=word), _dashed(word), (word,)))
            wordings = ["now backwards", "and backwards?", "now spell it backwards", "and from the end?", "the same backwards", "now in reverse", "and backward"]
            turns.append(Turn(asked(draw, wordings), _dashed(word[::-1])))
        elif draw.chance(0.12):
            turns.append(_letters_turned(draw))
        else:
            again = number and turns[-1].protected and draw.chance(0.4) and turns[-1].answer in (_dashed(turns[-1].protected[0][::-1]), turns[-1].protected[0][::-1])
            if again:
                form = "spell" if "-" in turns[-1].answer else "write"
                wordings = ["and {t}", "and {t}?", "now {t}", "next: {t}", "what about {t}"]
            else:
                form = draw.choice(("spell", "spell", "write"))
                wordings = _SPELL_BACK if form == "spell" else _WRITE_BACK
            turns.append(Turn(asked(draw, wordings, t=word), _dashed(word[::-1]) if form == "spell" else word[::-1], (word,)))
    return turns


def _to_turn(draw: Draw) -> str:
    """A word to turn around: mostly a short and familiar one."""
    if draw.chance(0.3):
        return rare_word(draw).lower()
    while len(word := draw.choice(vocabulary.familiar_words())) > draw.choice((4, 5, 6, 9)):
        pass
    return word


def _letters_turned(draw: Draw) -> Turn:
    """Letters or numbers one by one, from last to first."""
    letters = draw.some("ABCDEFGHIJKLMNOPQRSTUVWXYZ", draw.number(3, 8)) if draw.chance(0.7) else [str(draw.number(0, 9)) for _ in range(draw.number(3, 8))]
    text = draw.choice((" ", "-", ", ")).join(letters)
    return Turn(asked(draw, ["reverse this order: {t}", "from last to first: {t}", "turn these around: {t}", "backwards: {t}", "the other way round: {t}", "in reverse order: {t}"], t=text),
        "-".join(reversed(letters)), (text,))


_WHICH_ARTICLE = ["a or an: {t}", "a or an {t}?", "is it a or an {t}", "Is it a {t} or an {t}?", "do i say a {t} or an {t}", "which article has {t}, a or an", "{t}: a or an?",
    "which is right, a {t} or an {t}?", "what is the article of {t}", "put a or an before {t}", "a {t} or an {t}?", "do you say an {t} or a {t}", "is an {t} right or a {t}",
    "add a or an: {t}", "what goes before {t}, a or an?", "should i write a or an before {t}", "the right article for {t}, please", "tell me if it is a {t} or an {t}",
    "{t} with its article", "choose a or an for {t}", "fill in a or an: ... {t}"]
_IS_ARTICLE = ["is {c} right", "is it {c}?", "Is {c} correct?", "{c}, is that right", "do i write {c}?", "{c}: right?", "is it right to say {c}", "can i say {c}", "i wrote {c}, is that correct?",
    "we say {c}, right?", "would you write {c}", "is this right: {c}", "is {c} good English?", "check this: {c}", "should it be {c}?", "does one say {c}", "my teacher says {c}, is she right?",
    "i think it is {c}", "true or false: it is {c}", "yes or no: is it {c}?"]
#: Adjectives that stand between an article and a noun.
_BEFORE_NOUNS = "old orange ugly unusual useful expensive interesting amazing ordinary enormous red blue big new small heavy beautiful".split()


def articles(draw: Draw) -> list[Turn]:
    """A or an, by the sound of the word that follows."""
    turns = []
    for number in range(draw.rng.choices((1, 2, 3, 4), (5, 4, 3, 2))[0]):
        noun = _with_vowel(draw) if draw.chance(0.45) else draw.word(draw.choice(("animal", "object", "job", "place")))
        if draw.chance(0.2):
            noun = f"{draw.choice(_BEFORE_NOUNS)} {noun}"
        right = with_article(noun)
        wrong = f"{'a' if article(noun) == 'an' else 'an'} {noun}"
        if draw.chance(0.4):
            holds = draw.chance(0.5)
            claim = right if holds else wrong
            turns.append(Turn(asked(draw, _IS_ARTICLE, c=claim), verdict(f"it is {right}", holds), (claim,)))
        else:
            again = number and draw.chance(0.4) and not turns[-1].answer.endswith((" yes.", " no."))
            turns.append(Turn(asked(draw, ["and {t}", "and {t}?", "{t}?", "now {t}", "what about {t}"] if again else _WHICH_ARTICLE, t=noun), f"It is {right}.",
                (f"a {noun}", f"an {noun}", noun, "a or an", "an or a")))
    return turns


@cache
def _vowel_nouns() -> tuple[str, ...]:
    nouns = [word for kind in ("animal", "thing", "job", "place") for word in vocabulary.everything(kind)]
    return tuple(dict.fromkeys(noun for noun in nouns if noun[0] in "aeiouh" and article(noun) == "an" or noun.startswith("u")))


def _with_vowel(draw: Draw) -> str:
    """A noun that begins with a vowel letter, or with an h that is silent."""
    while (noun := draw.choice(_vowel_nouns())) not in vocabulary.familiar_words() and any(noun not in vocabulary.of_kind(kind, draw.split)
            for kind in ("animal", "thing", "job", "place") if noun in vocabulary.everything(kind)):
        pass
    return noun


#: Kinds of words with a letter, by their names in the plural.
_PLURAL_KINDS = (("words", ""), ("words", ""), ("animals", "animal"), ("animals", "animal"), ("names", "name"), ("countries", "country"), ("cities", "city"), ("jobs", "job"), ("things", "thing"),
    ("verbs", "verb"), ("adjectives", "adjective"), ("places", "place"))
_SEVERAL = ["{n} {k} {w} {l}", "name {n} {k} {w} {l}", "Name {n} {k} {w} {l}.", "give me {n} {k} {w} {l}", "tell me {n} {k} {w} {l}", "list {n} {k} {w} {l}", "i need {n} {k} {w} {l}",
    "can you name {n} {k} {w} {l}", "Can you give me {n} {k} {w} {l}?", "write {n} {k} {w} {l}", "{n} {k} {w} the letter {l}", "find {n} {k} {w} {l}", "think of {n} {k} {w} {l}",
    "say {n} {k} {w} {l}", "do you know {n} {k} {w} {l}", "for a game: {n} {k} {w} {l}", "please name {n} {k} {w} {l}", "show me {n} {k} {w} {l}", "i am looking for {n} {k} {w} {l}",
    "what are {n} {k} {w} {l}?", "let me have {n} {k} {w} {l}"]
_WITH = {"start": ("that start with", "starting with", "that begin with", "beginning with", "with", "that have as first letter", "whose first letter is"),
    "end": ("that end with", "ending in", "ending with", "that end in", "whose last letter is"), "contain": ("that contain", "containing", "that have in them", "that contain somewhere", "in which there is")}


def _fits(word: str, form: str, letter: str) -> bool:
    return {"start": word[0].lower() == letter, "end": word[-1].lower() == letter, "contain": letter in word.lower()}[form]


@cache
def _proper_names() -> frozenset[str]:
    """Names that the list of familiar words has in lower case."""
    return frozenset(word.lower() for kind in ("day", "month", "country", "city", "language", "name") for word in vocabulary.everything(kind)) | {"english", "german"}


def _known(draw: Draw, kind: str) -> list[str]:
    """Words of a kind without spaces: the familiar ones first."""
    if not kind:
        return [word for word in vocabulary.familiar_words() if word not in _proper_names()]
    found = [word for word in vocabulary.of_kind(kind, draw.split) if word.isalpha() and word.isascii()]
    familiar = [word for word in found if vocabulary.is_familiar(word)]
    return familiar if len(familiar) > 30 and draw.chance(0.6) else found


def several_with_letter(draw: Draw) -> list[Turn]:
    """So many different words with a letter, in the order of the alphabet, so that none comes twice."""
    turns: list[Turn] = []
    plural_name, kind = draw.choice(_PLURAL_KINDS)
    form = draw.rng.choices(("start", "end", "contain"), (8, 2, 2))[0]
    known, count = _known(draw, kind), draw.number(2, 6)
    for _ in range(draw.rng.choices((1, 2, 3), (5, 3, 2))[0]):
        letter = draw.choice("abcdefghijklmnoprstuvwy")
        fitting = sorted({word for word in known if _fits(word, form, letter)})
        if not fitting or len(fitting) < count and draw.chance(0.8):
            continue
        shown = letter if draw.chance(0.5) else letter.upper()
        count_shown = draw.choice((str(count), number_word(count)))
        if turns and draw.chance(0.5):
            question = asked(draw, ["and with {l}?", "now with {l}", "and {n} with {l}", "the same with {l}", "{n} with {l}", "now the letter {l}"], l=shown, n=count_shown)
        else:
            said = draw.choice(_WITH[form])
            wordings = [one for one in _SEVERAL if "the letter" not in one or said.endswith(("with", "contain", "containing", " in"))]
            question = asked(draw, wordings, n=count_shown, k=plural_name, w=said, l=shown)
        turns.append(Turn(question, _several(draw, sorted(draw.some(fitting, min(count, len(fitting)))), count, question), (shown, count_shown)))
    return turns or several_with_letter(draw)


def _several(draw: Draw, words: list[str], count: int, question: str) -> str:
    """The words as an enumeration or numbered, or fewer of them than were asked for."""
    if len(words) < count:
        return f"I can only think of {number_word(len(words))}: {listed(words)}."
    if "list" in question and draw.chance(0.5):
        return "\n".join(f"{at}. {capitalized(word)}" for at, word in enumerate(words, 1))
    return f"{capitalized(listed(words))}."


_RIGHT_SPELLING = ["how do you spell {t} correctly", "what is the right spelling of {t}", "what do i mean by {t}", "which word is {t} supposed to be", "correct the word {t}", "{t} is spelled wrong, what is right?",
    "i typed {t}, which word did i mean", "how is {t} really spelled?", "fix the spelling: {t}", "which word is meant: {t}", "{t}, spelled right", "the correct spelling of {t}?", "i wrote {t}, correct it please",
    "what word could {t} be", "did i mean something with {t}?", "guess the word: {t}", "there is a typo in {t}, fix it", "my son wrote {t}, what did he mean", "what should {t} be?", "repair this word: {t}",
    "which word did i misspell: {t}"]
_IS_SPELLED = ["is {t} spelled right", "Is {t} spelled correctly?", "did i spell {t} right", "is {t} the right spelling", "{t}, is that spelled right?", "check the spelling of {t}", "is the word {t} written correctly",
    "do you write it {t}?", "is it spelled {t}?", "spelled like this: {t}, right?", "can i write {t} like that", "i write it {t}, correct?", "is {t} without a mistake?", "yes or no: is {t} spelled right",
    "does one write {t}", "are all letters of {t} right?", "tell me if {t} is spelled right", "would you spell it {t}", "is this right: {t}", "i spelled it {t}, is that right?"]


def meant(draw: Draw) -> list[Turn]:
    """A misspelled noun, and the word that is meant; or whether a word is spelled right."""
    turns = []
    for number in range(draw.rng.choices((1, 2, 3, 4), (5, 4, 3, 2))[0]):
        word = _noun(draw)
        typed = misspelled_word(draw, word)
        if typed == word:
            continue
        if draw.chance(0.35):
            holds = draw.chance(0.5)
            shown = word if holds else typed
            turns.append(Turn(asked(draw, _IS_SPELLED, t=shown), verdict(f"the right spelling is {word}", holds), (shown,)))
        else:
            again = number and turns and not turns[-1].answer.endswith((" yes.", " no.")) and draw.chance(0.5)
            turns.append(Turn(asked(draw, ["and {t}", "and {t}?", "now {t}", "{t}?", "next: {t}"] if again else _RIGHT_SPELLING, t=typed), f"The right spelling is {word}.", (typed,)))
    return turns or meant(draw)


def _noun(draw: Draw) -> str:
    """A word of at least four letters that may be misspelled."""
    while len(word := draw.word(draw.choice(("animal", "object", "any", "job", "place", "food", "word")))) < 4 or not word.isalpha() or not word.islower():
        pass
    return word
