"""Things by what they are: what "What is a rose?" and "Is a cat an animal?" are answered from."""

#: By category, the things that belong to it and to no other here.
CATEGORIES = {
    "animal": """cat, dog, horse, cow, sheep, goat, pig, lion, tiger, bear, wolf, fox, mouse, rabbit, elephant, giraffe,
        zebra, deer, donkey, camel, monkey, kangaroo, squirrel, hedgehog, turtle, frog, snake, lizard, otter, mole""",
    "bird": """robin, crow, owl, eagle, swan, sparrow, parrot, penguin, duck, goose, hen, stork, raven, swallow, pigeon,
        dove, falcon, flamingo, gull, ostrich""",
    "fish": "salmon, trout, shark, herring, carp, cod, pike, goldfish",
    "insect": "bee, ant, fly, beetle, butterfly, wasp, grasshopper, ladybug, moth, cricket, mosquito",
    "fruit": """apple, pear, plum, peach, cherry, banana, lemon, orange, grape, mango, melon, strawberry, raspberry,
        fig, apricot, pineapple, kiwi, lime""",
    "vegetable": "carrot, potato, onion, cabbage, cucumber, turnip, radish, leek, beet, pea",
    "flower": "rose, tulip, daisy, lily, sunflower, violet, poppy, daffodil, orchid, bluebell",
    "tree": "oak, pine, birch, maple, willow, elm, fir, palm, beech, cedar",
    "tool": "hammer, saw, spade, drill, rake, axe, shovel, screwdriver, file, hoe",
    "kind of clothing": "shirt, coat, hat, sock, scarf, glove, dress, skirt, jacket, sweater, boot",
    "musical instrument": "piano, violin, flute, drum, guitar, trumpet, harp, cello, tuba, banjo",
    "vehicle": "car, bus, truck, train, bicycle, tractor, van, taxi, tram",
    "piece of furniture": "chair, table, bed, sofa, shelf, desk, stool, bench, wardrobe",
    "toy": "doll, kite, ball, teddy bear, puzzle, yo-yo, rattle",
    "building": "house, castle, church, barn, tower, school, palace, hotel, cottage",
}
CATEGORIES = {category: [thing.strip() for thing in things.split(",")] for category, things in CATEGORIES.items()}

#: Categories that belong to a wider one, so that "Is a robin an animal?" is not answered with no.
WIDER = {"bird": "animal", "fish": "animal", "insect": "animal", "flower": "plant", "tree": "plant"}

#: Category and another one of which no one can well say whether it holds.
NEITHER = {("fruit", "plant"), ("vegetable", "plant"), ("fruit", "vegetable"), ("vegetable", "fruit"), ("tool", "toy"),
           ("vehicle", "tool"), ("vehicle", "toy")}

#: What is asked for in lists, by its plural.
LISTS = {
    "animals": CATEGORIES["animal"],
    "birds": CATEGORIES["bird"],
    "fruits": CATEGORIES["fruit"],
    "vegetables": CATEGORIES["vegetable"],
    "flowers": CATEGORIES["flower"],
    "trees": CATEGORIES["tree"],
    "tools": CATEGORIES["tool"],
    "toys": CATEGORIES["toy"],
    "insects": CATEGORIES["insect"],
    "colors": "red blue green yellow orange purple pink brown black white gray".split(),
    "countries": """France Spain Italy Germany Portugal Norway Sweden Finland Poland Greece Turkey Egypt Kenya Ghana
        Canada Mexico Brazil Chile Peru Japan China India Vietnam Australia""".split(),
    "days of the week": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
}
#: Lists whose things stand without an article.
UNCOUNTED = {"colors", "countries", "days of the week"}
