"""What users tell of themselves, how they tell it and how they ask for it later."""

from dataclasses import dataclass, field

from ember.chats.names_data import CITIES, COLORS, NAMES, PET_NAMES, PETS

_RELATIVES = "friend cousin teacher neighbor doctor boss roommate partner coach dentist helper landlord".split()
_FOODS = """pizza soup bread cheese rice pancakes noodles chocolate cake salad pasta apples pears cherries honey curry
waffles dumplings tacos porridge potatoes carrots beans corn cookies""".split()
_ANIMALS = """cat dog horse cow sheep goat pig lion tiger bear wolf fox mouse rabbit elephant giraffe zebra deer donkey
camel monkey kangaroo squirrel hedgehog turtle frog snake lizard otter robin crow owl eagle swan sparrow parrot
penguin""".split()
_GOODS = """bicycle lamp hat coat book drum kite clock kettle chair table basket bell boat candle carpet mirror guitar
piano ladder shovel tent rope map pen brush scarf shirt blanket pillow vase bowl spoon radio camera telescope
puzzle""".split()
_JOBS = """baker teacher farmer doctor painter sailor gardener cook driver writer singer nurse carpenter tailor pilot
dancer fisher librarian mechanic plumber shepherd potter""".split()
_HIDDEN = "key ring map book letter coin ticket watch spoon pen hat phone bag purse ball".split()
_PLACES = """box drawer bag basket kitchen garden barn car cellar attic cupboard chest jar bedroom garage tent tower
desk wardrobe shed teapot bucket boot""".split()


@dataclass(frozen=True)
class Secret:
    """One sort of thing to remember, with the wordings in which it is told, answered and asked for."""

    weight: int
    values: list[str]
    tellings: list[str]
    replies: list[str]
    questions: list[str]
    kept: str
    answers: list[str]
    #: Whether an invented word can be the value, and the value alone decides the split.
    open: bool = False
    words: dict[str, list[str]] = field(default_factory=dict)


