"""Questions for yes or no about what things are like: as many no as yes, about the same things and the same words."""

from dataclasses import dataclass

from ..chat import Turn
from ..draw import Draw
from ..grammar import capitalized, verdict
from .facts_asking import asked


@dataclass(frozen=True)
class Property:
    """Things by what they are: things begin with a plural if their verb is `are`; all other values are wrong for them."""

    verb: str
    things: dict[str, tuple[str, ...]]


def _table(verb: str, text: str) -> Property:
    rows = (line.split(": ") for line in text.strip().splitlines())
    return Property(verb, {value.strip(): tuple(thing.strip() for thing in things.split(", ")) for value, things in rows})


_PROPERTIES = (
    # Colors.
    _table("is", """
white: snow, milk, flour, salt, chalk, rice, cotton, a swan, a polar bear
black: coal, a raven, tar, a crow, soot, a panther
green: grass, spinach, lettuce, moss, a cucumber, a lime, a frog, broccoli, parsley, a pea
yellow: a lemon, a canary, butter, mustard, a ripe banana, a dandelion, an egg yolk, a chick, corn, a sunflower
red: blood, a tomato, a ripe strawberry, a fire engine, a ladybug, a ripe cherry, a raspberry, ketchup
orange: a carrot, a pumpkin, a ripe orange, a tangerine, an apricot
blue: the clear sky, a cornflower, a sapphire, a bluebird
brown: chocolate, soil, coffee, a chestnut, cinnamon, a walnut, cocoa, a brown bear
gray: an elephant, ash, cement, a rain cloud, a rhinoceros, a dolphin
pink: a flamingo, a pig"""),
    # Temperatures.
    _table("is", """
cold: ice, snow, a glacier, frost, the South Pole, ice cream, an iceberg, winter in Norway, a fridge, hail
hot: fire, the sun, lava, boiling water, steam, a burning candle, a lit oven, a summer day in the desert, a campfire, the Sahara at noon"""),
    # Shapes.
    _table("is", """
round: a ball, a wheel, a coin, a ring, the full moon, a marble, the Earth, a bubble, an orange, a plate, a pea, a hoop
square: a chessboard, a side of a cube, a field of a chessboard
flat: a sheet of paper, a pancake, a tabletop, a mirror"""),
    # Tastes.
    _table("tastes", """
sweet: sugar, honey, candy, jam, maple syrup, a ripe mango, caramel, chocolate, a ripe peach, a date
sour: vinegar, a lemon, a lime, a green gooseberry, sauerkraut
salty: sea water, salt, soy sauce, a pretzel, an anchovy
bitter: black coffee, dark cocoa powder, dandelion leaf"""),
    # Sizes.
    _table("is", """
big: an elephant, a whale, a mountain, a house, a ship, a giraffe, the ocean, a skyscraper, a hippo, the sun, a castle, a train
tiny: an ant, a flea, a grain of sand, a poppy seed, a crumb, a mite, a pinhead, a speck of dust, a snowflake"""),
    # Other properties.
    _table("is", """
hard: a stone, steel, a diamond, a brick, glass, concrete, iron, granite, a hammer
soft: a pillow, wool, a feather, butter in the sun, cotton, velvet, a marshmallow, moss, a kitten"""),
    _table("is", """
wet: water, rain, a river, the sea, a puddle, dew, a pond, a swimming pool
dry: dust, a desert, hot sand, flour, straw, hay, a raisin, toast"""),
    _table("is", """
heavy: an anvil, an elephant, a truck, a piano, a whale, a locomotive, a grand piano, a big rock, an anchor
light: a feather, a soap bubble, a snowflake, a leaf, a balloon, a petal, a cobweb, tissue paper"""),
    _table("is", """
fast: a cheetah, a falcon, a racing car, a rocket, lightning, a jet, an antelope, light
slow: a snail, a tortoise, a sloth, a glacier, a slug, a koala"""),
    _table("is", """
loud: thunder, a siren, a drum, a lion's roar, a jet engine, a fire alarm, an explosion, a rock concert
quiet: a whisper, a library, falling snow, a butterfly, a shadow, a snail"""),
    _table("is", """
sharp: a razor, a needle, a thorn, a sword, a shark's tooth, a scalpel, broken glass
blunt: a spoon, a pillow, a ball, an egg, a balloon"""),
    # Classes.
    _table("is", """
a mammal: a dog, a cat, a horse, a whale, a bat, a dolphin, a cow, a mouse, an elephant, a rabbit, a bear, a fox, a seal, a hedgehog, a human
a bird: a penguin, an owl, an eagle, a duck, a parrot, a swan, an ostrich, a robin, a chicken, a sparrow, a goose
a fish: a shark, a salmon, a trout, a tuna, a carp, a herring, a goldfish, a seahorse, an eel
an insect: an ant, a bee, a butterfly, a beetle, a fly, a wasp, a moth, a grasshopper, a ladybug, a mosquito
a reptile: a snake, a lizard, a crocodile, a tortoise, a turtle, an iguana, a chameleon
an amphibian: a frog, a toad, a newt, a salamander"""),
    _table("is", """
a fruit: an apple, a pear, a plum, a cherry, a banana, a mango, a grape, a peach, a pineapple, a kiwi
a vegetable: a carrot, a cabbage, an onion, spinach, a beet, a leek, broccoli, a turnip, lettuce
a metal: iron, gold, silver, copper, tin, zinc, lead, aluminum
a musical instrument: a piano, a violin, a flute, a drum, a guitar, a trumpet, a harp, a cello
a tool: a hammer, a saw, a screwdriver, a wrench, a drill, a pair of pliers
a vehicle: a car, a bus, a truck, a train, a bicycle, a tram
a piece of furniture: a chair, a table, a wardrobe, a sofa, a bed, a bookcase
a flower: a rose, a tulip, a daisy, a lily, a daffodil, a violet
a planet: Mars, Venus, Saturn, Jupiter, Neptune, Mercury, Uranus
a color: red, blue, green, yellow, purple"""),
    # Places.
    _table("is", """
in Europe: France, Spain, Italy, Germany, Poland, Norway, Greece, Paris, Rome, Berlin, Madrid, Vienna, Portugal, Sweden, Oslo
in Asia: China, Japan, India, Thailand, Vietnam, Tokyo, Beijing, Seoul, Nepal, Mongolia, Delhi, Hanoi
in Africa: Egypt, Kenya, Nigeria, Ghana, Morocco, Cairo, Nairobi, Senegal, Ethiopia, Tanzania, Lagos
in South America: Brazil, Peru, Chile, Argentina, Bolivia, Ecuador, Lima, Uruguay, Paraguay
in North America: Canada, Mexico, Toronto, Chicago, Boston, Ottawa"""),
    _table("lives", """
in the sea: a whale, a shark, a lobster, an octopus, a starfish, a jellyfish, a dolphin
in the desert: a camel, a scorpion, a fennec fox
on a farm: a cow, a hen, a sheep, a farm pig
in the jungle: a tiger, a jaguar, a gorilla, an orangutan"""),
    # What things are made of.
    _table("is made of", """
wood: a log, a pencil, a wooden spoon, a rowing oar, a plank
glass: a window pane, a mirror, a light bulb, a wine bottle, a jam jar
metal: a key, a nail, a coin, an anchor, a horseshoe, a paper clip
paper: a book page, a newspaper, an envelope, a postcard, a map
wool: a knitted scarf, a warm sweater, yarn from a sheep
milk: cheese, butter, yogurt, cream, ice cream
water: ice, snow, rain, a cloud, an icicle"""),
)
_WEIGHTS = (10, 5, 3, 5, 5, 4, 3, 3, 3, 3, 2, 10, 8, 8, 4, 5)
#: Pairs of a thing and a word that is neither right nor wrong for it.
_UNDECIDED = {("a sheet of paper", "square"), ("a tabletop", "round"), ("a mirror", "round"), ("a plate", "flat"), ("a coin", "flat"), ("a field of a chessboard", "flat"),
    ("a chessboard", "flat"), ("a side of a cube", "flat"), ("a pancake", "round"), ("a ring", "flat"), ("a hoop", "flat"), ("a ripe cherry", "black"), ("coffee", "black"),
    ("a ripe mango", "sour"), ("a green gooseberry", "bitter"), ("a lime", "bitter"), ("chocolate", "bitter"), ("caramel", "salty"), ("a pretzel", "bitter"),
    ("sea water", "bitter"), ("a mirror", "wood"), ("a mirror", "metal"), ("a light bulb", "metal"), ("a lobster", "on a farm"), ("a scorpion", "in the jungle"),
    ("a pencil", "glass"), ("sauerkraut", "salty"), ("a pig", "brown"), ("a pig", "black"), ("a frog", "brown"), ("a rain cloud", "black"), ("a rain cloud", "white"),
    ("soil", "black"), ("rice", "brown"), ("ash", "white"), ("ash", "black"), ("ice cream", "water"), ("a sapphire", "pink"), ("a black hole", "blue"), ("a violet", "a color"),
    ("a date", "a fruit"), ("the sun", "red"), ("a hammer", "a musical instrument"), ("a drill", "a vehicle"), ("a sheep", "in the jungle")}

