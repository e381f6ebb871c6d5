"""Wordings of questions about numbers, and small stories with numbers in them."""

from dataclasses import dataclass

#: The signs of the operations.
SIGNS = {"plus": "+", "minus": "-", "times": "×"}

#: `{a}` and `{b}` are numbers, `{sign}` is a sign.
QUESTIONS = {
    "plus": [
        "{a}+{b}", "{a} + {b}", "{a} + {b}?", "{a}+{b}=", "{a} + {b} = ?", "what is {a} + {b}", "What is {a} plus {b}?",
        "what's {a} plus {b}",
        "how much is {a} plus {b}", "How much is {a} + {b}?", "add {a} and {b}", "Please add {a} and {b}.", "sum of {a} and {b}",
        "What is the sum of {a} and {b}?", "can you add {a} and {b}", "{a} plus {b}", "{a} and {b} makes what",
        "calculate {a} + {b}",
        "Calculate {a}+{b}.", "tell me {a} plus {b}", "do you know what {a} + {b} is", "what do i get if i add {a} to {b}",
        "{a} plus {b} is?",
        "compute {a} + {b}", "what does {a} + {b} equal", "solve {a} + {b}", "quick, {a} + {b}",
        "what is the result of {a} plus {b}",
        "how much are {a} and {b} together", "count {a} and {b} together", "whats {a}+{b}",
    ],
    "minus": [
        "{a}-{b}", "{a} - {b}", "{a} - {b}?", "{a}-{b}=", "{a} - {b} = ?", "what is {a} - {b}", "What is {a} minus {b}?",
        "how much is {a} minus {b}",
        "subtract {b} from {a}", "take {b} away from {a}", "What is left if I take {b} from {a}?", "{a} minus {b}",
        "calculate {a} - {b}",
        "What is the difference between {a} and {b}?", "take away {b} from {a}", "{a} less {b}", "compute {a}-{b}",
        "tell me {a} minus {b}",
        "can you do {a} - {b}", "what remains of {a} without {b}", "whats {a}-{b}", "solve {a} - {b}", "{a} minus {b} is?",
    ],
    "times": [
        "{a}{sign}{b}", "{a} {sign} {b}", "{a} {sign} {b}?", "what is {a} {sign} {b}", "What is {a} times {b}?",
        "how much is {a} times {b}",
        "multiply {a} by {b}", "multiply {a} and {b}", "{a} times {b}", "what is the product of {a} and {b}",
        "calculate {a} {sign} {b}",
        "{a} times {b} is?", "tell me {a} times {b}", "whats {a}{sign}{b}", "{a}{sign}{b}=", "compute {a} {sign} {b}",
        "can you multiply {a} with {b}",
        "what do I get for {a} times {b}",
    ],
}

#: Divisions.
DIVISIONS = [
    "{a} {sign} {b}", "{a}{sign}{b}", "{a} {sign} {b} =", "{a} {sign} {b}?", "what is {a} {sign} {b}", "whats {a}{sign}{b}", "calculate {a} {sign} {b}",
    "compute {a}{sign}{b}", "solve {a} {sign} {b}", "how much is {a} {sign} {b}?", "what is {a} divided by {b}", "What is {a} divided by {b}?",
    "{a} divided by {b}", "divide {a} by {b}", "Please divide {a} by {b}.", "how much is {a} divided by {b}", "how many times does {b} go into {a}",
    "how often does {b} fit into {a}", "{a} over {b}", "share {a} by {b}", "{a} split by {b}", "can you divide {a} by {b}", "tell me {a} divided by {b}",
    "what do i get if i divide {a} by {b}", "{a} divided by {b} is?", "{a} divided by {b} pls", "how many {b}s are in {a}", "split {a} into {b} equal parts, how big is each",
    "what is the quotient of {a} and {b}", "quick: {a} divided by {b}",
]

#: Answers to sums of larger numbers.
TOO_LARGE = [
    "Those numbers are too large for me; a calculator will do that better.",
    "I am too small for such large numbers, so please use a calculator.",
    "That is too large for me. I can add and subtract numbers below 100.",
    "Sorry, I only calculate with numbers below 100, so please take a calculator.",
    "I would get that wrong, as the numbers are too large for me. A calculator is right every time.",
    "Such large numbers are too much for me, but a calculator on your computer can do it.",
    "I am only a very small demo model, and those numbers are too large for me.",
    "Please take a calculator for that: I can only do small sums.",
    "That one is beyond me. Try me with numbers below 100!",
    "I would only guess at numbers of that size. A calculator knows.",
]

#: Answers to products beyond the table of twelve, and to divisions of larger numbers.
TOO_LARGE_PRODUCTS = [
    "That is too large for me; a calculator will do it better.",
    "I know only the multiplication table up to 12, so please use a calculator.",
    "That is beyond me, as I multiply and divide only small numbers.",
    "Sorry, I can only do small products and divisions, but a calculator can do this.",
    "I would get that wrong. A calculator is right every time.",
    "I am only a very small demo model, and that is too much for me.",
    "Please take a calculator for that: I know only small products and divisions.",
    "That one is too hard for me. Try me with something like 7 × 8!",
    "I would only guess. A calculator on your computer knows.",
    "Larger products and divisions are too much for me, so please take a calculator.",
]