SECRETS = [
    Secret(
        40, NAMES,
        ["My name is {value}.", "Hi, my name is {value}.", "Hello, I am {value}.", "I am {value}.",
         "Hello! My name is {value}.", "You can call me {value}.", "Hi, I'm {value}.", "Please call me {value}.",
         "I am called {value}.", "Hey, I'm {value}!", "People call me {value}.", "Good morning, I am {value}.",
         "Hi Ember, my name is {value}.", "The name is {value}.", "Please remember that my name is {value}.",
         "Remember my name: {value}.", "Hi! {value} here.", "I'm {value}, hello!",
         "Nice to meet you. My name is {value}.", "Everyone calls me {value}.",
         "Let me introduce myself: I am {value}."],
        ["Nice to meet you, {value}!", "Hello, {value}! How can I help you?", "Hello, {value}! It is nice to meet you.",
         "Hi, {value}! What can I do for you?"],
        ["What is my name?", "What's my name?", "Do you remember my name?", "Who am I?", "Tell me my name.",
         "What am I called?", "Can you tell me my name?", "Do you know my name?", "Do you still know my name?",
         "Can you remember my name?", "And what is my name?", "What was my name again?", "How am I called?",
         "Please say my name.", "Now tell me my name.", "What name did I tell you?", "Do you know who I am?",
         "So, what is my name?", "What did I say my name was?",
         "Have you forgotten my name?", "Which name did I give you?", "I forgot my name. What is it?", "Say my name."],
        "the name is {value}", ["Your name is {value}."], open=True,
    ),
    Secret(
        16, PET_NAMES,
        ["I have a {pet} named {value}.", "My {pet} is called {value}.", "I have a {pet}. Its name is {value}.",
         "The name of my {pet} is {value}.", "We have a {pet} called {value}.", "My {pet}'s name is {value}.",
         "I got a new {pet}. I call it {value}.", "This is my {pet} {value}.", "I named my {pet} {value}."],
        ["{value} is a nice name for a {pet}!", "What a nice name for a {pet}!",
         "I am sure that {value} is a fine {pet}."],
        ["What is the name of my {pet}?", "What is my {pet} called?", "What's my {pet}'s name?",
         "Do you remember my {pet}'s name?", "How is my {pet} called?", "Tell me the name of my {pet}.",
         "What did I name my {pet}?", "Who is my {pet}?",
         "What was the name of my {pet}?", "Can you tell me what my {pet} is called?", "Do you know my {pet}'s name?"],
        "the {pet} is called {value}", ["Your {pet} is called {value}."], open=True, words={"pet": PETS},
    ),
    Secret(
        10, NAMES,
        ["My {who} is called {value}.", "My {who}'s name is {value}.", "The name of my {who} is {value}.",
         "I have a {who} named {value}.", "I live near my {who}, {value}."],
        ["Please say hello to {value} from me!", "{value} is a nice name.", "I hope that {value} is well."],
        ["What is the name of my {who}?", "What is my {who} called?", "What's my {who}'s name?", "Who is my {who}?",
         "Do you remember the name of my {who}?", "Tell me my {who}'s name.", "What was my {who}'s name?",
         "Can you tell me what my {who} is called?"],
        "the {who} is called {value}", ["Your {who} is called {value}."], open=True, words={"who": _RELATIVES},
    ),
    Secret(
        8, CITIES,
        ["I live in {value}.", "My home is in {value}.", "I come from {value}.", "I am from {value}.",
         "My house is in {value}.",
         "I was born in {value} and I live there.", "We live in {value}."],
        ["{value} sounds like a nice place.", "I hope that you like it in {value}.", "That is good to know."],
        ["Where do I live?", "Where is my home?", "Do you remember where I live?", "Where did I say I live?",
         "Tell me where I live.",
         "In which place do I live?", "Do you know where I live?", "Which place do I come from?"],
        "they live in {value}", ["You live in {value}."], open=True,
    ),
    Secret(
        9, COLORS,
        ["My favorite color is {value}.", "I like the color {value} best.", "I love the color {value}.",
         "The color I like best is {value}.", "For me, {value} is the best color."],
        ["{value} is a nice color.", "I will remember that.", "That is a beautiful color."],
        ["What is my favorite color?", "Which color do I like best?", "What color do I like?",
         "Do you remember my favorite color?", "Tell me my favorite color.", "What's my favorite color?",
         "Which color is my favorite?",
         "Do you know my favorite color?"],
        "the favorite color is {value}", ["Your favorite color is {value}."],
    ),
    Secret(
        8, [str(age) for age in range(5, 100)],
        ["I am {value} years old.", "My age is {value}.", "I turned {value} today.", "I am {value} years old now.",
         "Today I am {value} years old."],
        ["Thank you for telling me.", "{value} is a good age.", "That is a fine age!"],
        ["How old am I?", "What is my age?", "Do you remember how old I am?", "Tell me my age.",
         "Tell me how old I am.",
         "Do you know my age?", "What age am I?", "How old did I say I am?"],
        "they are {value} years old", ["You are {value} years old."],
    ),
    Secret(
        5, [str(number) for number in range(1, 100)],
        ["My lucky number is {value}.", "Remember the number {value}.", "Please remember this number: {value}.",
         "I think of the number {value}.", "The number is {value}.", "Keep the number {value} in mind."],
        ["I will remember the number {value}.", "Good, I will keep it in mind."],
        ["What was the number?", "What number did I tell you?", "Which number did I say?", "Tell me the number.",
         "What is my number?",
         "Do you remember the number?", "What number should you remember?"],
        "the number is {value}", ["The number is {value}."],
    ),
    Secret(
        8, _GOODS,
        ["I bought a {value} today.", "Today I bought a new {value}.", "I just bought a {value}.",
         "Yesterday I bought a {value}.",
         "I went to the shop and bought a {value}.", "I got a {value} at the market."],
        ["I hope that you like your new {value}!", "That sounds nice!", "A new {value} is a good thing to have."],
        ["What did I buy?", "What have I bought?", "Do you remember what I bought?", "Tell me what I bought.",
         "Which thing did I buy?", "What was it that I bought?", "What did I get?", "Do you know what I bought?"],
        "they bought a {value}", ["You bought a {value}."], open=True,
    ),
    Secret(
        6, _FOODS,
        ["My favorite food is {value}.", "I like to eat {value} best.", "The food I love most is {value}.",
         "I love {value} more than any other food."],
        ["That sounds tasty!", "I hope that you have some {value} soon.", "That is good food."],
        ["What is my favorite food?", "What do I like to eat?", "Which food do I like best?",
         "Do you remember my favorite food?",
         "Tell me my favorite food.", "What food do I love?"],
        "the favorite food is {value}", ["Your favorite food is {value}."], open=True,
    ),
    Secret(
        6, _ANIMALS,
        ["My favorite animal is the {value}.", "The animal I like best is the {value}.",
         "I love the {value} more than all other animals.",
         "For me, the best animal is the {value}."],
        ["The {value} is a fine animal.", "I will remember that."],
        ["What is my favorite animal?", "Which animal do I like best?", "Do you remember my favorite animal?",
         "Tell me my favorite animal.", "Which animal do I love?", "What's my favorite animal?"],
        "the favorite animal is the {value}", ["Your favorite animal is the {value}."], open=True,
    ),
    Secret(
        6, _JOBS,
        ["I am a {value}.", "I work as a {value}.", "My job is that of a {value}.", "By day I am a {value}.",
         "I work here as a {value}."],
        ["That is a good job.", "It must be nice to be a {value}."],
        ["What is my job?", "What do I do for work?", "What do I work as?", "Do you remember my job?",
         "Tell me what my job is.",
         "Which job do I have?", "Do you know what my job is?"],
        "they work as a {value}", ["You are a {value}."], open=True,
    ),
    Secret(
        8, _PLACES,
        ["I put the {hidden} in the {value}.", "The {hidden} is in the {value}.", "My {hidden} is in the {value}.",
         "I left my {hidden} in the {value}.", "I hid the {hidden} in the {value}.",
         "Remember that the {hidden} is in the {value}."],
        ["I will remember where it is.", "Good, the {hidden} is in the {value}."],
        ["Where is the {hidden}?", "Where is my {hidden}?", "Where did I put the {hidden}?",
         "Do you remember where the {hidden} is?", "I cannot find the {hidden}. Where is it?",
         "Tell me where the {hidden} is.",
         "Where can I find the {hidden}?"],
        "the {hidden} is in the {value}", ["The {hidden} is in the {value}."], words={"hidden": _HIDDEN},
    ),
]
