"""Forms of small creative texts with slots: for any subject, or for a subject of a kind.

Subjects of any kind stand in `{t}` as the user named them ("a kettle", "my dog", "rain", "Clara"), never as the subject of a verb
in the present tense, so that singular and plural both fit. `{x}` is a countable noun, `{xs}` its plural.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """A form of text: how it is asked for, the texts, and the kinds of subjects."""

    name: str
    weight: int
    subjects: tuple[str, ...]
    asking: tuple[str, ...]
    texts: tuple[str, ...]
    #: What becomes of a subject in the texts: `your` in place of `my`, or `plural`.
    said: str = ""


ANYTHING = ("noun", "noun", "plural", "my noun", "the noun", "name", "idea", "idea", "city", "day", "month", "relative", "food")
NOT_MINE = tuple(kind for kind in ANYTHING if kind not in ("my noun", "relative"))
COUNTABLE = ("thing", "animal", "animal", "object")

_COUPLETS = (
    "I thought about {t} the whole of the day,\nand when it was evening I had more to say.",
    "I once wrote to {t} with my very best pen;\nno answer has come, so I'm writing again.",
    "You ask me for {t}, and I give you a rhyme:\nit's short and it's friendly and just about on time.",
    "Of all that I know in the sun and the rain,\nI think about {t} again and again.",
    "The moon looked at {t} and forgot how to climb,\nand that is the reason for this little rhyme.",
    "I looked up at {t} from the foot of the hill;\nthe evening was golden, the valley was still.",
    "Two lines about {t}? That is easily done:\nhere is the other, and that was the one.",
    "The world without {t} would be quiet and gray,\nso let us be glad, and let us say it today.",
    "If I had a penny for {t}, I would go\nand buy me a boat and a river to row.",
    "They told me of {t} on a cold winter night,\nand all the dark windows were filling with light.",
    "I packed up my bag, and with {t} on my mind\nI walked down the road with the weather behind.",
    "A thought about {t} came along with the breeze;\nit rested a while and went on through the trees.",
    "I asked my old neighbor, I asked every bird:\nof {t} they had many a beautiful word.",
    "Give me some tea and a chair by the door,\na story of {t}, and I ask for no more.",
    "I dreamed about {t} and I woke with a smile;\nI stayed in my bed and I dreamed for a while.",
    "The river goes slowly, the river goes wide,\nand tells about {t} to the reeds at its side.",
    "I opened my window to let in the night;\nI whispered of {t} till the east became light.",
    "A small thought of {t} on a large rainy day\ncan push half the clouds of the morning away.",
    "The old clock is ticking, the kettle is on;\nlet's talk about {t} till the biscuits are gone.",
    "I wrote about {t} on a leaf from the tree;\nthe wind took it over the hills to the sea.",
    "Some letters are long, and this letter is short:\nit says only {t}, and it comes from the port.",
    "The snow made the garden as white as a sheet;\nI drew there a picture of {t} with my feet.",
    "The teacher asked, what do you know in the end?\nI know about {t}, and I know one good friend.",
    "They sing about {t} in the street by the mill;\nthe song has been over a while, and I'm still.",
    "When I was a child, and the evenings were blue,\nI heard about {t}, and I thought it was true.",
    "I counted the stars from my bed, one by one,\nand thought about {t} till the counting was done.",
    "Put {t} in your pocket, put bread in your bag,\nand walk up the hill with the wind and a flag.",
    "Some people like silver and some people gold;\ngive me only {t}, till the day I am old.",
)
_POEMS = (
    "I sat by the window and looked at the rain,\nand there I remembered {t} once again.\nThe clouds drifted off and the street became bright,\nand all that I thought of was suddenly light.",
    "The morning was early, the morning was cold,\nand this is the story of {t} that was told:\nit started with laughter, it ended with tea,\nand somebody saved the last biscuit for me.",
    "I whispered of {t} to the wind and the sea,\nand both of them carried it back home to me.\nThe wind made it longer, the sea made it deep,\nand now it is singing me softly to sleep.",
    "When everything hurries and nothing goes right,\nI think about {t} in the last of the light.\nThe noise in my head becomes quiet and small,\nand then I don't mind the long evening at all.",
    "A poem for {t} should be simple and true,\nwith one line of silver and one line of blue,\nwith one line of morning, one quiet good night,\nand something between them to hold to the light.",
    "I asked for a poem, and this is what came:\na sheet of white paper and {t} for a name.\nThe rest is as simple as crossing a street:\nyou walk with the words till the ends of them meet.",
    "My grandmother told me, one evening in May:\nkeep {t} in your heart and it won't go away.\nI laughed at her then, but I see it today:\nshe knew what she knew, and I kept it that way.",
    "There once was a morning with nothing to do.\nI thought about {t} and I thought about you.\nThe clock said it's seven, the clock said it's ten,\nand I started thinking all over again.",
    "Come in, and I'll tell you, now that you are here,\nof {t} and the best of the days of the year.\nWe'll light the old lamp and we'll pull down the blind\nand talk about all that comes into our mind.",
    "The stars are too many to count in a night;\nthe first one is yellow, the last one is white.\nThe one in the middle, I think, if I may,\nI'll name after {t} at the end of the day.",
    "I wanted to write about lions and kings,\nof ships on the ocean and marvelous things.\nBut then I saw {t}, and I put down my pen:\nthe kings and the lions can wait until then.",
    "Some songs are of summer and some are of snow,\nand some are of people we knew long ago.\nBut this one's for {t}, and it's simple to sing:\nyou hum it in winter, it's done by the spring.",
    "I went to the market to buy me some bread,\nand came home with {t} on my mind instead.\nMy supper was little, my supper was late,\nbut oh, what a thought I had there on my plate!",
    "I have an old notebook, its cover is red,\nit lies with a pencil right next to my bed.\nThe first page is empty, the second one, too.\nThe third is of {t}, and I wrote it for you.",
    "The ship left the harbor, the harbor was gray,\nand somebody called to us: have a good day!\nWe sailed, and we talked about {t} on the sea,\nand all the time nobody spilled any tea.",
    "A bird on the chimney, a cat on the wall,\nthe leaves coming down, for the season is fall.\nI'm sitting with {t} on my mind in the sun,\nand nothing is started, and nothing is done.",
    "If you ever lose what you want to recall,\nwrite {t} on a paper and hang it on the wall.\nAnd when you come home and you're tired and gray,\nit's there, and it smiles in a wonderful way.",
    "We had no umbrella, we had no more bread,\nwe talked about {t} and were happy instead.\nThe rain ran in rivers, the night became deep,\nand nobody noticed us falling asleep.",
    "My pencil is little, my paper is small,\nand {t} would need all the white space of the wall.\nSo here is the start of it, here is the end,\nand all in the middle you know, my dear friend.",
    "The king gave a party, the queen gave a ball,\nand I, I gave nothing to no one at all.\nI stayed with my thoughts about {t} by the fire,\nas warm as a king could a moment desire.",
    "O clock, go more slowly, o moon, stay a while,\nI'm thinking of {t}, and I'm starting to smile.\nTomorrow is early, tomorrow is near,\nbut now it is evening, and evening is here.",
    "The garden was silent, the evening was slow.\nWe spoke about {t} till the lamps were aglow.\nAnd then we said nothing, and that was good, too:\nthe night came and listened, the way that nights do.",
)
_LIMERICKS = (
    "There once was {a x} in a tree\nthat wanted to float on the sea.\nIt built a small boat\nand a warm winter coat,\nand it sailed home in time for its tea.",
    "I once had {a x} in a box\nwith a key and a couple of locks.\nBut early one day\nit had gone clean away\nand had left me a pair of old socks.",
    "There was {a x} on a hill\nthat was practicing how to sit still.\nIt sat for a year\nwith a leaf on its ear,\nand for all that I know, it sits still.",
    "A man bought {a x} in Spain\nand he carried it home on the train.\nWhen he came to his door,\nhe had found room for more,\nso he turned round and went there again.",
    "There once was {a x} so small\nthat nobody saw it at all.\nIt jumped on a chair,\nit cried, \"I am there!\"\nand it waved at us all from the wall.",
    "There was {a x} by the lake\nthat had ordered a large birthday cake.\nBut the cake was so high\nthat it reached to the sky,\nand it gave it a small stomach ache.",
    "A baker once baked in the night\n{a x} that was sugary white.\nIt looked, when he'd done,\nso much like a bun\nthat his uncle came by for a bite.",
    "There once was {a x} in a pool\nthat was proud of remaining so cool.\nWhen they asked it to swim,\nit just sat on the rim\nand said, first I must finish my school.",
    "There was {a x} on a train\nthat kept looking out at the rain.\nAt the end of the line\nit said, that was so fine\nthat I'll ride all the way back again.",
    "There once was {a x} with a cold\nthat would never do what it was told.\nIt went out in the snow\nwith a ribbon, a bow,\nand a hat that was thirty years old.",
    "I painted {a x} on my door\nand my neighbor asked me, what for?\nI said, when I'm late,\nI can find the right gate,\nand he painted, next day, twenty more.",
    "There was {a x} on the moon\nthat was playing a beautiful tune.\nBut there wasn't an ear\nin the distance to hear,\nso it said, I'll be back around noon.",
    "My friend had {a x} that could sing,\nand it sang about any old thing:\nof the rain and the sun,\nof the fun it had done,\nand it started each song with a \"ping\".",
    "There was {a x} in a queue\nthat had nothing much better to do.\nIt waited till four\nat the front of the door,\nand then asked, \"Does this lead to the zoo?\"",
    "There once was {a x} from Rome\nthat had never been far from its home.\nIt went up a street,\nand it tired its feet,\nso it wrote to its friends in a poem.",
    "There was {a x} in the snow\nthat could not make the winter wind go.\nSo it put on a hat\nand a scarf, and that's that:\nnow it watches the winter wind blow.",
)
_LIMERICKS_ABOUT_PEOPLE = (
    "There once was {a x} from Kent\nwho was living alone in a tent.\nWhen the wind took the tent,\n\"It is only on rent,\"\ncried the {x}, and after it went.",
    "There was {a x} from Crewe\nwho had nothing whatever to do.\nSo the {x} one day\nput the slippers away\nand went off with a bag to Peru.",
    "There once was {a x} from Nice\nwho went out on a walk with some geese.\nThey walked to the sea,\nhad a sandwich and tea,\nand came home in the evening in peace.",
    "There was {a x} in town\nwho was always in green or in brown.\nThen a neighbor said, \"Blue\nwould be lovely on you,\"\nand since then it has been a blue gown.",
    "There once was {a x} whose name\nwas at home and abroad not the same:\nit was Tim by the bay,\nit was Tom far away,\nand nobody knew whom to blame.",
    "A {x} who lived by the sea\nhad invited the whole town to tea.\nThere was one single cup,\nso they passed it right up\nand back down, till a quarter past three.",
    "A {x} once wrote with a pen\nthe same word again and again.\nWhen they asked, \"Is it done?\"\nthe reply was, \"That's one,\nand I still have to write nine or ten.\"",
    "There was {a x} from Rome\nwho forgot every morning a comb.\nWith hair like a tree,\nit was easy to see\nthat the {x} was far from home.",
)
_FUNNY = (
    "I know everything about {t}, apart from the facts.",
    "I asked for less work, and they gave me {t}. Now I miss the work.",
    "My plan for today has two parts: {t} and a nap. The nap is going very well.",
    "I read a book about {t}. The pictures were the best part, and there were none.",
    "If {t} came with instructions, nobody would read them.",
    "Doctors say that one should think about {t} once a day. They did not say why, and the bill was high.",
    "I tried to be serious about {t} once. It lasted for two seconds.",
    "Somebody told me to take {t} with a grain of salt. Now I need a glass of water.",
    "I wanted to make a joke about {t}, but the punchline is still in the mail.",
    "The good news is {t}. The bad news is that I forgot the good news.",
    "There are two kinds of people: those who think about {t} too much, and those who are asleep.",
    "I gave {t} five stars. Then it got cloudy, and the stars were gone.",
    "I told my clock about {t}. It was so surprised that it stopped.",
    "I once gave a speech about {t}. Everybody clapped when I sat down.",
    "My horoscope said: beware of {t}. Now I cannot go into the kitchen.",
    "They say that {t} and happiness go together. They say it quietly, and they look away.",
    "I dreamed of {t}, and when I woke up, my pillow had moved out.",
    "I have two problems: {t} and counting. And one more.",
    "Science knows little about {t}. Science was probably at lunch.",
    "I put {t} on my list of things to do. The list is now asking for help.",
    "You can lead me to {t}, but you cannot make me think.",
)
_NICE = (
    "A day with {t} in it cannot be all bad.",
    "Whoever thinks of {t} has a good heart, I believe.",
    "I am glad that the world has room for {t}.",
    "Somebody, somewhere, is smiling today because of {t}.",
    "When I hear of {t}, I think of warm light in a window.",
    "If I could collect good things, I would put {t} at the top of the pile.",
    "It is kind of you to think of {t}.",
    "The best thing about {t} is that one can think of it for free.",
    "There is something warm about {t}, like bread from the oven.",
    "A kind thought of {t} makes a good start of any day.",
    "Thank you for bringing up {t}. Now I am in a good mood.",
    "If there were a prize for making people smile, I would give it to {t}.",
    "One could write a whole book of good things about {t}.",
    "I like the way you say it: {t}. It sounds like something to look forward to.",
)
_SLOGANS = (
    "{T}: you will wonder how you lived without.", "{T}. Simple, good, and made for you.", "Say yes to {t}!",
    "Every day is better with {t}.", "{T}: small price, big smile.", "Today is the day for {t}.", "Life is short. Enjoy {t}.",
    "{T}: once tried, always loved.", "Come for {t}, stay for the fun.", "More joy, more heart, more of {t}.",
    "For people who know what is good: {t}.", "Nothing warms the heart like {t}.", "{T}: the best idea of your day.",
    "Good mornings begin with {t}.", "Think big. Think {t}.", "{T}. Because you deserve it.", "Keep calm and think of {t}.",
)
_SHOP_SLOGANS = (
    "{Sells} with a smile, every day.", "Our {shop}: come in as a guest, leave as a friend.", "Good {sells}, good people, good prices.",
    "The {shop} around the corner, with a heart in the middle.", "Where {sells} and kindness meet.", "Fresh ideas and the best {sells} in town.",
    "You bring the day, we bring the {sells}.", "One {shop}, a thousand happy faces.", "{Sells} you can trust, from people you know.",
    "Small {shop}, big welcome.", "Life needs {sells}. We have them both: life and {sells}.", "Step in, smile, and take some {sells} home.",
)
_SHOP_NAMES = (
    "How about The {Adjective} {Object}? It sounds like {a shop} with a story.", "How about {Name}'s? It sounds like a friendly {shop}.", "I would call the {shop} The {Color} Door.",
    "Call it The {Animal} and {Object}.", "How about The Happy {Animal}?", "Just call it {Sells}. Simple, but people will find it.",
    "How about {Name} and {Name2}? It sounds like a family {shop}.", "What about The {Color} {Object}?", "I suggest The {Adjective} {Animal}.",
    "How about {Sells} and Sunshine?", "You could call it The House of {Sells}.", "How about {Sells} for Friends?",
    "Maybe The {Color} {Animal}. It looks good above a door.", "What about All About {Sells}?",
)
_PET_NAMES = ("Pepper", "Mango", "Button", "Waffles", "Comet", "Pickle", "Hazel", "Noodle", "Clover", "Sunny", "Peanut", "Maple", "Ziggy", "Pumpkin",
    "Olive", "Marble", "Ginger", "Pogo", "Nutmeg", "Dot", "Socks", "Bean", "Flash", "Tulip", "Bubbles", "Captain", "Miso", "Juniper", "Rascal", "Toffee")
_SANDWICHES = (
    "The {Name} Special: {filling}, {filling2} and {sauce} on {loaf}.", "How about the {Animal} Special? Take {loaf}, add {filling} and {filling2}, and finish it with {sauce}.",
    "I call it the Sunday Stack: {loaf} with {sauce}, then {filling}, then {filling2}.", "The {Color} Tower: two slices, {filling} between them, {sauce} on top, and some {filling2} for luck.",
    "Take {loaf}, spread {sauce} on it, and add {filling} with {filling2}. I call it the {City}.",
    "The Brave {Job}: {filling} and {filling2} on {loaf}, with more {sauce} than anybody needs.",
    "The {Color} {Animal}: warm {filling} on {loaf}, with {filling2} and a spoon of {sauce}.", "My {Day} sandwich: {loaf}, {sauce}, {filling}, {filling2}. Press it flat and eat it with both hands.",
    "Put {filling} and {filling2} on {loaf}, close your eyes, and add {sauce}. That is the Surprise from {City}.",
    "Here is the Midnight {Object}: {loaf}, {filling}, {filling2}, and a little {sauce}. Eat it standing up.",
)
_ANIMALS = (
    "The {object} {animal}. It has the body of {a animal} and sleeps in {a object}.",
    "Meet the {color} {animal}-{animal2}: half {animal}, half {animal2}, and afraid of nothing but {foods}.",
    "The {adjective} {color} {animal}. It lives {where}, eats only {foods}, and comes out on {day}s.",
    "I invent the moon {animal}. It glows in the dark, and it hums when it is happy.",
    "The pocket {animal}: it is as small as a coin, loves {foods}, and hides {where}.",
    "The {animal} with {few} tails. It uses one for balance and the others to carry {foods}.",
    "The cloud {animal}. It looks like {a animal}, but it is as light as a feather and floats away when you sneeze.",
    "The {color} snow {animal}. Its breath is warm, so it always leaves small puddles behind.",
    "The {animal} of the hour: it is awake for one hour a day, and in that hour it eats {foods}.",
    "The shy {animal}. When it is afraid, it becomes {color} and pretends to be {a object}.",
    "The singing {animal}. It lives {where} and knows {few} songs, all of them about {foods}.",
    "The {adjective} {animal2}-{animal}. It has the ears of {a animal} and the patience of {a animal2}.",
)
_DRINKS = (
    "The {Color} {Animal}: {drink} with {flavor} and a lot of ice.", "{Drink} with {flavor} and {flavor2}. I call it the {Adjective} {Name}.",
    "Mix {drink} with some {flavor}, and call it {City} Morning.",
    "Warm {drink} with {flavor}, in a {color} cup. I call it Slow {Day}.", "The Thirsty {Job}: cold {drink}, a slice of lemon, and a little {flavor}.",
    "{Drink} shaken with {flavor}, served with {few} ice cubes and a paper umbrella.", "The {Animal} Cooler: half {drink}, half {drink2}, and a leaf of mint.", "A {Day} Sparkle: {drink}, {flavor}, and a straw as long as your arm.",
)
_ICE = (
    "{Flavor} and {flavor2}, with {color} sprinkles.", "How about {flavor} with a little {flavor2}? I call it {Adjective} {Animal}.", "{Flavor} with a swirl of {flavor2}.",
    "{Flavor} and {flavor2}. The first spoon is strange, the second is wonderful.", "{Month} Dream: {flavor} with pieces of {flavor2} biscuit.",
    "The {Color} {Animal}: {flavor} below, {flavor2} on top, and a cherry.", "Burnt sugar and {flavor}. I call it {City} at Night.", "Toasted bread with {flavor}. It sounds odd, but try it.",
)
_SPORTS = (
    "{Animal} ball: two teams try to throw a ball into {a object} while they walk like {a animal}.", "{Object} {sport}: it is like {sport}, but everybody has to carry {a object}.",
    "Slow {sport}. Whoever comes last wins, and nobody may stop.", "Quiet {sport}. You play it {where}, in silence, and the loser makes the tea.",
    "Blindfold {object} throwing. The winner is the one who laughs last.",
    "Backward {sport}. You play it backward, and a {animal} keeps the score.", "Team napping: {few} people sleep, and the last one to wake up wins {a object}.",
    "Pocket {sport}. It is {sport}, but everything is as small as a coin.", "{Food} balancing: you walk through {city} with it on your head.", "Whisper {sport}. Whoever shouts must eat {foods}.",
)
_HOLIDAYS = (
    "{Object} Day, on the first {day} in {month}. Everybody gives {a object} to a neighbor.", "The Feast of {Foods}. In {month}, all people cook {foods} and nobody washes up.",
    "Thank-a-{Job} Day. On {a day} in {month}, every {job} gets cake.", "{Animal} Day: people put on the ears of {a animal} and walk slowly to work.",
    "The {Color} {Day}: everybody wears {color} and says one kind thing.", "Letter Day, on the last {day} of {month}. Everybody writes by hand to somebody far away.", "The Day of Small Lamps: in {month}, people put a light into every window.",
    "{City} Day: once a year, everybody cooks something from {city} and dances.", "Quiet {Day}: in {month}, nobody speaks until noon, not even the {animals}.", "Nap Day, in the middle of {month}. At two o'clock, the whole country lies down.",
)
_MACHINES = (
    "The {adjective} {object} machine: you put in {foods}, and out comes {a object}.", "A cleaning robot. It looks like {a animal}, and it sings while it works.",
    "A hat that turns into {a object} when you clap.", "Shoes for {animals} with a bell, so that one always hears them coming.", "A {object} that tells you where you left your {lost}.",
    "An umbrella with a small lamp and a pocket for {foods}.", "A chair that walks to the window when the sun comes out.",
    "A spoon that tells you if the soup is too hot.", "A bell for {animals} that rings only when they want {foods}.", "A {object} with wings, for people who are always late.", "A jar that keeps the smell of {month}.",
    "Glasses that turn every {job} into {a animal}.", "A clock that gives you back one hour every {day}.", "A {color} button that makes it {day} again.",
)
_TITLES = (
    "The Secret of {tt}", "A Winter with {tt}", "What Nobody Knew about {tt}", "{Tt} and the Long Way Home", "The Night of {tt}", "Looking for {tt}",
    "All I Know about {tt}", "Goodbye, {Tt}", "The Summer of {tt}", "A Letter to {tt}", "Beyond {tt}", "Nine Days with {tt}",
)
_DIALOGUES = (
    '"You are late," said the {x}.\n"I came by the long road," said the {y}.\n"And what did you see?"\n"You, at the end of it."',
    '"Do you ever sleep?" asked the {x}.\n"Only when nobody is looking," said the {y}.\n"I am looking now."\n"Then good morning."',
    '"What do you want to be?" asked the {x}.\n"A better {y}," said the {y}.\n"And I want to be a better {x}."\n"Then we can start together."',
    '"Is it cold where you live?" asked the {y}.\n"Only in the morning," said the {x}.\n"You may come to me."\n"Thank you. I will bring the tea."',
    '"I have lost my hat," said the {x}.\n"You never had one," said the {y}.\n"That is why I miss it so much."',
    '"Guess what I found," said the {y}.\n"Another {x}?" asked the {x}.\n"No, a friend."\n"That is even better."',
    '"You are very quiet today," said the {x}.\n"I am listening," said the {y}.\n"To what?"\n"To you. You never stop."',
)
_TWO_WORDS = (
    "The {x} stood in the corner, and next to it was the {y}.", "Nobody knew why the {x} needed {a y}.", "She drew {a x} and {a y} on the same page.",
    "First he saw the {x}, and then he saw the {y}.", "Behind the {x} there was {a y}.", "My uncle has {a x} and {a y}, and he is proud of both.",
    "We dreamed of {a x} next to {a y}.", "The {y} was much older than the {x}.", "In the morning the {x} was gone, but the {y} was still there.",
    "You can trade {a x} for {a y}, but not every day.",
)
_SENTENCES = (
    "Yesterday we talked about {t} until it was dark.", "She smiled when she heard about {t}.", "My first memory is of {t}.", "He wrote a long letter about {t}.",
    "Nobody in our street knew more about {t} than old {Name}.", "I was on my way home when I thought of {t}.", "The whole class wanted to hear about {t}.",
    "There is a picture of {t} above my bed.", "{Name} dreamed about {t} all night.", "We came to {city} because of {t}.",
)
_STORY_STARTS = (
    "On the morning when {name} first heard of {t}, the whole town was still asleep.", "{Name} had promised never to speak about {t} again.",
    "It all began with {t} and a knock at the door.", "Nobody believed {name}, but it was true: it was all because of {t}.",
    "The letter was short: it was about {t}, and it was not signed.", "When {name} was nine years old, the only thing that mattered was {t}.",
    "At midnight, {name} sat up in bed and thought of {t}.", "The old map of {city} showed everything, except for one thing: {t}.", "If {name} had known about {t}, there would have been no journey.",
    "There are many stories about {t}, but only one of them is true.", "{Name} came home from {city} with one bag and a strange idea about {t}.", "Long ago, before anybody knew of {t}, there lived a poor {job}.",
    "The radio spoke of {t} all day, and {name} turned it off.", "It was {day}, it was raining, and {name} could think only of {t}.",
)
_BIRTHDAYS = (
    "Happy birthday, {name}! I wish you a day full of cake and laughter.", "Dear {name}, happy birthday! May the new year of your life bring you joy.",
    "All the best for your birthday, {name}! I hope that today is all yours.", "Happy birthday, dear {name}! Another year wiser, and still so young.",
    "{Name}, today is your day! Happy birthday, and many good things for the next year.", "Happy birthday, {name}! Eat the biggest slice of the cake.", "Dear {name}, may every candle on your cake stand for one good thing this year. Happy birthday!",
    "To {name}: happy birthday! I am glad that you were born.", "Happy birthday, {name}! May you find {foods}, flowers and friends around you today.", "A very happy birthday to you, {name}! Today nobody may ask you to do the dishes.",
    "{Name}, congratulations! Another trip around the sun, and you still shine.", "Happy birthday, {name}! Health, luck and a piece of cake for every wish.",
)
_THANKS = (
    "Dear {name}, thank you so much for the {object}! I think of you whenever I use it.", "Thank you for the {object}, {name}! It is just what I wanted.",
    "Dear {name}, what a lovely {object}! Thank you from all my heart.", "{Name}, you are so kind! Thank you for the beautiful {object}.", "Dear {name}, many thanks for the {object}. It has already found its place.",
    "Thank you, {name}! How did you know that I needed {a object}?", "Dear {name}, the {object} makes me smile every day. Thank you!", "A big thank you to you, {name}, for the {object}!",
)
_GET_WELL = (
    "Get well soon, {name}! We miss you.", "Dear {name}, I am sorry that you are ill. Rest well and come back soon.", "Dear {name}, I hope you feel better every day.",
    "{Name}, get well soon! The coffee is not the same without you.", "Dear {name}, rest, sleep and drink your tea. We wait for you.",
    "All the best, {name}! May you soon be up and laughing again.", "Dear {name}, I am thinking of you. Get well, and do not hurry.", "Get well soon, dear {name}! I am bringing {foods} on {day}.",
)
_INVITATIONS = (
    "Dear {name}, please come to my party on {day}! There will be music and {foods}.", "Hello {name}! I am having a party on {day}. I would love to see you there.",
    "You are invited, {name}! Come on {day} at {hour}, and bring a good mood.", "{Name}, save the date: on {day} we celebrate, and you must be there!", "Dear {name}, {day} is the day! Come hungry and bring your dancing shoes.",
    "Hi {name}! Do you have time on {day}? I am giving a party, and it needs you.", "Dear {name}, it would make me happy to see you at my party on {day}.", "{Name}, come and celebrate with us on {day}! The cake is big enough.",
)
_EXCUSES = (
    "I am sorry, but {a animal} was sitting on my {object} and would not move.", "I was on my way, but then I met {a animal} that needed {a object}.",
    "My {object} fell into the soup, and I had to save the soup.", "I would have come in time, but my {relative} has hidden all the clocks.",
    "There was {a animal} {where}, and it asked me for directions to {city}.", "I had to help {a job} who had lost {a object}. It was under my hat.", "My alarm clock ran away with the {object}.", "I left in time, but {city} was in the way.",
    "My shoes wanted to go left, and I wanted to go right.", "It was {day} when I got up, and nobody told me that it still is.", "A {animal} ate my map.", "I was carrying {foods}, and every {animal} in town followed me.",
)
_WHAT_IF = (
    "If {xs} could dance, we would need more music and larger rooms.", "If {xs} could dance, {name} would be the first to ask one.",
    "If {xs} could dance, the floor would be full of {xs}, and people would sit and clap.",
    "If {xs} could dance, nobody in {city} would go to bed early.", "If {xs} could dance, they would meet at midnight and never tell us why.", "If {xs} could dance, every {job} would want lessons from them.",
    "If {xs} could dance, {day} would be the best day of the week.", "If {xs} could dance, they would step on our feet and say sorry.",
)
_TALKS = (
    "If {xs} could talk, they would complain about the weather like all of us.", "If {xs} could talk, they would tell us where all the lost {lost} are.",
    "If {xs} could talk, the first word would be \"hello\" and the second \"why\".", "If {xs} could talk, they would ask for {foods}.", "If {xs} could talk, they would tell {name} to be quiet for once.", "If {xs} could talk, they would say: we were here first.",
    "If {xs} could talk, every {job} would learn something.", "If {xs} could talk, they would sing old songs about {city}.",
)

_THREE_WORDS = (
    "Small, quiet, loved.", "Old, warm and patient.", "Bright, strange, wonderful.", "Simple, useful and kind.", "Round, soft and slow.", "New, loud and funny.",
    "{Color}, calm and curious.", "Rare, shy, golden.", "Brave, plain and honest.", "Light, quick and gone.", "Deep, wide and blue.", "Cozy, clever and dear.",
    "Wild, free, {color}.", "Little, {color} and proud.", "Warm, {color}, unforgettable.",
)
_QUESTIONS = (
    "Who was the first person to think of {t}?", "What would the world be like without {t}?", "How would you explain {t} to a child?", "What do you feel when you think of {t}?",
    "Would you write a letter about {t}?", "What is the strangest thing about {t}?", "When did you first hear of {t}?", "If you could ask somebody about {t}, whom would you ask?",
    "What color comes to your mind with {t}?", "Does anybody know everything about {t}?",
)
_WISHES = (
    "I wish you {foods}, good friends and a quiet mind, {name}.", "{Name}, may your road be short and your bread be warm.", "May your days be bright and your socks be dry, {name}.",
    "I wish you luck, {name}, and somebody to share it with.", "{Name}, may all your {weather} days end in sunshine.", "May you always find your keys and never lose your smile, {name}.",
)
_TOASTS = (
    "To {name}, who makes every room a little warmer. Cheers!", "Raise your glasses to {name}: may the next years be the best ones!", "To {name}! Good health, good friends and good {foods}.",
    "Here is to {name}, without whom this evening would be half as bright.", "To {name}: never late for cake, never early for work. Cheers!",
)
_TWISTERS = (
    "Six slim snails slide slowly south.", "Bright blue birds bring big brown berries.", "Ten tiny turtles talk to Tom's two toads.", "Peter's purple parrot picks pickled pears.",
    "Fresh fried fish for five fine friends.", "Great gray geese graze on green grass.", "Loud Lily likes little lemon lollipops.", "Many merry mice made my mother's muffins.",
    "Clever Claire cleans clear crystal cups.", "Five fluffy foxes fetch four feathers.", "Wet Walter washed white walls on Wednesday.", "Daring Dora draws dozens of dancing ducks.",
    "Red Rita's rabbit ran round the rocks.", "Nine nice nurses need new napkins.", "Happy Harry hides his heavy hat.", "Kind Kate keeps cakes in the cool kitchen.",
)
_RHYMED_WISH = (
    "Roses are red, the morning is new,\n{name}, my dear friend, here is sunshine for you.", "The moon is awake and the stars are in view,\n{name}, I have saved the most bright one for you.",
    "The kettle is hot and the cups are both blue,\n{name}, come and sit, there is one here for you.", "The road may be long, but the sky is so blue,\n{name}, every step has a song in it, too.",
)
_GREETING_CARDS = (
    "Greetings from {city}! The sun shines, the food is good, and I think of you.", "Dear {name}, {city} is wonderful. I have seen {a animal} and eaten too many {foods}. See you soon!",
    "Hello from {city}, {name}! It is {weather} here, and we walk all day.", "Dear {name}, I am in {city} and wish that you were here.",
)

_HEADLINES = (
    "{Tt}: the Whole Town Is Talking", "Surprise in {city}: Everybody Wants to Know about {tt}", "After Years of Silence: News of {tt}", "{Job} Tells All about {tt}",
    "Mystery of {tt} Solved at Last", "Crowds Cheer for {tt}", "Experts Disagree about {tt}", "{Name} and {Tt}: a Love Story", "Rain, Wind and {Tt}: What {Day} Brings",
    "Child Asks about {tt}, Nobody Knows the Answer", "{City} Opens a Museum of {tt}", "Lost and Found: {Tt}",
)
_LULLABIES = (
    "Hush, little {x}, the daylight is done,\nthe moon has sent home the old, yellow sun.\nThe hills are asleep, and so is the sea,\nhush, little {x}, and dream here with me.",
    "Sleep, little {x}, the stars are all out,\nthe owl is the only one flying about.\nTomorrow will come with its bread and its sun,\nsleep, little {x}, the day is all done.",
    "Close your eyes, {x}, the night is so mild,\nit sings for the river, it sings for the child.\nIt sings for the {x} in its warm little bed,\nand lays a soft blanket of dreams on its head.",
)
_CHORUSES = (
    "Oh {t}, oh {t},\nI sing it loud, I sing it low.\nOh {t}, oh {t},\nwherever you are, I go.", "La la la, I think of {t},\nla la la, in rain and sun.\nLa la la, I think of {t},\nand now the song is done.",
    "Hey, hey, sing along,\nthis is {t} in a song.\nHey, hey, clap your hands,\neverybody understands.", "One more time for {t},\none more time for you and me,\none more time for {t},\nfrom the mountains to the sea.",
)
_FORTUNES = (
    "A small surprise is waiting behind a {color} door.", "You will soon find what you have stopped looking for.", "On {day}, say yes to the second offer.", "A {job} will give you good advice.",
    "Your next good idea comes while you {do}.", "Somebody in {city} thinks of you kindly.", "{Foods} will bring you luck this week.", "Keep your {object} near. You will need it.",
    "A letter is on its way.", "He who waits for the wind should hold on to the hat.", "{Month} will be kind to you.", "Smile at {a animal}, and the day will smile back.",
)
_DIARIES = (
    "Dear diary, today was all about {t}. I laughed, I was a bit tired, and I would do it again.", "Dear diary, I have thought of {t} since breakfast. Nobody knows. Good night.",
    "{Day}. I wrote three pages about {t} and tore out two. The third one is for you.", "Dear diary, it rained, the soup was good, and {name} asked me about {t}.",
    "{Day} evening. I promised myself not to think of {t}. I have thought of nothing else.",
)
_LOVE = (
    "Dear {name}, when you come into the room, even the clock forgets its work. I like you very much.", "My dear {name}, I had many words for you, and I lost them all on the stairs. Only three are left.",
    "Dear {name}, with you, {day} feels like a holiday.", "{Name}, I would share my last {food} with you, and that says it all.", "Dear {name}, if you were {a object}, I would carry you with me always.",
)
_RESOLUTIONS = (
    "This year I will {do} more and worry less.", "I will call my {relative} every {day}.", "I will {chore} before it is necessary.", "I will learn to {do}, slowly and with joy.",
    "I will eat more {foods} and read more books.", "I will go to bed before midnight, at least on {day}s.", "I will say thank you more often.", "I will visit {city} and write a postcard to {name}.",
)
_NICKNAMES = (
    "Captain {Name}", "{Name} the Kind", "Sunny {Name}", "Little {Animal}", "{Name} Bean", "Professor {Name}", "The {Color} {Animal}", "Lucky {Name}", "{Name} Star", "Speedy {Name}",
)
_CONTEST = (
    "I thank my {relative}, my {critter}, and above all {t}. Without {t} I would not be here.", "When I was small, I dreamed of {t}. Today I stand here. Thank you!", "Friends, this prize belongs to {t} as much as to me.",
    "I had prepared a long speech about {t}, but my {critter} ate it. Thank you all!", "First, thank you. Second, {t}. Third, dinner is waiting.",
)

FORMS = (
    Form("headline", 4, NOT_MINE, ("a headline about {t}", "write a headline about {t}", "a newspaper headline about {t}", "headline: {t}", "make a news headline with {t}"), _HEADLINES),
    Form("lullaby", 3, ("animal", "critter"), ("a lullaby for {a x}", "write a lullaby for my {x}", "sing my {x} to sleep", "a sleeping song for {a x}", "lullaby for a little {x}"), _LULLABIES),
    Form("chorus", 4, ANYTHING, ("write a song about {t}", "a song about {t}", "sing something about {t}", "a chorus about {t}", "a short song about {t} please", "make a song about {t}"), _CHORUSES),
    Form("fortune", 4, ("none",), ("a fortune cookie", "what does my fortune cookie say", "write a fortune cookie", "make up a fortune cookie", "a horoscope please", "my horoscope for today"), _FORTUNES),
    Form("diary", 3, NOT_MINE, ("a diary entry about {t}", "write a diary entry about {t}", "dear diary, something about {t}", "a page of a diary about {t}"), _DIARIES),
    Form("love letter", 3, ("none",), ("a love letter to {name}", "write a love letter to {name}", "i love {name}, what can i write", "a few sweet words for {name}"), _LOVE),
    Form("resolution", 3, ("none",), ("a new year's resolution", "give me a resolution", "what should i resolve for the new year", "a good plan for the new year", "suggest a resolution"), _RESOLUTIONS),
    Form("nickname", 4, ("none",), ("a nickname for {name}", "what nickname fits {name}", "give {name} a nickname", "make up a nickname for {name}", "a funny nickname for my friend {name}"), _NICKNAMES),
    Form("speech", 3, NOT_MINE, ("a short speech about {t}", "write a speech about {t}", "a thank you speech about {t}", "i won a prize for {t}, write my speech"), _CONTEST),
    Form("three words", 5, ANYTHING, ("describe {t} in three words", "three words for {t}", "{t} in three words", "sum up {t} in 3 words", "give me three words about {t}"), _THREE_WORDS),
    Form("question", 4, ANYTHING, ("ask a question about {t}", "a question about {t}", "think of a question about {t}", "ask me something about {t}"), _QUESTIONS, "your"),
    Form("wish", 3, ("none",), ("a good wish for {name}", "wish {name} something nice", "write a wish for {name}", "good wishes for {name} please"), _WISHES),
    Form("toast", 3, ("none",), ("a toast to {name}", "write a toast for {name}", "i need a toast for {name}", "give a short toast to {name}"), _TOASTS),
    Form("tongue twister", 4, ("none",), ("a tongue twister", "tell me a tongue twister", "tongue twister please", "make up a tongue twister", "something hard to say fast"), _TWISTERS),
    Form("rhyme for a friend", 3, ("none",), ("a rhyme for {name}", "write a little rhyme for {name}", "two lines for my friend {name}", "a short verse for {name}"), _RHYMED_WISH),
    Form("postcard", 3, ("none",), ("write a postcard from {city} to {name}", "a postcard to {name} from {city}", "what can i write to {name} from {city}"), _GREETING_CARDS),
    Form("two lines", 14, ANYTHING, ("two lines about {t}", "write two lines about {t}", "a poem of two lines about {t}", "two rhyming lines about {t}",
        "give me 2 lines about {t}", "a couplet about {t}", "a two-line poem about {t}", "write a couplet about {t} please", "just two lines about {t}"), _COUPLETS),
    Form("four lines", 14, ANYTHING, ("a four-line poem about {t}", "write a four line poem about {t}", "four lines about {t}", "a poem of four lines about {t}",
        "write a short poem about {t}", "a poem about {t}", "can you write a poem about {t}", "write 4 lines about {t}", "poem about {t} please", "make a little poem about {t}",
        "i need a poem about {t}", "a rhyming poem about {t}", "a verse about {t}"), _POEMS),
    Form("limerick", 10, COUNTABLE, ("a limerick about {a x}", "write a limerick about {a x}", "limerick about {xs}", "can you make a limerick about {a x}", "limerick: {x}",
        "please write a limerick about {a x}", "tell me a limerick about {a x}", "a limerick with {a x} in it"), _LIMERICKS),
    Form("limerick about a person", 5, ("job",), ("a limerick about {a x}", "write a limerick about {a x}", "limerick about {a x}", "make a limerick about {a x} please", "a limerick",
        "a limerick with {a x} in it", "write a limerick"), _LIMERICKS_ABOUT_PEOPLE),
    Form("funny", 10, ANYTHING, ("say something funny about {t}", "something funny about {t}", "tell me something funny about {t}", "make me laugh about {t}", "a funny line about {t}",
        "a funny sentence about {t}", "be funny about {t}", "something silly about {t}"), _FUNNY, "your"),
    Form("joke about anything", 5, ("idea", "city", "day", "month", "relative", "food"), ("a joke about {t}", "tell me a joke about {t}", "do you know a joke about {t}",
        "joke about {t} please", "make a joke about {t}", "got a joke about {t}"), _FUNNY, "your"),
    Form("nice", 6, ANYTHING, ("say something nice about {t}", "something nice about {t}", "tell me something nice about {t}", "a kind word about {t}", "a compliment for {t}",
        "say something kind about {t}"), _NICE, "your"),
    Form("slogan", 8, ("noun", "plural", "food", "idea", "city"), ("a slogan for {t}", "write a slogan for {t}", "slogan for {t}", "i need a slogan for {t}",
        "make up an advertising line for {t}", "an ad for {t}", "can you write a slogan for {t}", "a catchy line for {t}", "advertise {t}"), _SLOGANS, "plural"),
    Form("shop slogan", 6, ("shop",), ("a slogan for my {shop}", "write a slogan for a {shop}", "slogan for a {shop}", "i need a slogan for my {shop}", "we open a {shop}, give us a slogan",
        "a motto for our {shop}", "an ad for my {shop}"), _SHOP_SLOGANS),
    Form("shop name", 9, ("shop",), ("a name for my {shop}", "what should i call my {shop}", "give me a name for a {shop}", "name for a {shop}", "i am opening a {shop}, what could i call it",
        "suggest a name for our {shop}", "make up a name for a {shop}", "how should i name my {shop}", "i want to sell {sells}, what is a good name for the {shop}"), _SHOP_NAMES),
    Form("sandwich", 5, ("none",), ("invent a sandwich", "make up a sandwich", "invent a new sandwich", "think of a new sandwich", "create a sandwich for me", "what would your own sandwich be",
        "design a sandwich", "a new kind of sandwich please"), _SANDWICHES),
    Form("sandwich with", 3, ("none",), ("invent a sandwich with {filling}", "make up a sandwich with {filling}", "a new sandwich with {filling} please", "create a sandwich with {filling} in it"), _SANDWICHES),
    Form("animal", 5, ("none",), ("invent an animal", "make up an animal", "invent a new animal", "think of an animal that does not exist", "create a new animal", "describe an animal that nobody has seen",
        "make up a creature", "a new kind of animal please"), _ANIMALS),
    Form("drink", 3, ("none",), ("invent a drink", "make up a new drink", "invent a drink for a party", "a new drink please", "create a drink"), _DRINKS),
    Form("ice cream", 3, ("none",), ("invent an ice cream flavor", "make up a new ice cream", "a new ice cream flavor", "create an ice cream flavor", "think of a strange ice cream"), _ICE),
    Form("sport", 3, ("none",), ("invent a sport", "make up a new sport", "a new sport please", "invent a game for outside", "think of a new sport"), _SPORTS),
    Form("holiday", 3, ("none",), ("invent a holiday", "make up a holiday", "a new holiday please", "think of a holiday that should exist", "invent a festival"), _HOLIDAYS),
    Form("machine", 3, ("none",), ("invent a machine", "invent something", "make up an invention", "invent something useful", "a silly invention please", "what would you invent"), _MACHINES),
    Form("title", 7, ("noun", "the noun", "plural", "idea", "city", "name", "month"), ("a title for a story about {t}", "give me a title for a book about {t}", "title for a story about {t}", "suggest a title for a film about {t}",
        "i write about {t}, give me a title", "a book title about {t}", "what could i call a story about {t}"), _TITLES),
    Form("dialogue", 6, ("two",), ("write a dialogue between a {x} and a {y}", "a dialogue between a {x} and a {y}", "a short talk between a {x} and a {y}", "let a {x} talk to a {y}",
        "what would a {x} say to a {y}", "a {x} and a {y} meet. what do they say?"), _DIALOGUES),
    Form("two words", 7, ("two",), ("write a sentence with {x} and {y}", "make a sentence with the words {x} and {y}", "one sentence with {x} and {y}", "use {x} and {y} in a sentence",
        "put {x} and {y} into one sentence", "a sentence that contains {x} and {y}", "sentence with {x}, {y}"), _TWO_WORDS),
    Form("sentence", 6, NOT_MINE, ("write a sentence about {t}", "a sentence about {t}", "one sentence about {t} please", "make a sentence about {t}", "say one sentence about {t}"), _SENTENCES),
    Form("first line", 5, NOT_MINE, ("write the first sentence of a story about {t}", "the first line of a story about {t}", "how could a story about {t} begin", "start a story about {t} with one sentence",
        "an opening line about {t}"), _STORY_STARTS),
    Form("birthday", 4, ("none",), ("write a birthday message for {name}", "a birthday card for {name}", "birthday wishes for {name}", "wish {name} a happy birthday", "what can i write to {name} for the birthday",
        "happy birthday text for my friend {name}"), _BIRTHDAYS),
    Form("thanks", 3, ("none",), ("thank {name} for the {object}", "write a thank you note to {name} for the {object}", "a thank you card for {name}, who gave me a {object}", "say thanks to {name} for a {object}"), _THANKS),
    Form("get well", 3, ("none",), ("write a get well message for {name}", "get well soon card for {name}", "{name} is ill, write a short message", "a get well card for {name}"), _GET_WELL),
    Form("invitation", 3, ("none",), ("invite {name} to my party on {day}", "write an invitation for {name} to a party on {day}", "an invitation to a party on {day} for {name}"), _INVITATIONS),
    Form("excuse", 4, ("none",), ("give me an excuse for being late", "i need an excuse", "a funny excuse please", "make up an excuse", "why am i late? invent a reason", "an excuse for my boss", "invent a silly excuse"), _EXCUSES),
    Form("if they could dance", 2, ("thing", "animal", "object"), ("what if {xs} could dance", "imagine that {xs} can dance", "what would happen if {xs} could dance"), _WHAT_IF),
    Form("if they could talk", 2, ("thing", "animal", "object"), ("what if {xs} could talk", "imagine that {xs} can talk", "what would {xs} say if they could talk", "if {xs} could speak, what would they say"), _TALKS),
)

#: Things that get names, with names for them.
NAMED = {
    "cat dog rabbit hamster parrot horse puppy kitten goldfish turtle pony pig goat hen donkey lizard duck mouse snake guinea pig budgie pet": _PET_NAMES,
    "robot computer phone machine spaceship rocket drone": ("Boltina", "Rusty", "Beep", "Professor Tin", "Volt", "Gearwin", "Sparky", "Pixel", "Tock", "Nimbus", "Orbit One", "Copper", "Zig", "Star Hopper",
        "Blue Comet", "Quasar", "Turbo Tea", "Button Brain"),
    "boat ship sailboat canoe raft": ("Morning Star", "Sea Biscuit Crumb", "Silver Gull", "The Patient Wave", "Blue Heron", "Salty Sock", "Second Wind", "Little Thunder", "Moon Road", "The Happy Herring", "North Light"),
    "band choir orchestra music group": ("The Quiet Drums", "Paper Lions", "The Late Buses", "Velvet Socks", "Moon Elevator", "Five Warm Chairs", "The Polite Storm", "Rain in June", "The Lost Umbrellas", "Sugar and Thunder"),
    "dragon monster giant wizard witch troll": ("Smolder", "Grimbold", "Old Flicker", "Mossbeard", "Thistlewick", "Brambletooth", "Zanzarella", "Hobbin", "Cinderpaw", "Murkle", "Fizzlewick", "Granny Thorn"),
    "planet star moon galaxy": ("Velora", "Tamsin Minor", "Nuvia", "Ombra", "Kelpar", "Sorrel Prime", "Zephira", "Little Amber", "Orin Five", "Mirelle"),
    "team football team quiz team chess club book club running club": ("The Flying Teapots", "The Night Owls", "Quick Thinkers", "The Brave Snails", "Thunder Socks", "The Last Ones In", "Green Lightning", "The Patient Tigers", "The Sharp Pencils"),
    "village town island country kingdom": ("Willowmere", "Port Amber", "Stonebridge", "Applewick", "Marrowfield", "Low Harbor", "Fernland", "Saltmarsh", "Otterby", "Windhaven", "Larkmoor"),
    "hero detective pirate princess knight explorer villain spy": ("Captain Amberly", "Nell Hawthorn", "Ivo Blackwater", "Rosalind Quick", "Sir Pemberly", "Ada Flint", "Otto Marsh", "Juno Vale", "Bartholomew Finch", "Mira Stone"),
    "doll teddy bear toy scarecrow snowman puppet": ("Buttons", "Mister Snow", "Rosie", "Patches", "Captain Carrot", "Fluff", "Old Straw", "Dolly Blue", "Bramble", "Wink"),
    "car bike bicycle van truck tractor": ("Rocket", "Old Thunder", "The Blue Bean", "Betsy", "Lightning Bug", "Grumbles", "Sunny", "The Green Arrow", "Rattles", "Swift"),
    "newspaper school magazine blog radio show podcast": ("The Morning Bell", "The Paper Kite", "Small Talk", "The Daily Apple", "Round the Corner", "Kitchen Table News", "Night Lamp", "The Curious Mind"),
}

#: Jokes about any countable thing.
JOKES = (
    "What do you call {a x} in the snow? A cold {x}.", "Why did the {x} cross the road? It had heard that the chicken does it all the time.",
    "What is better than {a x}? Two {xs}, and one of them is free.", "Why did the {x} go to school? It wanted to be a little brighter.",
    "What did one {x} say to the other? You go first, I have to think.", "How do you make {a x} laugh? Tell it a joke on Monday, and wait until Friday.",
    "Knock, knock. Who is there? A {x}. A {x} who? You know so many {xs}?", "Why was the {x} late? It followed a sign that said: slow down.",
    "What do you call {a x} with a tie? Sir.", "What looks exactly like {a x}? Another {x}.",
    "Why do {xs} never win at cards? They always show their hand, and they have none.", "What does {a x} do on the weekend? Exactly what it does on Monday, but slower.",
    "How many {xs} fit into a bus? None, they have no tickets.", "Why did the {x} bring a ladder? It had high hopes.",
    "Why did the {x} wear a hat? It wanted to be on top of things.", "What is the first thing {a x} learns? How to wait.", "Why was the {x} so calm? It had slept on it.",
    "What did the {x} say to the {y}? I thought that you were me.", "Why did two {xs} never meet? One was always early, and the other one was always late.",
    "How do you know that {a x} has been in your fridge? The light is still on.", "What do you call {a x} that tells jokes? Out of work, like me.",
    "Why did the {x} sit on the clock? It wanted to be on time.", "What is the difference between {a x} and {a y}? If you do not know, I will not send you shopping.",
    "What do you get if you cross {a x} with a clock? A {x} that is always on time.",
)
#: Topics of the jokes of `seeds/facts/jokes.tsv` that are not countable, as users ask for them; others are nouns.
TOPICS = {"fruit": "fruit", "food": "food", "school": "school", "sea": "the sea", "body": "the body", "weather": "the weather", "snow": "snow", "sun": "the sun",
    "moon": "the moon", "space": "space", "music": "music", "sport": "sports", "travel": "traveling", "coffee": "coffee", "math": "math", "cheese": "cheese"}
#: Topics under which users ask for no joke.
NO_TOPICS = {"riddle", "ember", "work", "numbers"}