#: Follow-ups on the last result.
FOLLOW_UPS = {
    "plus": [
        "and plus {b}?", "plus {b}", "add {b}", "and add {b}", "now add {b}", "+ {b}", "+{b}", "and {b} more?",
        "and plus {b} more", "then plus {b}",
        "what if i add {b}", "add another {b}", "and with {b} more", "now plus {b}", "that plus {b}?", "increase it by {b}",
    ],
    "minus": [
        "minus {b}", "and minus {b}?", "now take away {b}", "subtract {b}", "- {b}", "-{b}", "and without {b}?",
        "take {b} from that", "now minus {b}",
        "less {b}", "then minus {b}", "and if i take away {b}", "that minus {b}", "remove {b}",
    ],
    "times": [
        "times {b}", "and times {b}?", "now multiply by {b}", "multiply that by {b}", "* {b}", "x {b}", "that times {b}",
        "and {b} times that?",
        "now times {b}", "then times {b}",
    ],
}

CLAIMS = [
    "is {a} {op} {b} {c}", "Is {a} {op} {b} = {c}?", "is {a} {op} {b} equal to {c}?", "does {a} {op} {b} make {c}",
    "{a} {op} {b} is {c}, right?",
    "i think {a} {op} {b} = {c}, is that right", "my teacher says {a} {op} {b} is {c}, true?", "{a} {op} {b} = {c}?",
    "is it true that {a} {op} {b} is {c}",
    "check this: {a} {op} {b} = {c}", "{a} {op} {b} is {c}", "{a} {op} {b} equals {c}, right?", "true or false: {a} {op} {b} = {c}", "i got {c} for {a} {op} {b}, correct?",
    "{a} {op} {b} makes {c}", "can it be that {a} {op} {b} is {c}?", "my answer for {a} {op} {b} is {c}. is that right?", "so {a} {op} {b} is {c}?", "i say {a} {op} {b} = {c}",
    "tell me if {a} {op} {b} is {c}", "{a} {op} {b} = {c}, yes or no?", "is {c} the result of {a} {op} {b}?", "Is {c} right for {a} {op} {b}?",
]

COMPARISONS = {
    "half": ["what is half of {a}", "half of {a}?", "how much is half of {a}", "halve {a}", "divide {a} by two", "50% of {a}"],
    "double": ["what is double {a}", "double {a}", "what is twice {a}?", "how much is {a} doubled"],
    "divide": ["what is {a} divided by {b}", "{a} / {b}", "divide {a} by {b}", "{a} divided by {b}", "how much is {a} / {b}?",
    "share {a} by {b}"],
    "count": ["count from {a} to {b}", "Count from {a} up to {b}.", "can you count from {a} to {b}",
    "list the numbers from {a} to {b}", "write the numbers {a} to {b}",
    "say the numbers from {a} to {b}", "numbers {a} to {b}", "count {a} to {b}", "please count from {a} to {b}", "from {a} to {b}, count",
    "count up from {a} to {b}", "give me all numbers from {a} to {b}", "start at {a} and count to {b}", "count from {a} until {b}", "{a} to {b} please, count",
    "all numbers between {a} and {b}, with both", "count aloud from {a} to {b}", "begin with {a} and stop at {b}, counting up"],
    "count down": ["count down from {a} to {b}", "Count backward from {a} to {b}.", "count from {a} down to {b}", "count backwards from {a} to {b}",
    "from {a} back to {b}, count", "count from {a} to {b}", "start at {a} and count down to {b}", "count back from {a} to {b}", "numbers from {a} down to {b}",
    "{a} to {b} backwards", "count in reverse from {a} to {b}", "say the numbers from {a} down to {b}", "a countdown from {a} to {b}", "list the numbers {a} down to {b}"],
    "count back": ["count backwards from {a}", "count down from {a}", "Count backward from {a}.", "a countdown from {a}",
    "can you count down from {a}", "{a} and then backwards to 1", "start the countdown at {a}", "countdown from {a}", "count down from {a} to one"],
    "three": ["{a} + {b} + {c}", "what is {a} plus {b} plus {c}", "add {a}, {b} and {c}", "sum of {a}, {b} and {c}",
    "{a}+{b}+{c}="],
}


@dataclass(frozen=True)
class NumberStory:
    """A story with two numbers, in several wordings, and how its answer ends after the sum."""

    name: str
    operation: str
    questions: list[str]
    answer: str


