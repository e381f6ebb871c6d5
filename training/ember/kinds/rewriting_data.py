"""Material of rewriting: plain sentences, the empty words around them, and common mistakes."""

#: Plain sentences, each with a shorter form.
CORES = [
    ("The meeting starts at nine.", "Meeting at nine."), ("The meeting has moved to {day}.", "Meeting: {day}."),
    ("I cannot come on {day}.", "Not on {day}, sorry."), ("I will be a little late.", "I will be late."),
    ("The bus is late today.", "The bus is late."), ("We need more {foods}.", "More {foods}, please."),
    ("{Name} will not come to the party.", "{Name} is not coming."), ("I lost my {object}.", "My {object} is gone."),
    ("The {object} is broken.", "Broken {object}."), ("We have no {foods} left.", "No {foods} left."),
    ("The shop is closed on {day}.", "Closed on {day}."), ("I really liked the {object}.", "Nice {object}!"),
    ("The soup was too cold.", "Cold soup."), ("My {animal} is sick.", "Sick {animal}."),
    ("{Name} found the {object}.", "{Object} found."), ("You can park behind the house.", "Park behind the house."),
    ("The {job} is very friendly.", "A friendly {job}."), ("We are moving to {city}.", "Off to {city}."),
    ("The train to {city} is full.", "Train full."), ("I would like a {color} one.", "A {color} one, please."),
    ("The children were very loud.", "Loud children."), ("The {animal} slept all day.", "The {animal} slept."),
    ("{Name} has a new job.", "New job for {name}."), ("The window is still open.", "Window open."),
    ("You should drink more water.", "Drink more water."), ("The test was not easy.", "Hard test."),
    ("We will meet at the station.", "Meet at the station."), ("I am very happy with the {object}.", "Great {object}."),
    ("It will rain on {day}.", "Rain on {day}."), ("The {object} costs too much.", "Too expensive."),
    ("Our neighbor has a {animal}.", "The neighbor has a {animal}."), ("I have finished the report.", "Report done."),
    ("Dinner is ready.", "Dinner!"), ("The lift does not work.", "No lift."), ("I need your help.", "Help, please."),
    ("{Name} wants to see you on {day}.", "See {name} on {day}."), ("The keys are under the mat.", "Keys: under the mat."),
]
#: Empty words before a sentence.
LEADS = [
    "I am writing to let you know that", "I just wanted to tell you that", "I would like to inform you that",
    "As you may already know,", "To be completely honest with you,", "It is important to note that",
    "What I am trying to say is that", "I thought that I should mention that", "Please be aware of the fact that",
    "In case you have not heard about it yet,", "I hope you are well. I wanted to say that", "Sorry to bother you, but",
    "If I remember it correctly,", "As a matter of fact,", "After all that has happened, I must say that",
    "It has come to my attention that", "I am not sure whether you know this, but", "The thing is that",
    "We would like to take this opportunity to say that", "You will surely be interested to hear that",
    "I have been meaning to tell you for a while that", "For your information,", "At the end of the day,",
    "Basically, what it comes down to is that", "There is one more thing, which is that", "Well, you see,",
]
#: Empty words after a sentence.
ENDINGS = [
    ", as far as I know", ", and I hope that this is fine with you", ", if I may say so", ", to be honest", ", at least I think so",
    ", in case you were wondering", ", which I thought you should know", ", and that is all I wanted to say",
    ", believe it or not", ", as everybody knows by now", ", more or less",
]
#: Predicates: for one person, for several, and in the past.
PREDICATES = [
    ("goes to school", "go to school", "went to school"), ("likes {foods}", "like {foods}", "liked {foods}"),
    ("has a {object}", "have a {object}", "had a {object}"),
    ("plays in the garden", "play in the garden", "played in the garden"),
    ("lives in {City}", "live in {City}", "lived in {City}"), ("wants a {object}", "want a {object}", "wanted a {object}"),
    ("reads a book", "read a book", "read a book"), ("knows {Name}", "know {Name}", "knew {Name}"),
    ("speaks {Language}", "speak {Language}", "spoke {Language}"),
    ("needs a new {object}", "need a new {object}", "needed a new {object}"),
    ("watches the {animal}", "watch the {animal}", "watched the {animal}"),
    ("does the dishes", "do the dishes", "did the dishes"), ("washes the car", "wash the car", "washed the car"),
    ("walks to work", "walk to work", "walked to work"), ("eats {foods}", "eat {foods}", "ate {foods}"),
    ("comes home on {Day}", "come home on {Day}", "came home on {Day}"),
    ("loves the {animal}", "love the {animal}", "loved the {animal}"), ("works in {City}", "work in {City}", "worked in {City}"),
    ("sees the {object}", "see the {object}", "saw the {object}"), ("makes {foods}", "make {foods}", "made {foods}"),
    ("buys a {object}", "buy a {object}", "bought a {object}"), ("writes a letter", "write a letter", "wrote a letter"),
    ("sings a song", "sing a song", "sang a song"), ("drinks tea", "drink tea", "drank tea"),
    ("drives to {City}", "drive to {City}", "drove to {City}"), ("runs in the park", "run in the park", "ran in the park"),
    ("opens the window", "open the window", "opened the window"), ("closes the door", "close the door", "closed the door"),
    ("cooks dinner", "cook dinner", "cooked dinner"), ("finds the {object}", "find the {object}", "found the {object}"),
    ("feeds the {animal}", "feed the {animal}", "fed the {animal}"), ("sleeps late", "sleep late", "slept late"),
    ("swims in the lake", "swim in the lake", "swam in the lake"), ("takes the bus", "take the bus", "took the bus"),
    ("helps {Name}", "help {Name}", "helped {Name}"), ("calls {Name}", "call {Name}", "called {Name}"),
    ("forgets the {object}", "forget the {object}", "forgot the {object}"), ("sells {foods}", "sell {foods}", "sold {foods}"),
    ("draws a {animal}", "draw a {animal}", "drew a {animal}"),
    ("waits for the train", "wait for the train", "waited for the train"),
    ("loses the {object}", "lose the {object}", "lost the {object}"), ("meets {Name}", "meet {Name}", "met {Name}"),
    ("cleans the {object}", "clean the {object}", "cleaned the {object}"), ("rides a bike", "ride a bike", "rode a bike"),
]
#: Common misspellings and the right spellings.
SPELLING = [
    ("tommorow", "tomorrow"), ("tomorow", "tomorrow"), ("freind", "friend"), ("beleive", "believe"), ("thier", "their"),
    ("wich", "which"), ("untill", "until"), ("becuase", "because"), ("becouse", "because"), ("recieve", "receive"),
    ("alot", "a lot"), ("definately", "definitely"), ("beautifull", "beautiful"), ("Wensday", "Wednesday"), ("wether", "weather"),
    ("favorit", "favorite"), ("realy", "really"), ("hous", "house"), ("familly", "family"),
]
#: Long words and short ones for the same, and sentences with them, each word in angle brackets.
SIMPLER = {
    "commence": "start", "purchase": "buy", "assist": "help", "utilize": "use", "terminate": "end", "require": "need",
    "attempt": "try", "inform": "tell", "reside": "live", "consume": "eat", "approximately": "about", "sufficient": "enough",
    "precipitation": "rain", "automobile": "car", "beverage": "drink", "physician": "doctor", "residence": "home",
    "numerous": "many", "shortly": "soon", "obtain": "get", "construct": "build", "conclude": "end", "observe": "see",
    "assistance": "help", "additional": "more", "demonstrate": "show", "individuals": "people", "frequently": "often",
    "rapidly": "fast", "delicious": "good", "enormous": "big", "exhausted": "tired", "intelligent": "smart",
}
DIFFICULT = [
    "we will <commence> <shortly>", "they want to <purchase> an <automobile>", "could you <assist> me", "i <utilize> a {object}",
    "the meeting will <terminate> at nine", "we <require> your <assistance>", "he will <attempt> to <obtain> a {object}",
    "please <inform> the <physician>", "i <reside> in {City}", "they <consume> {foods}", "it costs <approximately> ten dollars",
    "we have <sufficient> {foods}", "the <precipitation> will <conclude> <shortly>", "i would like a <beverage>",
    "welcome to our <residence>", "<numerous> <individuals> like {foods}", "they <construct> a house in {City}",
    "did you <observe> the {animal}", "we <require> <additional> {foods}", "let me <demonstrate> it", "it rains <frequently>",
    "the {animal} runs <rapidly>", "the soup is <delicious>", "the {animal} is <enormous>", "{Name} is <exhausted>",
    "{Name} is <intelligent>", "<numerous> <individuals> <reside> here",
]
