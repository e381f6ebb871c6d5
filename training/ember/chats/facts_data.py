"""Facts that are asked for: pairs of a thing and what is known of it, and the wordings of the questions."""


def _pairs(text: str) -> list[tuple[str, str]]:
    """The pairs of a text of the form `thing=fact, thing=fact`."""
    return [tuple(part.strip().split("=")) for part in text.replace("\n", " ").split(",")]


def _grouped(groups: dict[str, str]) -> list[tuple[str, str]]:
    """The pairs of thing and group from the things of each group."""
    return [(thing.strip(), group) for group, things in groups.items() for thing in things.split(",")]


CAPITALS = _pairs("""
France=Paris, Spain=Madrid, Italy=Rome, Germany=Berlin, Portugal=Lisbon, England=London, Ireland=Dublin, Norway=Oslo,
Scotland=Edinburgh, Wales=Cardiff, Sweden=Stockholm, Finland=Helsinki, Denmark=Copenhagen, Iceland=Reykjavik,
Poland=Warsaw, Austria=Vienna, Switzerland=Bern, Belgium=Brussels, the Netherlands=Amsterdam, Greece=Athens,
Turkey=Ankara, Russia=Moscow, Ukraine=Kyiv, Hungary=Budapest, Romania=Bucharest, Bulgaria=Sofia, Croatia=Zagreb,
Serbia=Belgrade, Estonia=Tallinn, Latvia=Riga, Lithuania=Vilnius, Egypt=Cairo, Morocco=Rabat, Tunisia=Tunis,
Algeria=Algiers, Kenya=Nairobi, Ethiopia=Addis Ababa, Ghana=Accra, Nigeria=Abuja, Senegal=Dakar, Uganda=Kampala,
Canada=Ottawa, the United States=Washington, Mexico=Mexico City, Cuba=Havana, Brazil=Brasilia, Argentina=Buenos Aires,
Chile=Santiago, Peru=Lima, Colombia=Bogota, Ecuador=Quito, Uruguay=Montevideo, Japan=Tokyo, China=Beijing, India=New
Delhi,
South Korea=Seoul, Thailand=Bangkok, Vietnam=Hanoi, Nepal=Kathmandu, Indonesia=Jakarta, the Philippines=Manila,
Iran=Tehran, Iraq=Baghdad, Jordan=Amman, Australia=Canberra, New Zealand=Wellington, Fiji=Suva
""")

COLORS_OF_ONE = _grouped({
    "blue": "the sky, the sea, a blueberry, the ocean, a bluebell, a bluebird",
    "green": """grass, a leaf, a frog, a cucumber, a pea, spinach, lettuce, a lime, moss, a cactus, broccoli, a pine
        tree, a crocodile, a grasshopper, a meadow, a clover""",
    "yellow": """a banana, a lemon, the sun, butter, a sunflower, a canary, a chick, corn, the yolk of an egg, a
        duckling""",
    "red": """a tomato, a strawberry, a cherry, blood, a fire engine, a ladybug, a raspberry, a stop sign, a ruby, a
        poppy""",
    "orange": "a carrot, a pumpkin, an orange, a goldfish, a tangerine, a mandarin",
    "white": """snow, milk, a swan, a polar bear, salt, sugar, a snowman, rice, flour, a lamb, a snowflake, a daisy,
        cotton""",
    "black": "coal, a crow, a raven, tar, the sky at night, ink, a panther, a tire, soot",
    "brown": "chocolate, wood, a chestnut, earth, mud, toast, a walnut, a bear, coffee, a potato, an acorn, cocoa",
    "gray": "an elephant, a rain cloud, a mouse, a donkey, a rock, ash, a dolphin, a wolf",
    "pink": "a pig, a flamingo, a cherry blossom, a peach blossom, a piglet",
    "purple": "a plum, a violet, an eggplant, lavender, a grape",
    "gold": "a gold coin, a gold ring",
    "silver": "a silver coin, a silver spoon",
})
COLORS_OF_MANY = _grouped({
    "blue": "blueberries, forget-me-nots, bluebells",
    "green": "leaves, frogs, cucumbers, peas, limes, pine trees, crocodiles, pickles",
    "yellow": "bananas, lemons, sunflowers, chicks, canaries, dandelions",
    "red": "tomatoes, strawberries, cherries, fire engines, ladybugs, raspberries, poppies",
    "orange": "carrots, pumpkins, oranges, goldfish",
    "white": "swans, polar bears, clouds, snowflakes, teeth, daisies, lambs",
    "black": "crows, ravens, tires",
    "brown": "potatoes, walnuts, chestnuts, acorns",
    "gray": "elephants, donkeys, mice, rocks, dolphins",
    "pink": "pigs, flamingos, piglets",
    "purple": "plums, violets, eggplants",
})

