"""Tools for numbers, words and files."""

from ember.chats.tools_data import Tool

OFFICE = (
    Tool(
        "calculator|calculate|compute|math",
        "Work out a sum|Compute a math expression|Calculate a value",
        ("expression|formula|input: expression",),
        (
            "What is {expression}?", "Calculate {expression}.", "Compute {expression}.",
            "How much is {expression}?",
            "Please work out {expression}.", "{expression} = ?", "Can you tell me what {expression} is?",
        ),
        "the value of {expression}",
        ("result|value|answer: value",),
        (
            "{expression} = {result}.", "The answer is {result}.", "{expression} is {result}.",
            "That makes {result}.",
        ),
        ("What is {expression}, and what is {second}?", "Calculate {expression} and also {second}."),
        "math",
    ),
    Tool(
        "convert_currency|exchange_money|currency",
        "Change money to other money|Convert an amount of money",
        ("amount|value: amount", "from|from_currency|source: currency", "to|to_currency|target: currency"),
        (
            "How much is {amount} {from} in {to}?", "Convert {amount} {from} to {to}.",
            "Change {amount} {from} into {to}.",
            "What are {amount} {from} in {to}?", "How many {to} are {amount} {from}?",
            "I have {amount} {from}. How much is that in {to}?",
        ),
        "to change {amount} {from} to {to}",
        ("result|amount|total: amount",),
        (
            "{amount} {from} are {result} {to}.", "That makes {result} {to}.",
            "You get {result} {to} for {amount} {from}.",
        ),
    ),
    Tool(
        "translate|translate_word|translator",
        "Translate a word|Put a word into a language",
        ("word|text|input: word", "language|to|target: language"),
        (
            "What is {word} in {language}?", "Translate {word} to {language}.",
            "How do you say {word} in {language}?",
            "Translate the word {word} into {language}.", "I need the {language} word for {word}.",
            'What does "{word}" mean in {language}?',
        ),
        "the {language} word for {word}",
        ("translation|result|text: any",),
        (
            'The {language} word for {word} is "{translation}".', 'In {language}, {word} is "{translation}".',
            'You say "{translation}" in {language}.',
        ),
    ),
    Tool(
        "define_word|dictionary|lookup_word|get_meaning",
        "Look up what a word means|Get the meaning of a word",
        ("word|term|entry: any",),
        (
            "What does {word} mean?", "Look up the word {word}.", "What is the meaning of {word}?",
            "Define {word}.",
            "Please explain the word {word}.", "What is a {word}?", 'What does the word "{word}" mean?',
        ),
        "the meaning of {word}",
        ("meaning|definition: meaning",),
        ("{word} means {meaning}.", "The word {word} means {meaning}.", "A {word} is {meaning}."),
        ("What do {word} and {second} mean?", "Look up the words {word} and {second}."),
    ),
    Tool(
        "read_file|open_file|show_file|cat",
        "Read a file|Show the text of a file",
        ("file|path|name|filename: file",),
        (
            "Read the file {file}.", "What does {file} say?", "Show me {file}.", "Open {file} and read it.",
            "What is in the file {file}?",
            "Please read {file} to me.",
        ),
        "to read {file}",
        ("text|content: message",),
        ('The file {file} says: "{text}".', 'In {file} stands: "{text}".', 'It says: "{text}".'),
        ("Read {file} and {second}.", "What do {file} and {second} say?"),
    ),
    Tool(
        "create_note|add_note|write_note|save_note",
        "Write a note|Save a short note",
        ("text|note|content: message",),
        (
            "Make a note: {text}", 'Write down "{text}".', "Save this note: {text}", "Please note this: {text}",
            'Make a note that says "{text}".',
        ),
        'a note that says "{text}"',
        ("status|state|saved: ok",),
        ('I wrote down "{text}".', 'The note "{text}" is saved.', 'Your note says "{text}" now.'),
    ),
    Tool(
        "random_number|random|pick_number",
        "Pick a random number|Get a number by chance",
        ("low|min|from: small", "high|max|to: big"),
        (
            "Give me a random number from {low} to {high}.", "Pick a number between {low} and {high}.",
            "I need a random number between {low} and {high}.",
            "Choose any number from {low} to {high}.", "Think of a number between {low} and {high}.",
        ),
        "a random number from {low} to {high}",
        ("number|value|result: small",),
        ("The number is {number}.", "I picked {number}.", "Your random number is {number}."),
    ),
)
