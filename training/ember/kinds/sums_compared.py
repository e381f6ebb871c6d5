"""Numbers compared: bigger and smaller, even and odd, before and after, sorted; each in both orders and with claims."""

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, number_word, verdict
from .facts_asking import asked

_WHICH = ["which is {w}, {a} or {b}", "What is {w}, {a} or {b}?", "which number is {w}: {a} or {b}", "{w} number: {a} or {b}", "is {a} or {b} {w}",
    "{a} or {b}, which is {w}?", "{a} or {b} {w}", "what's {w}, {a} or {b}", "whats {w} {a} or {b}", "which one is {w}, {a} or {b}", "Which is {w}: {a} or {b}?",
    "{w}: {a} or {b}", "tell me which is {w}, {a} or {b}", "of {a} and {b}, which is {w}", "compare {a} and {b}: which is {w}", "{a} vs {b}, which is {w}",
    "between {a} and {b}, which number is {w}?", "find the {w} number: {a}, {b}", "which of the two is {w}: {a}, {b}", "the {w} one of {a} and {b}"]
_WHETHER = ["is {a} {w} than {b}", "Is {a} {w} than {b}?", "{a} is {w} than {b}, right?", "is it true that {a} is {w} than {b}", "i think {a} is {w} than {b}",
    "so {a} is {w} than {b}?", "{a} {w} than {b}?", "true or false: {a} is {w} than {b}", "is the number {a} {w} than {b}?", "isn't {a} {w} than {b}",
    "{a} is {w} than {b}: yes or no?", "would you say {a} is {w} than {b}", "tell me, is {a} {w} than {b}?", "{a} is {w} than {b}", "is {a} really {w} than {b}", "{a} is {w} than {b}, or not?"]
#: Comparatives with their opposites.
_WORDS = (("bigger", "smaller"), ("bigger", "smaller"), ("larger", "smaller"), ("greater", "less"), ("more", "less"), ("higher", "lower"))


def _two(draw: Draw) -> tuple[int, int]:
    """Two different numbers: often close to each other, or with the same digits, where the mistakes are."""
    form = draw.rng.random()
    if form < 0.3:
        first = draw.number(0, 99)
        return first, first + draw.choice([by for by in (-3, -2, -1, 1, 2, 3, 10, -10) if first + by >= 0])
    if form < 0.42:
        tens, ones = draw.some(range(1, 10), 2)
        return 10 * tens + ones, 10 * ones + tens
    if form < 0.54:
        return draw.number(1, 9), draw.number(10, 99)
    if form < 0.72:
        first, second = draw.some(range(100, 1000), 2)
        return (first, second) if draw.chance(0.6) else (first, draw.number(1, 99))
    if form < 0.78:
        first, second = draw.some(range(-20, 21), 2)
        return first, second
    first, second = draw.some(range(0, 100), 2)
    return first, second


def bigger(draw: Draw) -> list[Turn]:
    """Which of two numbers is bigger, and whether one is bigger than the other, in both orders."""
    first, second = _two(draw)
    turns: list[Turn] = []
    for number in range(draw.rng.choices((1, 2, 3, 4), (5, 4, 2, 1))[0]):
        if number and draw.chance(0.4):
            first, second = _two(draw)
        elif number or draw.chance(0.5):
            first, second = second, first
        upward, words = draw.chance(0.6), draw.choice(_WORDS)
        word, turned = words if upward else words[::-1]
        right = max(first, second) if upward else min(first, second)
        if draw.chance(0.55):
            turns.append(Turn(asked(draw, _WHICH, a=first, b=second, w=word), f"{right} is {word} than {first + second - right}."))
        else:
            holds = right == first
            said = verdict(f"{first} is {word if holds else turned} than {second}", holds)
            turns.append(Turn(asked(draw, _WHETHER, a=first, b=second, w=word), said))
    return turns


_EVEN = ["is {a} {k}", "Is {a} {k}?", "is {a} an {k} number", "Is {a} an {k} number?", "is the number {a} {k}?", "would you say {a} is {k}", "{a} is {k}, right?",
    "is it true that {a} is {k}", "i think {a} is {k}", "{a}: {k}?", "is {a} {k}, yes or no", "{a} is an {k} number, correct?", "tell me if {a} is {k}",
    "true or false: {a} is {k}", "so {a} is {k}?", "does {a} count as {k}"]
_EVEN_OR_ODD = ["is {a} even or odd", "Is {a} even or odd?", "even or odd: {a}", "{a}, even or odd?", "odd or even: {a}", "is {a} an odd or an even number?",
    "{a} even or odd", "is {a} odd or even", "what is {a}, even or odd", "tell me whether {a} is even or odd", "{a}: odd or even?"]


