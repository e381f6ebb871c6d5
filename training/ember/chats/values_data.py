"""The words that values are drawn from: names, places, things and so on, as plain lists."""

NAMES = """
Ada Adam Agnes Alba Alice Amir Amy Anna Anton Aria Arlo Asha Ben Bella Boris Bruno Cara Carl Celia Clara Cleo Cora
Daisy Dan Dario Dora Eda Edgar Elena Eli Elsa Emil Emma Enzo Erik Esme Eva Felix Fiona Flora Frank Freya Gina Greta
Gus Hana Hanna Harry Hector Heidi Helen Henry Hugo Ida Igor Ines Ingrid Iris Isla Ivan Ivy Jack Jana Jasper Jim Joan
Joel Jonas Judy Julia June Kai Kara Karl Kate Kim Kira Klaus Lara Laura Lena Leo Leon Lia Lily Lina Liz Lola Lotte
Lucas Lucy Luna Maia Mara Marco Maria Mark Marta Max Maya Mia Mila Milo Mina Mira Mona Nadia Nell Nico Nina Noah Nora
Olga Olive Oscar Otto Owen Pablo Paul Penny Pepe Peter Petra Pia Rafa Ravi Rita Robin Rosa Ruby Rufus Ruth Sadie Sam
Sara Simon Sofia Stella Sven Talia Tara Theo Tilda Tim Tina Toby Tom Uma Una Vera Victor Viola Walter Wanda Willa
Yara Yuki Zane Zara Zelda Zoe
""".split()

CITIES = """
Oslo Paris London Rome Madrid Berlin Vienna Prague Lisbon Dublin Athens Warsaw Cairo Tokyo Kyoto Osaka Seoul Delhi
Mumbai Lima Quito Boston Chicago Dallas Denver Houston Miami Seattle Toronto Montreal Sydney Perth Melbourne Auckland
Nairobi Lagos Tunis Dakar Accra Milan Turin Naples Venice Florence Munich Hamburg Cologne Zurich Geneva Basel Bern
Lyon Nice Porto Seville Valencia Bilbao Bergen Helsinki Stockholm Copenhagen Riga Tallinn Vilnius Krakow Budapest
Sofia Bucharest Istanbul Ankara Tehran Dubai Doha Bangkok Hanoi Manila Jakarta Beijing Shanghai Glasgow Leeds Bristol
Oxford York Cardiff Belfast Cork Ghent Antwerp Brussels Utrecht Rotterdam Amsterdam Havana Bogota Santiago Brasilia
Austin Portland Phoenix Memphis Ottawa Vancouver Reykjavik
""".split()

COUNTRIES = """
Norway Sweden Finland Denmark Germany France Spain Italy Portugal Greece Poland Austria Belgium Ireland Iceland
Hungary Romania Bulgaria Croatia Turkey Egypt Kenya Ghana Nigeria Morocco Tunisia Ethiopia India China Japan Korea
Vietnam Thailand Indonesia Australia Canada Mexico Cuba Brazil Peru Chile Argentina Bolivia Colombia Ecuador Uruguay
Nepal Iran Iraq Israel Jordan Latvia Estonia Lithuania Serbia Slovenia Malta Cyprus
""".split()

ANIMALS = """
cat dog horse cow pig goat sheep hen duck goose rabbit mouse hamster fox wolf bear deer frog toad turtle snake lizard
owl crow eagle parrot pigeon swan penguin seal whale dolphin shark crab lobster lion tiger zebra giraffe elephant
monkey camel donkey pony squirrel badger otter beaver hedgehog mole bat bee spider snail worm kitten puppy lamb
""".split()

THINGS = """
ball book box cup hat coat bag lamp chair table clock kite drum bell boat car bike pen pencil key ring scarf blanket
pillow basket bottle bowl plate spoon fork knife pot pan mirror candle broom bucket rope ladder hammer umbrella shoe
boot sock glove shirt dress belt button mug jar brush comb towel map flag whistle toy doll robot puzzle guitar piano
violin flute trumpet sled tent lantern vase rug desk bench shelf wallet watch camera radio phone magnet wheel
""".split()

FOODS = """
bread soup rice pasta pizza salad cheese cake pie fish chicken porridge pancakes waffles noodles stew toast cookies
muffins beans potatoes carrots corn tomatoes mushrooms eggs sausages curry dumplings tacos sandwiches jam honey
pudding yogurt butter onions peas spinach cabbage lentils crackers nuts popcorn chocolate
""".split()

#: Foods that "the … is" can be said of.
DISHES = "bread soup rice pasta pizza salad cheese cake pie fish chicken porridge stew toast curry pudding".split()

FRUITS = """
apples pears plums cherries grapes lemons oranges peaches bananas melons mangoes figs dates berries limes kiwis
strawberries raspberries blueberries apricots
""".split()

