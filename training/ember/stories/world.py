"""Who and what a story is about: characters, things, and invented words."""

import random
from dataclasses import dataclass
from functools import cache

from ember.split import Split, of_split, split_of
from ember.stories import names, places
from ember.stories.animals import ANIMALS, LAND, UNKNOWN, YOUNG
from ember.stories.things import CHILDREN, PEOPLE

_PRONOUNS = {
    "she": ("she", "her", "her", "herself"),
    "he": ("he", "him", "his", "himself"),
    "it": ("it", "it", "its", "itself"),
}


def article(phrase: str) -> str:
    """`phrase` with "a" or "an" before it."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith(("uni", "one", "eu", "use"))
    vowel = vowel or phrase.startswith(("honest", "hour"))
    return f"an {phrase}" if vowel else f"a {phrase}"


#: How often a name, a kind of animal or a thing is an invented word. In training it is often: only a word never seen
#: before teaches to say it again letter by letter, where a known one can be guessed.
_INVENTED_NAMES = {Split.TRAIN: 0.3, Split.HELD_OUT: 0.08}
_INVENTED_KINDS = {Split.TRAIN: 0.12, Split.HELD_OUT: 0.04}
_INVENTED_THINGS = {Split.TRAIN: 0.35, Split.HELD_OUT: 0.05}


def invented_word(rng: random.Random, split: Split) -> str:
    """A word that no language has, such as "tamber" or "onjiduka", of the given split."""
    while True:
        odd = split is Split.TRAIN and rng.random() < 0.5
        word = _odd_word(rng) if odd else _smooth_word(rng)
        if len(word) > 3 and split_of(word) is split:
            return word


def _smooth_word(rng: random.Random) -> str:
    """One that sounds like a word of these stories."""
    middle = rng.choice(names.MIDDLES) if rng.random() < 0.4 else ""
    return rng.choice(names.STARTS) + middle + rng.choice(names.ENDS)


def _odd_word(rng: random.Random) -> str:
    """One of any sounds in a row, which may end in a vowel."""
    word = rng.choice(("", "", rng.choice("aeiouy")))
    for _ in range(rng.choice((2, 2, 3))):
        word += rng.choice(names.CONSONANTS) + rng.choice(names.VOWELS)
    return word + rng.choice(("", "", rng.choice(names.CONSONANTS)))


@cache
def _materials(materials: tuple[str, ...], split: Split) -> list[str]:
    return of_split(list(materials), split)


def pick(rng: random.Random, materials, split: Split, avoid: tuple[str, ...] = ()) -> str:
    """One of `materials` that belongs to `split` and is not in `avoid`, or an invented word if there is none."""
    allowed = [material for material in _materials(tuple(materials), split) if material not in avoid]
    return rng.choice(allowed) if allowed else invented_word(rng, split)


@dataclass(frozen=True)
class Noun:
    """A thing by its name, with an adjective that is given at its first mention."""

    name: str
    adjective: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def full(self) -> str:
        """The noun with its adjective."""
        return f"{self.adjective} {self.name}".strip()

    @property
    def any(self) -> str:
        """The noun alone with "a" or "an"."""
        return article(self.name)

    @property
    def a(self) -> str:
        """The full noun with "a" or "an"."""
        return article(self.full)


class Pronouns:
    """The words that stand for someone whose `gender` is "he", "she" or "it"."""

    gender: str
    he = property(lambda self: _PRONOUNS[self.gender][0], doc="The pronoun as subject.")
    him = property(lambda self: _PRONOUNS[self.gender][1], doc="The pronoun as object.")
    his = property(lambda self: _PRONOUNS[self.gender][2], doc="The pronoun that says whose.")
    himself = property(lambda self: _PRONOUNS[self.gender][3], doc="The pronoun that points back.")
    He = property(lambda self: self.he.capitalize(), doc="The pronoun at the start of a sentence.")
    His = property(lambda self: self.his.capitalize(), doc="Whose, at the start of a sentence.")


@dataclass(frozen=True)
class Character(Pronouns):
    """Someone in a story. As text it is the name, or "the fox" for one without a name."""

    name: str
    kind: str
    gender: str
    first: str
    home: str = ""
    food: str = ""
    sound: str = ""

    def __str__(self) -> str:
        return self.name or f"the {self.kind}"

    @property
    def the(self) -> str:
        """The character by kind where it is told apart by that; children go by their names."""
        return str(self) if self.kind in CHILDREN else f"the {self.kind}"

    @property
    def described(self) -> str:
        """How the character is presented, less the name."""
        return self.first.split(" named ")[0]

    @property
    def a_kind(self) -> str:
        """The kind with "a" or "an"."""
        return article(self.kind)

    @property
    def call(self) -> str:
        """What others call the character when they speak to it."""
        return self.name or f"{'dear' if self.kind in PEOPLE else 'little'} {self.kind}"


@dataclass(frozen=True)
class Elder(Pronouns):
    """An older one who helps: "her grandmother" first, then "Grandmother"."""

    first: str
    name: str
    gender: str

    def __str__(self) -> str:
        return self.name


def personal_name(rng: random.Random, split: Split, gender: str, avoid: tuple[str, ...] = (), animal: bool = False) -> str:
    """A name for one of that gender, now and then an invented one."""
    if rng.random() < _INVENTED_NAMES[split]:
        return invented_word(rng, split).capitalize()
    girls, boys = (names.GIRLS, names.BOYS)
    if animal and rng.random() < 0.4:
        girls, boys = names.ANIMAL_NAMES_SHE + girls[:40], names.ANIMAL_NAMES_HE + boys[:40]
    return pick(rng, girls if gender == "she" else boys, split, avoid)


def gender_of(rng: random.Random, kind: str) -> str:
    """"he" or "she" for one of this kind."""
    fixed = {"hen": "she", "cow": "she", "lioness": "she", "mermaid": "she", "fairy": "she", "rooster": "he"}
    gender = PEOPLE.get(kind) or CHILDREN.get(kind) or fixed.get(kind, "any")
    return rng.choice(("he", "she")) if gender == "any" else gender


def child(rng: random.Random, split: Split, trait: str, avoid: tuple[str, ...] = (), not_gender: str = "") -> Character:
    """A girl or boy with a name."""
    gender = rng.choice(("he", "she"))
    if gender == not_gender and rng.random() < 0.7:
        gender = "she" if gender == "he" else "he"
    name = personal_name(rng, split, gender, avoid)
    kind = "girl" if gender == "she" else "boy"
    return Character(name, kind, gender, f"{_described(rng, trait, kind)} named {name}")


def being(rng: random.Random, split: Split, kind: str, trait: str, avoid: tuple[str, ...] = (), named: float = 0.6) -> Character:
    """One of a kind of animals or people, with a name as often as `named` says."""
    gender = gender_of(rng, kind)
    home, food, sound = ("", "", "") if kind in PEOPLE or kind in CHILDREN else ANIMALS.get(kind, UNKNOWN)
    if rng.random() < named:
        name = personal_name(rng, split, gender, avoid, animal=kind in ANIMALS)
        return Character(name, kind, gender, f"{_described(rng, trait, kind)} named {name}", home, food, sound)
    return Character("", kind, gender, _described(rng, trait, kind), home, food, sound)


def creature(rng: random.Random, split: Split, kind: str, look: str) -> Character:
    """An animal that is met on the way: it has no name."""
    home, food, sound = ANIMALS.get(kind, UNKNOWN)
    return Character("", kind, "it", article(f"{look} {kind}"), home, food, sound)


def animal_kind(rng: random.Random, split: Split, avoid: tuple[str, ...] = ()) -> str:
    """A kind of animal that lives on land, now and then one that nobody knows."""
    return invented_word(rng, split) if rng.random() < _INVENTED_KINDS[split] else pick(rng, LAND, split, avoid)


def thing_name(rng: random.Random, split: Split, known: list[str]) -> str:
    """One of the `known` names of things, an invented one, or in training one made of two, such as "rope lamp"."""
    if rng.random() >= _INVENTED_THINGS[split]:
        return pick(rng, known, split)
    if split is Split.HELD_OUT or rng.random() < 0.35:
        return invented_word(rng, split)
    # The two words are told apart only by their order, so each takes each place, known or never heard of.
    words = [pick(rng, known, split), pick(rng, known, split) if rng.random() < 0.5 else invented_word(rng, split)]
    rng.shuffle(words)
    return " ".join(words)


def _described(rng: random.Random, trait: str, kind: str) -> str:
    small = trait in places.CHILD_TRAITS or kind in PEOPLE or kind in ("giant", "child")
    size = "" if small else rng.choice(places.CHILD_TRAITS + [""])
    form = rng.random()
    if form < 0.45:
        return article(" ".join(f"{trait} {size} {kind}".split()))
    return article(f"{size or trait} {kind}") if form < 0.8 else article(f"{trait} {kind}")


def elder(rng: random.Random, split: Split, hero: Character, avoid: tuple[str, ...]) -> Elder:
    """Someone older whom the hero knows: family, or a wise old one."""
    if hero.kind in PEOPLE:
        gender = rng.choice(("he", "she"))
        kind = rng.choice(("gardener", "shepherd", "weaver", "miller"))
        if kind != hero.kind:
            return Elder(f"an old {kind}", f"the old {kind}", gender)
        return Elder("a wise old cook", "the old cook", gender)
    if hero.kind not in CHILDREN and rng.random() < 0.5:
        kind = animal_kind(rng, split, (*avoid, *YOUNG))
        return Elder(f"{rng.choice(('an', 'a wise'))} old {kind}", f"the old {kind}", rng.choice(("he", "she")))
    name, gender = rng.choice((("grandmother", "she"), ("grandfather", "he"), ("mother", "she"), ("father", "he"),
                               ("grandma", "she"), ("grandpa", "he")))
    return Elder(f"{hero.his} {name}", name.capitalize(), gender)
