"""Things, foods, sights and people that a story can be about."""


def _list(text: str) -> list[str]:
    """The entries of `text`, divided by commas or line ends."""
    return [entry.strip() for line in text.strip().splitlines() for entry in line.split(",") if entry.strip()]


#: Things that a child can hold, own, lose and find.
THINGS = _list("""
kite, ball, drum, hat, cap, scarf, mitten, coat, umbrella, lantern, lamp, candle, bell, whistle, flute, trumpet, violin
guitar, harp, fiddle, book, map, letter, pencil, pen, brush, paint box, notebook, picture, mirror, comb, ribbon, button
ring, necklace, bracelet, crown, coin, purse, key, box, basket, bag, bottle, jar, cup, mug, teapot, kettle, bowl, plate
spoon, pot, pan, clock, watch, compass, telescope, magnet, wheel, wagon, sled, scooter, bicycle, toy boat, toy train
toy car, toy plane, balloon, puppet, doll, teddy bear, top, marble, yo-yo, puzzle, jump rope, blanket, pillow, quilt
cushion, feather, shell, pebble, stone, crystal, pearl, acorn, seed, leaf, flower, rose, stick, rope, net, bucket, shovel
spade, rake, hammer, broom, ladder, stool, chair, cradle, boot, shoe, slipper, sock, glove, sweater, jacket, cloak, apron
belt, backpack, suitcase, flashlight, camera, radio, music box, snow globe, paper boat, paper crane, wooden horse
rocking horse, walking stick, fishing rod, watering can, birdhouse, wind chime, weather vane, medal, flag, badge, mask
costume, wand, magic stone, silver spoon, golden egg, wooden box, sponge, pin, thimble, needle, tin whistle, egg timer
""")

#: Foods of which there is one, for everyone to share.
FOODS = _list("""
cake, pie, apple pie, pumpkin pie, loaf of bread, pancake, pizza, pudding, cookie, muffin, sandwich, soup, stew, salad
cherry tart, honey cake, gingerbread house, plum cake, noodle soup, potato pie, carrot cake, chocolate cake, omelet, bun
dumpling, waffle, pretzel, birthday cake, lemon cake, berry pie
""")

#: Sights that one travels to see.
SIGHTS = _list("""
waterfall, castle, lighthouse, volcano, rainbow, tower, bridge, windmill, island, palace, lake, desert, iceberg, temple
giant tree, secret garden, cave, fountain, statue, harbor, circus, market, train station, library, museum, glacier
sunflower field, clock tower, ship, submarine, spaceship, rocket, train, airplane, hot air balloon, pyramid, garden maze
""")

#: People named by their work or rank, each with the pronoun that is certain or "any".
PEOPLE = {
    "king": "he", "queen": "she", "prince": "he", "princess": "she", "wizard": "he", "witch": "she", "fisherman": "he",
    "baker": "any", "farmer": "any", "sailor": "any", "tailor": "any", "teacher": "any", "doctor": "any", "painter": "any",
    "singer": "any", "dancer": "any", "gardener": "any", "shepherd": "any", "miller": "any", "shoemaker": "any",
    "carpenter": "any", "blacksmith": "any", "cook": "any", "potter": "any", "weaver": "any", "clockmaker": "any",
    "toymaker": "any", "pirate": "any", "captain": "any", "knight": "any", "clown": "any", "inventor": "any",
    "astronaut": "any", "firefighter": "any", "pilot": "any", "explorer": "any", "librarian": "any", "beekeeper": "any",
    "woodcutter": "any", "musician": "any", "juggler": "any", "merchant": "any", "hunter": "any", "nurse": "any",
    "postman": "he", "grandmother": "she", "grandfather": "he", "detective": "any", "scientist": "any", "poet": "any",
}

#: Subjects that name a child.
CHILDREN = {"boy": "he", "girl": "she", "child": "any"}

#: Things of the sky, which are met like animals.
SKY = ["star", "cloud", "moon", "sun", "snowflake", "raindrop", "comet"]
