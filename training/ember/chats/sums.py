"""Small sums: addition, subtraction and multiplication, bare or told as a little story, held out by the question."""

import random
from dataclasses import dataclass

from ember.chats.chat import Chat, Check
from ember.chats.drawing import casual, draw, invented_word, user
from ember.chats.names_data import NAMES
from ember.chats.sums_data import NOUNS, PROBLEMS, WORDINGS
from ember.split import Split, split_of

_ADD, _SUBTRACT, _MULTIPLY = "+", "-", "x"


@dataclass(frozen=True)
class Sum:
    """Two numbers and the sign between them."""

    left: int
    sign: str
    right: int

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    @property
    def result(self) -> int:
        """What the sum comes to."""
        if self.sign == _ADD:
            return self.left + self.right
        return self.left - self.right if self.sign == _SUBTRACT else self.left * self.right

    def steps(self) -> str:
        """How the sum is worked out: ones and tens apart, or from the line above in the table."""
        done = f"{self} = {self.result}."
        if self.sign == _MULTIPLY:
            return f"{self._from_line_above()}{done}"
        if self.left < 10 and self.right < 10:
            return done
        return f"{self._ones_and_tens()} So {done}"

    def _ones_and_tens(self) -> str:
        (left_tens, left_ones), (right_tens, right_ones) = divmod(self.left, 10), divmod(self.right, 10)
        if self.sign == _ADD:
            ones = left_ones + right_ones
            carry = " + 1" if ones > 9 else ""
            tens = left_tens + right_tens + (ones > 9)
        else:
            borrow = left_ones < right_ones
            left_ones += 10 * borrow
            ones = left_ones - right_ones
            carry = " - 1" if borrow else ""
            tens = left_tens - right_tens - borrow
        sign = self.sign
        return (
            f"Ones: {left_ones} {sign} {right_ones} = {ones}. "
            f"Tens: {left_tens} {sign} {right_tens}{carry} = {tens}."
        )

    def _from_line_above(self) -> str:
        if self.left < 3 or self.right < 2 or self.left == 10 or self.right == 10:
            return ""
        above = (self.left - 1) * self.right
        return f"{self.left - 1} x {self.right} = {above}. {above} + {self.right} = {self.result}. So "


def chat(rng: random.Random, split: Split) -> Chat:
    """A sum, in one of three told as a story."""
    if rng.random() < 0.25:
        return _problem(rng, split)

    def make() -> tuple[Sum, str]:
        drawn = _draw_sum(rng, least=0)
        return drawn, rng.choice(WORDINGS[drawn.sign]).format(a=drawn.left, b=drawn.right)

    drawn, question = draw(split, make, lambda made: made[1])
    must = (str(drawn.result),)
    if drawn.result in (drawn.left, drawn.right):
        must = (f"= {drawn.result}",)
    asked = casual(rng, question)
    if split_of(asked) is not split:
        asked = question
    return Chat("sums", [user(asked)], drawn.steps(), f"{drawn} = {drawn.result}.", Check(must))


def _draw_sum(rng: random.Random, least: int) -> Sum:
    """A sum with numbers and result of at least `least`, mostly of numbers up to ten."""
    sign = rng.choices((_ADD, _SUBTRACT, _MULTIPLY), (6, 4, 1))[0]
    if sign == _MULTIPLY:
        return Sum(rng.randint(least, 5), sign, rng.randint(least, 10))
    most = rng.choices((10, 20), (3, 1))[0]
    left, right = rng.randint(least, most), rng.randint(least, most)
    if sign == _SUBTRACT:
        left, right = max(left, right), min(left, right)
        if left - right < least:
            left = right + least + rng.randint(0, 5)
    return Sum(left, sign, right)


def _problem(rng: random.Random, split: Split) -> Chat:
    drawn = _draw_sum(rng, least=2)
    name, other = rng.sample(NAMES, 2)
    nouns = f"{invented_word(rng)}s" if rng.random() < 0.1 else rng.choice(NOUNS)
    told, asked, answer = rng.choice(PROBLEMS[drawn.sign])
    words = {"a": drawn.left, "b": drawn.right, "r": drawn.result, "name": name, "other": other, "things": nouns}
    question = f"{told} {asked}".format(**words)
    check = Check((str(drawn.result),))
    return Chat("sums", [user(question)], drawn.steps(), answer.format(**words), check)
