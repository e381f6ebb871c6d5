"""Sums and numbers in all forms of questions: what the result is, which of two it is, and whether it is what somebody claims."""

from ..chat import Turn
from ..draw import Draw
from ..grammar import number_word
from .facts_forms import Subject, forms
from .sums_data import SIGNS
from .sums_numbers import numbers_for, result_of


#: How a claim about a sum is put, and the question for it; `{s}` is the sum.
_PUT = (("{s} is {{v}}", "is {s} {{v}}"), ("{s} equals {{v}}", "does {s} equal {{v}}"), ("{s} makes {{v}}", "does {s} make {{v}}"), ("{s} = {{v}}", "is {s} = {{v}}"),
    ("{s} is equal to {{v}}", "is {s} equal to {{v}}"), ("the result of {s} is {{v}}", "is the result of {s} {{v}}"), ("i get {{v}} for {s}", "do i get {{v}} for {s}"))


def _sum(draw: Draw) -> Subject:
    """A sum, a difference or a product, with results that are near the right one, or have other digits, or another sign."""
    operation = draw.rng.choices(("plus", "minus", "times"), (5, 5, 4))[0]
    return _of(draw, *numbers_for(draw, operation), operation)


def _of(draw: Draw, first: int, second: int, operation: str) -> Subject:
    result = result_of(first, second, operation)
    shown = f"{first} {draw.choice((SIGNS[operation], operation, operation, 'x' if operation == 'times' else operation))} {second}"
    if draw.chance(0.2):
        shown = f"{first}{'x' if operation == 'times' else SIGNS[operation]}{second}"
    wrong = {result + by for by in (-10, -2, -1, 1, 2, 10)} | {-result, first, second} | {abs(first - second), first + second}
    wrong |= {int(str(result)[::-1])} if result > 0 else set()
    kept = tuple(str(one) for one in sorted(wrong) if one != result and (one >= 0 or result < 0))
    claim, question = draw.choice(_PUT)
    return Subject(claim.format(s=shown), question.format(s=shown), (f"what is {shown}", f"how much is {shown}", f"what does {shown} make", f"what is the result of {shown}",
        f"{shown} is what", f"what do i get for {shown}"), (f"what {shown} is", f"how much {shown} is", f"what {shown} makes", f"the result of {shown}"), str(result), kept,
        f"{first} {SIGNS[operation]} {second} = {result}")


def _below_zero(draw: Draw) -> Subject:
    """A small difference: its result, which is often just below zero."""
    second = draw.number(1, 20)
    first = draw.choice((second - 1, second - 2, second - 3, second, second + 1, second + 2, draw.number(0, 20)))
    return _of(draw, max(0, first), second, "minus")


def _sign(draw: Draw) -> Subject:
    """Whether a difference is below or above zero."""
    first, second = draw.some(range(0, draw.choice((12, 21, 100))), 2)
    words = draw.choice((("above zero", "below zero"), ("positive", "negative"), ("more than zero", "less than zero")))
    right, wrong = words if first > second else words[::-1]
    shown = f"{first} - {second}" if draw.chance(0.6) else f"{first} minus {second}"
    return Subject(f"{shown} is {{v}}", f"is {shown} {{v}}", (f"is {shown} {words[0]} or {words[1]}", f"what is {shown}, {words[1]} or {words[0]}"),
        (f"whether {shown} is {words[0]} or {words[1]}",), right, (wrong,), f"{first} - {second} = {first - second}, and that is {right}")


def _compared(draw: Draw) -> Subject:
    """Two numbers: bigger or smaller."""
    first, second = draw.some(range(0, draw.choice((10, 20, 100, 100, 1000))), 2)
    if draw.chance(0.3):
        second = first + draw.choice((1, -1)) if first else 1
    words = draw.choice((("bigger", "smaller"), ("bigger", "smaller"), ("larger", "smaller"), ("more", "less"), ("higher", "lower"), ("greater", "less")))
    right, wrong = words if first > second else words[::-1]
    first, second = (number_word(first), number_word(second)) if max(first, second) < 100 and draw.chance(0.15) else (first, second)
    return Subject(f"{first} is {{v}} than {second}", f"is {first} {{v}} than {second}", (f"is {first} {words[0]} or {words[1]} than {second}",
        f"what is {first}, {words[1]} or {words[0]} than {second}", f"how does {first} compare with {second}"), (f"whether {first} is {words[0]} or {words[1]} than {second}",
        f"if {first} is {words[1]} or {words[0]} than {second}"), right, (wrong,))


