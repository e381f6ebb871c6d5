"""Sums, differences and small products, with follow-ups on the last result, and word problems."""

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, number_word, plural, verdict
from . import sums_compared, sums_forms
from .sums_data import CLAIMS, COMPARISONS, DIVISIONS, FOLLOW_UPS, QUESTIONS, SIGNS, STORIES, TOO_LARGE, TOO_LARGE_PRODUCTS, NumberStory
from .sums_numbers import numbers_for, result_of


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("sums", _MAKERS)
    return kind, maker(draw)


def _sentence(first: int, second: int, operation: str) -> str:
    return f"{first} {SIGNS[operation]} {second} = {result_of(first, second, operation)}"


def _operation(draw: Draw) -> str:
    return draw.rng.choices(("plus", "minus", "times"), (5, 5, 3))[0]


def _asked(draw: Draw, first: int, second: int, operation: str) -> str:
    """A question for a sum, in digits or in words."""
    wording = draw.wording(QUESTIONS[operation])
    as_words = draw.chance(0.1) and "{sign}" not in wording and max(first, second) < 100
    shown = [number_word(number) if as_words else str(number) for number in (first, second)]
    sign = draw.choice({"plus": ["+"], "minus": ["-"], "times": ["*", "x", "×"]}[operation])
    return wording.format(a=shown[0], b=shown[1], sign=sign)


def _plain(draw: Draw) -> list[Turn]:
    """A sum, perhaps with follow-ups on its result."""
    operation = _operation(draw)
    first, second = numbers_for(draw, operation)
    said = _sentence(first, second, operation)
    turns = [Turn(_asked(draw, first, second, operation), f"{said}.")]
    result = result_of(first, second, operation)
    while draw.chance(0.45) and len(turns) < 6:
        turn, result = _next(draw, result)
        turns.append(turn)
    return turns


def _next(draw: Draw, result: int) -> tuple[Turn, int]:
    """A follow-up on `result`."""
    if draw.chance(0.15) and (0 < result < 50 or (result > 0 and result % 2 == 0)):
        return _doubled_or_halved(draw, result)
    operations = [name for name, fits in (("plus", result < 180), ("minus", result > 0), ("times", 0 <= result <= 12)) if fits]
    operation = draw.choice(operations or ["minus"])
    second = {"plus": draw.number(1, 20), "minus": draw.number(1, max(1, min(20, result))),
        "times": draw.number(2, 10)}[operation]
    after = result_of(result, second, operation)
    return Turn(draw.wording(FOLLOW_UPS[operation]).format(b=second), f"{_sentence(result, second, operation)}."), after


def _doubled_or_halved(draw: Draw, result: int) -> tuple[Turn, int]:
    """`double it`, or `and half of that?` for an even result."""
    if result % 2 == 0 and (result >= 50 or draw.chance(0.5)):
        asked_for = ["half of that", "and half of that?", "now halve it", "divide it by two", "divide by 2", "and half?"]
        return Turn(draw.wording(asked_for), f"Half of {result} is {result // 2}."), result // 2
    asked_for = ["double it", "double that", "now double it", "and twice that?", "twice that", "and doubled?"]
    return Turn(draw.wording(asked_for), f"Twice {result} is {result * 2}."), result * 2


def _many(draw: Draw) -> list[Turn]:
    """Several sums at once: most tokens of the chat are learned from."""
    asked_for, answers = [], []
    for _ in range(draw.number(3, 10)):
        operation = draw.rng.choices(("plus", "minus", "times"), (5, 5, 3))[0]
        first, second = numbers_for(draw, operation)
        asked_for.append(f"{first} {draw.choice((SIGNS[operation], operation))} {second}")
        answers.append(_sentence(first, second, operation))
    wordings = ["solve these: {t}", "calculate: {t}", "what are {t}", "{t}", "do these sums: {t}", "my homework: {t}"]
    return [Turn(draw.wording(wordings).format(t=draw.choice((", ", "; ", "\n")).join(asked_for)), "\n".join(answers))]


