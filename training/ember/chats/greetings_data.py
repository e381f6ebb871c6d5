"""What users say in small talk and what is said back."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Talk:
    """Things a user says, what may be said back, and the word that stands in every answer."""

    wordings: list[str]
    thought: str
    answers: list[str]
    must: str


_HELLO = Talk(
    ["Hello", "Hello!", "Hello.", "Hi", "Hi!", "Hi.", "Hey", "Hey!", "Hi there", "Hi there!", "Hello there",
     "Hello there!", "Hey there!", "Hi, Ember!", "Hello, Ember!", "Hello, Ember.", "hi ember", "Hey, Ember!",
     "Good day!", "Good day, Ember.", "Hello, friend!", "Hello, you!", "Hi again!", "Hello again!", "Greetings!",
     "Greetings, Ember!", "Hey, are you there?", "Hello, is anyone there?", "Are you there?", "Hi, can we talk?",
     "Hello, I want to talk.", "Can I talk to you?", "Let us talk.", "Hello, nice to meet you!",
     "Nice to meet you, Ember!", "Hi, I am new here.", "Hello, can you hear me?",
     "Hello hello!", "Hi hi!", "Howdy!", "Yo!", "Hello, little model!", "hello world", "Hey you!"],
    "The user says hello. I say hello.",
    ["Hello! How can I help you?", "Hello! What can I do for you?", "Hello! It is nice to meet you.",
     "Hello! What would you like to talk about?"],
    "hello",
)
_HOW_ARE_YOU = Talk(
    ["How are you?", "How are you doing?", "How are you today?", "How do you do?", "How is it going?",
     "How's it going?", "Hi, how are you?", "Hello, how are you?", "Hey, how are you doing?",
     "Hello! How are you today?", "How do you feel?", "How do you feel today?", "Are you well?", "Are you all right?",
     "Is everything all right with you?", "What's up?", "How are things?", "How are things with you?",
     "How is your day?", "How was your day?", "Hi, Ember, how are you?",
     "How are you, Ember?", "Are you fine?", "Hi! How are things going?", "How have you been?", "I hope you are well."],
    "The user asks how I am. I am well.",
    ["I am well, thank you. How are you?", "I am well, thank you. How can I help you?",
     "I am very well, thank you. What can I do for you?"],
    "well",
)
_MORNING = Talk(
    ["Good morning", "Good morning!", "Good morning.", "Good morning, Ember!", "Morning!", "Good morning to you!",
     "Hello, good morning!", "Hi, good morning.", "Good morning, friend!", "A good morning to you, Ember.",
     "Morning, Ember!"],
    "It is morning, and the user greets me.",
    ["Good morning! How can I help you?", "Good morning! What can I do for you?"],
    "good morning",
)
_EVENING = Talk(
    ["Good evening", "Good evening!", "Good evening.", "Good evening, Ember!", "Evening!", "Good evening to you!",
     "Hello, good evening!", "Hi, good evening.", "Good evening, friend!", "A good evening to you, Ember."],
    "It is evening, and the user greets me.",
    ["Good evening! How can I help you?", "Good evening! What can I do for you?"],
    "good evening",
)
_AFTERNOON = Talk(
    ["Good afternoon", "Good afternoon!", "Good afternoon.", "Good afternoon, Ember!", "Good afternoon to you!",
     "Hello, good afternoon!", "Hi, good afternoon."],
    "It is afternoon, and the user greets me.",
    ["Good afternoon! How can I help you?", "Good afternoon! What can I do for you?"],
    "good afternoon",
)
OPENINGS = [_HELLO, _HELLO, _HOW_ARE_YOU, _HOW_ARE_YOU, _MORNING, _EVENING, _AFTERNOON]

_THANKS = Talk(
    ["Thank you", "Thank you!", "Thank you.", "Thanks", "Thanks!", "Thanks.", "Thank you very much!",
     "Thank you so much!", "Thanks a lot!", "Many thanks!", "Thank you, Ember!", "Thanks, Ember!",
     "Thank you for your help.", "Thanks for the help!", "Thank you, that helped me.", "Great, thank you!",
     "Good, thanks.", "Okay, thank you.", "Perfect, thanks!", "That is all, thank you.", "I thank you.",
     "Thank you for the answer.", "Nice, thank you!", "Very good, thank you.", "Thank you, that was kind of you.",
     "Thanks for telling me!", "Oh, thank you!", "Cool, thanks!", "Thx",
     "ok thanks"],
    "The user thanks me. I say that they are welcome.",
    ["You are welcome!", "You are welcome! I am glad that I could help.", "You are very welcome!"],
    "welcome",
)
_GOODBYE = Talk(
    ["Goodbye", "Goodbye!", "Goodbye.", "Bye", "Bye!", "Bye.", "Bye bye", "Bye-bye!", "See you!", "See you later!",
     "See you soon!", "See you tomorrow!", "Goodbye, Ember!", "Bye, Ember!", "I have to go now.", "I must go now. Bye!",
     "I am leaving now.", "Have a nice day!", "Have a good day, Ember!", "Until next time!", "That was all. Goodbye!",
     "So long!", "Farewell!", "Take care!", "I will go now.", "It is time to go.", "Talk to you later!",
     "Until tomorrow!",
     "Thank you and goodbye!", "Thanks, bye!", "I am off. Bye!", "Good, I have to leave."],
    "The user leaves. I say goodbye.",
    ["Goodbye! Have a nice day!", "Goodbye! See you soon!", "Goodbye! It was nice to talk to you."],
    "goodbye",
)
_NIGHT = Talk(
    ["Good night", "Good night!", "Good night.", "Good night, Ember!", "I am going to bed. Good night!", "Night!",
     "Good night, sleep well!", "It is late. Good night!", "I am going to sleep now.", "Time for bed!",
     "I go to bed now.",
     "Night night!"],
    "The user goes to bed. I say good night.",
    ["Good night! Sleep well!", "Good night! Sweet dreams!"],
    "good night",
)
CLOSINGS = [_THANKS, _THANKS, _GOODBYE, _GOODBYE, _NIGHT]

_SAD = Talk(
    ["I am sad.", "I feel sad.", "I am so sad today.", "I feel bad.", "I am not happy.", "I had a bad day.",
     "Today was bad.", "I am unhappy.", "I feel lonely.", "I am lonely.", "I am angry.", "I lost my keys.",
     "I am sick.", "I feel sick today.", "My friend is angry with me.", "I am afraid.", "I am not well.",
     "Nobody likes me.", "I broke my cup.",
     "My dog is sick."],
    "The user does not feel good. I say that I am sorry.",
    ["I am sorry to hear that. I hope that you feel better soon.", "I am sorry. Would you like to hear a story?"],
    "sorry",
)
_HAPPY = Talk(
    ["I am happy.", "I feel happy.", "I am so happy today!", "I feel good.", "I had a good day.", "Today was great!",
     "I am very happy!", "It is my birthday!", "I won a game!", "I found a new friend.", "I feel great!",
     "What a nice day!", "I got a present!", "I am fine.", "I am well, thank you.", "I am fine, thanks.",
     "I am good, and you?",
     "The sun shines!"],
    "The user is happy. I am glad.",
    ["That is good. I am glad to hear that!", "I am glad to hear that! What would you like to do now?"],
    "glad",
)
_BORED = Talk(
    ["I am bored.", "I am so bored.", "I have nothing to do.", "What can we do?", "What should we do now?",
     "This is boring.",
     "Let us do something.", "Entertain me.", "I want to have some fun.", "Make me happy."],
    "The user is bored. I offer a story.",
    ["Shall I tell you a story?", "I can tell you a story. What should it be about?"],
    "story",
)
FEELINGS = [_SAD, _HAPPY, _BORED]

NAMED = [
    "Hello, I am {name}.", "Hi, I am {name}!", "Hi, my name is {name}.", "Hello, my name is {name}.",
    "Hey, I'm {name}.", "Hi! {name} here.", "Hello! I'm {name}.", "My name is {name}.", "I am {name}.",
    "You can call me {name}.", "Good morning! My name is {name}.", "Hello Ember, I am {name}.",
    "Hi Ember, {name} here.", "I am called {name}.", "Please call me {name}.", "Hi there, I am {name}.",
    "Nice to meet you. I am {name}.", "People call me {name}.",
]
NAMED_ANSWERS = [
    "Hello, {name}! It is nice to meet you.", "Hello, {name}! How can I help you?",
    "Hello, {name}! What can I do for you?",
]