def _sum_compared(draw: Draw) -> Subject:
    """Whether a sum is more or less than a number."""
    operation = draw.choice(("plus", "plus", "minus", "times"))
    first, second = numbers_for(draw, operation)
    result = result_of(first, second, operation)
    other = result + draw.choice((-20, -10, -5, -2, -1, 1, 2, 5, 10, 20))
    other = other if other >= 0 or result < 0 else result + 3
    words = draw.choice((("more", "less"), ("bigger", "smaller"), ("greater", "less")))
    right, wrong = words if result > other else words[::-1]
    shown = f"{first} {draw.choice((SIGNS[operation], operation))} {second}"
    return Subject(f"{shown} is {{v}} than {other}", f"is {shown} {{v}} than {other}", (f"is {shown} {words[0]} or {words[1]} than {other}", f"what is {shown}, {words[1]} or {words[0]} than {other}"),
        (f"whether {shown} is {words[0]} or {words[1]} than {other}",), right, (wrong,), f"{first} {SIGNS[operation]} {second} = {result}, and {result} is {right} than {other}")


def _even(draw: Draw) -> Subject:
    number = draw.number(0, draw.choice((9, 30, 99, 99, 999)))
    right, wrong = ("even", "odd") if number % 2 == 0 else ("odd", "even")
    return Subject(f"{number} is {{v}}", f"is {number} {{v}}", (f"what is {number}, even or odd", f"is {number} odd or even", f"is {number} even or odd", f"what kind of number is {number}, odd or even"),
        (f"whether {number} is even or odd", f"if {number} is odd or even"), right, (wrong,))


def _neighbor(draw: Draw) -> Subject:
    number, (by, word) = draw.number(1, 100), draw.choice(((1, "after"), (-1, "before")))
    return Subject(f"{{v}} comes right {word} {number}", f"does {{v}} come right {word} {number}", (f"what comes right {word} {number}", f"which number comes {word} {number}", f"what number is {word} {number}"),
        (f"which number comes {word} {number}", f"what comes {word} {number}"), str(number + by), tuple(map(str, (number - by, number + 2 * by, number + 10 * by))),
        f"{word} {number} comes {number + by}")


def _half(draw: Draw) -> Subject:
    number = draw.number(1, 50)
    if draw.chance(0.5):
        return Subject(f"half of {2 * number} is {{v}}", f"is half of {2 * number} {{v}}", (f"what is half of {2 * number}", f"how much is half of {2 * number}"),
            (f"what half of {2 * number} is",), str(number), tuple(map(str, (number + 1, number - 1, number + 10, 4 * number))))
    return Subject(f"twice {number} is {{v}}", f"is twice {number} {{v}}", (f"what is twice {number}", f"how much is two times {number}"), (f"what twice {number} is",),
        str(2 * number), tuple(map(str, (2 * number + 1, 2 * number - 2, 2 * number + 10, number))))


def _quotient(draw: Draw) -> Subject:
    by, result = draw.number(2, 10), draw.number(1, 12)
    shown = f"{by * result} divided by {by}"
    return Subject(f"{shown} is {{v}}", f"is {shown} {{v}}", (f"what is {shown}", f"how much is {shown}"), (f"what {shown} is",), str(result),
        tuple(map(str, sorted({result + 1, result + 2, max(0, result - 1), by, result * by} - {result}))))


_MAKERS = ((_sum, 22), (_below_zero, 8), (_sign, 5), (_compared, 10), (_sum_compared, 6), (_even, 8), (_neighbor, 4), (_half, 4), (_quotient, 5))


def numbers(draw: Draw) -> list[Turn]:
    """Questions about one or two sums or numbers: claims, results, and one of two."""
    return forms(draw, _MAKERS)


_EITHER_WAY = ["count from {a} to {b}", "Count from {a} to {b}.", "numbers from {a} to {b}", "list the numbers from {a} to {b}", "say the numbers from {a} to {b}", "{a} to {b}, count",
    "start at {a} and count to {b}", "all numbers from {a} to {b}", "count {a} to {b}", "please count from {a} to {b}", "count from {a} until {b}", "what are the numbers from {a} to {b}",
    "go from {a} to {b} in ones", "can you count from {a} to {b}", "Can you count from {a} to {b}?", "write the numbers from {a} to {b}", "begin at {a} and end at {b}, count", "from {a} to {b} please",
    "counting from {a} to {b}", "name every number from {a} to {b}", "start counting at {a}, stop at {b}", "from {a} on, count to {b}", "i need the numbers from {a} to {b}"]


def counted_either_way(draw: Draw) -> list[Turn]:
    """Counting from one number to another: up if the second one is bigger, and down if it is smaller, in the same words."""
    turns = []
    first = draw.number(0, draw.choice((10, 30, 95)))
    second = max(0, first + draw.choice((1, 1, 1, -1)) * draw.number(2, 12))
    for number in range(draw.rng.choices((1, 2, 3), (5, 4, 2))[0]):
        if number:
            first, second = (second, first) if draw.chance(0.6) else (second, second + draw.number(2, 10))
        if first == second:
            break
        step = 1 if second > first else -1
        counted = ", ".join(map(str, range(first, second + step, step)))
        turns.append(Turn(draw.wording(_EITHER_WAY).format(a=first, b=second), f"{counted}."))
    return turns or counted_either_way(draw)