def _near(draw: Draw, result: int) -> int:
    """A wrong result near the right one: of a negative one also that without its sign."""
    wrong = [result + by for by in (-10, -2, -1, 1, 2, 10) if result < 0 or result + by >= 0]
    return draw.choice([*wrong, -result, -result] if result < 0 else wrong)


def _claim(draw: Draw) -> list[Turn]:
    """A claim to verify, with the right result or one near it."""
    operation = _operation(draw)
    first, second = numbers_for(draw, operation)
    result = result_of(first, second, operation)
    claimed = result if draw.chance(0.5) else _near(draw, result)
    question = draw.wording(CLAIMS).format(a=first, b=second, op=operation if draw.chance(0.4) else {"times": "x"}.get(operation,
        SIGNS[operation]), c=claimed)
    said = f"{_sentence(first, second, operation)}."
    return [Turn(question, verdict(said, claimed == result))]


def _story(draw: Draw) -> list[Turn]:
    """A small story with numbers."""
    return _told(draw, draw.choice([story for story in STORIES if story.name != "given away"]))


def _given_away(draw: Draw) -> list[Turn]:
    """A word problem in which things are given away: a held-out kind."""
    return _told(draw, next(story for story in STORIES if story.name == "given away"))


def _told(draw: Draw, story: NumberStory) -> list[Turn]:
    first, second = numbers_for(draw, story.operation)
    if story.operation == "times":
        first, second = max(2, first), max(2, second)
    else:
        first, second = (max(3, first), max(2, second)) if story.operation == "plus" else (max(5, first),
            max(2, min(second, first - 2, 60)))
        if story.operation == "minus" and second >= first:
            first = second + draw.number(2, 10)
    result = result_of(first, second, story.operation)
    things = plural(draw.choice(_COUNTED))
    names = draw.words("name", 2)
    values = {"a": first, "b": second, "c": result, "things": things, "name": names[0], "name2": names[1],
        "Things": capitalized(things)}
    question, said = draw.wording(story.questions).format(**values), _sentence(first, second, story.operation)
    turns = [Turn(question, f"{said}{story.answer.format(**values)}", (names[0], names[1]))]
    if draw.chance(0.3):
        claimed = result if draw.chance(0.5) else _near(draw, result)
        wordings = ["i thought {c}", "is it not {c}?", "{c}, right?", "i get {c}, is that right?", "are you sure? i say {c}", "my friend says {c}, true?", "so {c}?", "not {c}?", "is it {c}", "{c}?"]
        turns.append(Turn(draw.wording(wordings).format(c=claimed), verdict(said, claimed == result)))
    return turns


_COUNTED = (
    "apple pear book pencil coin stamp button marble balloon cookie egg orange shell card ticket flower sticker candle plate "
    "cup chair bottle bag box key hat sock lemon peach plum brick stone photo letter postcard ribbon bead ball toy doll kite"
).split()