SOUNDS = _pairs("""
a cow=moo, a dog=woof, a cat=meow, a duck=quack, a sheep=baa, a lamb=baa, a pig=oink, a horse=neigh, a hen=cluck,
a rooster=cock-a-doodle-doo, a chick=cheep, a frog=croak, a bee=buzz, a snake=hiss, an owl=hoot, a crow=caw, a
lion=roar,
a wolf=howl, a mouse=squeak, a donkey=hee-haw, a turkey=gobble, a bird=tweet, a goose=honk, a dove=coo, a fly=buzz,
a puppy=yip, a kitten=mew, a bear=growl, a tiger=roar, a cricket=chirp, a cuckoo=cuckoo
""")
YOUNG = _pairs("""
dog=puppy, cat=kitten, cow=calf, horse=foal, sheep=lamb, goat=kid, pig=piglet, hen=chick, duck=duckling, goose=gosling,
bear=cub, lion=cub, wolf=cub, fox=cub, tiger=cub, deer=fawn, frog=tadpole, swan=cygnet, kangaroo=joey, owl=owlet,
elephant=calf, whale=calf, seal=pup, rabbit=bunny, butterfly=caterpillar, eagle=eaglet, giraffe=calf, koala=joey,
donkey=foal, zebra=foal
""")
LEGS = _grouped({
    "no": "a snake, a fish, a worm, a snail, a whale, a dolphin, a shark, an eel, a slug",
    "2": """a bird, a hen, a duck, an owl, a penguin, a parrot, a swan, an eagle, a crow, a goose, a chicken, a robin, a
        person, an ostrich, a child, a turkey""",
    "4": """a dog, a cat, a cow, a horse, a sheep, a goat, a pig, a lion, a tiger, a bear, a fox, a wolf, a mouse, a
        rabbit, an elephant, a giraffe, a zebra, a deer, a donkey, a camel, a frog, a turtle, a lizard, a squirrel, a
        hedgehog, a crocodile""",
    "6": "an ant, a bee, a fly, a beetle, a butterfly, a wasp, a grasshopper, a ladybug, a moth, a mosquito",
    "8": "a spider, a scorpion",
})

OPPOSITES = _pairs("""
hot=cold, big=small, tall=short, long=short, fast=slow, up=down, in=out, on=off, day=night, black=white, happy=sad,
good=bad, old=new, rich=poor, hard=soft, light=dark, early=late, wet=dry, full=empty, open=closed, left=right,
high=low, near=far, strong=weak, loud=quiet, clean=dirty, first=last, thick=thin, deep=shallow, heavy=light, sweet=sour,
true=false, yes=no, love=hate, win=lose, buy=sell, push=pull, start=stop, begin=end, come=go, laugh=cry, give=take,
question=answer, friend=enemy, summer=winter, north=south, east=west, inside=outside, above=below, before=after,
always=never, more=less, many=few, awake=asleep, alive=dead, brave=afraid, easy=difficult, wide=narrow, smooth=rough,
sharp=blunt, kind=mean, right=wrong, wild=tame, cheap=expensive, safe=dangerous, young=old, beautiful=ugly, warm=cool,
front=back, top=bottom, hello=goodbye, war=peace, noisy=quiet, lost=found, boy=girl, man=woman, king=queen,
morning=evening
""")
_ASKED = {word for word, _ in OPPOSITES}
_FIRST_PAIRS = {right: left for left, right in reversed(OPPOSITES)}
OPPOSITES += [(right, left) for right, left in _FIRST_PAIRS.items() if right not in _ASKED]

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()

