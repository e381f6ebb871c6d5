"""Animals: where they live, what they eat and what they sound like."""

_TABLE = """
fox | in a den under a hill | berries | a short bark
rabbit | in a burrow in the meadow | carrots | a soft thump
hedgehog | in a nest of leaves | apples | a little snuffle
bear | in a warm cave | honey | a deep growl
mouse | in a hole in the wall | cheese | a tiny squeak
squirrel | in a hollow tree | nuts | a quick chatter
badger | in a den among the roots | mushrooms | a low grunt
wolf | in a cave in the hills | bread | a long howl
deer | in a quiet part of the forest | leaves | a soft step
mole | in a tunnel under the field | roots | a scratching sound
otter | on a bank by the river | fish | a happy chirp
beaver | in a lodge on the river | bark | a loud slap
raccoon | in an old tree | corn | a rustling sound
skunk | in a hollow log | berries | a quiet hiss
porcupine | in a pile of rocks | leaves | a rattling sound
chipmunk | in a hole under a stone | seeds | a quick chirp
cat | in a house with a red door | fish | a soft meow
dog | in a kennel in the yard | biscuits | a loud bark
puppy | in a basket by the fire | biscuits | a little bark
kitten | in a basket by the window | milk | a tiny meow
horse | in a stable on the farm | hay | a loud neigh
pony | in a stable by the field | apples | a gentle neigh
donkey | in a shed on the farm | carrots | a loud bray
goat | in a yard behind the mill | grass | a loud bleat
lamb | in a field on the hill | grass | a small bleat
sheep | in a field on the hill | grass | a long bleat
cow | in a barn on the farm | hay | a low moo
calf | in a barn on the farm | milk | a small moo
pig | in a sty on the farm | corn | a happy oink
piglet | in a sty on the farm | corn | a little squeal
hen | in a coop on the farm | seeds | a busy cluck
rooster | in a coop on the farm | seeds | a proud crow
chick | in a coop on the farm | seeds | a tiny cheep
duck | by a pond by the mill | bread | a loud quack
duckling | by a pond in the park | bread | a tiny quack
goose | by a pond on the farm | grass | an angry honk
turkey | in a yard on the farm | corn | a loud gobble
swan | by a lake in the park | water plants | a soft whistle
owl | in a tall oak tree | berries | a soft hoot
robin | in a nest in the hedge | seeds | a sweet call
sparrow | in a nest under the roof | crumbs | a cheerful chirp
crow | in a nest in a tall tree | corn | a harsh caw
raven | in a nest on a rock | bread | a deep croak
magpie | in a nest in an old tree | cherries | a noisy rattle
pigeon | in a tower in the town | crumbs | a gentle coo
parrot | in a tree in the jungle | nuts | a loud squawk
peacock | in a palace garden | seeds | a loud scream
penguin | on a shore of ice | fish | a funny honk
eagle | in a nest on a high cliff | fish | a sharp cry
stork | in a nest on a chimney | fish | a loud clatter
heron | in a nest by the lake | fish | a rough croak
flamingo | by a lake of salt | water plants | a low honk
woodpecker | in a hole in a tree | seeds | a steady knock
hummingbird | in a nest as small as a nut | nectar | a soft hum
frog | by a pond full of reeds | water plants | a deep croak
toad | in a damp garden | leaves | a low croak
turtle | on a bank by the pond | lettuce | a slow splash
tortoise | in a dry garden | lettuce | a slow shuffle
lizard | on a warm wall | berries | a quick rustle
snail | in a pot in the garden | lettuce | a very soft slide
ant | in a hill of sand | crumbs | a tiny patter
bee | in a hive in the orchard | nectar | a low buzz
beetle | in a rotten log | leaves | a small click
butterfly | in a bush full of flowers | nectar | a soft flutter
ladybug | on a leaf in the garden | leaves | a tiny whir
cricket | in a crack in the wall | grass | a merry chirp
spider | in a corner of the barn | crumbs | a soft tapping
caterpillar | on a leaf on a tree | leaves | a quiet munching
lion | on a rock on the plain | bread | a mighty roar
lioness | on a rock on the plain | bread | a deep roar
tiger | in a den in the jungle | fish | a low growl
leopard | in a tree on the plain | fish | a rough purr
elephant | in a forest by the river | bananas | a loud trumpet
giraffe | on a plain with tall trees | leaves | a soft hum
zebra | on a wide plain | grass | a strange bark
hippo | in a muddy river | grass | a loud snort
rhino | on a dusty plain | grass | a great snort
monkey | in a tree in the jungle | bananas | a loud chatter
gorilla | on a green mountain | bananas | a deep hoot
panda | in a forest of bamboo | bamboo | a soft bleat
koala | in a gum tree | leaves | a deep snore
kangaroo | on a dry plain | grass | a heavy thump
camel | in a tent in the desert | dates | a long groan
llama | in a pen in the mountains | hay | a gentle hum
buffalo | on a wide plain | grass | a deep bellow
moose | in a cold forest | leaves | a loud bellow
reindeer | in a snowy forest | moss | a ringing of bells
polar bear | in a land of snow | fish | a deep growl
yak | on a high mountain | grass | a low grunt
hamster | in a cage by the window | seeds | a small squeak
bat | in an attic | fruit | a high squeak
sloth | in a tall tree in the jungle | leaves | a slow yawn
meerkat | in a hole in the sand | seeds | a quick bark
dragon | in a cave in the mountains | toast | a rumbling roar
unicorn | in a secret meadow | clover | a soft neigh
giant | in a castle on a hill | soup | a booming step
troll | in a den under a bridge | soup | a loud grumble
gnome | in a house under a mushroom | berries | a tiny whistle
elf | in a house in a tree | berries | a light laugh
fairy | in a flower in the garden | honey | a ringing laugh
goblin | in a cellar under the hill | mushrooms | a sneaky giggle
monster | in a closet full of old coats | cookies | a rumbling groan
ghost | in an attic full of dust | candy | a long moan
snowman | in a yard full of snow | ice cream | a crunching sound
robot | in a shed full of tools | oil | a steady beep
dinosaur | in a valley of ferns | leaves | a huge roar
"""