_WHETHER = ("{q}", "{q}?", "{Q}?", "{Q}?", "hey, {q}?", "tell me, {q}", "is it true that {c}", "Is it true that {c}?", "{c}, right?", "true or false: {c}", "{c}: yes or no?",
    "i think {c}, right?", "do you think that {c}", "quick question: {q}?", "my friend says {c}, is that so", "so {c}?", "{q}, yes or no?", "can you tell me: {q}?", "would you say {c}",
    "yes or no: {q}", "{c}, correct?", "{c}, or not?", "{Q}? Yes or no?", "is it right that {c}?", "can one say that {c}", "tell me whether {c}", "please tell me if {c}", "i read that {c}", "i bet {c}",
    "i always thought {c}", "does it make sense that {c}", "check this: {c}", "for a quiz: {q}?", "i am not sure, {q}?", "{c}", "do you agree that {c}?", "someone said {c}. true?", "ember, {q}?")


def _words(thing: str, verb: str, value: str) -> tuple[str, str]:
    """The claim that a thing has a value, and the question for it."""
    first, _, rest = verb.partition(" ")
    if first == "is":
        return f"{thing} {verb} {value}", " ".join(part for part in ("is", thing, rest, value) if part)
    return f"{thing} {verb} {value}", f"does {thing} {verb.removesuffix('s')} {value}"


