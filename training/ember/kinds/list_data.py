"""Things of more kinds, ideas and reasons: what lists are made of."""


def _read(text: str) -> dict[str, list[str]]:
    """Lines of a name, a colon and items that are separated by bars."""
    found: dict[str, list[str]] = {}
    for line in text.strip().splitlines():
        name, _, items = line.partition(":")
        found[name.strip()] = [item.strip() for item in items.split("|")]
    return found


#: Things by the name of their kind in the plural; a name for one of them may follow a slash.
MORE_THINGS = _read("""
farm animals: cow | horse | pig | sheep | goat | chicken | duck | donkey | goose | turkey | rooster | pony | llama | rabbit | dog | bee
pets: dog | cat | rabbit | hamster | parrot | goldfish | turtle | canary | guinea pig | pony | lizard | mouse | gerbil | budgie | ferret
sea animals: whale | dolphin | shark | crab | octopus | seal | jellyfish | starfish | tuna | seahorse | lobster | squid | ray | walrus | sea turtle | eel
sports: soccer | tennis | swimming | basketball | running | skiing | hockey | boxing | golf | volleyball | cycling | rowing | judo | baseball | badminton | fencing
instruments: piano | violin | guitar | drum | flute | trumpet | cello | harp | clarinet | accordion | trombone | organ | saxophone | banjo | tuba | oboe
flowers: rose | tulip | daisy | sunflower | lily | violet | poppy | daffodil | lavender | orchid | carnation | iris | peony | marigold | pansy | dahlia
trees: oak | pine | birch | maple | willow | beech | chestnut | spruce | apple tree | cherry tree | ash | elm | cedar | fir | poplar | linden
tools: hammer | saw | screwdriver | drill | wrench | shovel | rake | pliers | axe | file | chisel | spade | crowbar | tape measure | ladder
clothes: shirt | coat | hat | scarf | dress | sweater | jacket | skirt | belt | glove | sock | vest | blouse | tie | cap | shorts
vehicles: car | bus | train | bicycle | truck | ship | plane | tram | tractor | ferry | motorcycle | taxi | van | boat | helicopter | scooter
body parts: head | arm | leg | hand | foot | nose | ear | eye | knee | shoulder | neck | back | finger | toe | chin | elbow
rooms: kitchen | bedroom | bathroom | hall | living room | cellar | attic | dining room | study | garage | pantry | laundry room | nursery | library | guest room
hobbies: reading | cooking | hiking | painting | singing | gardening | chess | dancing | fishing | knitting | drawing | baking | sailing | pottery | photography | cycling
languages: English | Spanish | French | German | Italian | Japanese | Arabic | Hindi | Swahili | Polish | Portuguese | Chinese | Turkish | Greek | Korean | Dutch
feelings: joy | sadness | anger | fear | love | hope | pride | surprise | shame | envy | boredom | relief | trust | worry | gratitude
colors: red | blue | green | yellow | orange | purple | pink | brown | black | white | gray | turquoise | gold | silver | beige | violet
kitchen tools: knife | spoon | fork | whisk | pan | pot | grater | ladle | sieve | spatula | rolling pin | peeler | corkscrew | cutting board | bowl | tongs
school things: pen | pencil | ruler | eraser | notebook | schoolbag | sharpener | glue | scissors | map | chalk | book | compass | folder | calculator
office things: stapler | printer | desk | lamp | paper clip | folder | phone | computer | chair | calendar | pen | envelope | stamp | keyboard | hole punch
bathroom things: towel | soap | toothbrush | mirror | comb | sponge | shampoo | toothpaste | razor | bathtub | sink | toilet paper | hairbrush | bath mat | shower
cleaning things: broom | mop | bucket | sponge | cloth | brush | dustpan | vacuum cleaner | soap | duster | rubber gloves | scrubber | trash bag | feather duster | paper towel
camping things: tent | sleeping bag | flashlight | rope | pocketknife | backpack | matches | water bottle | map | compass | lantern | camping stove | mug | blanket | whistle
breakfast foods: bread | eggs | porridge | muesli | pancakes | toast | jam | honey | yogurt | cheese | butter | fruit | cornflakes | waffles | sausages
berries/berry: strawberry | raspberry | blueberry | blackberry | cranberry | gooseberry | currant | elderberry | mulberry | cloudberry | lingonberry | goji berry | boysenberry | bilberry | juniper berry
nuts: walnut | hazelnut | almond | peanut | cashew | pistachio | pecan | chestnut | macadamia | Brazil nut | pine nut | coconut | beechnut | acorn | hickory nut
herbs: basil | mint | parsley | thyme | rosemary | sage | dill | oregano | chives | cilantro | tarragon | bay leaf | marjoram | lemon balm | lovage
spices: pepper | cinnamon | paprika | ginger | cumin | turmeric | nutmeg | cloves | saffron | vanilla | cardamom | chili | mustard seed | anise | coriander
cheeses: cheddar | brie | feta | gouda | mozzarella | parmesan | ricotta | emmental | camembert | halloumi | cottage cheese | goat cheese | edam | gruyere | provolone
soups: tomato soup | chicken soup | pea soup | onion soup | lentil soup | pumpkin soup | fish soup | mushroom soup | bean soup | potato soup | carrot soup | noodle soup | leek soup | corn soup | vegetable soup
cakes: chocolate cake | cheesecake | carrot cake | apple cake | lemon cake | sponge cake | cherry cake | nut cake | marble cake | birthday cake | plum cake | honey cake | coffee cake | fruit cake | wedding cake
pizza toppings: cheese | tomatoes | mushrooms | onions | olives | peppers | ham | spinach | corn | basil | garlic | tuna | pineapple | artichokes | salami
ice cream flavors: vanilla | chocolate | strawberry | lemon | mango | pistachio | hazelnut | coffee | mint | coconut | caramel | cherry | banana | raspberry | yogurt
hot drinks: tea | coffee | cocoa | mint tea | espresso | chai | hot milk | ginger tea | green tea | cider | chamomile tea | black tea | fruit tea | hot lemon | cappuccino
furniture/piece of furniture: table | chair | bed | sofa | shelf | wardrobe | desk | stool | bench | armchair | cupboard | chest | dresser | bookcase | nightstand
toys: doll | ball | kite | puzzle | blocks | teddy bear | toy train | yo-yo | marbles | toy car | jump rope | spinning top | puppet | dollhouse | rocking horse
games: chess | hide and seek | tag | dominoes | checkers | bingo | memory | charades | hopscotch | marbles | darts | bowling | cards | dice | tic-tac-toe
dances: waltz | tango | salsa | samba | polka | ballet | tap dance | rumba | swing | flamenco | foxtrot | folk dance | jive | mambo | square dance
kinds of music/kind of music: jazz | rock | pop | classical | folk | blues | country | opera | soul | reggae | hip-hop | salsa | disco | gospel | techno
kinds of stories/kind of story: fable | fairy tale | mystery | love story | adventure | legend | myth | ghost story | comedy | travel story | diary | science fiction | bedtime story | animal story | family story
fabrics: cotton | wool | silk | linen | velvet | leather | denim | felt | lace | nylon | satin | fleece | corduroy | canvas | cashmere
metals: iron | gold | silver | copper | tin | lead | zinc | aluminum | nickel | steel | bronze | brass | titanium | platinum | mercury
gems: diamond | ruby | emerald | sapphire | pearl | opal | topaz | amethyst | garnet | jade | amber | turquoise | onyx | quartz | moonstone
baby animals: kitten | puppy | calf | foal | lamb | piglet | chick | duckling | cub | fawn | tadpole | gosling | kid | joey | cygnet
animals of the night/animal of the night: owl | bat | hedgehog | moth | fox | badger | raccoon | opossum | firefly | mouse | toad | nightingale | beaver | gecko | skunk
animals that lay eggs/animal that lays eggs: hen | duck | turtle | crocodile | snake | ostrich | frog | penguin | fish | lizard | eagle | goose | spider | platypus | butterfly
animals with stripes/animal with stripes: zebra | tiger | bee | skunk | wasp | badger | clownfish | okapi | chipmunk | bongo | raccoon | numbat
desert animals: camel | scorpion | snake | lizard | fox | vulture | tortoise | meerkat | gazelle | jackal | gerbil | oryx | beetle | roadrunner | coyote
jungle animals: tiger | monkey | parrot | snake | jaguar | gorilla | frog | toucan | leopard | sloth | tapir | orangutan | crocodile | butterfly | spider
forest animals: deer | fox | bear | squirrel | owl | wolf | badger | rabbit | woodpecker | boar | hedgehog | lynx | marten | moose | beaver
animals of the cold/animal of the cold: polar bear | penguin | seal | walrus | reindeer | arctic fox | snowy owl | musk ox | wolf | orca | snow leopard | arctic hare | narwhal | lemming | ermine
fast animals: cheetah | horse | falcon | gazelle | greyhound | hare | lion | ostrich | swordfish | antelope | dolphin | eagle | zebra | coyote | kangaroo
big animals: elephant | whale | giraffe | hippo | rhino | bear | moose | camel | bison | gorilla | buffalo | walrus | shark | crocodile | horse
small animals: mouse | ant | bee | fly | frog | snail | hamster | spider | beetle | sparrow | worm | flea | lizard | shrew | ladybug
dinosaurs: stegosaurus | triceratops | diplodocus | velociraptor | brachiosaurus | iguanodon | allosaurus | ankylosaurus | spinosaurus | tyrannosaurus | apatosaurus | protoceratops | oviraptor | parasaurolophus | compsognathus
mythical creatures: dragon | unicorn | mermaid | phoenix | giant | dwarf | elf | troll | fairy | goblin | griffin | centaur | werewolf | genie | sea serpent
fairy tale characters: princess | prince | witch | king | queen | dragon | giant | dwarf | fairy | wolf | knight | wizard | frog prince | stepmother | talking cat
ball games: soccer | tennis | basketball | volleyball | handball | golf | baseball | rugby | cricket | table tennis | water polo | bowling | squash | softball | dodgeball
winter sports: skiing | skating | sledding | snowboarding | ice hockey | curling | biathlon | ski jumping | bobsled | figure skating | luge | speed skating | ice climbing | snowshoeing | cross-country skiing
water sports: swimming | rowing | sailing | diving | surfing | water polo | canoeing | kayaking | water skiing | rafting | snorkeling | windsurfing | synchronized swimming | paddling | fishing
team sports: soccer | basketball | volleyball | hockey | handball | rugby | baseball | cricket | water polo | rowing | ice hockey | softball | relay running | curling | lacrosse
exercises: push-up | squat | sit-up | plank | lunge | jumping jack | pull-up | stretching | burpee | toe touch | leg raise | arm circle | step-up | bridge | rope jumping
jobs with animals/job with animals: vet | farmer | zookeeper | shepherd | dog trainer | fisherman | beekeeper | rider | groom | animal nurse | breeder | ranger | biologist | pet shop owner | horse trainer
jobs outside/job outside: farmer | gardener | fisherman | lifeguard | ranger | roofer | shepherd | road worker | mail carrier | sailor | tour guide | lumberjack | surveyor | ski teacher | beekeeper
school subjects: math | history | music | biology | art | geography | chemistry | physics | English | sports | religion | economics | computer science | French | drama
family members: mother | father | sister | brother | grandmother | grandfather | aunt | uncle | cousin | niece | nephew | son | daughter | husband | wife
buildings: house | school | church | tower | castle | hospital | bank | hotel | barn | library | museum | factory | theater | palace | train station
shops: bakery | butcher | bookshop | pharmacy | supermarket | florist | shoe shop | toy shop | hairdresser | fish shop | greengrocer | jeweler | pet shop | hardware store | stationer
places in a city/place in a city: park | station | market | library | museum | school | church | theater | bridge | square | hospital | stadium | cafe | town hall | zoo
parts of a house/part of a house: roof | door | window | wall | floor | stairs | chimney | kitchen | cellar | balcony | garage | attic | hall | porch | gutter
parts of a car/part of a car: wheel | engine | door | window | seat | brake | mirror | trunk | tire | horn | light | roof | bumper | steering wheel | battery
parts of a bicycle/part of a bicycle: wheel | pedal | chain | saddle | brake | bell | handlebar | frame | tire | light | spoke | gear | pump | fork | rack
parts of a tree/part of a tree: root | trunk | branch | leaf | bark | twig | bud | blossom | fruit | seed | crown | ring
parts of a book/part of a book: cover | title | page | chapter | spine | index | picture | preface | author's name | table of contents | line | word | number | ending
parts of a computer/part of a computer: screen | keyboard | mouse | disk | memory | processor | cable | fan | speaker | battery | camera | microphone | case | power button | graphics card
rivers: Nile | Amazon | Danube | Rhine | Thames | Ganges | Mississippi | Volga | Congo | Seine | Mekong | Yangtze | Niger | Po | Elbe
mountains: Mount Everest | Kilimanjaro | Mont Blanc | Matterhorn | Mount Fuji | K2 | Aconcagua | Denali | Mount Kenya | Mount Elbrus | Etna | Vesuvius | Ararat | Olympus | Table Mountain
islands: Iceland | Sicily | Crete | Madagascar | Cuba | Jamaica | Malta | Cyprus | Bali | Java | Sardinia | Greenland | Tasmania | Ireland | Borneo
punctuation marks: comma | full stop | question mark | exclamation mark | colon | semicolon | dash | hyphen | apostrophe | quotation mark | bracket | slash
adverbs: quickly | slowly | often | never | always | here | there | now | soon | well | badly | loudly | quietly | sometimes | carefully
prepositions: in | on | at | under | over | behind | between | with | without | from | to | near | through | after | before
units/unit: meter | kilogram | second | liter | mile | pound | inch | hour | minute | gram | foot | ton | ounce | degree | watt
shades of blue/shade of blue: navy | sky blue | turquoise | royal blue | ice blue | teal | indigo | azure | cobalt | powder blue | midnight blue | cornflower blue
soft things: pillow | cotton | feather | blanket | wool | teddy bear | cushion | kitten | sponge | fur | moss | bread | cloud | butter | velvet
hard things: stone | iron | glass | brick | diamond | bone | nut | hammer | ice | wood | marble | steel | shell | tooth | concrete
sharp things: knife | needle | scissors | thorn | saw | razor | nail | axe | claw | pin | sword | broken glass | tooth | cactus | arrow
sweet things: sugar | honey | cake | candy | chocolate | jam | syrup | cookie | ice cream | ripe fruit | lemonade | raisins | pudding | dates | caramel
sour things: lemon | vinegar | lime | pickle | grapefruit | rhubarb | unripe apple | sauerkraut | cranberry | gooseberry | sour milk | sour cherry
loud things: drum | thunder | siren | alarm clock | trumpet | rocket | fireworks | train | jackhammer | lion | concert | whistle | plane | motorcycle | bell
quiet things: snow | mouse | cat | library | whisper | cloud | fish | moon | butterfly | candle | shadow | night | snail | feather | owl
heavy things: elephant | truck | piano | anvil | rock | ship | bus | statue | safe | whale | tractor | fridge | anchor | iron | brick
light things: feather | leaf | paper | balloon | cotton | snowflake | butterfly | bubble | dust | straw | petal | hair | foam | cork | thread
long things: river | road | snake | rope | train | giraffe's neck | bridge | ladder | scarf | story | rainbow | wall | noodle | pole | queue
things that melt/thing that melts: ice | snow | butter | chocolate | candle wax | cheese | ice cream | snowman | lead | icicle | glacier | hail | sugar | frost
things that roll/thing that rolls: ball | wheel | coin | marble | barrel | log | egg | pencil | tire | orange | dice | cart | hoop | can
things with a handle/thing with a handle: cup | door | bucket | pan | suitcase | umbrella | hammer | broom | drawer | basket | kettle | spoon | jug | shovel | bag
things with teeth/thing with teeth: comb | saw | zipper | shark | crocodile | rake | gear | fork | dog | key | lion | piranha
things that smell nice/thing that smells nice: rose | fresh bread | coffee | lavender | soap | cinnamon | vanilla | mown grass | lemon | mint | hay | perfume | pine forest | orange | cake
things to read/thing to read: book | letter | newspaper | map | recipe | poem | sign | menu | comic | diary | magazine | label | story | timetable | postcard
things made of metal/thing made of metal: key | coin | knife | nail | bridge | bell | spoon | car | chain | can | scissors | sword | anchor | rail | screw
things made of plastic/thing made of plastic: bottle | toy | bucket | bag | pen | comb | cup | toothbrush | pipe | straw | ruler | box | raincoat | button | phone case
things made of leather/thing made of leather: shoe | belt | bag | saddle | wallet | glove | jacket | boots | sofa | whip | purse | book cover | watch strap | football
things for baking/thing for baking: flour | sugar | butter | eggs | yeast | salt | milk | bowl | whisk | oven | rolling pin | baking powder | cake pan | scale | vanilla
things in a fridge/thing in a fridge: milk | butter | cheese | eggs | yogurt | juice | ham | salad | jam | mustard | lemonade | leftovers | cream | ketchup | grapes
things in a bag/thing in a bag: keys | wallet | phone | tissues | pen | glasses | book | umbrella | water bottle | mirror | gum | notebook | comb | ticket | apple
things in a forest/thing in a forest: tree | moss | mushroom | fern | squirrel | path | berry | owl | stream | nest | pine cone | leaf | deer | fallen log | spider web
things with wings/thing with wings: bird | bat | plane | butterfly | bee | dragon | fly | moth | angel | windmill | beetle | wasp | dragonfly | penguin | fairy
ways to travel/way to travel: by car | by train | by bus | by plane | by ship | by bike | on foot | by boat | on a horse | by tram | by taxi | by balloon | on skis | by truck | by scooter
good qualities/good quality: kindness | honesty | patience | courage | humor | loyalty | curiosity | generosity | calm | politeness | fairness | diligence | modesty | creativity | optimism
compliments: you are kind | you have a nice smile | you listen well | you are very patient | you make people laugh | you are brave | you have good ideas | you are a great cook | you never give up | you help others | you learn fast | you are honest | your voice is lovely | you are fun to be with | you work hard
inventions: wheel | printing press | telephone | light bulb | steam engine | bicycle | radio | camera | plane | computer | glasses | clock | telescope | vaccine | compass
celebrations: birthday | wedding | New Year | Christmas | Easter | Diwali | Eid | Hanukkah | harvest festival | graduation | carnival | anniversary | Lunar New Year | housewarming | name day
winter clothes/piece of winter clothing: coat | scarf | gloves | wool hat | boots | sweater | warm socks | mittens | earmuffs | thermal underwear | fur hat | ski pants | thick tights | vest | down jacket
summer clothes/piece of summer clothing: T-shirt | shorts | sandals | sun hat | dress | swimsuit | skirt | sunglasses | flip-flops | cap | tank top | light shirt | linen pants | bikini | straw hat
jewelry/piece of jewelry: ring | necklace | bracelet | earring | brooch | watch | chain | crown | pendant | anklet | tiara | pin | bangle | locket | cuff link
yellow fruits and vegetables/yellow fruit or vegetable: banana | lemon | corn | yellow pepper | pineapple | mango | yellow plum | quince | squash | star fruit | yellow apple | melon
words for big/word for big: large | huge | giant | enormous | great | vast | massive | tall | immense | gigantic | mighty | colossal
words for happy/word for happy: glad | cheerful | joyful | merry | pleased | content | delighted | jolly | sunny | thrilled | blissful | upbeat
words for said/word for said: whispered | shouted | asked | answered | called | cried | murmured | replied | told | added | begged | laughed | sighed | explained | promised
songbirds/songbird: robin | nightingale | blackbird | wren | finch | thrush | lark | canary | goldfinch | warbler | chickadee | starling
birds of prey/bird of prey: eagle | hawk | falcon | owl | buzzard | kite | vulture | osprey | harrier | kestrel | condor
water birds/water bird: duck | swan | goose | heron | pelican | gull | coot | flamingo | stork | cormorant | kingfisher | crane
cats of the wild/wild cat: lion | tiger | leopard | cheetah | jaguar | lynx | puma | ocelot | caracal | serval | bobcat
dog breeds/dog breed: poodle | beagle | dachshund | collie | boxer | bulldog | terrier | husky | dalmatian | retriever | spaniel | greyhound | pug
cat breeds/cat breed: Siamese | Persian | Maine Coon | Bengal | Ragdoll | Burmese | Sphynx | Birman | Abyssinian | Manx
animals with horns/animal with horns: goat | cow | ram | buffalo | antelope | rhinoceros | gazelle | bison | yak | ibex
animals with shells/animal with a shell: turtle | snail | crab | oyster | tortoise | lobster | mussel | clam | scallop | crayfish
animals that hop/animal that hops: frog | rabbit | kangaroo | grasshopper | hare | toad | cricket | wallaby | flea
animals that sleep in winter/animal that sleeps in winter: bear | hedgehog | dormouse | bat | marmot | ground squirrel | chipmunk
animals with long necks/animal with a long neck: giraffe | swan | ostrich | llama | flamingo | heron | camel | alpaca | emu | crane
animals with a tail/animal with a tail: dog | cat | horse | cow | monkey | mouse | lion | fox | squirrel | peacock | crocodile | kangaroo
animals that live in groups/animal that lives in groups: wolf | lion | elephant | bee | ant | sheep | penguin | dolphin | meerkat | zebra | monkey | goose
rodents: mouse | rat | squirrel | hamster | beaver | guinea pig | chipmunk | gerbil | porcupine | marmot | vole | lemming
snakes: cobra | python | viper | boa | rattlesnake | adder | anaconda | mamba | grass snake | coral snake
lizards: gecko | iguana | chameleon | skink | monitor | anole | agama
spiders and their relatives/spider or relative of it: tarantula | garden spider | jumping spider | wolf spider | scorpion | tick | mite | harvestman
shellfish: crab | lobster | shrimp | oyster | mussel | clam | scallop | prawn | crayfish
butterflies and moths/butterfly or moth: monarch | swallowtail | peacock butterfly | red admiral | painted lady | hawk moth | silk moth | brimstone | blue morpho
citrus fruits/citrus fruit: orange | lemon | lime | grapefruit | mandarin | tangerine | clementine | pomelo | kumquat
tropical fruits/tropical fruit: banana | mango | pineapple | papaya | coconut | guava | passion fruit | lychee | star fruit | jackfruit
stone fruits/stone fruit: peach | plum | cherry | apricot | nectarine | mango | olive | date
root vegetables/root vegetable: carrot | potato | beet | turnip | radish | parsnip | sweet potato | celery root | cassava | rutabaga
leafy vegetables/leafy vegetable: lettuce | spinach | cabbage | kale | chard | arugula | endive | bok choy | Brussels sprouts
beans and peas/kind of bean or pea: kidney bean | chickpea | lentil | green pea | soybean | black bean | broad bean | navy bean | mung bean
grains: wheat | rice | oats | barley | corn | rye | millet | sorghum | spelt | buckwheat | quinoa
mushrooms: button mushroom | chanterelle | porcini | oyster mushroom | shiitake | morel | truffle | portobello | enoki
kinds of bread/kind of bread: white bread | rye bread | baguette | pita | naan | bagel | flatbread | sourdough | corn bread | ciabatta | toast
kinds of pasta/kind of pasta: spaghetti | macaroni | penne | lasagna | ravioli | fusilli | linguine | farfalle | tagliatelle | gnocchi
sauces: ketchup | mustard | mayonnaise | soy sauce | pesto | gravy | tomato sauce | hollandaise | salsa | tartar sauce
salads: green salad | potato salad | fruit salad | tomato salad | pasta salad | cucumber salad | coleslaw | bean salad | Greek salad | egg salad
sandwiches/sandwich: cheese sandwich | tuna sandwich | egg sandwich | club sandwich | ham sandwich | BLT | grilled cheese | chicken sandwich | cucumber sandwich
egg dishes/egg dish: omelet | fried egg | boiled egg | scrambled eggs | poached egg | quiche | frittata | deviled eggs | egg salad
milk products/milk product: milk | butter | cheese | yogurt | cream | buttermilk | sour cream | cottage cheese | ice cream | kefir | whey
kinds of candy/kind of candy: lollipop | caramel | gumdrop | chocolate bar | marshmallow | licorice | toffee | mint | jelly bean | fudge | nougat
cold drinks/cold drink: water | lemonade | iced tea | orange juice | apple juice | milkshake | cola | smoothie | ginger ale | tomato juice
juices: orange juice | apple juice | grape juice | tomato juice | carrot juice | pineapple juice | cranberry juice | cherry juice | pear juice | mango juice
pies: apple pie | cherry pie | pumpkin pie | pecan pie | lemon pie | peach pie | meat pie | blueberry pie | shepherd's pie
spring flowers/spring flower: tulip | daffodil | crocus | snowdrop | primrose | hyacinth | violet | bluebell | lily of the valley
wild flowers/wild flower: daisy | poppy | dandelion | clover | cornflower | buttercup | bluebell | thistle | foxglove | forget-me-not
house plants/house plant: cactus | fern | orchid | ivy | aloe | spider plant | rubber plant | begonia | African violet | peace lily | bonsai
trees with needles/tree with needles: pine | spruce | fir | larch | yew | cedar | juniper | hemlock | redwood
fruit trees/fruit tree: apple tree | pear tree | cherry tree | plum tree | peach tree | orange tree | lemon tree | fig tree | olive tree | mango tree
shrubs: rose | lilac | hazel | holly | boxwood | hydrangea | juniper | elder | azalea | rhododendron
string instruments/string instrument: violin | guitar | cello | harp | viola | banjo | double bass | mandolin | ukulele | lute | sitar | zither
wind instruments/wind instrument: flute | clarinet | trumpet | oboe | saxophone | trombone | tuba | recorder | bassoon | horn | bagpipes
percussion instruments/percussion instrument: drum | cymbal | triangle | xylophone | tambourine | gong | marimba | bongo | castanets | maracas | timpani
singing voices/singing voice: soprano | alto | tenor | bass | mezzo-soprano | baritone | countertenor
board games/board game: chess | checkers | backgammon | go | ludo | nine men's morris | mancala | snakes and ladders | reversi
card games/card game: poker | bridge | rummy | solitaire | hearts | canasta | old maid | war | go fish | crazy eights | whist
games for outdoors/game for outdoors: tag | hide and seek | hopscotch | kickball | leapfrog | tug of war | catch | marbles | sack race | croquet
racket sports/racket sport: tennis | badminton | squash | table tennis | padel | racquetball | pickleball
martial arts/martial art: judo | karate | boxing | wrestling | fencing | aikido | taekwondo | kung fu | kendo | sumo | capoeira
track and field events/track and field event: high jump | long jump | hurdles | relay | javelin | shot put | discus | marathon | pole vault | triple jump | hammer throw
swimming strokes/swimming stroke: freestyle | breaststroke | backstroke | butterfly | sidestroke | dog paddle
kinds of ships and boats/kind of ship or boat: sailboat | ferry | canoe | kayak | submarine | tanker | rowboat | yacht | raft | gondola | tugboat | barge
aircraft: airplane | helicopter | glider | balloon | airship | seaplane | drone | jet | biplane | hang glider
vehicles with two wheels/vehicle with two wheels: bicycle | motorcycle | scooter | moped | tandem | rickshaw | handcart
emergency vehicles/emergency vehicle: ambulance | fire truck | police car | rescue helicopter | lifeboat | tow truck
building machines/building machine: crane | excavator | bulldozer | dump truck | concrete mixer | road roller | forklift | drill rig | loader
kinds of houses/kind of house: cottage | villa | castle | bungalow | hut | apartment | igloo | tent | palace | farmhouse | log cabin | houseboat | tree house
religious buildings/religious building: church | mosque | temple | synagogue | cathedral | chapel | monastery | pagoda | shrine
parts of a castle/part of a castle: tower | gate | moat | drawbridge | dungeon | courtyard | wall | keep | great hall | battlements
parts of a ship/part of a ship: mast | sail | anchor | deck | rudder | hull | cabin | keel | bow | stern | bridge
parts of a flower/part of a flower: petal | stem | leaf | root | pistil | stamen | bud | sepal | pollen
parts of the face/part of the face: nose | eye | mouth | chin | cheek | forehead | eyebrow | lip | eyelid | ear
parts of the arm and the hand/part of the arm or the hand: shoulder | elbow | wrist | finger | thumb | palm | knuckle | fingernail | forearm | fist
organs: heart | lung | liver | kidney | stomach | brain | skin | bladder | spleen | pancreas
bones: skull | rib | spine | thigh bone | kneecap | collarbone | shoulder blade | jaw | shin bone | pelvis
senses: sight | hearing | smell | taste | touch | balance
hats: cap | top hat | beret | straw hat | helmet | bonnet | sombrero | bowler hat | crown | wool hat | cowboy hat | fez
kinds of shoes/kind of shoe: boot | sandal | sneaker | slipper | clog | high heel | loafer | rubber boot | ballet shoe | hiking boot
kinds of bags/kind of bag: backpack | handbag | suitcase | shopping bag | purse | briefcase | sports bag | tote bag | duffel bag | schoolbag
pieces of cutlery/piece of cutlery: knife | fork | spoon | teaspoon | ladle | butter knife | soup spoon | cake fork | chopsticks | steak knife
pieces of tableware/piece of tableware: plate | bowl | cup | saucer | glass | mug | teapot | jug | platter | gravy boat | sugar bowl
electric devices/electric device: lamp | toaster | radio | fridge | television | hair dryer | fan | vacuum cleaner | computer | blender | heater | iron
things that give light/thing that gives light: lamp | candle | sun | torch | lantern | fire | star | firefly | headlight | lighthouse | match | flashlight
things that float/thing that floats: boat | cork | duck | leaf | balloon | raft | log | ice cube | buoy | bottle | beach ball | swan
things that fly/thing that flies: bird | plane | kite | bee | rocket | balloon | butterfly | helicopter | bat | drone | paper plane
things that are round/thing that is round: ball | wheel | coin | plate | sun | ring | button | orange | marble | clock | pizza | globe
things that are square/thing that is square: chessboard | tile | napkin | window pane | stamp | cushion | picture frame | sandbox | handkerchief
things that break easily/thing that breaks easily: glass | egg | vase | plate | mirror | light bulb | cup | window | eggshell | thin ice | icicle
things that stretch/thing that stretches: rubber band | sock | sweater | balloon | spring | chewing gum | tights | dough | elastic | slingshot
things that tick or ring/thing that ticks or rings: clock | alarm | bell | phone | metronome | doorbell | timer | bicycle bell | watch | school bell
things that burn/thing that burns: wood | paper | candle | coal | straw | oil | gas | match | dry leaves | charcoal
things that dissolve in water/thing that dissolves in water: sugar | salt | honey | soap | baking soda | bath salt | instant coffee | aspirin tablet
things made of paper/thing made of paper: book | newspaper | envelope | letter | kite | napkin | map | ticket | paper plane | calendar | poster | notebook
things made of glass/thing made of glass: window | bottle | mirror | vase | jar | lens | marble | light bulb | wine glass | aquarium | test tube
things made of wool/thing made of wool: sweater | scarf | hat | glove | blanket | sock | carpet | shawl | coat | mitten
things made of stone/thing made of stone: statue | wall | bridge | castle | tower | millstone | step | gravestone | fountain | pyramid
things made of milk/thing made of milk: butter | cheese | yogurt | cream | ice cream | pudding | buttermilk | milkshake | custard
things at an airport/thing at an airport: runway | plane | gate | suitcase | control tower | ticket | passport | luggage belt | waiting room | check-in desk
things in a park/thing in a park: bench | tree | pond | fountain | path | playground | flower bed | statue | duck | lawn | kiosk
things on a playground/thing on a playground: swing | slide | sandbox | seesaw | climbing frame | merry-go-round | bench | rope ladder | trampoline
things in the sky/thing in the sky: sun | moon | star | cloud | bird | plane | rainbow | kite | comet | planet | balloon
things in the sea/thing in the sea: fish | coral | seaweed | shell | wave | whale | ship | sand | starfish | wreck | pearl
things in a circus/thing in a circus: tent | clown | trapeze | juggler | acrobat | ring | tightrope | magician | drum | popcorn
things in a toolbox/thing in a toolbox: hammer | screwdriver | nail | screw | pliers | wrench | saw | tape measure | file | level
things in a first aid kit/thing in a first aid kit: bandage | plaster | scissors | tape | gloves | gauze | tweezers | thermometer | ointment | rescue blanket
things in a sewing box/thing in a sewing box: needle | thread | button | scissors | pin | thimble | zipper | ribbon | tape measure | pincushion
things in a bathroom cabinet/thing in a bathroom cabinet: toothbrush | toothpaste | comb | soap | razor | plaster | cotton wool | nail scissors | cream | tweezers
people at a hospital/person at a hospital: doctor | nurse | patient | surgeon | midwife | visitor | pharmacist | paramedic | cleaner | cook
people on a ship/person on a ship: captain | sailor | cook | passenger | engineer | mate | steward | pilot | cabin boy
people in an orchestra/person in an orchestra: conductor | violinist | cellist | flutist | trumpeter | drummer | harpist | oboist | pianist | bassoonist
jobs in a kitchen/job in a kitchen: cook | baker | chef | dishwasher | waiter | pastry chef | butcher | kitchen helper
jobs in the arts/job in the arts: painter | actor | singer | dancer | writer | sculptor | photographer | musician | director | poet | designer
jobs in building/job in building: carpenter | mason | electrician | plumber | painter | roofer | architect | crane operator | tiler | glazier
old jobs/old job: blacksmith | miller | cooper | weaver | cobbler | wheelwright | town crier | lamplighter | scribe | tanner | thatcher
subjects at a university/subject at a university: law | medicine | history | physics | chemistry | economics | biology | philosophy | mathematics | music | engineering | linguistics
sciences: physics | chemistry | biology | astronomy | geology | mathematics | botany | zoology | psychology | medicine | meteorology
kinds of weather/kind of weather: sunshine | rain | snow | fog | storm | hail | wind | drizzle | thunderstorm | frost | sleet | heat
kinds of clouds/kind of cloud: cumulus | stratus | cirrus | nimbostratus | cumulonimbus | altocumulus | altostratus | cirrostratus
natural disasters/natural disaster: earthquake | flood | storm | drought | volcanic eruption | tsunami | landslide | wildfire | avalanche | tornado
landscapes/kind of landscape: mountain | valley | desert | forest | beach | meadow | swamp | hill | plain | canyon | steppe | island
bodies of water/body of water: ocean | sea | lake | river | pond | stream | bay | canal | lagoon | fjord | strait
oceans: the Pacific | the Atlantic | the Indian Ocean | the Arctic Ocean | the Southern Ocean
lakes: Lake Victoria | Lake Superior | Lake Baikal | Lake Geneva | Lake Titicaca | Lake Constance | Lake Michigan | Lake Como | Lake Malawi | Lake Garda
seas: the Mediterranean | the Baltic Sea | the North Sea | the Red Sea | the Black Sea | the Caribbean | the Coral Sea | the Arabian Sea | the Aegean Sea
deserts: the Sahara | the Gobi | the Kalahari | the Atacama | the Namib | the Mojave | the Thar | the Negev | the Sonoran Desert
volcanoes/volcano: Etna | Vesuvius | Mount Fuji | Krakatoa | Stromboli | Mauna Loa | Popocatepetl | Cotopaxi | Mount St. Helens
states of the USA/state of the USA: Texas | California | Florida | Ohio | Alaska | Hawaii | Nevada | Oregon | Maine | Utah | Georgia | Kansas | Montana
cities in Italy/city in Italy: Rome | Milan | Naples | Turin | Florence | Venice | Bologna | Genoa | Palermo | Verona
cities in Germany/city in Germany: Berlin | Hamburg | Munich | Cologne | Frankfurt | Leipzig | Bremen | Dresden | Hanover | Stuttgart
cities in France/city in France: Paris | Lyon | Marseille | Nice | Bordeaux | Toulouse | Lille | Nantes | Strasbourg | Rennes
cities in Spain/city in Spain: Madrid | Barcelona | Seville | Valencia | Bilbao | Granada | Malaga | Zaragoza | Toledo
cities in Japan/city in Japan: Tokyo | Osaka | Kyoto | Nagoya | Sapporo | Hiroshima | Kobe | Fukuoka | Yokohama | Nara
cities in India/city in India: Delhi | Mumbai | Kolkata | Chennai | Bangalore | Hyderabad | Pune | Jaipur | Ahmedabad | Lucknow
currencies/currency: dollar | euro | pound | yen | franc | rupee | peso | krona | yuan | lira | real | rand
chemical elements/chemical element: hydrogen | oxygen | carbon | iron | gold | helium | nitrogen | silver | sodium | copper | calcium | neon
gases/gas: oxygen | hydrogen | helium | nitrogen | neon | methane | argon | carbon dioxide | ozone | butane
liquids: water | milk | oil | juice | vinegar | honey | ink | gasoline | rain | syrup | paint
sources of energy/source of energy: sun | wind | water | coal | oil | gas | wood | uranium | biomass | tides
parts of speech/part of speech: noun | verb | adjective | adverb | pronoun | preposition | conjunction | interjection | article
pronouns: I | you | he | she | it | we | they | me | him | her | us | them
conjunctions: and | or | but | because | if | although | while | since | unless | until
question words/question word: who | what | where | when | why | how | which | whose
compound words/compound word: rainbow | football | sunflower | bedroom | snowman | toothbrush | cupcake | airport | butterfly | notebook | raincoat
words with double letters/word with double letters: apple | balloon | book | letter | butter | rabbit | coffee | summer | kitten | puzzle | street
words with three letters/word with three letters: cat | dog | sun | car | sea | hat | egg | bed | ant | key | cup | map
words with four letters/word with four letters: tree | book | fish | bird | door | milk | moon | star | ship | lamp | rain | hand
words with five letters/word with five letters: house | apple | river | table | horse | bread | cloud | water | chair | green | stone | light
words that rhyme with cat/word that rhymes with cat: hat | bat | mat | rat | sat | flat | that | fat | pat | chat
words that rhyme with day/word that rhymes with day: way | say | play | stay | may | gray | tray | hay | clay | pay
words that rhyme with tree/word that rhymes with tree: bee | see | sea | free | key | three | tea | knee | me | we
words for small/word for small: little | tiny | mini | wee | minute | slight | short | petite | microscopic | miniature
words for good/word for good: great | fine | excellent | nice | wonderful | super | lovely | superb | splendid | fantastic
words for beautiful/word for beautiful: pretty | lovely | gorgeous | handsome | charming | attractive | stunning | graceful | elegant
words for fast/word for fast: quick | rapid | swift | speedy | brisk | hasty | fleet | express
words for sad/word for sad: unhappy | gloomy | sorrowful | blue | down | tearful | miserable | mournful | low
words for tired/word for tired: sleepy | weary | drowsy | exhausted | worn out | drained | spent | fatigued
words for going/word for going: walk | run | march | stroll | wander | hike | limp | tiptoe | crawl | stride
verbs of cooking/verb of cooking: boil | fry | bake | roast | grill | steam | stir | chop | peel | simmer | mix | season
sounds of animals/sound of an animal: bark | meow | moo | roar | hiss | quack | neigh | buzz | croak | howl | chirp | bleat
greetings: hello | hi | good morning | good evening | hey | welcome | good day | good afternoon | howdy
polite words/polite word: please | thank you | sorry | excuse me | pardon | welcome | you are welcome | may I
fairy tale things/fairy tale thing: magic wand | crown | glass slipper | flying carpet | magic mirror | golden egg | poisoned apple | spinning wheel | treasure chest | enchanted sword
planets and moons/planet or moon: Earth | Mars | Venus | Jupiter | Saturn | Titan | Europa | Ganymede | Neptune | Io | Uranus | Callisto
star signs/star sign: Aries | Taurus | Gemini | Cancer | Leo | Virgo | Libra | Scorpio | Sagittarius | Capricorn | Aquarius | Pisces
constellations: Orion | the Great Bear | the Little Bear | Cassiopeia | the Swan | the Lyre | the Lion | the Scorpion | Pegasus | Andromeda
Greek gods/Greek god: Zeus | Hera | Athena | Apollo | Poseidon | Ares | Hermes | Artemis | Aphrodite | Hades | Demeter
Greek letters/Greek letter: alpha | beta | gamma | delta | epsilon | zeta | eta | theta | iota | kappa | lambda
file formats/file format: PDF | JPG | PNG | TXT | MP3 | CSV | ZIP | HTML | JSON | GIF | MP4
programming languages/programming language: Python | Java | C | Rust | JavaScript | Go | Ruby | Swift | Kotlin | PHP | Perl
parts of a letter/part of a letter: date | address | greeting | text | closing | signature | subject line
things for painting/thing for painting: brush | paint | pencil | canvas | eraser | easel | crayon | charcoal | clay | sketchbook | palette
colors of the rainbow/color of the rainbow: red | orange | yellow | green | blue | indigo | violet
shades of red/shade of red: crimson | scarlet | ruby | cherry red | burgundy | brick red | maroon | rose | wine red
shades of green/shade of green: olive | emerald | mint | lime | forest green | moss green | jade | sea green | pea green
shades of brown/shade of brown: chestnut | chocolate | tan | beige | coffee | caramel | mahogany | hazel | rust
shapes with corners/shape with corners: triangle | square | rectangle | pentagon | hexagon | octagon | diamond | star | trapezoid
solid shapes/solid shape: cube | ball | cone | cylinder | pyramid | prism | cuboid
kinds of tea/kind of tea: green tea | black tea | mint tea | chamomile tea | rooibos | ginger tea | oolong | white tea | fruit tea | jasmine tea
kinds of coffee/kind of coffee: espresso | latte | cappuccino | mocha | americano | macchiato | filter coffee | iced coffee | flat white
garden animals/garden animal: snail | worm | bee | butterfly | hedgehog | robin | ladybug | ant | mole | blackbird | spider
garden jobs/garden job: watering | weeding | planting | mowing | pruning | digging | raking | sowing | harvesting
""")

