"""Words and sentences for short tasks, and the wordings of the tasks."""

SHORT_WORDS = """
cat dog sun hat cup bed box fox hen pig cow bee ant owl egg jam pie nut key map pen bag bus car van road tree leaf rose
seed moon star rain snow wind hill lake pond river sea ship boat sail rope knot fish frog duck swan crow bird nest wing
bear wolf lion goat lamb horse pony mouse house door roof wall room desk lamp book page word song drum bell ball doll
kite game coin ring gold iron stone sand salt milk bread cake apple plum pear lemon grape melon corn bean soup spoon
fork plate glass chair table clock watch shirt coat sock shoe glove scarf dress red blue green black white brown pink
happy sad big small tall short fast slow warm cold dry wet new old good kind brave quiet loud soft hard light dark day
night week year time morning winter summer spring hand foot head nose ear eye mouth tooth king queen prince castle tower
bridge farm garden forest mountain island train plane wheel wagon yes hello peace love friend sister brother mother
father child baby yellow purple orange silver butter cheese pepper sugar honey water fire smoke cloud storm thunder
shadow dragon giant rabbit tiger zebra monkey parrot turtle spider beetle flower basket bottle button candle carpet
mirror window pillow
""".split()

ADJECTIVES = """happy big small red blue green old new quiet warm cold soft brave kind tired hungry little clever round
wet dry shiny yellow lazy funny proud gentle strong""".split()

SUBJECTS = ["the cat", "the dog", "the bird", "the girl", "the boy", "the bear", "the fox", "my friend", "the king",
            "the queen", "the old man", "the farmer", "the mouse", "my sister", "my brother", "the baker",
            "the little duck",
            "the teacher"]

#: Sentences to repeat, with the words that go into them.
SENTENCES = [
    "I see a {how} {what}.", "Today {who} is {how}.", "The {what} is {how}.", "I think that {who} has a {what}.",
    "Yesterday {who} found a {what}.", "We saw a {how} {what} and a {what}.", "Look, {who} has a {how} {what}!",
    "In the morning {who} sings a song.", "My {what} is not {how}.", "It is good that {who} came.",
    "A {how} {what} is better than no {what}.", "At night {who} dreams of a {how} {what}.",
]

_SPELLINGS = [
    "Spell the word {{x}}{with_}.", "Spell {{x}}{with_}.", "How do you spell {{x}}{with_}?",
    "Please spell {{x}}{with_}.", "Can you spell {{x}}{with_}?", "Write the letters of {{x}}{with_}.",
    "Spell the word \"{{x}}\"{with_}.", "Write the word {{x}} letter by letter{with_}.",
    "I want to see how {{x}} is spelled{with_}.",
]

