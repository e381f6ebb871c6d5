"""Questions that cannot be answered without a look at the world, and what is honestly said to them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """Wordings that ask for one sort of thing which the model does not know; every answer has "not know" in it."""

    wordings: list[str]
    thought: str
    answer: str


#: What only the user can know, other than a name.
UNTOLD = Topic(["How old am I?", "Where do I live?", "What is my favorite color?", "What did I buy?",
                "What is my dog called?",
       "What is the name of my cat?", "When is my birthday?", "Where are my keys?", "What did I eat today?",
       "How many friends do I have?", "What is my job?", "How tall am I?", "What am I thinking of?",
       "What do I have in my hand?", "What is my favorite food?", "What color is my hair?", "Where did I put my book?",
       "What is my mother's name?", "Am I rich?", "What is my lucky number?", "Where was I yesterday?"],
      "The user did not tell me that.", "I do not know that. You have not told me yet.")

TOPICS = [
    Topic(["What is the weather today?", "What is the weather in {city}?", "How is the weather in {city}?",
           "Will it rain tomorrow?", "Is it raining in {city}?", "How warm is it in {city}?",
           "Is it cold in {city} today?", "Does the sun shine in {city}?",
           "What will the weather be tomorrow in {city}?", "How is the weather?", "Is it sunny outside?",
           "How hot is it outside?", "Will it snow in {city}?", "Do I need an umbrella in {city} today?"],
          "The user asks for the weather. I cannot see it.", "I do not know the weather. I cannot look outside."),
    Topic(["What time is it?", "What time is it now?", "What day is it today?", "What is the date?",
           "What is today's date?", "What year is it?", "Which month is it now?", "Tell me the time.",
           "What time is it in {city}?", "Is it late?",
           "Can you tell me the time?", "Is it Monday today?", "What day of the week is today?"],
          "The user asks for the time. I have no clock.", "I do not know the time or the date. I have no clock."),
    Topic(["What is in the news?", "What happened today?", "What happened yesterday in {city}?", "Who won yesterday?",
           "Who won the game in {city}?", "What is the news from {city}?", "Tell me the news.", "Who won the election?",
           "Who is the president now?", "What is new in the world?", "What happened in {city} today?",
           "Who won the last race?", "What is the latest news?", "Which team won last night?",
           "What does a house in {city} cost?",
           "What is on television tonight?", "Which film is in the cinema in {city}?", "Who is the mayor of {city}?"],
          "The user asks for news. I cannot read the news.", "I do not know that. I cannot read the news."),
    Topic(["What is {a} x {b}?", "What is {a} times {b}?", "How much is {a} * {b}?", "Multiply {a} by {b}.",
           "{a} * {b}", "What is the square root of {a}?", "Divide {a} by {b}.", "What is {a} / {b}?",
           "Can you work out {a} times {b}?"],
          "These numbers are too big for me.", "I do not know. These numbers are too big for me."),
    Topic(["What is my name?", "Do you know my name?", "Who am I?", "What am I called?", "Tell me my name.",
           "Say my name.",
           "What's my name?", "Can you tell me my name?", "Do you know who I am?", "Do you remember my name?"],
          "The user did not tell me the name.", "I do not know your name. You have not told me yet."),
    UNTOLD,
    Topic(["Who is {name}?", "How old is {name}?", "Where does {name} live?", "What does {name} like?",
           "Do you know {name}?", "What is {name} doing now?", "What is {name}'s phone number?", "Is {name} at home?",
           "When will {name} come?", "What does {name} do for work?", "Tell me about {name}.",
           "What color are {name}'s eyes?", "Where is {name}?",
           "What did {name} say?", "Is {name} happy?", "What is the name of {name}'s dog?", "Where was {name} born?"],
          "The user asks about {name}. I know nothing about that person.",
          "I do not know {name}. Please tell me more."),
]