_SEA_TABLE = """
whale | in the deep sea | fish | a long sad cry
dolphin | in the warm sea | fish | a merry click
seal | on a rock in the sea | fish | a short bark
walrus | on a shore of ice | clams | a loud bellow
octopus | in a cave in the sea | clams | a soft bubble
crab | in a pool among the rocks | seaweed | a little click
fish | in a clear stream | crumbs | a quick splash
goldfish | in a pond in the garden | crumbs | a tiny splash
shark | in the deep sea | fish | a great splash
sea turtle | in the warm sea | seaweed | a gentle splash
seahorse | in a garden of seaweed | seaweed | a tiny bubble
jellyfish | in the dark sea | water plants | a small splash
starfish | in a pool among the rocks | clams | a small splash
mermaid | in a palace in the sea | seaweed | a sweet call
lobster | in a cave in the sea | clams | a sharp click
seagull | in a cliff by the sea | fish | a loud cry
pelican | on a rock in the sea | fish | a hungry grunt
"""


def _rows(table: str) -> dict[str, tuple[str, str, str]]:
    """The table's rows as home, food and sound by the animal."""
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


#: Animals that can walk through a story as its hero.
LAND = _rows(_TABLE)
#: Animals that stay in or by the water, and are met there.
SEA = _rows(_SEA_TABLE)
#: Home, food and sound of every animal.
ANIMALS = LAND | SEA
#: Animals too small to be carried home, hugged or followed.
TINY = ("snail", "ant", "bee", "beetle", "butterfly", "ladybug", "cricket", "spider", "caterpillar", "hummingbird")
#: Animals that are children of their kind, and never wise old ones.
YOUNG = ("puppy", "kitten", "lamb", "calf", "piglet", "chick", "duckling")
#: What is said of a creature that no table knows.
UNKNOWN = ("in a cave behind the waterfall", "berries", "a strange soft cry")
