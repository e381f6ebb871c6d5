"""What animals and things can do, traits with their opposites, and places by their direction from each other."""

_ABILITIES = """
penguins: swim, walk, dive | fly, bark, climb trees
ostriches: run fast, walk, lay eggs | fly, read, swim under water for hours
dogs: bark, swim, run, smell very well | fly, speak, lay eggs, climb like a cat
cats: climb trees, purr, jump, see well at dusk | fly, bark, read, lay eggs
fish: swim, breathe under water, lay eggs | walk, fly to the moon, sing a song, climb a ladder
frogs: jump, swim, croak | fly, purr, read, run on two legs
bats: fly, hear very well, hang upside down | bark, lay eggs, read, live under water
eagles: fly, see very far, lay eggs | bark, breathe under water, purr, read
cows: moo, give milk, eat grass | fly, lay eggs, climb trees, bark
horses: run, jump, carry a rider | fly, lay eggs, climb trees, bark
elephants: swim, lift heavy things with their trunk, walk | fly, jump over a house, lay eggs, bark
snakes: crawl, swim, lay eggs | walk, fly, bark, wave
whales: swim, dive deep, sing under water | walk, fly, climb, breathe under water
dolphins: swim, jump out of the water, learn tricks | walk, fly, bark like a dog, breathe under water
bees: fly, make honey, sting | bark, read, swim across the sea, give milk
spiders: spin webs, climb walls, crawl | fly with wings, bark, sing, swim across the sea
monkeys: climb trees, swing from branches, hold things with their hands | fly, lay eggs, breathe under water, write letters
parrots: fly, repeat words, crack nuts | bark at the moon, breathe under water, give milk, drive
turtles: swim, lay eggs, hide in their shell | fly, run fast, bark, climb trees
kangaroos: hop, jump far, carry a baby in a pouch | fly, lay eggs, bark, live under water
snails: crawl, hide in their shell, climb a wall slowly | fly, run, jump, bark
ducks: swim, fly, quack | bark, read, climb ladders, give milk
chickens: lay eggs, cluck, flap their wings | give milk, bark, fly across the sea, swim under water
rabbits: hop, dig, run fast | fly, lay eggs, roar, breathe under water
lions: roar, run, hunt | fly, lay eggs, read, breathe under water
bears: climb, swim, catch fish | fly, lay eggs, purr like a cat, breathe under water
ants: crawl, carry heavy crumbs, dig | bark, sing, give milk, read
butterflies: fly, drink from flowers, lay eggs | bark, swim, sing, roar
owls: fly, see well in the dark, hoot | bark, breathe under water, give milk, read
goats: climb rocks, give milk, jump | fly, lay eggs, bark, breathe under water
sheep: bleat, eat grass, give wool | fly, lay eggs, bark, climb trees
pigs: grunt, dig with their nose, swim | fly, lay eggs, purr, climb trees
moles: dig, smell well, live under the ground | fly, see far, lay eggs, bark
camels: walk far, carry loads, live without water for days | fly, lay eggs, climb trees, bark
seals: swim, dive, bark | fly, climb trees, lay eggs, run fast on land
octopuses: swim, squirt ink, change their color | fly, bark, walk in the desert, give milk
crocodiles: swim, bite, lay eggs | fly, bark, purr, climb ladders
worms: crawl, dig, feel the ground shake | fly, bark, run, see colors
babies: cry, smile, sleep | drive, read, write a letter, fly
people: speak, think, walk, learn | fly like a bird, breathe under water, lay eggs, see in total darkness
planes: fly, land, carry people | sing, think, swim under water, eat
ships: float, carry loads, cross the sea | fly, think, climb a mountain, eat
submarines: dive, float, travel under water | fly, think, drive on a road, sing
bicycles: roll, carry a person | fly, think, bark, swim
cars: drive, carry people, honk | fly, think, eat, swim
stones: sink in water, roll down a hill, break a window | fly, think, grow, eat, swim
trees: grow, give shade, bear fruit | walk, think, speak, fly
plants: grow, make oxygen, turn to the light | walk, speak, run, sing
magnets: attract iron, hold a note on the fridge | attract wood, think, attract paper, grow
clocks: show the time, tick | think, eat, cook, swim
fridges: keep food cold, make ice | bake a cake, think, fly, toast bread
ovens: bake bread, get hot | freeze water, think, fly, wash dishes
kites: fly in the wind, rise into the air | think, swim, bark, sing a song
rockets: fly into space, leave the Earth | swim, think, eat, grow
robots: follow programs, move, lift things | sneeze, grow older, feel hunger, lay eggs
feathers: float in the air, keep a bird warm | think, sink like a stone, bark, sing
umbrellas: keep us dry, open and close | think, cook, fly to the moon, sing
mirrors: reflect light, show our face | think, cook, sing, make light
candles: burn, give light, melt | think, freeze water, sing, bark
balloons: rise into the air, burst | think, bark, cut paper, sing
"""

