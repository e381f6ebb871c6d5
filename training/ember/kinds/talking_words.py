"""Words that only talk needs: what people fear, do, study, suffer from.

A key names the slots, divided by spaces; an item has a form for each of them, divided by slashes.
"""

_LISTS = {
    "insult": "stupid, dumb, useless, silly, boring, annoying, terrible, awful, hopeless, pathetic, lame, bad, lousy, foolish, ridiculous, "
        "worthless, rude, slow, ignorant, clueless, weird, horrible, idiotic, unhelpful",
    "fear": "the dark, heights, thunder, deep water, flying, needles, exams, crowds, elevators, ghosts, being alone, the dentist, "
        "speaking in public, storms, small rooms, long bridges, loud noises, making mistakes, getting lost, failing, the basement, "
        "night trains, steep stairs, fireworks, clowns, big dogs, being late, the phone, strangers, change",
    "illness": "headache, cold, fever, cough, sore throat, toothache, stomach ache, runny nose, backache, stiff neck, earache, "
        "sore knee, bad cold, sprained ankle, blister, swollen finger, rash, migraine",
    "part": "knee, back, head, foot, shoulder, neck, arm, hand, ankle, elbow, wrist, toe, finger, leg, ear, throat, hip",
    "subject": "math, history, biology, chemistry, physics, geography, English, music, art, Latin, French, Spanish, German, "
        "algebra, geometry, economics, philosophy, grammar, spelling, computer science, literature",
    "do doing": "paint/painting, knit/knitting, swim/swimming, draw/drawing, dance/dancing, cook/cooking, bake/baking, sing/singing, "
        "press flowers/pressing flowers, ride a bike/riding a bike, play the piano/playing the piano, play chess/playing chess, "
        "play the guitar/playing the guitar, ski/skiing, skate/skating, juggle/juggling, sew/sewing, climb/climbing, row/rowing, "
        "fish/fishing, garden/gardening, hike/hiking, run/running, read maps/reading maps, take photos/taking photos, "
        "carve wood/carving wood, keep bees/keeping bees, play the violin/playing the violin, play the drums/playing the drums, "
        "surf/surfing, dive/diving, sail/sailing, type fast/typing fast, whistle/whistling, drive/driving, do magic tricks/doing magic tricks, "
        "grow tomatoes/growing tomatoes, make pottery/making pottery, play tennis/playing tennis, play football/playing football, "
        "watch birds/watching birds, fold paper/folding paper, build birdhouses/building birdhouses, do yoga/doing yoga, "
        "play the flute/playing the flute, fix bikes/fixing bikes, collect stamps/collecting stamps, speak {language}/speaking {language}",
    "chore chored": "wash the dishes/washed the dishes, clean the kitchen/cleaned the kitchen, do the laundry/did the laundry, "
        "iron the shirts/ironed the shirts, mow the lawn/mowed the lawn, sweep the floor/swept the floor, water the plants/watered the plants, "
        "take out the trash/took out the trash, tidy my room/tidied my room, clean the windows/cleaned the windows, "
        "wash the car/washed the car, paint the fence/painted the fence, go shopping/went shopping, fix the roof/fixed the roof, "
        "clean the bathroom/cleaned the bathroom, rake the leaves/raked the leaves, do my taxes/did my taxes, "
        "answer my letters/answered my letters, make the beds/made the beds, weed the garden/weeded the garden",
    "event": "interview, exam, driving test, concert, first day of school, first day at work, wedding, race, meeting, speech, "
        "piano lesson, big game, dentist appointment, operation, audition, performance, flight, presentation, math test, "
        "spelling test, job interview, parents' evening, swimming test, chess tournament, school play, school trip",
    "prize": "race, chess game, spelling contest, raffle, school prize, football match, baking contest, quiz, tennis match, bet, "
        "drawing contest, poetry contest, card game, swimming race, tournament, talent show, science fair",
    "machine": "computer, phone, washing machine, fridge, car, bike, printer, oven, toaster, heater, television, camera, radio, "
        "dishwasher, lawn mower, coffee machine, sewing machine, doorbell, laptop, tablet, clock, elevator, boiler",
    "lost": "keys, wallet, phone, glasses, umbrella, passport, ring, scarf, gloves, ticket, watch, earring, homework, school bag, "
        "favorite pen, library book, hat, bus pass, suitcase",
    "drink": "tea, coffee, water, orange juice, apple juice, milk, lemonade, hot chocolate, cocoa, mint tea, tomato juice, ginger tea",
    "sport": "football, tennis, basketball, hockey, volleyball, golf, rugby, baseball, cricket, handball, badminton, table tennis, "
        "swimming, cycling, rowing, judo, running, gymnastics, archery, skiing",
    "idea": "love, time, friendship, hope, patience, silence, luck, courage, work, sleep, peace, happiness, homesickness, kindness, "
        "music, memory, home, childhood, growing old, being late, waiting, laughter, trust, boredom, rain, snow, fog, thunder, "
        "sunshine, dust, moonlight, sand, ice, smoke, bread, tea, coffee, rice, cheese, honey, wool, gold, "
        "homework, housework, gossip, traffic, breakfast, lunch, winter, spring, summer, autumn, school, freedom, history, math",
    "shop sells": "bakery/bread, flower shop/flowers, bookshop/books, tea room/tea, pet shop/food for pets, shoe shop/shoes, "
        "toy shop/toys, bike shop/bikes, cheese shop/cheese, hat shop/hats, music shop/instruments, candy shop/sweets, fish shop/fish, "
        "garden shop/plants, wool shop/wool, lamp shop/lamps, clock shop/clocks, fruit stand/fruit, soap shop/soap, "
        "jewelry shop/rings, paper shop/paper, coffee shop/coffee, pizza place/pizza, soup kitchen/soup, ice cream shop/ice cream, "
        "furniture shop/chairs, cake shop/cakes, tool shop/tools, juice bar/juice, button shop/buttons, kite shop/kites, candle shop/candles",
    "flavor": "ginger, lemon, mint, honey, cinnamon, vanilla, chocolate, basil, coconut, almond, caramel, lime, rosemary, "
        "lavender, nutmeg, orange, raspberry, cherry, apple, maple syrup",
    "filling": "cheese, egg, ham, tomato, cucumber, tuna, chicken, avocado, mushrooms, grilled peppers, peanut butter, hummus, "
        "roasted carrots, apple slices, banana, pickles, smoked fish, spinach, fried onions, beans, blue cheese, pear, radishes, potato salad",
    "loaf": "rye bread, toast, a soft roll, dark bread, white bread, corn bread, a bagel, a bun, flat bread, walnut bread, sourdough",
    "sauce": "mustard, honey, butter, lemon juice, yogurt, pesto, mayonnaise, ketchup, olive oil, hot sauce, plum jam, cream cheese",
    # The short names of `inferno list --catalog`.
    "model": "qwen3:0.6b, qwen3:1.7b, qwen3:4b, qwen3:8b, qwen3:14b, qwen3:30b, qwen3:32b, qwen3-coder:30b, qwen2.5:0.5b, qwen2.5:1.5b, "
        "qwen2.5:3b, qwen2.5:7b, llama3.2:1b, llama3.2:3b, llama3.1:8b, gemma3:1b, gemma3:4b, gpt-oss:20b, phi4-mini:3.8b, phi4:14b, "
        "mistral:7b, mistral-nemo:12b, mistral-small:24b, smollm2:135m, smollm2:360m, smollm2:1.7b, tinyllama:1.1b, deepseek-r1:1.5b, "
        "deepseek-r1:7b, deepseek-r1:8b, deepseek-r1:14b, hermes3:3b, hermes3:8b",
}


def _rows(items: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(item.strip().split("/")) for item in items.split(","))


#: The rows of each list and the place of a slot in them, by the name of the slot.
COLUMNS = {name: (tuple(keys.split()), _rows(items)) for keys, items in _LISTS.items() for name in keys.split()}