#: Ideas, tips and phrases by what they are for.
MORE_TIPS = _read("""
gift ideas for a child: A kite | A box of colored pencils | A puzzle | A book of stories | A ball | A magnifying glass | A card game | A set of stamps | A harmonica | A plant to grow | A jump rope | A box of clay | A flashlight | A telescope | A day at the zoo
gift ideas for a friend: A mug | A good book | A photo of you both | Homemade jam | A plant | A scarf | A box of tea | A game | A notebook | A song written for them | A day trip | A candle | A cookbook | Warm socks | A letter
gift ideas for a grandmother: A photo album | A warm shawl | Her favorite flowers | A box of chocolates | A framed drawing | A soft pillow | A jar of honey | A radio | A puzzle | A tea set | A bird feeder | A visit and a cake | A large-print book | Slippers | A basket of fruit
things to pack for the beach: A towel | Sunscreen | A swimsuit | A bottle of water | A hat | Sunglasses | A book | Sandals | A ball | A picnic blanket | A parasol | Some fruit | A bucket and a spade | A dry shirt | A bag for trash
things to pack for a hike: Water | A map | Sturdy shoes | A rain jacket | Sandwiches | A hat | Sunscreen | A first aid kit | A whistle | Warm socks | A pocketknife | A phone | Nuts and raisins | A flashlight | A compass
things to pack for a winter holiday: A warm coat | Gloves | A wool hat | Thick socks | Boots | A scarf | Lip balm | A thermos | Thermal underwear | Ski goggles | A good book | Hand cream | A sweater | A card game | Sunglasses
things to take to a party: A cake | Flowers | A small gift | Good music | A bottle of juice | A salad | Balloons | A funny story | Some bread | A game | Candles | A good mood | Paper cups | A camera | Chips
ideas for lunch: A cheese sandwich | Vegetable soup | A green salad | Rice with beans | Pasta with pesto | A baked potato | A wrap with chicken | Fried rice | Tomato soup | Noodles with vegetables | A quiche | Fish and potatoes | Couscous with peas | An omelet | Hummus with bread
ideas for breakfast: Porridge with apple | Toast with jam | Scrambled eggs | Yogurt with berries | Pancakes | Muesli with milk | A boiled egg | Bread with cheese | Fruit salad | A smoothie | Rice pudding | A croissant | Waffles | Avocado toast | Cornflakes
ideas for a snack: An apple | A handful of nuts | Carrot sticks | Crackers with cheese | A banana | Yogurt | Popcorn | Grapes | Raisins | A boiled egg | Toast with honey | Cucumber slices | Olives | A muffin | Dried mango
ideas for the weekend: Visit a museum | Go for a long walk | Bake bread | Call an old friend | Read in bed | Go swimming | Watch a film | Cook something new | Ride a bike | Play a board game | Plant some flowers | Go to a market | Have a picnic | Tidy the wardrobe | Sleep late
ideas for a birthday party: A treasure hunt | A picnic in the park | A costume party | A cake contest | A movie night | A trip to the zoo | A dance party | Bowling | A pizza party | A quiz about the guest | A campfire | Games in the garden | A puppet show | Karaoke | A sleepover
ideas for a date: A walk by the river | Cooking together | A picnic | A concert | Ice skating | A museum | Stargazing | A boat ride | A dance class | Coffee and cake | A film | A board game cafe | The zoo | A sunset hike | A flea market
ideas for a drawing: A cat on a roof | A house in a tree | A fish with a hat | Your own hand | A rainy street | A castle on a cloud | A bowl of fruit | A robot in love | The view from your window | A sleeping fox | A map of an island | A ship in a bottle | A garden at night | An owl with glasses | Your breakfast
ideas for a story: A key that opens every door | A dog who can read | A town without clocks | A letter that comes too late | Two neighbors and one tree | A robot that wants to paint | A lost glove on a journey | A ghost that is afraid of people | The last bus home | A baker who forgets the recipe | An island that moves | A child who finds a map | A birthday that nobody remembers | A lighthouse in the desert | A song that makes it rain
ideas for a quiet evening: Read a novel | Take a warm bath | Listen to music | Write in a diary | Do a puzzle | Drink tea by the window | Knit | Look at the stars | Call your family | Draw | Cook slowly | Play solitaire | Watch an old film | Stretch | Go to bed early
things to do in winter: Build a snowman | Go skating | Drink cocoa | Bake cookies | Go sledding | Knit a scarf | Feed the birds | Read by the fire | Make soup | Visit a museum | Have a snowball fight | Write cards | Play board games | Go to a sauna | Make candles
things to do in summer: Swim in a lake | Eat ice cream | Have a picnic | Sleep in a tent | Pick berries | Ride a bike | Watch the sunset | Go sailing | Grill vegetables | Climb a hill | Read in a hammock | Build a sandcastle | Go to an open-air concert | Catch fireflies | Drink lemonade
things to do in autumn: Collect leaves | Fly a kite | Make pumpkin soup | Pick mushrooms | Bake an apple pie | Jump into puddles | Plant tulips | Drink hot cider | Watch the birds leave | Carve a pumpkin | Read by the fire | Roast chestnuts | Knit a hat | Make jam | Walk in the fog
things to do in spring: Plant seeds | Clean the windows | Go for a bike ride | Look for the first flowers | Listen to the birds | Paint eggs | Have breakfast outside | Air the blankets | Visit a farm | Start running | Repair the fence | Wash the car | Fly a kite | Cook asparagus | Walk in the rain
things to do without a phone: Read a book | Cook a meal | Take a walk | Draw | Talk to a neighbor | Play cards | Sing | Write a letter | Bake bread | Water the plants | Look at clouds | Play an instrument | Clean a drawer | Ride a bike | Take a nap
ways to save money: Cook at home | Make a shopping list | Buy used things | Walk instead of taking the bus | Turn off the lights | Bring your own coffee | Repair clothes | Use the library | Compare prices | Plan your meals | Borrow tools | Buy in season | Sell what you do not need | Pay debts first | Save a little every week
ways to save water: Take short showers | Turn off the tap while brushing | Fix leaks | Collect rain | Wash full loads only | Water plants in the evening | Use a bowl for washing vegetables | Choose a small flush | Reuse bath water | Do not rinse dishes twice | Sweep the yard with a broom | Grow plants that need little | Drink cold water from the fridge | Use a bucket for the car | Cover the pool
ways to save energy: Turn off the lights | Heat only the rooms you use | Wash with cold water | Dry clothes on a line | Close the fridge quickly | Put a lid on the pot | Take the stairs | Unplug chargers | Ride a bike | Use a warm blanket | Open curtains for the sun | Close the windows while heating | Defrost the freezer | Cook for two days at once | Use small lamps
ways to help the environment: Plant a tree | Ride a bike | Carry your own bag | Waste no food | Repair things | Save water | Eat more vegetables | Buy less | Share tools | Pick up litter | Turn off the lights | Use both sides of paper | Take the train | Grow flowers for bees | Buy used clothes
ways to relax: Breathe slowly | Take a walk | Listen to music | Drink tea | Take a warm bath | Read | Stretch | Sit in the sun | Stroke a cat | Close your eyes | Draw | Write it down | Call a friend | Watch the rain | Take a nap
ways to make friends: Say hello first | Join a club | Ask questions | Listen well | Share your lunch | Invite somebody | Smile | Help a neighbor | Take a class | Remember names | Play a team sport | Offer your seat | Be on time | Laugh at yourself | Bring a cake
ways to cheer someone up: Listen to them | Bring soup | Tell a joke | Take a walk together | Send a card | Make tea | Play their favorite song | Give a hug | Bake a cake | Watch a funny film | Bring flowers | Do their dishes | Call them | Draw a silly picture | Just sit with them
ways to say sorry: I am sorry. | Please forgive me. | It was my fault. | I did not mean to hurt you. | I apologize. | That was wrong of me. | I will make it up to you. | I wish I could undo it. | Let me fix it. | I should have asked. | I was not thinking. | It will not happen again. | I feel bad about it. | You were right. | Can we talk about it?
ways to say goodbye: Goodbye! | See you soon! | Bye! | Take care! | Until tomorrow! | So long! | Have a nice day! | See you later! | Farewell! | Good night! | Safe travels! | Stay well! | Bye for now! | All the best! | Until next time!
ways to say yes: Yes! | Sure! | Of course. | Gladly. | All right. | With pleasure. | Certainly. | Why not? | Absolutely! | I would love to. | Okay. | Agreed. | You bet! | By all means. | Definitely.
ways to say no politely: No, thank you. | I am afraid not. | Not this time. | Maybe another day. | I would rather not. | That does not work for me. | Thank you for asking, but no. | I wish I could. | I have other plans. | Let me pass on that. | I cannot promise that. | It is kind of you, but no. | Not right now. | I have to say no. | Sorry, I cannot.
tips for a job interview: Be on time. | Read about the company. | Listen to each question. | Give short examples. | Dress neatly. | Smile. | Sleep well the night before. | Ask two questions of your own. | Turn off your phone. | Be honest. | Bring your papers. | Speak slowly. | Look people in the eye. | Say thank you at the end. | Practice with a friend.
tips for a speech: Know your first sentence by heart. | Speak slowly. | Look at people. | Use short sentences. | Tell a story. | Breathe. | Keep it short. | Practice aloud. | Drink some water. | Make three points. | Pause now and then. | Smile. | Stand still. | End with one clear thought. | Thank the audience.
tips for writing: Write every day. | Use short sentences. | Read a lot. | Cut what is not needed. | Use strong verbs. | Show, do not tell. | Read it aloud. | Let it rest for a night. | Begin in the middle. | Write first, correct later. | Keep a notebook. | Avoid long words. | Ask a friend to read it. | Finish what you begin. | Describe one small thing.
tips for cooking: Taste as you go. | Read the whole recipe first. | Use a sharp knife. | Salt the pasta water. | Clean up while it cooks. | Start with hot oil. | Use fresh herbs at the end. | Do not crowd the pan. | Let meat rest. | Keep it simple. | Measure when you bake. | Cook with the season. | Have everything ready. | Add lemon if it is dull. | Save the cooking water.
tips for growing tomatoes: Give them a lot of sun. | Water the roots, not the leaves. | Tie them to a stick. | Plant them deep. | Water them regularly. | Take off the side shoots. | Give them good soil. | Keep them out of the rain. | Wait until the frost is over. | Leave space between them. | Pick them ripe. | Feed them every two weeks. | Cover the soil with straw. | Plant basil next to them. | Save some seeds.
tips for a long flight: Drink water. | Get up and walk. | Bring a neck pillow. | Wear soft clothes. | Take a sweater. | Sleep with a mask. | Stretch your legs. | Bring a book. | Choose an aisle seat. | Eat lightly. | Use earplugs. | Chew gum at takeoff. | Set your watch to the new time. | Pack a toothbrush. | Download some music.
tips for a tidy room: Make the bed. | Give everything a place. | Start with one corner. | Put clothes away at once. | Throw out what is broken. | Use boxes. | Clean for ten minutes a day. | Keep the floor free. | Open the window. | Give away what you do not use. | Empty the trash. | Sort the desk in the evening. | Hang up your coat. | Dust the shelves. | Do not buy too much.
tips for parents: Listen. | Read aloud. | Be patient. | Keep your promises. | Eat together. | Say sorry when you are wrong. | Set clear rules. | Play every day. | Praise effort. | Sleep when you can. | Ask for help. | Laugh together. | Go outside. | Let them try. | Put the phone away.
tips for new students: Write everything down. | Find the library. | Talk to others. | Ask questions. | Eat breakfast. | Be on time. | Make a weekly plan. | Sleep enough. | Join a group. | Start early. | Keep your papers in order. | Take breaks. | Sit in front. | Save your work twice. | Have some fun, too.
rules for a classroom: Listen when others speak. | Raise your hand. | Be kind. | Be on time. | Keep your desk tidy. | Do not run. | Share. | Ask when you do not understand. | Put your phone away. | Help each other. | Do your homework. | Say please and thank you. | Take care of the books. | Let others finish. | Do your best.
rules for a good talk: Listen. | Let others finish. | Ask questions. | Stay polite. | Tell the truth. | Keep it short. | Look at the other person. | Do not shout. | Say what you mean. | Think before you speak. | Admit mistakes. | Stay on the topic. | Laugh together. | Thank the other person. | Put the phone away.
steps to make tea: Boil the water. | Warm the pot. | Put in the tea. | Pour the water over it. | Wait three minutes. | Take out the leaves. | Pour it into a cup. | Add milk or lemon. | Stir. | Enjoy it.
steps to plant a seed: Fill a pot with soil. | Make a small hole. | Put in the seed. | Cover it with soil. | Water it. | Put it in the light. | Keep the soil damp. | Wait for a few days. | Watch it grow. | Give it a bigger pot.
steps to wash your hands: Turn on the water. | Wet your hands. | Take some soap. | Rub your palms. | Rub the backs of your hands. | Clean between the fingers. | Rub the thumbs. | Rinse well. | Turn off the water. | Dry your hands.
questions for a friend: How was your day? | What made you laugh today? | What are you looking forward to? | What is your favorite song right now? | If you could travel anywhere, where would you go? | What did you dream of? | What are you proud of? | What would you like to learn? | Who do you miss? | What is your favorite food? | What scares you? | What was your best holiday? | Which book do you love? | What do you do on Sundays? | What would make you happy today?
questions for a job interview: Why do you want this job? | What are you good at? | What do you find hard? | Where do you want to be in five years? | What was your biggest success? | How do you work in a team? | What did you learn from a mistake? | Why did you leave your last job? | When can you start? | What do you know about us? | How do you handle stress? | What motivates you? | Which tools do you know? | Do you like to travel? | Do you have any questions?
names for a fish: Bubbles | Nemo | Splash | Pearl | Captain Fin | Coral | Goldie | Sushi | Flash | Ripple | Marina | Wave | Finn | Sunny | Drop
names for a horse: Thunder | Star | Bella | Shadow | Spirit | Amber | Storm | Ginger | Lucky | Silver | Duke | Misty | Apollo | Clover | Comet
names for a bird: Sunny | Kiwi | Sky | Tweety | Feather | Mango | Pip | Chirpy | Rio | Blue | Coco | Lemon | Piccolo | Echo | Peaches
names for a robot: Bolt | Gizmo | Rusty | Pixel | Circuit | Tinker | Beep | Sprocket | Nova | Chip | Widget | Spark | Cog | Otto | Zip
names for a band: The Loud Lamps | Blue Kettle | Paper Wolves | Midnight Bus | The Spoons | Silver Rain | Four Left Shoes | The Quiet Storm | Electric Plum | Hello Harbor | The Lost Keys | Wooden Radio | Northern Tea | Green Umbrella | The Second Floor
names for a cafe: The Warm Cup | Corner Bean | Sugar and Salt | The Blue Door | Morning Light | The Reading Spoon | Cafe Clover | Little Oven | The Third Chair | Honey Pot | The Copper Kettle | Rainy Day Cafe | Crumbs | The Slow Spoon | Garden Table
names for a bakery: Golden Crust | The Happy Roll | Flour Power | Morning Loaf | The Butter Dish | Sweet Corner | Crumb and Co. | The Warm Oven | Daily Bread | The Old Mill | Sugar Cloud | Rise and Shine | The Rolling Pin | Cinnamon Street | Honey Bun
names for a boy in a story: Leo | Anton | Finn | Mateo | Emil | Jonas | Omar | Theo | Luca | Noah | Kofi | Ivan | Hugo | Samir | Ben
names for a girl in a story: Mia | Lina | Clara | Zoe | Amara | Nora | Elif | Rosa | Ida | Yuki | Lucy | Hanna | Maya | Vera | Priya
titles for a poem: Morning Rain | The Last Leaf | Song of a Spoon | Under the Lamp | Blue Hour | The Empty Chair | A Small Boat | Letters in the Snow | What the Moon Said | Window in May | The Sleeping Street | Bread and Stars | My Old Coat | Footsteps | Slow River
good wishes for a birthday: Happy birthday! | Many happy returns! | I wish you health and joy. | May all your wishes come true. | Have a wonderful day! | Enjoy your cake! | Another year older, another year wiser. | I am glad that you exist. | Here is to you! | May this year be your best. | Lots of love on your day! | Celebrate well! | Stay as you are. | Sunshine and laughter to you! | All the best for the new year of your life!
good wishes for a wedding: Congratulations to you both! | May your love grow every year. | I wish you a lifetime of joy. | To the happy couple! | Laugh together every day. | Be patient with each other. | May your home be full of friends. | All the best for your life together. | Hold hands often. | A long and happy marriage! | May every day bring a smile. | So happy for you! | Dance through life together. | Much love to you both! | Here is to your big adventure!
new year's resolutions: Walk every day. | Read one book a month. | Sleep more. | Call my parents on Sundays. | Learn to cook ten dishes. | Save some money. | Drink more water. | Learn a language. | Be on time. | Write a diary. | Complain less. | Try a new sport. | Spend less time on the phone. | Plant something. | Say thank you more often.
small joys: A cup of hot tea | The first snow | A letter in the mail | Clean sheets | A purring cat | Sun on your face | The smell of bread | A free seat on the bus | A good song | Finding a coin | A long phone call | A ripe peach | Waking up before the alarm | Warm socks | A child's laugh
chores: Wash the dishes | Sweep the floor | Take out the trash | Make the bed | Water the plants | Do the laundry | Iron the shirts | Clean the windows | Feed the cat | Vacuum the carpet | Dust the shelves | Set the table | Mow the lawn | Empty the dishwasher | Tidy the desk
excuses for being late: The bus was late. | I overslept. | My bike had a flat tire. | I lost my keys. | There was a lot of traffic. | My alarm did not ring. | I got on the wrong train. | The cat hid my shoe. | I had to help a neighbor. | The bridge was closed. | My clock was wrong. | I forgot the day. | The elevator got stuck. | I met an old friend. | The coffee was too hot.
""")