PLURALS = """
apples pears balls books cups hats lamps chairs kites bells boats cars bikes pens keys rings shoes boots socks gloves
shirts buttons jars maps flags toys dolls stones shells leaves flowers eggs cookies plums lemons coins stamps cards
candles spoons bottles ducks hens cows sheep rabbits frogs birds trees seeds nails ribbons beads marbles
""".split()

DRINKS = "milk tea water juice coffee cocoa lemonade cider".split()
CONTAINERS = "box cup bag bottle bowl pot basket bucket jar glass bath barrel".split()
COLORS = "red blue green yellow black white brown gray pink purple orange golden silver".split()
SIZES = "small big tiny large huge little".split()
MATERIALS = "wood glass stone paper gold silver iron clay wool cotton leather tin".split()
SHAPES = "round square flat long oval curved".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
SEASONS = "spring summer autumn winter".split()
MOODS = "happy sad tired angry calm proud shy hungry sleepy glad".split()
SKIES = "sunny rainy cloudy windy snowy foggy clear stormy".split()
ROOMS = "kitchen bedroom bathroom hall garage attic cellar office library garden".split()
JOBS = """
baker teacher doctor farmer nurse painter singer writer cook pilot sailor tailor driver dancer gardener carpenter
fisher miller barber judge plumber builder
""".split()
SPORTS = "tennis football chess golf hockey basketball volleyball cricket rugby".split()
INSTRUMENTS = "piano violin flute guitar drum trumpet harp cello".split()
VEHICLES = "bus train car bike boat plane ship taxi tram truck".split()
LANGUAGES = """
French Spanish German Italian Japanese Greek Latin Polish Swedish Dutch Turkish Arabic Hindi Korean Finnish Danish
""".split()
HOBBIES = "reading painting swimming dancing singing cooking fishing running sewing skating drawing climbing".split()
CURRENCIES = "dollars euros pounds yen francs pesos rupees".split()
LENGTHS = "miles kilometers meters feet inches yards".split()
STORES = "market bakery bookshop museum library school zoo cafe bank station harbor farm".split()
EVENTS = "party concert meeting race wedding play game dance fair picnic lesson show".split()
GENRES = "jazz rock folk pop classical blues".split()
COMPANIES = "Apple Google Amazon Tesla Intel Sony Nike Disney Boeing Ford Toyota Nokia Siemens Shell Nestle".split()
VERBS = "draw clean fix find make choose sell pack".split()

#: The two halves that titles of books and songs are made of.
TITLE_STARTS = """
The Blue;The Old;The Last;The Little;A Quiet;The Golden;My Best;The Lost;The Brave;One Long;The Secret;The Silver;
The Happy;The Hidden;A Winter;The Red;The Silent;The Kind;The Dancing;The First
""".replace("\n", "").split(";")
TITLE_ENDS = """
River Garden Night Moon Star Forest House Road Dream Song Letter King Sea Bird Ship Wind Rain Mountain Door Island
Bridge Summer Clock Friend Window Train Tree Key Castle Valley
""".split()

#: What files are called, before the dot, and after it.
FILE_STEMS = """
notes list plan report letter diary recipes budget photo story todo draft poem data names map music homework games
""".split()
FILE_ENDS = "txt md csv pdf json".split()
FOLDERS = "music photos work school games letters notes home books songs videos backup docs".split()

#: Tasks that a person may want to be reminded of, or may write about.
TASKS = """
feed the {animal};water the flowers;buy {food};buy {fruit};call {person};write to {person};clean the {room};
cook {food};find the {thing};wash the {thing};meet {person};fix the {thing};visit {person};bake bread;take a walk;
pack the bag;pay the rent;read the book;visit the {store};bring the {thing} to {person};sell the {thing}
""".replace("\n", "").split(";")

#: Short messages from one person to another.
MESSAGES = """
I am late;Dinner is ready;I am at the {store};See you on {day};The {thing} is broken;I found the {thing};
Happy birthday;I will come at {time};Please buy {food};Please feed the {animal};Good luck;I am in {city};
We meet at the {store};The {animal} is asleep;The bus is late;Bring the {thing};The {dish} is for {person};
I will call on {day};Thank you for the {thing};The party is on {day};We need {fruit}
""".replace("\n", "").split(";")

#: What people search for.
TOPICS = """
how to {verb} a {thing};how to cook {food};{color} {plural};{food} and {fruit};cheap {plural};the best {food};
{animal} pictures;songs about a {animal};hotels in {city};the history of {city};trains to {city};a new {thing};
what a {animal} eats;games with {plural};{sport} rules;museums in {city};news from {country};jobs in {city};
how old a {animal} gets;{instrument} lessons;{color} {thing} for sale
""".replace("\n", "").split(";")

#: Beginnings, middles and ends of invented words.
SYLLABLE_STARTS = """
b bl br d dr f fl g gl gr j k kl kr l m n p pl pr qu r s sh sk sl sn sp st t th tr v w y z
""".split()
VOWELS = "a e i o u a e o".split()
SYLLABLE_ENDS = "b d g k l m n p r s t x nd rk mp lt n l r m".split()
