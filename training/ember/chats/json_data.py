"""Facts that are told and asked for as JSON: topics with their keys and sentences, lines, lists and sums."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """A kind of record. Each field is written "keys: kind": keys divided by bars, and one of `values.KINDS`."""

    fields: tuple[str, ...]
    #: Sentences that name some of the fields, each by the first of its keys.
    texts: tuple[str, ...]


TOPICS = (
    Topic(
        ("name|person|who: person", "age|years: age", "city|home|town|place: city"),
        (
            "{name} is {age} years old and lives in {city}.",
            "In {city} lives {name}, who is {age} years old.",
            "{name} comes from {city}. {name} is {age}.",
            "My friend {name} is {age} and lives in {city}.",
            "{name}, {age}, lives in {city}.",
            "This is {name} from {city}, age {age}.",
            "My name is {name}. I am {age} years old. I live in {city}.",
            "Hi, I am {name}, I am {age} and I am from {city}.",
            "{name} turned {age} today.",
            "{name} lives in {city}.",
        ),
    ),
    Topic(
        ("name|person|worker: person", "job|work|role: job", "city|place|town: city", "start|hour|time: time"),
        (
            "{name} is a {job} in {city}.",
            "{name} works as a {job} in {city} and starts at {start}.",
            "The {job} in {city} is called {name}.",
            "Our {job}, {name}, begins work at {start}.",
            "{name} moved to {city} to work as a {job}.",
        ),
    ),
    Topic(
        ("name|person: person", "language|speaks: language", "country|from: country", "hobby|likes: hobby"),
        (
            "{name} is from {country} and speaks {language}.",
            "{name} likes {hobby} and speaks {language}.",
            "{name} comes from {country}, speaks {language} and likes {hobby}.",
            "In {country}, {name} learned {language}.",
            "{name} from {country} likes {hobby}.",
        ),
    ),
    Topic(
        ("thing|item|object|name: thing", "color: color", "price|cost|coins: price", "size: size"),
        (
            "There is a {color} {thing} that costs {price} coins.",
            "A {size} {color} {thing} costs {price} coins.",
            "The {thing} is {color} and {size}.",
            "I want the {color} {thing} for {price} dollars.",
            "The price of the {size} {thing} is {price} dollars.",
            "We sell a {color} {thing}. It costs {price} dollars.",
            "The {thing} on the shelf is {color} and costs {price} coins.",
        ),
    ),
    Topic(
        ("thing|object|item: thing", "material|stuff: material", "shape|form: shape", "place|room|where: room"),
        (
            "The {thing} in the {place} is made of {material}.",
            "A {shape} {thing} made of {material} stands in the {place}.",
            "The {thing} is {shape}. It is in the {place}.",
            "In the {place} there is a {shape} {thing} of {material}.",
        ),
    ),
    Topic(
        ("animal|pet|kind: animal", "name: person", "age|years: small", "color: color", "food|eats: food"),
        (
            "The {animal} is called {name} and is {age} years old.",
            "{name} is a {color} {animal} that likes {food}.",
            "I have a {color} {animal}. Its name is {name}. It is {age} years old.",
            "My {animal} {name} eats {food}.",
            "{name} the {animal} is {age} years old, is {color} and likes {food}.",
        ),
    ),
    Topic(
        ("owner|person|who: person", "animal|pet: animal", "place|room|where: room"),
        (
            "{owner} has a {animal} in the {place}.",
            "The {animal} of {owner} sleeps in the {place}.",
            "A {animal} is in the {place}. It belongs to {owner}.",
            "In the {place} sits a {animal}. Its owner is {owner}.",
        ),
    ),
    Topic(
        ("owner|person|who: person", "thing|item|object: thing", "color: color", "day|date: day"),
        (
            "{owner} lost a {color} {thing} on {day}.",
            "On {day}, {owner} found a {color} {thing}.",
            "The {color} {thing} belongs to {owner}.",
            "{owner} got a new {thing} on {day}. It is {color}.",
        ),
    ),
    Topic(
        ("giver|from|sender: person", "taker|to|friend: person", "gift|thing|item: thing", "day|when: day"),
        (
            "{giver} gave {taker} a {gift}.",
            "On {day}, {giver} gave a {gift} to {taker}.",
            "{taker} got a {gift} from {giver} on {day}.",
            "{giver} sent {taker} a {gift} on {day}.",
        ),
    ),
    Topic(
        ("title|book|name: title", "author|writer: person", "year|date: year", "pages|length: big"),
        (
            '{author} wrote the book "{title}" in {year}.',
            'The book "{title}" is by {author}. It has {pages} pages.',
            '"{title}" by {author} came out in {year}.',
            '"{title}" ({year}) was written by {author} and has {pages} pages.',
        ),
    ),
    Topic(
        ("song|title: title", "singer|artist|by: person", "minutes|length: small", "style|genre: genre"),
        (
            '{singer} sings "{song}".',
            'The song "{song}" by {singer} is {minutes} minutes long.',
            '"{song}" is a {style} song by {singer}.',
            '{singer} wrote the {style} song "{song}". It takes {minutes} minutes.',
        ),
    ),
    Topic(
        (
            "count|number|amount: count", "item|thing|things: plural", "buyer|person|name: person",
            "store|shop|place: store",
        ),
        (
            "{buyer} bought {count} {item}.",
            "{buyer} bought {count} {item} at the {store}.",
            "At the {store}, {buyer} saw {count} {item}.",
            "There are {count} {item} at the {store}.",
            "{buyer} has {count} {item}.",
        ),
    ),
    Topic(
        ("food|dish|meal: food", "drink: drink", "person|guest|name: person", "table|seat: small"),
        (
            "{person} orders {food} and {drink}.",
            "{person} at table {table} wants {food} with {drink}.",
            "Table {table} wants {food} and {drink}.",
            "For lunch {person} had {food} and a cup of {drink}.",
        ),
    ),
    Topic(
        ("from|start: city", "to|end|goal: city", "vehicle|by: vehicle", "day|date: day", "time|hour: time"),
        (
            "The {vehicle} goes from {from} to {to} on {day}.",
            "A {vehicle} leaves {from} at {time} and goes to {to}.",
            "We travel from {from} to {to} by {vehicle} on {day}.",
            "On {day} at {time} we leave {from} for {to}.",
        ),
    ),
    Topic(
        ("name|traveler|person: person", "city|place|goal: city", "vehicle|by: vehicle", "month|when: month"),
        (
            "{name} goes to {city} by {vehicle} in {month}.",
            "In {month}, {name} will visit {city}.",
            "{name} took a {vehicle} to {city}.",
        ),
    ),
    Topic(
        ("city|place|town: city", "sky|weather: sky", "degrees|temperature: degrees", "day|date: day"),
        (
            "It is {sky} in {city} and the temperature is {degrees} degrees.",
            "On {day} it was {sky} in {city}.",
            "The weather in {city} on {day}: {sky}, {degrees} degrees.",
            "In {city} it is {degrees} degrees and {sky} today.",
        ),
    ),
    Topic(
        ("event|what: event", "day|date: day", "time|hour|start: time", "place|where: store"),
        (
            "The {event} is on {day} at {time} at the {place}.",
            "The {event} starts at {time} on {day}.",
            "Come to the {event} at the {place} on {day}.",
            "On {day} there is a {event} at the {place}. It starts at {time}.",
        ),
    ),
    Topic(
        ("child|name|pupil: person", "teacher: person", "school|city: city", "class|grade: small"),
        (
            "{child} is in class {class}. The teacher is {teacher}.",
            "{teacher} teaches {child} in {school}.",
            "{child} goes to school in {school} and is in class {class}.",
        ),
    ),
    Topic(
        ("player|name: person", "sport|game: sport", "points|score: number", "team|club: city"),
        (
            "{player} plays {sport} for {team}.",
            "{player} made {points} points for {team}.",
            "{player} won the {sport} game with {points} points.",
        ),
    ),
    Topic(
        ("winner|first: person", "loser|second: person", "game|sport: sport", "day|date: day"),
        (
            "{winner} won against {loser} at {game}.",
            "On {day}, {winner} beat {loser} at {game}.",
            "{loser} lost to {winner} on {day}.",
        ),
    ),
    Topic(
        ("player|musician|name: person", "instrument|plays: instrument", "hours|practice: small", "day|when: day"),
        (
            "{player} plays the {instrument} every {day}.",
            "On {day}, {player} played the {instrument} for {hours} hours.",
            "{player} learns the {instrument}.",
        ),
    ),
    Topic(
        ("house|building|place: store", "floors|levels: small", "color: color", "year|built: year"),
        (
            "The {house} is {color} and has {floors} floors.",
            "The {color} {house} was built in {year}.",
            "The {house} has {floors} floors. It was built in {year}.",
        ),
    ),
    Topic(
        ("country|land|name: country", "capital|city: city", "people|millions: millions", "language: language"),
        (
            "{country} has {people} million people.",
            "In this story the capital of {country} is {capital}.",
            "In my game, {country} has the capital {capital} and {people} million people.",
            "Many people in {country} speak {language}.",
        ),
    ),
    Topic(
        ("boss|chief|head: person", "helper|worker: person", "store|shop|place: store", "day|when: day"),
        (
            "{boss} is the boss and {helper} is the helper.",
            "{helper} works for {boss} at the {store}.",
            "On {day}, {helper} helps {boss} at the {store}.",
            "The boss of {helper} is {boss}.",
        ),
    ),
    Topic(
        ("file|name: file", "size|kb: big", "folder|path: folder", "owner|user: person"),
        (
            "The file {file} is in the folder {folder}.",
            "{owner} saved {file} in the folder {folder}.",
            "The file {file} has {size} kilobytes and belongs to {owner}.",
        ),
    ),
    Topic(
        ("flight|code|number: flight", "city|to|goal: city", "gate: number", "status|state: flight_state"),
        (
            "Flight {flight} to {city} is {status}.",
            "Flight {flight} to {city} leaves from gate {gate}.",
            "At gate {gate} is flight {flight}. It is {status}.",
        ),
    ),
    Topic(
        ("task|todo|what: task", "person|name|who: person", "day|due|when: day"),
        (
            "{person} must {task} on {day}.",
            "On {day}, {person} has to {task}.",
            "{person} will {task}.",
        ),
    ),
    Topic(
        ("name|person: person", "mood|feeling: mood", "season|when: season", "drink: drink"),
        (
            "{name} feels {mood} today.",
            "In {season}, {name} is {mood} and drinks {drink}.",
            "{name} is {mood}. {name} wants {drink}.",
        ),
    ),
    Topic(
        ("seller|person|name: person", "stock|count|left: count", "product|item: plural", "price|cost: price"),
        (
            "{seller} has {stock} {product} left.",
            "{seller} sells {stock} {product} for {price} coins.",
            "The {product} of {seller} cost {price} dollars.",
        ),
    ),
    Topic(
        ("company|firm|name: company", "price|value: number", "year: year", "boss|head: person"),
        (
            "One share of {company} costs {price} dollars.",
            "In {year}, {boss} worked for {company}.",
            "In our play, {boss} is the head of {company}.",
        ),
    ),
    Topic(
        ("word|term: any", "meaning|means: word", "language: language", "letters|length: small"),
        (
            "The word {word} means {meaning}.",
            "In our secret language, {word} means {meaning}.",
            "{word} is a {language} word. It means {meaning}.",
        ),
    ),
    Topic(
        ("thing|item: any", "color: color", "weight|grams: big", "owner|person: person"),
        (
            "The {thing} is {color}.",
            "A {thing} is {color} and weighs {weight} grams.",
            "{owner} has a {color} {thing}.",
            "The {thing} of {owner} weighs {weight} grams.",
        ),
    ),
)

#: Keys for facts that are given as a list of lines, each with the kind of its value.
LINE_KEYS = """
name:person age:age city:city country:country color:color animal:animal food:food drink:drink title:title
price:price count:count size:size day:day owner:person month:month year:year time:time sport:sport hobby:hobby
job:job mood:mood room:room weather:sky temperature:degrees language:language vehicle:vehicle material:material
shape:shape fruit:fruit author:person page:big score:number level:small file:file folder:folder flight:flight
gate:number season:season task:task message:message city_from:city city_to:city first_name:person
last_name:person pet:animal pet_name:person weight:big height:big width:big length:big floor:small seat:number
id:big total:price user:person email_to:person subject:task note:message item:thing toy:thing tool:thing
gift:thing street:any code:any brand:any model:any team:city coach:person captain:person chef:person dish:food
instrument:instrument genre:genre song:title book:title store:store company:company status:flight_state
rating:small
""".split()

#: Ways to write one fact in a list of lines, and what divides the lines.
LINES = (
    ("{key}: {value}", "\n"),
    ("- {key}: {value}", "\n"),
    ("{key} = {value}", "\n"),
    ("{key}: {value}", ", "),
    ("{key} = {value}", "; "),
    ("The {key} is {value}.", " "),
    ("The {key} is {value}.", "\n"),
    ("* {key}: {value}", "\n"),
)

#: What stands before a list of lines.
LINE_HEADS = ("", "", "Here are the facts:\n", "Facts:\n", "Data:\n", "I know this:\n", "My notes:\n")

#: Facts that are true or false: the keys, then sentences that say yes and sentences that say no.
FLAGS = (
    (
        "open|door_open", ("The door is open.", "Somebody opened the door."),
        ("The door is closed.", "The door is not open."),
    ),
    (
        "open|is_open", ("The {store} is open today.", "The {store} is open."),
        ("The {store} is closed today.", "The {store} is not open."),
    ),
    (
        "on|light_on|lamp", ("The light in the {room} is on.",),
        ("The light in the {room} is off.", "The light in the {room} is not on."),
    ),
    (
        "raining|rain", ("It is raining in {city}.", "It rains today."),
        ("It is not raining in {city}.", "It does not rain today."),
    ),
    ("happy|is_happy", ("{person} is happy.", "{person} is very happy today."), ("{person} is not happy.",)),
    (
        "has_pet|pet", ("{person} has a pet.", "{person} has a {animal} as a pet."),
        ("{person} has no pet.", "{person} does not have a pet."),
    ),
    ("full|is_full", ("The {container} is full.",), ("The {container} is empty.", "The {container} is not full.")),
    (
        "empty|is_empty", ("The {container} is empty.",),
        ("The {container} is full.", "The {container} is not empty."),
    ),
    ("broken|is_broken", ("The {thing} is broken.",), ("The {thing} is not broken.",)),
    ("clean|is_clean", ("The {room} is clean.",), ("The {room} is dirty.", "The {room} is not clean.")),
    ("warm|is_warm", ("The {dish} is still warm.",), ("The {dish} is cold.", "The {dish} is not warm.")),
    (
        "asleep|sleeping", ("The {animal} is asleep.", "The {animal} is sleeping."),
        ("The {animal} is awake.", "The {animal} is not asleep."),
    ),
    ("ready|done", ("The {dish} is ready.",), ("The {dish} is not ready.", "The {dish} is not ready yet.")),
    ("late|is_late", ("The {vehicle} is late.",), ("The {vehicle} is not late.", "The {vehicle} is on time.")),
    ("can_swim|swims", ("{person} can swim.",), ("{person} cannot swim.", "{person} can not swim.")),
    ("at_home|home", ("{person} is at home.",), ("{person} is not at home.",)),
    ("paid|is_paid", ("{person} has paid for the {thing}.",), ("{person} has not paid for the {thing}.",)),
    ("sold|is_sold", ("The {thing} is sold.",), ("The {thing} is not sold.",)),
    ("likes_food|likes_it", ("{person} likes the {dish}.",), ("{person} does not like the {dish}.",)),
    ("found|is_found", ("{person} found the {thing}.",), ("{person} did not find the {thing}.",)),
    ("new|is_new", ("The {thing} is new.",), ("The {thing} is old.", "The {thing} is not new.")),
    ("safe|is_safe", ("The {animal} is safe.",), ("The {animal} is not safe.",)),
)

#: Lists in a sentence: the keys, the kind of the items, and sentences. A number of items stands for `{list}`.
LISTS = (
    (
        "fruits|items", "fruit",
        ("I like {list}.", "The basket holds {list}.", "We bought {list}.", "On the table are {list}."),
    ),
    (
        "names|people|friends", "person",
        ("I met {list} today.", "My friends are {list}.", "{list} came to the party.", "{list} went to {city}."),
    ),
    ("animals|pets", "a animal", ("I saw {list}.", "The farm has {list}.", "{person} has {list}.")),
    ("colors|paints", "color", ("The flag is {list}.", "I painted it {list}.", "My pens are {list}.")),
    (
        "cities|places|stops", "city",
        ("We went to {list}.", "The train stops in {list}.", "{person} lived in {list}."),
    ),
    ("countries|lands", "country", ("{person} visited {list}.", "The ship sails to {list}.")),
    ("numbers|values", "number", ("The numbers are {list}.", "I wrote down {list}.", "{person} picked {list}.")),
    ("days|dates", "day", ("The shop is open on {list}.", "{person} works on {list}.")),
    ("foods|dishes|items", "food", ("Today we have {list}.", "{person} ate {list}.", "Please buy {list}.")),
    ("drinks", "drink", ("They sell {list}.", "You can have {list}.")),
    ("things|items|objects", "a thing", ("The bag holds {list}.", "{person} lost {list}.", "I need {list}.")),
    ("languages", "language", ("{person} speaks {list}.", "At school we learn {list}.")),
    ("sports|games", "sport", ("{person} plays {list}.", "We like {list}.")),
    ("hobbies", "hobby", ("{person} likes {list}.", "My hobbies are {list}.")),
    ("files", "file", ("The folder holds {list}.", "Please send me {list}.")),
    ("words", "any", ("The secret words are {list}.", "The game has three new words: {list}.")),
    ("months", "month", ("It is cold in {list}.", "{person} was away in {list}.")),
    ("instruments", "instrument", ("{person} plays the {list}.",)),
)

#: Small sums: what is asked and the sign that stands for it.
SUMS = (
    ("What is {a} + {b}?", "+"), ("How much is {a} + {b}?", "+"), ("Add {a} and {b}.", "+"), ("{a} + {b} = ?", "+"),
    ("What is {a} plus {b}?", "+"), ("What is the sum of {a} and {b}?", "+"), ("Compute {a} + {b}.", "+"),
    ("I have {a} {plural} and get {b} more. How many do I have?", "+"),
    ("{person} has {a} coins and finds {b} more. How many coins are there?", "+"),
    ("What is {a} - {b}?", "-"), ("What is {a} minus {b}?", "-"), ("Take {b} from {a}.", "-"),
    ("{a} - {b} = ?", "-"),
    ("There are {a} {plural}. {person} takes {b}. How many are left?", "-"),
    ("What is {a} * {b}?", "*"), ("What is {a} times {b}?", "*"), ("Multiply {a} by {b}.", "*"),
)
SUM_KEYS = "answer result value number total solution out".split()