#: Who or what, in the plural, what they can do and what they cannot.
ABILITIES = tuple((they, tuple(able.strip().split(", ")), tuple(unable.strip().split(", "))) for they, able, unable in (
    (line.partition(": ")[0], *line.partition(": ")[2].split(" | ")) for line in _ABILITIES.strip().splitlines()))

#: Two opposite words, what the first one fits, and what the second one fits.
TRAITS = (
    ("big", "small", "an elephant, a whale, a house, a mountain, a ship, a bus, the ocean, a castle, a giraffe, a city, a planet",
        "an ant, a flea, a pea, a button, a bee, a seed, a crumb, a pin, a mouse, a raisin, a ladybug"),
    ("hot", "cold", "fire, the sun, lava, boiling water, steam, a lit oven, a desert at noon, a campfire", "ice, snow, a glacier, frost, ice cream, an iceberg, the South Pole, a fridge"),
    ("heavy", "light", "a piano, an anvil, a truck, a whale, a rock as big as a car, a full bathtub, a locomotive, a ship", "a feather, a leaf, a snowflake, a balloon, a soap bubble, a petal, a hair"),
    ("fast", "slow", "a rocket, a cheetah, a racing car, a jet, a falcon, lightning, a bullet", "a snail, a tortoise, a sloth, a slug, a glacier, a worm"),
    ("hard", "soft", "a stone, steel, a diamond, a brick, concrete, an iron bar, a nut shell", "a pillow, wool, a feather, cotton, velvet, a kitten, a marshmallow, dough"),
    ("loud", "quiet", "thunder, a siren, a jet engine, a rock concert, a fire alarm, an explosion", "a whisper, falling snow, a shadow, a snail, a sleeping cat, an empty library"),
    ("wet", "dry", "rain, the sea, a river, dew, a puddle, a pond", "dust, a desert, hay, flour, straw, hot sand"),
    ("sweet", "sour", "sugar, honey, candy, syrup, caramel, jam, a ripe peach", "a lemon, vinegar, a lime, lemon juice, an unripe apple"),
    ("long", "short", "a river, a train, a highway, a python, the equator, the Great Wall of China", "an eyelash, a comma, an inch, a blink, a stub of a pencil"),
    ("round", "square", "a ball, a wheel, a coin, a ring, the full moon, a marble, a pea, a bubble", "a chessboard, a side of a cube, a field of a chessboard"),
    ("sharp", "blunt", "a razor, a needle, a thorn, a sword, a scalpel, broken glass", "a spoon, a ball, an egg, a pillow, a balloon"),
    ("bright", "dark", "the sun, lightning, a lit lamp, a flash, a sunny day", "the night, a cave, a shadow, a cellar without a lamp, the bottom of the sea"),
    ("strong", "weak", "an elephant, an ox, a gorilla, a storm, a tractor, a bear", "a newborn kitten, a thin thread, a soap bubble, a cobweb, a blade of grass"),
    ("deep", "shallow", "the ocean, a mine, a canyon, a well", "a puddle, a plate, a saucer, a paddling pool"),
    ("alive", "not alive", "a dog, a tree, a rose, a bee, a child, a mushroom, a fish, a cat, grass, a bird", "a stone, a chair, a cup, a car, a book, water, a robot, a spoon, a shoe, glass"),
    ("natural", "made by people", "a mountain, a river, the moon, rain, a tree, a lake, the wind", "a bridge, a chair, a clock, a book, a car, a shoe, a house, a bicycle"),
)

#: The directions, each to the right of the one before.
COMPASS = ("north", "east", "south", "west")
#: The first country is surely north of the second.
NORTH_SOUTH = ("Norway > Italy", "Sweden > Greece", "Canada > Mexico", "Mexico > Brazil", "Finland > Egypt", "Germany > Italy", "France > Morocco", "Russia > India", "China > Indonesia",
    "Japan > Australia", "Egypt > Kenya", "Poland > Greece", "Iceland > Spain", "Italy > Libya", "Denmark > Austria", "Spain > South Africa", "Norway > Morocco", "India > Sri Lanka",
    "Colombia > Chile", "Cuba > Argentina", "Scotland > England", "Greece > Egypt", "Mongolia > Vietnam", "Turkey > Sudan", "Germany > Nigeria", "Canada > Cuba", "Estonia > Romania",
    "Algeria > Niger", "Kenya > South Africa", "Venezuela > Paraguay", "Ireland > Portugal", "Switzerland > Tunisia")
#: The first country is surely west of the second.
WEST_EAST = ("Spain > Italy", "Portugal > Greece", "France > Poland", "Ireland > Germany", "Germany > Russia", "Italy > Turkey", "Morocco > Egypt", "Turkey > India", "India > Japan",
    "Iran > China", "Senegal > Sudan", "Ghana > Kenya", "Algeria > Libya", "Libya > Egypt", "England > Denmark", "Peru > Brazil", "Chile > Argentina", "Belgium > Poland", "Iceland > Norway",
    "Austria > Ukraine", "Pakistan > Vietnam", "Egypt > Iraq", "Nigeria > Ethiopia", "Spain > Greece", "Switzerland > Hungary", "Norway > Finland", "Nepal > Japan", "Namibia > Madagascar")