#: By task: its wordings and the thought.
TASKS = {
    "say": ([
        "Say {x} and nothing else.", "Say {x}.", "Just say {x}.", "Answer with the word {x}.", "Reply with {x}.",
        "Write the word {x}.", "Say only the word {x}.", "Please say {x}.", "Answer only: {x}", "Can you say {x}?",
        "Say the word \"{x}\".", "Repeat the word {x}.", "Say \"{x}\" and nothing more.",
        "Respond with just the word {x}.", "Your answer must be {x}.", "Reply with one word: {x}",
    ], "The user wants the word {x}."),
    "repeat": ([
        "Repeat after me: {x}", "Repeat this sentence: {x}", "Say this: {x}", "Please repeat: {x}", "Write this: {x}",
        "Copy this sentence: {x}", "Can you repeat this? {x}", "Repeat: {x}", "Say exactly this: {x}",
        "Repeat what I say: {x}", "Say it after me: {x}", "Write down this sentence: {x}",
        "Answer with this sentence: {x}",
    ], "The user wants the sentence again."),
    "spell with spaces": ([wording.format(with_=with_) for wording in _SPELLINGS for with_ in (" with spaces",
                           ", with spaces")],
                          "I write the letters of {x} with spaces."),
    "spell with hyphens": ([wording.format(with_=with_) for wording in _SPELLINGS
                            for with_ in ("", "", " with hyphens",
                            ", with hyphens")], "I write the letters of {x} with hyphens."),
    "letter": ([
        "What is the {which} letter of {x}?", "What is the {which} letter of the word {x}?",
        "Which letter is {which} in {x}?", "Tell me the {which} letter of {x}.", "Name the {which} letter of {x}.",
        "What is the {which} letter in {x}?", "Can you tell me the {which} letter of {x}?",
        "Which is the {which} letter of \"{x}\"?", "Say the {which} letter of {x}.",
        "Give me the {which} letter of {x}.", "Look at the word {x}. What is its {which} letter?",
    ], "The {which} letter of {x} is {letter}."),
    "count": ([
        "Count to {b}.", "Count from {a} to {b}.", "Can you count to {b}?", "Please count to {b}.", "Count up to {b}.",
        "Write the numbers from {a} to {b}.", "List the numbers from {a} to {b}.", "Say the numbers from {a} to {b}.",
        "Can you count from {a} to {b}?", "Start at {a} and count to {b}.",
    ], "I count from {a} to {b}."),
    "count from": ([
        "Count from {a} to {b}.", "Write the numbers from {a} to {b}.", "List the numbers from {a} to {b}.",
        "Say the numbers from {a} to {b}.", "Can you count from {a} to {b}?", "Start at {a} and count to {b}.",
        "Please count from {a} to {b}.", "Which numbers come from {a} to {b}?",
    ], "I count from {a} to {b}."),
    "list": ([
        "List {n} {x}.", "Name {n} {x}.", "Tell me {n} {x}.", "Give me {n} {x}.", "Can you name {n} {x}?",
        "Write down {n} {x}.", "Please list {n} {x}.", "I need {n} {x}.", "Do you know {n} {x}?",
        "Give me a list of {n} {x}.", "Say the names of {n} {x}.", "What are {n} {x}?", "Think of {n} {x}.",
        "Could you list {n} {x}?",
    ], "The user wants {n} {x}."),
    "larger": ([
        "Which is larger, {a} or {b}?", "Which is bigger, {a} or {b}?", "Which number is larger, {a} or {b}?",
        "What is more, {a} or {b}?", "Is {a} or {b} larger?", "Which number is bigger: {a} or {b}?",
        "Tell me which is larger, {a} or {b}.", "Which one is greater, {a} or {b}?",
        "Compare {a} and {b}. Which is larger?", "What is the larger number, {a} or {b}?",
        "Of {a} and {b}, which is the larger?", "Name the larger number: {a} or {b}.",
    ], "{found} is more than {other}."),
    "smaller": ([
        "Which is smaller, {a} or {b}?", "Which is less, {a} or {b}?", "Which number is smaller, {a} or {b}?",
        "What is less, {a} or {b}?", "Is {a} or {b} smaller?", "Which number is smaller: {a} or {b}?",
        "Tell me which is smaller, {a} or {b}.", "Compare {a} and {b}. Which is smaller?",
        "What is the smaller number, {a} or {b}?", "Of {a} and {b}, which is the smaller?",
        "Name the smaller number: {a} or {b}.",
    ], "{found} is less than {other}."),
    "is a": ([
        "Is {x} {y}?", "Is {x} {y}?", "Would you say that {x} is {y}?", "Do you think that {x} is {y}?",
        "Can you tell me if {x} is {y}?", "Is it true that {x} is {y}?", "Yes or no: is {x} {y}?",
        "Tell me if {x} is {y}.", "True or not: {x} is {y}.", "I say that {x} is {y}. Is that right?",
        "Answer with yes or no. Is {x} {y}?", "I wonder if {x} is {y}. What do you say?",
    ], "{thought}"),
    "choose": ([
        "Which one is {y}, {a} or {b}?", "Which is {y}: {a} or {b}?", "What is {y}, {a} or {b}?", "Is {a} or {b} {y}?",
        "Tell me which one is {y}, {a} or {b}.", "Here are two things: {a} and {b}. Which one is {y}?",
        "Look at {a} and {b}. Which of them is {y}?", "Of {a} and {b}, which is {y}?",
    ], "{x} is {y}."),
}