#: Sums as people type them in a hurry; `{a}` and `{b}` are numbers in digits or words.
_SLOPPY = {
    "plus": ["whats {a} an {b}", "whats {a} and {b}", "{a} and {b}", "{a} n {b}", "{a} an {b} is what", "wat is {a} plus {b}", "{a} + {b} how much", "how much {a} {b} together",
        "{a} plus {b} pls", "{a} plus {b} equals", "{a} and {b} is", "{a} and {b} makes", "add {a} {b}", "{a}and{b}", "so {a} and then {b} more", "{a} plus {b} thx",
        "ok {a} plus {b}", "{a} with {b} added", "hey whats {a} plus {b}", "{a} add {b}", "if i have {a} and get {b} more", "what does {a} and {b} make", "tell me {a} and {b}",
        "what do {a} and {b} make", "quick sum: {a} and {b}", "{a} plus {b} please", "can u add {a} n {b}", "wats {a}+{b}"],
    "minus": ["whats {a} take away {b}", "{a} take away {b}", "{a} minus {b} pls", "wat is {a} minus {b}", "{a} less {b} is", "{a} without {b}", "{a} minus {b} equals",
        "{a} take {b} off", "if i have {a} and lose {b}", "{b} from {a}", "{b} away from {a}", "hey whats {a} minus {b}", "ok {a} minus {b}", "{a} down by {b}",
        "how much is left of {a} after {b}", "what is {a} take away {b}", "can u do {a} minus {b}", "wats {a}-{b}"],
    "times": ["whats {a} times {b}", "{a} times {b} pls", "{a} x {b} is what", "wat is {a} times {b}", "{a} times {b} equals", "{a} by {b}", "multiply {a} {b}", "{a} multiplied by {b}",
        "hey whats {a} times {b}", "ok {a} times {b}", "{a} groups of {b}", "how much is {a} x {b}", "can u do {a} times {b}", "whats {a}x{b}", "{b} taken {a} times"],
}


def _sloppy(draw: Draw) -> list[Turn]:
    """Sums in a hurry: numbers in words or mixed, everything in capitals, words left out."""
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3), (5, 3, 2))[0]):
        operation = _operation(draw)
        first, second = numbers_for(draw, operation)
        wording = draw.wording(_SLOPPY[operation] if draw.chance(0.7) else [one for one in QUESTIONS[operation] if "sign" not in one])
        share = draw.choice((0.0, 0.0, 0.5, 1.0))
        shown = [number_word(number) if number < 100 and draw.chance(share) and "{a}and" not in wording else str(number) for number in (first, second)]
        question = wording.format(a=shown[0], b=shown[1])
        turns.append(Turn(question.upper() if draw.chance(0.15) else question, f"{_sentence(first, second, operation)}."))
    return turns


def _below_zero(draw: Draw) -> list[Turn]:
    """Differences below zero, each beside one above zero with the same numbers or with near ones."""
    turns = []
    second = draw.number(1, 20) if draw.chance(0.7) else draw.number(10, 99)
    first = draw.number(0, second)
    for _ in range(draw.rng.choices((1, 2, 3), (4, 4, 2))[0]):
        turns.append(Turn(_asked(draw, first, second, "minus"), f"{_sentence(first, second, 'minus')}."))
        form = draw.number(0, 2)
        if form == 0:
            first, second = second, first
        elif form == 1:
            first = max(0, first + draw.choice((-2, -1, 1, 2)))
        else:
            first, second = draw.number(0, 12), draw.number(0, 20)
    return turns


def _product(draw: Draw) -> list[Turn]:
    """Products within the table of twelve, with the factors turned around and their neighbors."""
    first, second = draw.number(2, 12), draw.number(2, 12)
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3, 4), (4, 3, 2, 2))[0]):
        turns.append(Turn(_asked(draw, first, second, "times"), f"{_sentence(first, second, 'times')}."))
        form = draw.number(0, 2)
        if form == 0:
            first, second = second, first
        elif form == 1:
            second = min(12, max(1, second + draw.choice((-1, 1))))
        else:
            first, second = draw.number(2, 12), draw.number(2, 12)
    return turns


def _table(draw: Draw) -> list[Turn]:
    """A part of the multiplication table, in order or not."""
    of, numbers = draw.number(2, 12), list(range(1, draw.choice((5, 10, 10, 12, 12)) + 1))
    lines = [_sentence(number, of, "times") for number in numbers]
    turns = [Turn(draw.wording(["the table of {a}", "multiplication table of {a}", "times table of {a}", "the {a} times table",
        "multiples of {a}, with their products", "teach me the table of {a}"]).format(a=of), "\n".join(lines))]
    for number in draw.some(range(2, 13), draw.number(0, 4)):
        pair = (number, of) if draw.chance(0.5) else (of, number)
        turns.append(Turn(_asked(draw, *pair, "times"), f"{_sentence(*pair, 'times')}."))
    return turns


