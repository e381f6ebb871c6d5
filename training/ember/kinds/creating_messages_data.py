"""Occasions of short messages, with sentences for them.

Each sentence of a part fits each of the others. `{detail}` of a request has its own sentence in the message.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Occasion:
    """How a message is asked for, its first sentences, the sentences that may follow, and the last ones."""

    name: str
    #: What the message is: `a birthday message`.
    kinds: tuple[str, ...]
    #: Clauses of the request that tell the reason, in which slots may stand: `who turns {age}`.
    reasons: tuple[str, ...]
    first: tuple[str, ...]
    middle: tuple[str, ...]
    last: tuple[str, ...]
    #: Sentences for the slots that the reason names.
    details: tuple[str, ...] = ()
    #: Who may get it: `anybody`, or relatives divided by commas.
    to: str = "anybody"


def _occasion(name: str, kinds: str, first: str, middle: str, last: str, reasons: str = "", details: str = "", to: str = "anybody") -> Occasion:
    """Sentences and kinds are divided by ` | `."""
    parts = [tuple(part.split(" | ")) if part else () for part in (kinds, reasons, first, middle, last, details)]
    return Occasion(name, parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], to)


OCCASIONS = (
    _occasion("birthday", "a birthday message | a birthday card | birthday wishes | a happy birthday message",
        "Happy birthday! | All the best for your birthday! | A very happy birthday to you! | Congratulations on your birthday!",
        "I hope that your day is full of laughter and cake. | May the new year of your life bring you health and joy. | Today the biggest slice of the cake is yours. | I am glad that I know you. | Enjoy every minute of your day.",
        "Have a wonderful day! | Celebrate well! | I am thinking of you. | See you soon!"),
    _occasion("birthday with age", "a birthday message | a birthday card | birthday wishes", "Happy birthday! | All the best for your birthday! | Happy birthday to you!",
        "I hope that your day is full of good surprises. | May all your wishes come true. | Let others wash the dishes today. | I raise a cup of tea to you.", "Have a great day! | Celebrate well! | Many happy returns!",
        "who turns {age} | who is turning {age}", "{age} years, and you still have the best smile. | {age} is a wonderful age. | {age} candles need a big cake.", "friend,cousin,best_friend,neighbor,roommate,coach"),
    _occasion("birthday with hobby", "a birthday message | a birthday card | birthday wishes", "Happy birthday! | All the best for your birthday! | A very happy birthday to you!",
        "I hope that the sun shines for you today. | May the new year bring you joy. | You have earned a day off.", "Have a great day! | Enjoy your party! | Warm wishes to you!",
        "who loves {doing} | who likes {doing}", "I wish you a lot of time for {doing}. | May the new year be full of {doing}. | I hope that you find time for {doing} today."),
    _occasion("get well", "a get-well message | a get-well card | a get well soon message | a message to somebody who is ill", "Get well soon! | I am sorry to hear that you are ill. | I hope that you feel a little better today.",
        "Rest as much as you can. | Drink a lot of tea and stay warm. | Everybody here misses you. | Do not worry about anything, we take care of it. | Take all the time that you need.",
        "Warm wishes, and see you soon! | I am thinking of you. | Get up only when you are well! | All the best!"),
    _occasion("get well with illness", "a get-well message | a get-well card | a get well soon message", "Get well soon! | I have heard that you are ill, and I am sorry. | I wish you a quick recovery.",
        "Stay in bed and let others do the work. | Rest well and sleep a lot. | We miss you very much.", "I am thinking of you. | See you soon! | All the best!",
        "who has a {illness} | who is at home with a {illness} | who is ill with a {illness}", "A {illness} is no fun at all. | I hope that your {illness} is gone soon. | May the {illness} leave you in peace quickly."),
    _occasion("thanks for a thing", "a thank-you note | a thank-you message | a thank-you card", "Thank you so much for the {object}! | Many thanks for the lovely {object}! | What a beautiful {object}, thank you!",
        "It is just what I wanted. | I use it every day. | It has already found its place. | You always know what makes me happy. | It was so kind of you to think of me.", "Thank you again! | I hope to see you soon. | Warm greetings! | You have made my day.",
        "for the {object} | who gave me a {object} | because of the {object}"),
    _occasion("thanks for help", "a thank-you note | a thank-you message | a message of thanks", "Thank you for your help! | Many thanks for helping me! | I want to thank you for your help.",
        "Without you I would still be at it. | You gave me a whole afternoon of your time. | I will not forget it. | It is good to have somebody like you.", "I owe you a cake. | Thank you again! | Call me when you need help, too.",
        "who helped me to {chore} | who helped me {chore}", "You helped me to {chore}, and that was a lot of work. | It was so kind of you to help me to {chore}."),
    _occasion("thanks to a teacher", "a thank-you note | a thank-you card | a message of thanks", "Thank you for this year! | Thank you for all that you have taught us! | I would like to thank you.",
        "You were patient when we were loud. | I have learned a lot from you. | Your lessons were never boring. | You believed in us.", "I wish you a good holiday. | I will not forget your lessons. | Thank you from all my heart!",
        "who teaches me {subject} | for the {subject} lessons", "With you, even {subject} was fun. | I like {subject} because of you.", "teacher,coach,neighbor"),
    _occasion("invitation to a party", "an invitation | a party invitation | an invitation to my party", "You are invited! | I would love to see you at my party. | Please come to my party!",
        "There will be music and good food. | Bring a good mood and somebody who likes to dance. | You do not need to bring anything. | It will be fun.", "I hope that you can come! | Please tell me if you have time. | It would not be the same without you.",
        "to my party on {day} | to a party on {day} at {hour} | for a party on {day}", "The party is on {day}. | We celebrate on {day}. | It begins on {day}."),
    _occasion("invitation to dinner", "an invitation to dinner | an invitation", "Would you like to come to dinner? | Please come to dinner at my place! | I would like to invite you to dinner.",
        "I am going to cook all afternoon. | We have not talked for much too long. | There is a chair waiting for you. | Just bring a good appetite.", "I am looking forward to seeing you! | Please tell me if you can come. | Come hungry!",
        "on {day}, we have {dish} | on {day} with {dish}", "There will be {dish} on {day}. | On {day} I am making {dish}."),
    _occasion("wedding", "a wedding card | wedding wishes | a message for a wedding | congratulations on a wedding", "Congratulations on your wedding! | All the best for your life together! | What a beautiful day!",
        "May you always find a reason to laugh together. | I wish you many happy years. | May your home be full of warmth. | You are a wonderful pair.", "I am so happy for you! | Dance until morning! | Here is to love!", "", "", "sister,brother,cousin,friend,best_friend,niece,nephew,colleague,neighbor,roommate"),
    _occasion("new baby", "a card for a new baby | a message for the birth of a baby | congratulations on a baby", "Congratulations on your baby! | Welcome to the little one! | What wonderful news!",
        "I wish you and your baby health and joy. | May the nights be quiet and the days be full of smiles. | Enjoy the tiny hands and feet. | Your life will never be boring again.", "I cannot wait to meet the baby. | Warm wishes to all of you! | Sleep when the baby sleeps!",
        "who has a daughter called {woman} | who has a son called {man}", "Welcome, little {woman}! | {Woman} is a lovely name. | Welcome, little {man}! | {Man} is a lovely name.",
        "sister,brother,cousin,friend,best_friend,niece,nephew,colleague,neighbor,aunt"),
    _occasion("new job", "a message for a new job | congratulations on a new job | good wishes for a new job", "Congratulations on your new job! | Well done, and good luck in your new job! | What good news!",
        "They are lucky to get you. | I am sure that you will do well. | I wish you kind colleagues and a good chair. | The first day is always the hardest one.", "Tell me all about it soon! | I am proud of you. | All the best for your start!",
        "who starts as a {job} | who is now a {job} | who got a job as a {job}", "You will be a great {job}. | I can see you as a {job} already. | A {job}! That suits you well.", "sister,brother,cousin,friend,best_friend,niece,nephew,daughter,son,roommate"),
    _occasion("passed an exam", "a message for a passed exam | congratulations | a congratulation card", "Congratulations, you did it! | Well done! | Congratulations!",
        "All the hard work was worth it. | I never doubted it. | Now you can sleep late again. | You can be proud of yourself.", "Let us celebrate soon! | I am proud of you. | Enjoy the moment!",
        "who passed the {subject} exam | for the {subject} exam that went well", "Your {subject} exam went well, and nobody is surprised. | The {subject} exam is behind you now.", "sister,brother,cousin,friend,best_friend,niece,nephew,daughter,son,roommate"),
    _occasion("good luck", "a good luck message | a good luck card | good wishes", "Good luck! | I wish you all the luck in the world! | I keep my fingers crossed for you!",
        "You have worked hard, and you are ready. | Breathe in, breathe out, and begin. | Believe in yourself as I do. | Eat a good breakfast first.", "You can do it! | Tell me how it went! | I am thinking of you.",
        "for the {subject} exam on {day} | who has a {subject} exam on {day} | before the {sport} competition on {day} | who has a {sport} competition on {day}",
        "Your {subject} exam on {day} will go well. | On {day}, when you sit in the {subject} exam, I will think of you. | Your {sport} competition on {day} will go well. | On {day}, at the {sport} competition, I will think of you.",
        "sister,brother,cousin,friend,best_friend,niece,nephew,daughter,son,roommate,classmate"),
    _occasion("new home", "a housewarming card | a message for a new home | good wishes for a new home", "Congratulations on your new home! | Welcome to your new home! | All the best in your new home!",
        "May it always smell of bread and coffee. | I wish you kind neighbors. | May the roof be tight and the rooms be warm. | The boxes will be gone one day.", "I am looking forward to my first visit. | Enjoy your new walls! | Save a chair for me!",
        "who moved to {city} | who has a new home in {city}", "{City} is lucky to have you. | I hope that {city} is good to you."),
    _occasion("retirement", "a retirement card | a message for a retirement | good wishes for a retirement", "Congratulations on your retirement! | All the best for your retirement! | You have earned it!",
        "Now every day is Sunday. | Thank you for all the years. | The alarm clock can rest now, too. | We will miss you at the coffee machine.", "Enjoy every free minute! | Come and visit us! | Stay as you are!",
        "who worked as a {job} for many years | who was a {job} for thirty years", "You were the best {job} that we could wish for. | All those years as a {job} will not be forgotten.", "mother,father,aunt,uncle,colleague,boss,neighbor,friend"),
    _occasion("farewell to a colleague", "a farewell card | a farewell message | a goodbye message", "It is time to say goodbye. | Goodbye, and all the best! | We are sorry that you are leaving.",
        "It was good to work with you. | The office will be quieter without you. | We wish you luck in all that comes. | Thank you for your help and your jokes.", "Do not forget us! | Our door is open for you. | Stay in touch!",
        "who moves to {city} | who is going to live in {city}", "{City} gets a wonderful person. | Send us a postcard from {city}.", "colleague,boss,friend,neighbor"),
    _occasion("apology for being late", "an apology for being late | a message to say sorry that i was late | an apology because i was late", "I am sorry that I was late. | Please forgive me for being late. | I want to say sorry for being late.",
        "You had to wait for me, and that was not fair. | I should have left earlier. | I should have called you. | It was not kind to let you wait.", "It will not happen again. | Next time I will be there first. | I hope that you are not angry with me."),
    _occasion("apology for a broken thing", "an apology | a message to say sorry | an apology", "I am very sorry about your {object}. | Please forgive me that I broke your {object}. | I broke your {object}, and I am sorry.",
        "It was not on purpose. | I should have been more careful. | I know that you liked it. | Of course I will pay for a new one.", "I hope that you can forgive me. | I will make it good again. | It will not happen again.",
        "because i broke the {object} | for a broken {object} | whose {object} i broke"),
    _occasion("apology for a forgotten birthday", "an apology | a late birthday message | a message because i forgot the birthday", "I am sorry that I forgot your birthday. | Happy birthday, a little too late! | My wishes come late, but they come from the heart.",
        "I have no good excuse. | I will make up for it with a cake. | I hope that you had a lovely day. | You are important to me, even if my calendar is not.", "Next year I will be the first one! | Please forgive me! | All the best for your new year of life!"),
    _occasion("condolence", "a message of sympathy | a condolence card | some kind words after a loss", "I am very sorry for your loss. | I am so sorry. | My thoughts are with you.",
        "There are no right words for this. | You do not have to be strong now. | I am here if you want to talk. | I wish you people who hold your hand.", "I am thinking of you. | With all my sympathy. | You are not alone.",
        "whose grandmother died | whose grandfather died | whose uncle died | whose father died | whose mother died", "", "friend,neighbor,colleague,boss,teacher,best_friend,roommate,coach"),
    _occasion("new year", "a new year's message | new year wishes | a new year's card", "Happy New Year! | All the best for the New Year! | I wish you a happy New Year!",
        "May it bring you health, luck and quiet evenings. | I hope that we see each other more often. | May your wishes come true, one by one. | Thank you for all the good days of the old one.", "Start well! | Here is to the next twelve months! | Warm wishes to you and your family!"),
    _occasion("wedding anniversary", "an anniversary card | a message for a wedding anniversary | anniversary wishes", "Happy anniversary! | Congratulations on your anniversary! | All the best for your anniversary!",
        "It is wonderful to see you still laughing together. | May many more years follow. | You show us how it is done. | Love can grow old and stay young.", "Celebrate well! | Here is to the two of you! | Warm wishes!",
        "for {number} years of marriage | for {number} years together", "{number} years together are a great thing. | {number} years, and still hand in hand.",
        "aunt,uncle,neighbor,friend,colleague,boss,cousin"),
    _occasion("welcome to a neighbor", "a welcome note | a welcome message | a note to welcome somebody", "Welcome to our street! | Welcome to the house! | It is nice that you live here now.",
        "If you need sugar or a hammer, just knock. | The trash is collected on {day}. | The best bread is sold around the corner. | We are happy to have a new neighbor.", "See you soon on the stairs! | Come over for a coffee some day. | All the best in your new home!", "", "", "neighbor"),
    _occasion("request to water the plants", "a note | a message | a short note", "I have a small request. | May I ask you for a favor? | Could you help me, please?",
        "The key is under the blue pot. | Twice a week is enough. | I will bring you something nice. | You would help me very much.", "Thank you so much! | Please tell me if that is all right. | Many thanks in advance!",
        "who could water my plants while i am in {city} | asking for help with the plants while i am in {city}", "Could you water my plants while I am in {city}? | I am in {city} for a week, and my plants need water.", "neighbor,friend,roommate,aunt"),
    _occasion("request to borrow", "a note | a message | a short note", "May I ask you for something? | I have a small request. | Could you do me a favor?",
        "I would bring it back tomorrow. | I will be very careful with it. | I need it only for one day. | Mine is broken.", "Thank you so much! | Please tell me if that is all right. | Many thanks!",
        "because i would like to borrow the {object} | asking for the {object}", "Could I borrow your {object}? | Would you lend me your {object}?", "neighbor,friend,roommate,uncle,colleague"),
    _occasion("reminder of a meeting", "a reminder | a short reminder | a friendly reminder", "This is just a short reminder. | I would like to remind you of something. | There is something that I do not want you to forget.",
        "Please be there in time. | You do not need to bring anything. | It will not take long. | If you cannot come, please tell me.", "See you there! | Thank you! | Until then!",
        "of the {event} on {day} | about the {event} on {day}", "The {event} is on {day}. | On {day} is the {event}."),
    _occasion("postcard", "a postcard | a holiday card | greetings from a holiday", "Greetings from {city}! | Hello from {city}! | I am sending you warm greetings from {city}.",
        "The food is good, and the people are kind. | I walk all day and sleep all night. | Every street here has a surprise. | You would like it here.", "I wish that you were here. | See you soon! | I am bringing you something.", "from {city} | from my holiday in {city}"),
    _occasion("missing somebody", "a message that i miss somebody | a message | a few kind words", "I miss you. | It is quiet here without you. | I think of you very often.",
        "Your chair at the table is empty. | I tell myself your jokes, but you tell them better. | The days are longer without you. | I look at our picture every evening.", "Come back soon! | I am waiting for you. | See you soon, I hope!",
        "who is in {city} | who is far away in {city}", "I hope that {city} is good to you. | {City} is so far away. | Tell me all about {city}."),
    _occasion("prize", "a congratulation message | a card of congratulations | congratulations", "Congratulations! | Well done! | What a success!",
        "You have worked hard for it. | I jumped up when I heard it. | I always knew that you could do it. | Now you need a bigger shelf.", "I am proud of you! | Let us celebrate! | Enjoy it!",
        "who won the {prize} | for winning the {prize}", "You have won the {prize}! | The {prize} is yours, and you have earned it."),
    _occasion("cheering up", "a message to cheer somebody up | a few kind words | a message of comfort", "Do not be sad. | I am sorry that it went wrong. | Head up!",
        "Everybody fails now and then. | It does not change what I think of you. | Tomorrow is a new day. | You were brave to try.", "I believe in you. | The next time will be better. | I am here for you.",
        "who failed the {subject} exam | because the {subject} exam went badly", "One {subject} exam does not decide your life. | There will be another {subject} exam.", "sister,brother,cousin,friend,best_friend,niece,nephew,daughter,son,roommate,classmate"),
    _occasion("good night", "a good night message | a good night wish", "Good night! | Sleep well! | I wish you a good night.", "The stars are already out. | Let the day go, it was long enough. | May your pillow be soft. | Tomorrow can wait.", "Sweet dreams! | See you tomorrow! | Close your eyes and rest."),
    _occasion("good morning", "a good morning message | a message for the morning", "Good morning! | Good morning to you! | Rise and shine!", "I hope that you slept well. | The day is new, and it is all yours. | The coffee is waiting. | Today can be a good day.", "Have a lovely day! | I am thinking of you. | Smile at the first person you meet!"),
    _occasion("declining an invitation", "a message to say that i cannot come | a polite no | a message", "Thank you for the invitation! | It was so kind of you to invite me. | How nice that you thought of me!",
        "I would have loved to be there. | Please do not be sad. | I hope that you have a wonderful time. | Keep a slice of cake for me.", "Let us meet soon! | Next time I will be there. | Warm greetings!",
        "because i cannot come on {day} | since i have a {event} on {day}", "Sadly, I cannot come on {day}. | On {day}, I am sorry to say, I have no time."),
    _occasion("first day of school", "a card for the first day of school | good wishes for the first day of school", "Today is your big day! | All the best for your first day of school! | Hooray, school begins!",
        "You will find new friends. | Soon you can read all the signs in the street. | Ask whatever you want to know. | Your bag is nearly as big as you are.", "Have fun! | We are proud of you. | Tell me everything tonight!", "", "", "son,daughter,nephew,niece,cousin"),
    _occasion("lost pet", "a message of comfort | a few kind words | a message", "I am so sorry. | I have heard the sad news. | I feel with you.", "It hurts to lose a friend. | You gave it a good life. | The good days stay with you. | It is all right to cry.", "I am thinking of you. | A big hug! | I am here if you want to talk.",
        "whose {critter} ran away | whose {critter} died", "Your {critter} was lucky to have you. | There was no better {critter} than yours."),
    _occasion("visit", "a message that i am coming | a message | a short note", "I am coming to see you! | Good news: I am on my way to you soon. | I would like to visit you.", "I am bringing cake. | You do not need to cook. | I can sleep on the sofa. | We have so much to talk about.", "I am looking forward to it! | See you very soon! | Is that all right with you?",
        "that i am coming on {day} | because i visit on {day}", "I will be there on {day}. | My train arrives on {day}."),
)
