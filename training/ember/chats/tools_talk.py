"""What is said around tools: results in words, errors, and talk that needs no tool at all."""

#: What an animal, a person or a thing may be, as a dictionary says it.
MEANINGS = (
    "a small {animal}", "a {color} {thing}", "a kind of {thing}", "a young {animal}", "a big {thing}",
    "a {color} {animal}",
    "a {thing} made of {material}", "a person who sells {plural}", "a place where a {animal} lives",
)

#: What goes wrong in a tool, and how that is told.
ERRORS = (
    "not found", "no connection", "not allowed", "busy", "out of time", "no answer", "bad input",
    "try again later",
)
ERROR_REPLIES = (
    "I am sorry, that did not work: {error}.", "That did not work. The tool says: {error}.",
    "I could not do it. The error is: {error}.",
)

#: Questions that need no tool, their answers and a word that the answer must have.
PLAIN = (
    ("Hello!", "Hello! How can I help you?", "help"),
    ("Hi!", "Hi! What can I do for you?", "do"),
    ("Hi there.", "Hello! How can I help you?", "help"),
    ("Good morning!", "Good morning! How can I help you?", "morning"),
    ("Good evening.", "Good evening! What can I do for you?", "evening"),
    ("How are you?", "I am fine, thank you. How can I help you?", "fine"),
    ("How do you do?", "I am fine, thank you.", "fine"),
    ("Who are you?", "I am Ember, a small language model that ships inside inferno.", "Ember"),
    ("What are you?", "I am a small language model, not a person.", "language model"),
    ("What is your name?", "My name is Ember. I am a small language model.", "Ember"),
    ("Tell me who you are.", "I am Ember, a small language model that ships inside inferno.", "Ember"),
    ("What color is the sky?", "The sky is blue.", "blue"),
    ("What color is grass?", "Grass is green.", "green"),
    ("What color is snow?", "Snow is white.", "white"),
    ("What color is a banana?", "A banana is yellow.", "yellow"),
    ("What color is blood?", "Blood is red.", "red"),
    ("What color is coal?", "Coal is black.", "black"),
    ("Is ice cold?", "Yes, ice is cold.", "cold"),
    ("Is fire hot?", "Yes, fire is hot.", "hot"),
    ("Can a fish swim?", "Yes, a fish can swim.", "swim"),
    ("Can a bird fly?", "Yes, most birds can fly.", "fly"),
    ("What does a cow give us?", "A cow gives us milk.", "milk"),
    ("What does a hen lay?", "A hen lays eggs.", "eggs"),
    ("How many legs does a dog have?", "A dog has four legs.", "four"),
    ("How many legs does a spider have?", "A spider has eight legs.", "eight"),
    ("How many days does a week have?", "A week has seven days.", "seven"),
    ("How many months does a year have?", "A year has twelve months.", "twelve"),
    ("What is the opposite of big?", "The opposite of big is small.", "small"),
    ("What is the opposite of hot?", "The opposite of hot is cold.", "cold"),
    ("What is the opposite of day?", "The opposite of day is night.", "night"),
    ("What comes after Monday?", "After Monday comes Tuesday.", "Tuesday"),
    ("What comes after Friday?", "After Friday comes Saturday.", "Saturday"),
    ("Thank you!", "You are welcome!", "welcome"),
    ("Thanks a lot.", "You are welcome!", "welcome"),
    ("Good night!", "Good night! Sleep well.", "night"),
    ("Goodbye!", "Goodbye! Have a nice day.", "goodbye"),
    ("See you later.", "Goodbye! Have a nice day.", "goodbye"),
    ("Can you help me?", "Yes, I can help you. What do you need?", "help"),
    ("Say yes.", "Yes.", "yes"),
)

#: Plain talk with values in it: what is said, the answer, and the kind that both hold.
PLAIN_WITH_VALUES = (
    ("My name is {person}.", "Nice to meet you, {person}! How can I help you?"),
    ("I am {person}.", "Hello, {person}! What can I do for you?"),
    ("Hello, I am {person}.", "Hello, {person}! How can I help you?"),
    ("Say hello to {person}.", "Hello, {person}!"),
    ("Say the word {any}.", "{any}"),
    ("Repeat this word: {any}", "{any}"),
    ("I like {food}.", "It is nice that you like {food}."),
    ("I have a {animal}.", "How nice! A {animal} is a good friend."),
    ("My favorite color is {color}.", "{color} is a beautiful color."),
    ("I live in {city}.", "It is nice that you live in {city}."),
)

#: Sums that are small enough for the head.
PLAIN_SUMS = ("What is {a} + {b}?", "What is {a} plus {b}?", "How much is {a} + {b}?", "{a} + {b} = ?")

#: After a finished round: what the user says, the answer and a word that it must have.
THANKS = (
    ("Thank you!", "You are welcome!", "welcome"),
    ("Thanks!", "You are welcome!", "welcome"),
    ("Thanks, that helps.", "You are welcome!", "welcome"),
    ("Great, thank you.", "You are welcome!", "welcome"),
    ("Good. Goodbye!", "Goodbye! Have a nice day.", "goodbye"),
    ("That is all. Thank you.", "You are welcome! Have a nice day.", "welcome"),
)

PLAIN_THOUGHTS = (
    "No tool is needed. I answer myself.", "This needs no tool. I answer directly.",
    "I can answer this without a tool.",
)
NO_TOOL_ANSWERS = (
    "I am sorry, I have no tool for that.", "I am sorry, but I have no tool for that.",
    "I cannot do that, as I have no tool for it.",
)

#: What may stand before and after a question.
OPENERS = (
    "Hello! ", "Hi! ", "Hey, can you help me? ", "I have a question. ", "One more thing. ", "Good morning! ",
    "Please help me. ",
)
CLOSERS = (" Thanks!", " Thank you.", " Please be quick.", " I need it now.")
NEXT_OPENERS = ("And now: ", "Thanks! ", "Good. ", "Thank you. ", "One more thing. ", "Great! ", "Next question. ")

SYSTEMS = (
    "You are a helpful assistant.", "You are Ember, a helpful assistant.", "Use the tools when they help.",
    "Answer in short sentences.",
)