STORIES = [
    NumberStory("together", "plus", [
        "{name} has {a} {things} and {name2} has {b}. How many do they have together?",
        "i have {a} {things} and my friend has {b}. how many do we have in total",
        "{a} {things} in one box and {b} in another, how many are there",
        "{name} finds {a} {things} and {name2} finds {b}. How many is that?",
        "there are {a} {things} on the table and {b} on the floor. how many {things} are there altogether?",
    ], ", so it is {c} {things} in total."),
    NumberStory("more", "plus", [
        "{name} has {a} {things} and gets {b} more. How many {things} does {name} have now?",
        "i had {a} {things} and bought {b} more, how many now",
        "we have {a} {things}. {b} more arrive. how many do we have?",
        "{name} collected {a} {things} yesterday and {b} today. How many in all?",
    ], ", so there are {c} {things} now."),
    NumberStory("lost", "minus", [
        "{name} has {a} {things} and loses {b}. How many are left?", "i had {a} {things} and lost {b}, how many do i have now",
        "there were {a} {things}, {b} broke. how many are left",
        "{a} {things} were in the bag and {b} fell out. How many are still in it?",
        "from {a} {things} i take {b} away. what is left?",
    ], ", so {c} {things} are left."),
    NumberStory("given away", "minus", [
        "{name} has {a} {things} and gives {b} of them to {name2}. How many does {name} keep?",
        "i have {a} {things} and give my sister {b}. how many do i keep?",
    ], ", so {c} {things} are left."),
    NumberStory("sold", "minus", [
        "a shop has {a} {things} and sells {b}. how many are left?",
        "{name} bakes {a} cakes and sells {b} of them. How many cakes are left?",
        "there are {a} {things} in the shop. {name} buys {b} of them. How many stay in the shop?",
    ], ", so {c} are left."),
    NumberStory("broken", "minus", [
        "{a} {things} stood on a shelf. {b} of them broke. How many are whole?", "there were {a} {things}, then {b} got lost. how many remain",
        "of {a} {things}, {b} are missing. how many are there", "{name} counted {a} {things}. The next day {b} were gone. How many were left?",
        "we started with {a} {things} and used {b}. how many do we still have?",
    ], ", so {c} {things} remain."),
    NumberStory("eaten", "minus", [
        "{name} bakes {a} cookies and eats {b}. How many cookies are left?", "there are {a} cookies on the plate, we eat {b}. how many now?",
        "{a} cookies minus the {b} that {name} ate, how many is that",
    ], ", so {c} cookies are left."),
    NumberStory("passengers", "plus", [
        "{a} people are on the bus and {b} get on. How many people are on the bus now?", "a train has {a} passengers, {b} more get in. how many passengers",
        "{a} children are in the yard. {b} more come. How many children are there?",
    ], ", so there are {c} now."),
    NumberStory("off the bus", "minus", [
        "{a} people are on the bus and {b} get off. How many people stay on the bus?", "a train with {a} passengers stops and {b} get out. how many are still in it",
        "{a} birds sit on a roof. {b} fly away. How many birds are left?", "{a} children play outside, {b} go home. how many stay?",
    ], ", so {c} are left."),
    NumberStory("planted", "plus", [
        "{name} planted {a} trees and {name2} planted {b}. How many trees is that?", "a farmer picks {a} apples in the morning and {b} in the evening. How many apples?",
        "i read {a} pages yesterday and {b} today, how many pages is that", "{name} walked {a} kilometers on Monday and {b} on Tuesday. How far is that?",
    ], ", so it is {c} in total."),
    NumberStory("rows", "times", [
        "there are {a} rows of {b} chairs. How many chairs are there?", "{name} plants {a} rows with {b} flowers in each row. How many flowers?",
        "{a} tables with {b} cups each, how many cups",
    ], ", so there are {c}."),
    NumberStory("younger", "minus", [
        "{name} is {a} years old and {name2} is {b} years younger. How old is {name2}?", "{name} is {a}. how old was {name} {b} years ago?",
        "i am {a} and my brother is {b} years younger, how old is he",
    ], ", so the age is {c}."),
    NumberStory("difference", "minus", [
        "{name} has {a} {things} and {name2} has {b}. How many more does {name} have?", "one box holds {a} {things}, the other {b}. what is the difference",
        "i need {a} {things} and have {b}. how many are missing",
    ], ", so the difference is {c}."),
    NumberStory("boxes", "times", [
        "{a} boxes with {b} {things} each, how many {things}",
        "there are {a} bags and {b} {things} in each bag. How many {things} are there?",
        "{name} buys {a} packs of {b} {things}. How many {things} is that?",
        "{a} children have {b} {things} each. how many {things} together",
    ], ", so there are {c} {things}."),
    NumberStory("price", "times", [
        "one ticket costs {a} dollars. how much are {b} tickets", "a hat costs {a} dollars. What do {b} hats cost?",
        "{name} works {a} hours a day for {b} dollars an hour. How much is that a day?",
    ], ", so it is {c} dollars."),
    NumberStory("spend", "minus", [
        "{name} has {a} dollars and spends {b}. How much is left?",
        "i have {a} dollars, a book costs {b}. how much do i have left after i buy it",
        "i pay with {a} dollars for something that costs {b}. what do i get back",
    ], ", so {c} dollars are left."),
    NumberStory("age", "plus", [
        "{name} is {a} years old. How old will {name} be in {b} years?", "i am {a}. how old am i in {b} years",
        "how old is someone who was {a}, {b} years later?",
    ], ", so the age is then {c}."),
]