#: Reasons to do something.
REASONS = _read("""
learn a language: You can talk to more people. | It keeps the mind fit. | Travel becomes more fun. | You understand songs and films. | It helps at work. | You learn about another culture. | You can read books in the original. | You see your own language with new eyes. | You make new friends. | It is fun.
read books: You learn new words. | It is relaxing. | You see other worlds. | It trains the mind. | You understand people better. | It costs little. | You sleep better after it. | It gives you new ideas. | You can do it anywhere. | It makes you a better writer.
get up early: The morning is quiet. | You have more time. | You see the sunrise. | You are not in a hurry. | Breakfast tastes better. | The air is fresh. | You get a lot done before noon. | The roads are empty. | You fall asleep more easily at night. | The birds sing for you.
sleep enough: You think more clearly. | You are in a better mood. | Your body can recover. | You get sick less often. | You remember more. | You drive more safely. | You work better. | You look better. | You have more patience. | Sport is easier.
drink water: Your body needs it. | It helps you think. | It has no sugar. | It costs little. | Your skin likes it. | It gives you energy. | It helps against headaches. | Your muscles need it. | It cools you on hot days. | It is always there.
ride a bike: It keeps you fit. | It costs no fuel. | It is good for the air. | It is easy to park. | You are often faster in town. | It is fun. | You see more on the way. | You need no ticket. | It makes no noise. | You arrive awake.
walk more: It is good for the heart. | It clears the head. | It is free. | You see your town. | You need only shoes. | You meet neighbors. | You sleep better. | It is good for the air. | It puts you in a better mood. | Anybody can do it.
eat vegetables: They are full of vitamins. | They fill you up. | They are colorful. | They are good for the heart. | They cost little in season. | They help the stomach. | They taste good. | You can grow them yourself. | They keep you healthy. | There are so many kinds.
cook at home: It is cheaper. | You know what is in it. | It tastes like you want it. | It is healthier. | It brings people together. | You learn something. | The kitchen smells good. | You waste less. | It is relaxing. | Leftovers make a lunch.
have a dog: It is always glad to see you. | You go outside every day. | You meet other people. | It is a good friend. | It guards the house. | It makes you laugh. | You are never alone. | It teaches you to be patient. | It keeps you fit. | It loves you as you are.
have a cat: It is soft and warm. | It purrs. | It needs no walks. | It catches mice. | It is clean. | It is fun to watch. | It sleeps a lot. | It can be alone for a while. | It is a calm friend. | It keeps your feet warm.
plant a tree: It gives shade. | It cleans the air. | Birds can live in it. | It may bear fruit. | It is beautiful. | It holds the soil. | It will outlive you. | It cools the street. | Bees like its flowers. | Children can climb it.
learn an instrument: Music makes you happy. | It trains the mind. | You can play with others. | It relaxes you. | It teaches patience. | You can play for friends. | You hear music in a new way. | It is good for memory. | You always have a hobby. | You can write your own songs.
keep a diary: You remember more. | It clears your head. | You see how you change. | It is good for writing. | It is private. | You can find old ideas again. | It helps you to calm down. | You notice small joys. | It is fun to read later. | You learn about yourself.
write by hand: You remember it better. | It is more personal. | It needs no power. | It slows you down. | It trains your hand. | It looks nice. | You make fewer careless mistakes. | A letter makes people happy. | You can draw next to it. | It is restful for the eyes.
take the train: You can read on the way. | It is good for the air. | You see the land. | You need not drive. | You can walk around. | It takes you to the center. | You can sleep. | There is a lot of room. | You meet people. | There are no traffic jams.
go outside: The air is fresh. | The sun is good for you. | You move more. | Nature is beautiful. | It lifts your mood. | You sleep better. | It is free. | Your eyes can rest. | You meet people. | You get new ideas.
say thank you: It is polite. | It makes others happy. | It makes you happy, too. | It costs nothing. | People like to help again. | It shows respect. | You notice good things. | It makes friends. | It ends a talk well. | Everybody needs it.
be kind: It makes others happy. | It comes back to you. | It costs nothing. | It makes friends. | It ends quarrels. | It feels good. | The world gets better. | People trust you. | Somebody may need it. | Children learn from it.
save money: You are ready for bad times. | You can buy bigger things. | You worry less. | You need no loans. | You can help others. | You can travel. | You think before you buy. | You are more free. | You can stop working earlier. | You can give presents.
use a local model: Your words stay on your computer. | It works without internet. | It costs nothing per word. | You can choose the model. | It is always there. | You can change its settings. | It is good for learning. | Nobody can switch it off. | You can use it in your own programs. | It is fun to try.
grow a garden: You have fresh vegetables. | You are outside. | It is calming. | Bees will like it. | You move your body. | It smells good. | You learn patience. | It looks beautiful. | You know what you eat. | You can share with neighbors.
visit a museum: You see real old things. | You learn something. | It is good on a rainy day. | It gives you ideas. | You can go with friends. | It is quiet. | There is often a cafe. | Children like it, too. | You see how people lived. | It makes you curious.
learn to swim: It can save your life. | It is fun. | It is good for the back. | You can play in the sea. | It trains the whole body. | It is cool in summer. | You can help others. | You can do it at any age. | It calms you. | Boats become less scary.
take a break: You get new energy. | You make fewer mistakes. | Your eyes can rest. | You get new ideas. | You can stretch. | You are kinder after it. | Your back will thank you. | You remember more. | You can drink something. | Work is more fun after it.
live in a city: There is a lot to do. | There are many jobs. | You need no car. | Shops are near. | There are concerts and museums. | You meet many people. | There are good schools. | A doctor is never far. | There is food from everywhere. | It is never boring.
live in the country: It is quiet. | The air is clean. | You see the stars. | There is more room. | You can have animals. | Neighbors know each other. | You can grow food. | Children can play outside. | Rents are lower. | You are close to nature.
smile: It makes you feel better. | It makes others smile. | It costs nothing. | It makes friends. | It calms you. | It looks good. | It says hello without words. | It helps in a hard talk. | Photos turn out nicer. | Everybody understands it.
learn to cook: You save money. | You eat better. | You can invite friends. | It is a useful skill. | You can try new things. | You waste less food. | It is fun. | You can care for others. | You need no restaurant. | You impress people.
join a club: You meet people. | You learn something new. | You have a fixed evening for yourself. | It is more fun together. | You can help others. | You find friends. | You get out of the house. | You get better at your hobby. | You belong somewhere. | There are parties.
""")