def _half_and_double(draw: Draw) -> list[Turn]:
    """Half of a number, twice a number, and a number shared."""
    form = draw.number(0, 2)
    if form == 0:
        number = draw.number(1, 49)
        return [Turn(draw.wording(COMPARISONS["half"]).format(a=number * 2), f"Half of {number * 2} is {number}.")]
    if form == 1:
        number = draw.number(1, 49)
        return [Turn(draw.wording(COMPARISONS["double"]).format(a=number), f"Twice {number} is {number * 2}.")]
    by, result = draw.number(2, 10), draw.number(1, 10)
    return [Turn(draw.wording(COMPARISONS["divide"]).format(a=by * result, b=by), f"{by * result} divided by {by} is {result}.")]


def _divided(draw: Draw) -> list[Turn]:
    """Numbers below 100, and those of the table of twelve, divided by one digit: mostly without a remainder."""
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3, 4), (5, 3, 2, 1))[0]):
        by = draw.number(1 if draw.chance(0.1) else 2, 9)
        number = by * draw.number(1, max(12, 99 // by))
        remainder = draw.number(1, by - 1) if by > 1 and number + by < 100 and draw.chance(0.15) else 0
        turns.append(_quotient(draw, number + remainder, by))
    return turns


def _quotient(draw: Draw, number: int, by: int) -> Turn:
    """A division with its result, and the remainder if there is one."""
    result, remainder = divmod(number, by)
    rest = f" with a remainder of {remainder}" if remainder else ""
    as_words = number < 100 and draw.chance(0.06)
    shown = [number_word(one) if as_words else str(one) for one in (number, by)]
    asked_for = draw.wording([one for one in DIVISIONS if not as_words or "{sign}" not in one and "{b}s" not in one])
    return Turn(asked_for.format(a=shown[0], b=shown[1], sign=draw.choice("/÷:/")), f"{number} divided by {by} is {result}{rest}.")


def _undone(draw: Draw) -> list[Turn]:
    """A product and the divisions that undo it, or a sum and the differences that undo it, in any order."""
    if draw.chance(0.5):
        first, second = draw.number(2, 12), draw.number(2, 9)
        turns = [Turn(_asked(draw, first, second, "times"), f"{_sentence(first, second, 'times')}."),
            _quotient(draw, first * second, second)]
    else:
        first, second = draw.number(2, 99), draw.number(2, 99)
        total = first + second
        turns = [Turn(_asked(draw, *pair), f"{_sentence(*pair)}.") for pair in ((first, second, "plus"), (second, first, "plus"),
            (total, first, "minus"), (total, second, "minus"))]
    return draw.some(turns, draw.number(1, len(turns)))


def _simple_factor(draw: Draw) -> list[Turn]:
    """Numbers of two digits times 0, 1, 2 or 10."""
    turns = []
    for _ in range(draw.number(1, 3)):
        first, second = draw.number(13, 99), draw.choice((0, 1, 2, 10, 10))
        pair = (first, second) if draw.chance(0.7) else (second, first)
        turns.append(Turn(_asked(draw, *pair, "times"), f"{_sentence(*pair, 'times')}."))
    return turns


def _too_large(draw: Draw) -> list[Turn]:
    """Sums of numbers that are too large, and products beyond the table, declined; sometimes followed by one that is not."""
    operation = draw.choice(("plus", "plus", "minus", "minus", "times", "divided"))
    first, second = sorted((_large(draw), _large(draw)), reverse=True)
    answers = TOO_LARGE_PRODUCTS if operation in ("times", "divided") else TOO_LARGE
    if operation == "times" and draw.chance(0.5):
        first, second = draw.number(13, 99), draw.number(13, 99)
    elif operation == "divided" and draw.chance(0.5):
        second = draw.number(11, 99)
    if operation == "plus" and draw.chance(0.5):
        first, second = second, first
    wordings = DIVISIONS if operation == "divided" else [*QUESTIONS[operation], *_SLOPPY[operation]]
    sign = draw.choice({"plus": "+", "minus": "-", "times": "*x×", "divided": "/÷:"}[operation])
    # People write thousands with a comma, or not.
    shown = [f"{number:,}" if draw.chance(0.12) else str(number) for number in (first, second)]
    turns = [Turn(draw.wording(wordings).format(a=shown[0], b=shown[1], sign=sign), draw.choice(answers))]
    if draw.chance(0.3):
        turns += _divided(draw)[:1] if operation == "divided" else _plain(draw)[:1]
    return turns if draw.chance(0.85) else turns[::-1]


def _large(draw: Draw) -> int:
    """A number of three or more digits, mostly of few."""
    digits = draw.rng.choices((3, 4, 5, 6, 8), (6, 4, 2, 1, 1))[0]
    number = draw.number(10 ** (digits - 1), 10 ** digits - 1)
    return number // 100 * 100 if draw.chance(0.2) else number


def _count(draw: Draw) -> list[Turn]:
    """Counting up and down from any number to any other, in steps, and three numbers together."""
    form = draw.rng.choices(("count", "count down", "count back", "steps", "three"), (8, 5, 2, 3, 3))[0]
    if form == "three":
        first, second, third = (draw.number(1, 15) for _ in range(3))
        question = draw.wording(COMPARISONS["three"]).format(a=first, b=second, c=third)
        return [Turn(question, f"{first} + {second} + {third} = {first + second + third}.")]
    turns = [_counted(draw, form)]
    while draw.chance(0.25) and len(turns) < 3:
        turns.append(_counted(draw, draw.choice(("count", "count down"))))
    return turns


def _counted(draw: Draw, form: str) -> Turn:
    """Numbers one after the other."""
    if form == "steps":
        step = draw.choice((2, 3, 4, 5, 10))
        numbers = range(step, step * draw.number(4, 11), step)
        wordings = ["count by {k} to {b}", "count in {k}s from {a} to {b}", "count in steps of {k} from {a} to {b}", "count to {b} in steps of {k}", "from {a} to {b} in steps of {k}"]
        return Turn(draw.wording(wordings).format(k=step, a=numbers[0], b=numbers[-1]), f"{', '.join(map(str, numbers))}.")
    low, high = (1, draw.number(3, 20)) if draw.chance(0.5) else (start := draw.number(0, 95), start + draw.number(2, 12))
    if form == "count back":
        low, high = 1, draw.number(3, 20)
    numbers = range(low, high + 1) if form == "count" else range(high, low - 1, -1)
    wording = draw.wording(COMPARISONS[form])
    as_words = draw.chance(0.08) and high < 100
    shown = [number_word(number) if as_words else str(number) for number in (numbers[0], numbers[-1])]
    return Turn(wording.format(a=shown[0], b=shown[1]), f"{', '.join(map(str, numbers))}.")


_MAKERS = {
    "plain": (_plain, 56),
    "many": (_many, 34),
    "table": (_table, 10),
    "claim": (_claim, 10),
    "story": (_story, 16),
    "given away": (_given_away, 4),
    "sloppy": (_sloppy, 26),
    "below zero": (_below_zero, 24),
    "product": (_product, 16),
    "bigger": (sums_compared.bigger, 22),
    "even": (sums_compared.even, 12),
    "neighbors": (sums_compared.neighbors, 8),
    "sorting": (sums_compared.sorting, 8),
    "in words": (sums_compared.in_words, 6),
    "half and double": (_half_and_double, 6),
    "divided": (_divided, 22),
    "undone": (_undone, 14),
    "simple factor": (_simple_factor, 5),
    "too large": (_too_large, 12),
    "count": (_count, 22),
    "count either way": (sums_forms.counted_either_way, 22),
    "forms": (sums_forms.numbers, 60),
}