def _fact(thing: str, value: str, verb: str) -> str:
    return f"{thing} {verb} {value}"


def _turn(draw: Draw, verb: str, thing: str, value: str, claimed: str) -> Turn:
    claim, question = _words(thing, verb, claimed)
    asking = asked(draw, _WHETHER, q=question, Q=capitalized(question), c=claim)
    return Turn(asking, verdict(_fact(thing, value, verb), value == claimed))


def verdicts(draw: Draw) -> list[Turn]:
    """Questions about one thing and several words, or one word and several things; each answer is yes or no with the same chance."""
    made = draw.rng.choices(_PROPERTIES, _WEIGHTS)[0]
    thing, value = _drawn(draw, made)
    turns = []
    for _ in range(draw.rng.choices((1, 2, 3, 4, 6), (6, 5, 3, 2, 1))[0]):
        claimed = value if draw.chance(0.5) else _other(draw, made, thing, value)
        turns.append(_turn(draw, made.verb, thing, value, claimed))
        # The next question keeps the thing, or the word with another thing that fits it or not.
        if draw.chance(0.6):
            thing, value = _drawn(draw, made, claimed if draw.chance(0.5) else None)
    return list({turn.user.lower().strip("?"): turn for turn in turns}.values())


def _drawn(draw: Draw, made: Property, value: str | None = None) -> tuple[str, str]:
    value = value or draw.rng.choices(list(made.things), [len(things) ** 0.5 for things in made.things.values()])[0]
    return draw.choice(made.things[value]), value


def _other(draw: Draw, made: Property, thing: str, value: str) -> str:
    """A word that is wrong for a thing."""
    return draw.choice([other for other in made.things if other != value and thing not in made.things[other] and (thing, other) not in _UNDECIDED])