def even(draw: Draw) -> list[Turn]:
    """Even or odd, with claims about the same number and about others."""
    turns: list[Turn] = []
    number = draw.number(0, 9) if draw.chance(0.3) else draw.number(0, 120) if draw.chance(0.85) else draw.number(100, 999)
    asked_kind = draw.choice(("even", "odd"))
    for at in range(draw.rng.choices((1, 2, 3, 4), (4, 3, 3, 2))[0]):
        if at:
            number = draw.number(0, 99)
        kind = "even" if number % 2 == 0 else "odd"
        shown = number_word(number) if number < 100 and draw.chance(0.1) else str(number)
        if turns and draw.chance(0.55):
            wordings = ["and {a}?", "and {a}", "what about {a}", "how about {a}?", "{a}?", "now {a}"]
            claimed = turns[-1].answer.endswith((", so yes.", ", so no."))
            answer = verdict(f"{shown} is {kind}", asked_kind == kind) if claimed else capitalized(f"{shown} is {kind}.")
            turns.append(Turn(asked(draw, wordings, a=shown), answer))
        elif draw.chance(0.45):
            turns.append(Turn(asked(draw, _EVEN_OR_ODD, a=shown), capitalized(f"{shown} is {kind}.")))
        else:
            asked_kind = draw.choice(("even", "odd"))
            turns.append(Turn(asked(draw, _EVEN, a=shown, k=asked_kind), verdict(f"{shown} is {kind}", asked_kind == kind)))
    return turns


_AFTER = ["what comes after {a}", "which number comes after {a}?", "next number after {a}", "what number follows {a}", "count on from {a}", "the number after {a}",
    "what is the next number after {a}", "{a} is followed by", "after {a} comes", "which number is one more than {a}", "what is right after {a}?", "number after {a}?",
    "one more than {a}", "what's after {a}", "name the number that follows {a}"]
_BEFORE = ["what comes before {a}", "which number comes before {a}?", "number before {a}", "what number is right before {a}", "the number before {a}",
    "which number is one less than {a}", "before {a} comes", "what's before {a}", "one less than {a}", "what is the number before {a}?", "name the number before {a}"]


def neighbors(draw: Draw) -> list[Turn]:
    """The number after and before, and the one between two."""
    number = draw.number(1, 99) if draw.chance(0.8) else draw.number(99, 1000)
    if draw.chance(0.15):
        return [Turn(asked(draw, ["which number is between {a} and {b}", "what number comes between {a} and {b}?", "between {a} and {b} is", "number between {a} and {b}"],
            a=number - 1, b=number + 1), f"{number} is between {number - 1} and {number + 1}.")]
    up = draw.chance(0.55)
    turns = []
    for at in range(draw.rng.choices((1, 2, 3), (4, 3, 2))[0]):
        if at:
            number = draw.number(1, 99)
            if draw.chance(0.4):
                up = not up
                question = asked(draw, _AFTER if up else _BEFORE, a=number)
            else:
                question = asked(draw, ["and {a}?", "and {a}", "what about {a}", "and {w} {a}?", "how about {a}?"], a=number, w="after" if up else "before")
        else:
            question = asked(draw, _AFTER if up else _BEFORE, a=number)
        turns.append(Turn(question, f"After {number} comes {number + 1}." if up else f"Before {number} comes {number - 1}."))
    return turns


_SORT = ["sort these numbers: {a}", "put these in order: {a}", "sort {a}", "order these from small to big: {a}", "arrange {a} from lowest to highest",
    "smallest first: {a}", "sort from low to high: {a}", "these numbers in order please: {a}", "from small to large: {a}", "{a} - sort them"]
_SORT_DOWN = ["sort these from big to small: {a}", "order from highest to lowest: {a}", "sort descending: {a}", "biggest first: {a}", "from large to small: {a}"]
_MOST = ["which is the {w}: {a}", "the {w} number: {a}", "what is the {w} of {a}", "find the {w} number: {a}", "{w} of these: {a}", "which of these numbers is the {w}: {a}",
    "pick the {w}: {a}", "{a}: which is the {w}"]


def sorting(draw: Draw) -> list[Turn]:
    """Numbers in order, and the biggest or smallest of them."""
    numbers = draw.some(range(0, draw.choice((10, 20, 100, 100, 1000))), draw.number(3, 6))
    shown = draw.choice((", ", ", ", " ")).join(map(str, numbers))
    if draw.chance(0.45):
        word, pick = draw.choice((("biggest", max), ("largest", max), ("highest", max), ("smallest", min), ("lowest", min)))
        return [Turn(asked(draw, _MOST, a=shown, w=word), f"{pick(numbers)} is the {word}.")]
    up = draw.chance(0.7)
    ordered = ", ".join(map(str, sorted(numbers, reverse=not up)))
    return [Turn(asked(draw, _SORT if up else _SORT_DOWN, a=shown), f"{ordered}.")]


_IN_WORDS = ["write {a} in words", "{a} in words", "how do you write {a} in words", "spell out the number {a}", "the number {a} as a word", "what is {a} in words?",
    "say {a} as a word"]
_IN_DIGITS = ["write {a} in digits", "{a} in digits", "{a} as a number", "how do i write {a} with digits", "what number is {a}", "turn {a} into digits"]


def in_words(draw: Draw) -> list[Turn]:
    """Numbers in words and in digits."""
    turns = []
    words = draw.chance(0.5)
    for at in range(draw.rng.choices((1, 2, 3), (4, 3, 2))[0]):
        number = draw.number(0, 99)
        given, answer = (str(number), number_word(number)) if words else (number_word(number), str(number))
        wordings = ["and {a}?", "and {a}", "now {a}"] if at else _IN_WORDS if words else _IN_DIGITS
        turns.append(Turn(asked(draw, wordings, a=given), capitalized(f"{given} is {answer}."), (given,)))
    return turns
