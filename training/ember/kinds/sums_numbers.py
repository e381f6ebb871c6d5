"""The numbers of sums, and their results."""

from ..draw import Draw


def numbers_for(draw: Draw, operation: str) -> tuple[int, int]:
    """Returns two numbers below 100: of sums and differences all pairs of two digits come up alike, small numbers more often, and a
    few differences are negative. Products are within the table of twelve."""
    if operation == "times":
        return draw.number(0 if draw.chance(0.1) else 1, 12), draw.number(0 if draw.chance(0.1) else 1, 12)
    if operation == "minus" and draw.chance(0.14):
        first = draw.number(0, 90)
        return first, first + (draw.number(1, 3) if draw.chance(0.4) else draw.number(1, 19))
    form = draw.rng.choices(("two digits", "one digit", "small"), (11, 5, 5))[0]
    if form == "two digits":
        first, second = draw.number(10, 99), draw.number(10, 99)
    elif form == "one digit":
        first, second = draw.number(10, 99), draw.number(0, 9)
    else:
        first, second = draw.number(0, 10 if operation == "plus" else 20), draw.number(0, 10)
    if operation == "minus":
        return max(first, second), min(first, second)
    return (second, first) if draw.chance(0.5) else (first, second)


def result_of(first: int, second: int, operation: str) -> int:
    """Returns the result of an operation."""
    return {"plus": first + second, "minus": first - second, "times": first * second}[operation]
