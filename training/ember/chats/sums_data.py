"""How sums are asked for, bare and as little stories."""

_AROUND = [
    "What is {}?", "What's {}?", "{}", "{} =", "{} = ?", "{}?", "How much is {}?", "Calculate {}.",
    "Please calculate {}.", "Work out {}.", "Can you work out {}?", "Can you tell me what {} is?",
    "Tell me what {} is.", "What does {} make?", "Do you know what {} is?", "What do you get for {}?",
    "I need to know {}.", "Solve {}.", "Compute {}.", "Please tell me {}.", "What is the result of {}?",
    "What is the answer to {}?", "Hey, what is {}?", "Find {}.",
]


def _around(*forms: str) -> list[str]:
    return [wording.format(form) for form in forms for wording in _AROUND]


WORDINGS = {
    "+": _around("{a} + {b}", "{a} + {b}", "{a} plus {b}") + [
        "{a}+{b}", "{a}+{b}=", "{a}+{b}?", "What is {a}+{b}?", "Add {a} and {b}.", "Add {b} to {a}.",
        "What is the sum of {a} and {b}?", "Can you add {a} and {b}?", "How much is {a} and {b}?",
        "If I add {a} and {b}, what do I get?", "Give me the sum of {a} and {b}.", "Please add {a} and {b}.",
        "What do {a} and {b} make together?", "What is {b} more than {a}?",
    ],
    "-": _around("{a} - {b}", "{a} - {b}", "{a} minus {b}") + [
        "{a}-{b}", "{a}-{b}=", "{a}-{b}?", "What is {a}-{b}?", "Take {b} away from {a}.", "Subtract {b} from {a}.",
        "What is left when I take {b} from {a}?", "Can you take {b} from {a}?", "What is {b} less than {a}?",
        "If I take {b} away from {a}, what is left?", "What is the difference between {a} and {b}?",
        "Please subtract {b} from {a}.",
    ],
    "x": _around("{a} x {b}", "{a} * {b}", "{a} times {b}") + [
        "{a}x{b}", "{a}*{b}", "{a}*{b}=", "What is {a}*{b}?", "Multiply {a} by {b}.", "Multiply {a} and {b}.",
        "What is the product of {a} and {b}?", "Can you multiply {a} by {b}?",
        "What do I get if I multiply {a} by {b}?", "Please multiply {a} by {b}.",
    ],
}

NOUNS = """
apples pears plums nuts eggs books pens coins stones shells stamps cards balls marbles buttons stars cakes cookies
candies carrots lemons oranges peaches cherries toys kites hats flowers roses leaves feathers keys cups spoons bells
beads blocks boats drums dolls seeds beans mushrooms potatoes tomatoes onions bananas strawberries letters pictures
ribbons candles baskets sticks acorns berries muffins pies sandwiches tickets stickers crayons pencils brushes
""".split()

#: By sign: what is told, what is asked, and the answer.
PROBLEMS = {
    "+": [
        ("{name} has {a} {things} and gets {b} more.", "How many {things} does {name} have now?",
         "{name} has {r} {things} now."),
        ("{name} has {a} {things}. {other} gives {name} {b} more.", "How many {things} does {name} have?",
         "{name} has {r} {things}."),
        ("{name} finds {a} {things} in the morning and {b} {things} in the evening.", "How many {things} is that?",
         "That is {r} {things}."),
        ("There are {a} {things} in a box. {name} puts in {b} more.", "How many {things} are in the box now?",
         "There are {r} {things} in the box."),
        ("{name} has {a} {things} and {other} has {b} {things}.", "How many {things} do they have together?",
         "Together they have {r} {things}."),
        ("I have {a} {things} and I buy {b} more.", "How many {things} do I have?", "You have {r} {things}."),
        ("I have {a} {things}. My friend gives me {b} {things}.", "How many do I have now?",
         "You have {r} {things} now."),
        ("On the table there are {a} {things}. On the floor there are {b} {things}.",
         "How many {things} are there in all?", "There are {r} {things} in all."),
        ("{name} bought {a} {things} on Monday and {b} {things} on Tuesday.", "How many {things} did {name} buy?",
         "{name} bought {r} {things}."),
    ],
    "-": [
        ("{name} has {a} {things} and gives {b} to {other}.", "How many {things} does {name} have left?",
         "{name} has {r} {things} left."),
        ("{name} had {a} {things} and lost {b} of them.", "How many {things} does {name} have now?",
         "{name} has {r} {things} now."),
        ("There are {a} {things} in a bag. {name} takes out {b}.", "How many {things} are left in the bag?",
         "There are {r} {things} left in the bag."),
        ("I have {a} {things} and I give away {b}.", "How many {things} do I have left?",
        "You have {r} {things} left."),
        ("There were {a} {things} on the table. {b} of them fell down.", "How many are still on the table?",
         "There are still {r} {things} on the table."),
        ("{name} has {a} {things}. {other} has {b} {things}.", "How many more {things} does {name} have?",
         "{name} has {r} more {things}."),
        ("{name} had {a} {things} and sold {b}.", "How many {things} are left?", "There are {r} {things} left."),
    ],
    "x": [
        ("There are {a} boxes with {b} {things} in each box.", "How many {things} are there in all?",
         "There are {r} {things} in all."),
        ("{name} has {a} bags. In each bag there are {b} {things}.", "How many {things} does {name} have?",
         "{name} has {r} {things}."),
        ("{a} children have {b} {things} each.", "How many {things} do they have together?",
         "Together they have {r} {things}."),
        ("{name} buys {b} {things} every day for {a} days.", "How many {things} does {name} buy?",
         "{name} buys {r} {things}."),
        ("I have {a} baskets, and each basket holds {b} {things}.", "How many {things} do I have?",
         "You have {r} {things}."),
    ],
}