#: Questions for one thing that is commonly known, the answer, and what must stand in it.
KNOWLEDGE = [
    ("How many days are in a week? | How many days does a week have? | Tell me the number of days in a week. | "
     "A week has how many days?", "A week has 7 days.", "7"),
    ("How many months are in a year? | How many months does a year have? | A year has how many months?",
     "A year has 12 months.", "12"),
    ("How many days are in a year? | How many days does a year have?", "A year has 365 days.", "365"),
    ("How many hours are in a day? | How many hours does a day have?", "A day has 24 hours.", "24"),
    ("How many minutes are in an hour? | How many minutes does an hour have?", "An hour has 60 minutes.", "60"),
    ("How many seconds are in a minute? | How many seconds does a minute have?", "A minute has 60 seconds.", "60"),
    ("How many seasons are there? | How many seasons does a year have?", "There are 4 seasons in a year.", "4"),
    ("What are the four seasons? | Name the seasons. | Which seasons are there?",
     "The four seasons are spring, summer, autumn and winter.", "winter"),
    ("What are the days of the week? | Name the days of the week. | List the days of the week.",
     "The days of the week are Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday.",
     "Saturday and Sunday"),
    ("Which is the coldest season? | What is the coldest season? | In which season does it snow?",
     "Winter is the coldest season.", "winter"),
    ("Which is the warmest season? | What is the hottest season? | When is it warmest?",
     "Summer is the warmest season.", "summer"),
    ("What do bees make? | What do we get from bees? | What food comes from bees?", "Bees make honey.", "honey"),
    ("What does a cow give us? | What do we get from a cow? | Where does milk come from? | Who gives us milk?",
     "Cows give us milk.", "milk"),
    ("What do hens lay? | What does a hen lay? | Where do eggs come from?", "Hens lay eggs.", "eggs"),
    ("What do we get from sheep? | Where does wool come from? | What do sheep give us?", "Sheep give us wool.", "wool"),
    ("What is ice? | What is ice made of? | What does ice become when it melts?", "Ice is frozen water.", "water"),
    ("What happens to ice in the sun? | What does ice do when it gets warm?", "Ice melts and becomes water.", "melts"),
    ("What is bread made of? | What do you need to make bread?", "Bread is made of flour and water.", "flour"),
    ("What is cheese made of? | What do people make cheese from?", "Cheese is made of milk.", "milk"),
    ("What is paper made of? | What do people make paper from?", "Paper is made of wood.", "wood"),
    ("What is glass made of? | What do people make glass from?", "Glass is made of sand.", "sand"),
    ("What is the biggest animal? | What is the largest animal in the world? | Which animal is the biggest?",
     "The blue whale is the biggest animal.", "whale"),
    ("What is the tallest animal? | Which animal is the tallest? | Which animal has the longest neck?",
     "The giraffe is the tallest animal.", "giraffe"),
    ("What is the fastest animal on land? | Which animal runs the fastest?",
     "The cheetah is the fastest animal on land.", "cheetah"),
    ("What is the biggest planet? | Which planet is the largest?", "Jupiter is the biggest planet.", "Jupiter"),
    ("On which planet do we live? | What is the name of our planet? | What planet do we live on?",
     "We live on the planet Earth.", "Earth"),
    ("What goes around the Earth? | What shines at night in the sky?",
    "The moon goes around the Earth and shines at night.",
     "moon"),
    ("What does the Earth go around? | What is the star nearest to us?", "The Earth goes around the sun.", "sun"),
    ("What is the sun? | Is the sun a star or a planet?", "The sun is a star.", "star"),
    ("What is the biggest ocean? | Which ocean is the largest?", "The Pacific is the biggest ocean.", "Pacific"),
    ("What is the highest mountain? | Which mountain is the tallest in the world?",
     "Mount Everest is the highest mountain.", "Everest"),
    ("What do plants need to grow? | What does a plant need?", "Plants need water, light and air to grow.", "water"),
    ("What do we breathe? | What do people breathe?", "We breathe air.", "air"),
    ("What do we see with? | With what do we see?", "We see with our eyes.", "eyes"),
    ("What do we hear with? | With what do we hear?", "We hear with our ears.", "ears"),
    ("What do we smell with? | With what do we smell?", "We smell with our nose.", "nose"),
    ("How many fingers are on one hand? | How many fingers does a hand have?", "A hand has 5 fingers.", "5"),
    ("How many fingers does a person have? | How many fingers do I have?", "A person has 10 fingers.", "10"),
    ("How many eyes does a person have? | How many eyes do I have?", "A person has 2 eyes.", "2"),
    ("How many wheels does a car have? | A car has how many wheels?", "A car has 4 wheels.", "4"),
    ("How many wheels does a bicycle have? | A bicycle has how many wheels?", "A bicycle has 2 wheels.", "2"),
    ("How many sides does a triangle have? | A triangle has how many sides?", "A triangle has 3 sides.", "3"),
    ("How many sides does a square have? | A square has how many sides?", "A square has 4 sides.", "4"),
    ("How many letters are in the alphabet? | How many letters does the alphabet have?",
     "The alphabet has 26 letters.", "26"),
    ("How many are in a dozen? | How many things make a dozen? | What is a dozen?", "A dozen is 12.", "12"),
    ("How many cents are in a dollar? | How many cents make a dollar?", "A dollar has 100 cents.", "100"),
    ("What color do you get from blue and yellow? | What do blue and yellow make? | "
     "What happens if I mix blue and yellow?",
     "Blue and yellow make green.", "green"),
    ("What color do you get from red and yellow? | What do red and yellow make? | "
     "What happens if I mix red and yellow?",
     "Red and yellow make orange.", "orange"),
    ("What color do you get from red and blue? | What do red and blue make? | What happens if I mix red and blue?",
     "Red and blue make purple.", "purple"),
    ("What color do you get from black and white? | What do black and white make?", "Black and white make gray.",
    "gray"),
    ("Where does the sun rise? | In which direction does the sun come up?", "The sun rises in the east.", "east"),
    ("Where does the sun set? | In which direction does the sun go down?", "The sun sets in the west.", "west"),
    ("What does a doctor do? | What is a doctor?", "A doctor helps people who are sick.", "sick"),
    ("What does a teacher do? | What is a teacher?", "A teacher helps people to learn.", "learn"),
    ("What does a baker do? | What is a baker?", "A baker makes bread and cakes.", "bread"),
    ("What does a farmer do? | What is a farmer?", "A farmer grows food and keeps animals.", "food"),
    ("What is rain? | What falls from clouds?", "Rain is water that falls from the clouds.", "water"),
    ("What do we use an umbrella for? | Why do people carry an umbrella?", "An umbrella keeps us dry in the rain.",
    "rain"),
    ("What is a clock for? | What does a clock show? | What do we use a clock for?", "A clock shows the time.", "time"),
    ("What is a key for? | What do we use a key for?", "A key opens a lock.", "lock"),
    ("What do we cut bread with? | With what do we cut bread?", "We cut bread with a knife.", "knife"),
    ("What do caterpillars become? | What does a caterpillar turn into?", "A caterpillar becomes a butterfly.",
    "butterfly"),
    ("What do tadpoles become? | What does a tadpole turn into?", "A tadpole becomes a frog.", "frog"),
    ("What do rabbits eat? | What does a rabbit like to eat?", "Rabbits eat grass and carrots.", "grass"),
    ("What do cows eat? | What does a cow eat?", "Cows eat grass.", "grass"),
    ("What do cats like to chase? | What does a cat hunt?", "Cats like to chase mice.", "mice"),
    ("What do monkeys like to eat? | Which fruit do monkeys like?", "Monkeys like to eat bananas.", "bananas"),
    ("What do squirrels eat? | What does a squirrel eat?", "Squirrels eat nuts.", "nuts"),
    ("Can penguins fly? | Is a penguin able to fly?", "No, penguins cannot fly.", "no"),
    ("Can fish swim? | Is a fish able to swim?", "Yes, fish can swim.", "yes"),
    ("Can a dog fly? | Do dogs fly?", "No, a dog cannot fly.", "no"),
]
