"""Facts that users tell about themselves: clauses, replies, and questions with their answers.

`{v}` is the word of a fact and `{w}` the other one; alternatives are divided by ` | `.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sort:
    """A kind of fact with one word: its clauses, replies, questions, the answer, and questions for yes or no."""

    name: str
    #: The kind of the word, or the least and the greatest number.
    kind: str | tuple[int, int]
    clauses: str
    replies: str
    asks: str
    answer: str
    #: Asks whether the word is `{v}`; empty if that is not asked.
    checks: str = ""
    weight: int = 4


SORTS = (
    Sort("name", "name", "my name is {v} | i am {v} | i'm {v} | call me {v} | i am called {v}", "Nice to meet you, {v}! | Hello, {v}! | Hi {v}!",
        "what is my name | what's my name? | do you remember my name | who am i | what am i called | and my name? | tell me my name", "Your name is {v}.",
        "is my name {v} | am i called {v} | did i say my name is {v}", 12),
    Sort("age", (6, 95), "i am {v} years old | i'm {v} | i am {v} | my age is {v} | i just turned {v}", "{v} is a fine age. | {v}! Thank you for telling me.",
        "how old am i | what is my age | how old did i say i am | and how old am i? | do you remember my age | do you know how old i am | my age?", "You are {v} years old.",
        "am i {v} | am i {v} years old | did i say that i am {v}", 12),
    Sort("city", "city", "i live in {v} | my home is in {v} | i live in the city of {v} | we live in {v}", "{v} sounds nice. | {v}! What do you like about it?",
        "where do i live | which city do i live in | in which city is my home | where is my home | do you remember where i live | and where do i live?", "You live in {v}.",
        "do i live in {v} | is my home in {v}", 12),
    Sort("from", "country", "i come from {v} | i was born in {v} | i grew up in {v}", "{v}! I hope to hear more about it. | {v}, how interesting!",
        "where do i come from | which country do i come from | what is my home country | from which country am i", "You come from {v}.", "do i come from {v}", 4),
    Sort("job", "job", "i work as a {v} | i am a {v} | my job is {v} | i'm a {v} by trade", "A {v}! Do you like it? | A {v}, that is a good job.",
        "what is my job | what do i do for work | what do i work as | what is my profession | and my job? | do you know what i do", "You are a {v}.",
        "am i a {v} | do i work as a {v}", 10),
    Sort("color", "color", "my favorite color is {v} | i like the color {v} best | {v} is my favorite color", "{V} is a fine color. | {V}, a good choice!",
        "what is my favorite color | which color do i like best | my favorite color? | and which color is my favorite", "Your favorite color is {v}.",
        "is {v} my favorite color | is my favorite color {v}", 6),
    Sort("animal", "animal", "my favorite animal is the {v} | the {v} is my favorite animal", "The {v} is a good choice. | The {v}! What do you like about it?",
        "what is my favorite animal | which animal do i like best | my favorite animal? | which animal is my favorite", "Your favorite animal is the {v}.", "is the {v} my favorite animal", 5),
    Sort("month", "month", "my birthday is in {v} | i was born in {v} | i have my birthday in {v}", "{v} is a good month for a birthday. | I hope you have a nice party in {v}.",
        "when is my birthday | in which month is my birthday | which month was i born in | what month is my birthday", "Your birthday is in {v}.", "is my birthday in {v}", 5),
    Sort("language", "language", "i am learning {v} | i study {v} | i have started to learn {v}", "{v}! Is it hard? | Good luck with your {v}!",
        "which language am i learning | what language do i study | what am i learning | which language do i want to speak", "You are learning {v}.", "am i learning {v}", 4),
    Sort("drink", "drink", "i drink {v} every morning | my favorite drink is {v} | in the morning i drink {v}", "{V} is a good start. | {V}, how nice!",
        "what do i drink | what is my favorite drink | what do i drink in the morning", "You drink {v}.", "do i drink {v}", 4),
    Sort("instrument", "instrument", "i play the {v} | i have played the {v} for years | i am learning to play the {v}", "The {v}! Do you play every day? | The {v} has a lovely sound.",
        "which instrument do i play | what do i play | what instrument do i play | which instrument was mine", "You play the {v}.", "do i play the {v}", 4),
    Sort("sport", "sport", "my sport is {v} | i love {v} more than any other sport | my favorite sport is {v}", "{V} is fun. | {V}! Do you have a team?",
        "what is my sport | which sport do i love | what is my favorite sport | which sport is my favorite", "Your favorite sport is {v}.", "is {v} my favorite sport", 4),
    Sort("children", (2, 7), "i have {v} children | we have {v} children | i am a parent of {v} children", "{v} children! It must be lively at home. | {v} children, how nice!",
        "how many children do i have | how many kids do i have | what is the number of my children", "You have {v} children.", "do i have {v} children", 4),
    Sort("house number", (2, 320), "my house number is {v} | i live at number {v} | the number of our house is {v}", "Number {v}, all right. | All right, number {v}.",
        "what is my house number | which number is my house | at what number do i live", "Your house number is {v}.", "is my house number {v}", 3),
    Sort("fear", "fear", "i am afraid of {v} | i have always been scared of {v} | what scares me is {v}", "Many people feel like that. | I understand. Thank you for telling me.",
        "what am i afraid of | what scares me | what is my fear | what do i fear", "You are afraid of {v}.", "am i afraid of {v}", 4),
    Sort("event", "event", "i have {a_v} on {d} | on {d} i have {a_v} | my {v} is on {d}", "Good luck with your {v}! | I hope that your {v} goes well.",
        "when is my {v} | on which day is my {v} | which day is my {v} | what day did i say for my {v}", "Your {v} is on {d}.", "is my {v} on {d}", 6),
    Sort("plan", "do", "tomorrow i want to {v} | on {d} i will {v} | i plan to {v} on the weekend", "That sounds like fun. | A good plan!",
        "what is my plan | what do i want to do | what did i say i plan to do | what are my plans", "You want to {v}.", "", 6),
    Sort("trip", "city", "i am going to {v} on {d} | on {d} i travel to {v} | my trip to {v} is on {d}", "Have a good trip to {v}! | {v}! How exciting.",
        "where am i going | which city am i traveling to | where is my trip to | where do i travel on {d}", "You are going to {v}.", "am i going to {v}", 5),
    Sort("allergy", "foods", "i cannot eat {v} | i am allergic to {v} | {v} make me ill", "Thank you, that is good to know. | Then no {v} for you.",
        "what can i not eat | what am i allergic to | which food must i not eat | which food makes me ill", "You cannot eat {v}.", "can i eat {v}", 4),
    Sort("bought", "object", "i bought {a_v} today | today i got a new {v} | i have a new {v}", "A new {v}! Are you happy with it? | Nice! What will you do with it?",
        "what did i buy | what is new at my home | what did i get | which new thing do i have", "You got a new {v}.", "did i buy {a_v}", 5),
    Sort("subject", "subject", "my favorite subject is {v} | in school i like {v} best", "{V} is a good subject. | {V}! What do you like about it?",
        "what is my favorite subject | which subject do i like best | which subject is my favorite", "Your favorite subject is {v}.", "is {v} my favorite subject", 4),
)

INSTRUMENTS = ("piano guitar violin flute cello drums trumpet harp clarinet accordion saxophone trombone banjo recorder organ ukulele oboe tuba "
    "mandolin harmonica bagpipes viola bassoon xylophone").split()

#: Relatives whom users have, in groups that fit with a name of one kind.
WOMEN = "sister mother aunt daughter grandmother niece wife".split()
MEN = "brother father uncle son grandfather nephew husband".split()
EITHER = "cousin boss teacher neighbor doctor dentist friend roommate colleague coach best_friend".split()

#: What users like and do not like: the kind of words, and what is asked about them.
TASTES = (
    ("foods", ("what do i like to eat", "which food do i like", "what could you cook for me"), ("what do i not like to eat", "which food do i not like", "what should nobody cook for me")),
    ("dish", ("what do i like to eat", "which dish do i like"), ("what do i not want to eat", "which dish do i not like")),
    ("doing", ("what do i like to do", "what is fun for me"), ("what do i not like to do", "what is no fun for me")),
    ("animals", ("which animals do i like",), ("which animals do i not like", "which animals don't i like")),
    ("drink", ("what do i like to drink",), ("what do i not like to drink", "what don't i drink")),
    ("sport", ("which sport do i like",), ("which sport do i not like", "which sport don't i like")),
    ("subject", ("which subject do i like",), ("which subject do i not like", "which subject don't i like")),
    ("weather things", ("what do i like",), ("what do i not like",)),
    ("color", ("which color do i like",), ("which color do i not like",)),
)
WEATHER_THINGS = ("rain snow wind fog heat sunshine thunder frost winter summer spring autumn storms early_mornings late_evenings long_walks loud_music crowds silence "
    "trains airplanes old_films long_books card_games board_games big_cities small_villages the_sea the_mountains").split()

LIKING = ("i like {a} but not {b}", "i like {a}, but i don't like {b}", "i love {a} and hate {b}", "i love {a}. i hate {b}.", "i don't like {b}, i like {a}",
    "i hate {b} but i love {a}", "i do not like {b}. i like {a}.", "i like {a}. i do not like {b}.", "{a}: yes. {b}: no, i don't like that", "i am fond of {a}, but i cannot stand {b}",
    "i can't stand {b}, but i enjoy {a}", "i enjoy {a}, and i dislike {b}", "i dislike {b}, but i really like {a}", "i prefer {a}, i never liked {b}")
LIKING_REPLIES = ("I see: you like {a}, but not {b}.", "Good to know: {a} yes, {b} no.", "All right, I will remember that.", "Thank you for telling me!", "Everybody has a taste of their own.")
LIKED = ("what do i like", "what did i say i like", "and what do i like?", "what do i love", "what is it that i like", "tell me what i like", "so what do i like")
DISLIKED = ("what don't i like", "and what don't i like?", "what do i not like", "what do i hate", "what did i say i don't like", "what do i dislike", "and what do i not like",
    "tell me what i don't like")

THANKS = ("Thank you for telling me! I will remember it.", "Good to know. I will keep it in mind.", "Thank you! Now I know a little more about you.", "I see. Thank you for telling me.",
    "All right, I will remember that.", "How nice! Tell me more, if you like.", "Thank you, noted!")
SUMMARY = ("what do you know about me", "what have i told you about me", "sum up what you know about me", "tell me everything you know about me", "what did i tell you about myself")
