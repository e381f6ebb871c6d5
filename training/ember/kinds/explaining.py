"""Explanations, jokes, haiku and short poems, with follow-ups."""

import re

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, number_word, plural, with_article
from .facts_asking import asked

#: Follow-ups to an explanation, with answers that fit any.
_SHORTER = ["shorter please", "make it shorter", "in one sentence", "short version?", "can you say that in one sentence"]
_HAIKU_ABOUT = ["write a haiku about {t}", "haiku about {t}", "a haiku about {t} please", "can you write a haiku about {t}",
    "Please write a haiku about {t}.", "make a haiku on {t}", "haiku: {t}", "give me a haiku about {t}",
    "compose a haiku about {t}", "i would like a haiku about {t}"]
_POEM_ABOUT = ["write a poem about {t}", "a short poem about {t}", "poem about {t}", "can you write a poem about {t}",
    "write me a few lines about {t}", "make a poem about {t} please", "a rhyme about {t}", "please write a short poem about {t}",
    "compose a poem about {t}", "i want a poem about {t}", "four lines about {t}"]
_JOKE_ABOUT = ["tell me a joke about {t}", "a joke about {t} please", "do you know a joke about {t}", "joke about {t}",
    "make a joke about {t}", "got a joke about {t}?", "something funny about {t}"]
_NOW_ABOUT = ["now about {t}", "one about {t}", "and about {t}?", "another one about {t}", "the same about {t}"]
_AGAIN = ["say that again", "again please", "can you repeat that", "what?", "sorry, what did you say", "repeat please"]


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns turns of one kind."""
    kind, maker = draw.kind("explaining", _MAKERS)
    return kind, maker(draw)


def explain(draw: Draw) -> list[Turn]:
    """An explanation in one to three sentences."""
    row = draw.choice(seeds.facts("explain"))
    if draw.chance(0.45):
        question = asked(draw, ["{q}", "{q}?", "can you tell me {q}", "hey, {q}?", "do you know {q}", "i want to know: {q}?",
            "my kid asks {q}"], q=row["ask"])
    else:
        question = asked(draw, ["explain {t}", "Explain {t}.", "explain {t} please", "can you explain {t}",
            "Can you explain {t} to me?", "tell me about {t}", "explain {t} in simple words", "what do you know about {t}",
            "explain {t} like i am five", "how would you explain {t}", "explain {t} shortly", "i do not understand {t}",
            "please explain {t} to a child"], t=row["topic"])
    turns = [Turn(question, row["answer"])]
    sentences = row["answer"].split(". ")
    if len(sentences) > 1 and draw.chance(0.2):
        turns.append(Turn(asked(draw, _SHORTER), sentences[0].rstrip(".") + "."))
    elif draw.chance(0.08):
        turns.append(Turn(asked(draw, _AGAIN), row["answer"]))
    return turns


#: Requests for another wording of an explanation.
_DIFFERENTLY = ["say it differently", "in other words?", "can you say that another way", "explain it another way", "another explanation please", "i did not get that",
    "once more, with other words", "huh?"]


def how(draw: Draw) -> list[Turn]:
    """How something simple comes about, in one of two wordings, and in the other one."""
    rows = seeds.facts("how")
    row = draw.choice(rows)
    turns = [_how_turn(draw, row)]
    while draw.chance(0.3) and len(turns) < 4:
        if draw.chance(0.45) and turns[-1].answer in (row["answer"], row["other"]):
            other = row["other"] if turns[-1].answer == row["answer"] else row["answer"]
            wordings = _DIFFERENTLY + (_SHORTER if len(other) < len(turns[-1].answer) - 20 else [])
            turns.append(Turn(asked(draw, wordings), other))
            if draw.chance(0.5):
                break
        row = draw.choice([other for other in rows if other is not row])
        turns.append(_how_turn(draw, row, draw.choice(("and ", "and ", "ok, ", ""))))
    return turns


#: Topics that come about by themselves, so that one can ask for their causes.
_CAUSED = frozenset("rain; wind; day and night; ice; the seasons; snow; fog; dew; frost; hail; clouds; a rainbow; thunder; lightning; a storm; waves; the tides; "
    "moonlight; a solar eclipse; shadows; an echo; mountains; an earthquake; rust; hunger; thirst; hiccups; goose bumps; a shooting star; a traffic jam; "
    "friction; heat; sound".split("; "))


def _how_turn(draw: Draw, row: seeds.Row, start: str = "") -> Turn:
    question = start + draw.choice(row["asks"].split(" / "))
    if row["topic"] in _CAUSED and draw.chance(0.25):
        question = start + asked(draw, ["what causes {t}", "explain {t}", "explain to me {t}", "tell me about the cause of {t}", "i want to understand {t}", "the cause of {t}",
            "explain the cause of {t}", "what is behind {t}", "{t}, how does that come about", "tell me how we get {t}"], t=row["topic"])
    wordings = ["{q}", "{Q}?", "{q}?", "{q}", "{q}?", "hey, {q}?", "my kid asks: {q}", "in simple words, {q}?", "{q}, explain it simply", "quick question: {q}?",
        "{q} please explain", "a child wants to know: {q}?", "i always wondered, {q}?", "explain: {q}", "short answer please: {q}", "{Q}? I forgot.",
        "for school: {q}", "so {q}", "tell me, {q}?"]
    return Turn(asked(draw, wordings, q=question, Q=capitalized(question)), row["answer"] if draw.chance(0.6) else row["other"])


def joke(draw: Draw) -> list[Turn]:
    """A joke, perhaps about something, and another one."""
    rows = seeds.facts("jokes")
    known = [row for row in rows if row["topic"] != "riddle"][:_JOKES]
    row = draw.choice(rows)
    topics = {"riddle", "ember", "work", "numbers"}
    about = row["topic"] not in topics and draw.chance(0.4)
    if row["topic"] == "riddle":
        return _riddle(draw, row)
    if about:
        turns = [Turn(asked(draw, _JOKE_ABOUT, t=_topic(row["topic"])), _told(row))]
    else:
        row = draw.choice(known)
        turns = [Turn(asked(draw, ["tell me a joke", "Tell me a joke!", "joke", "joke please", "a joke", "do you know a joke",
            "make me laugh", "say something funny", "can you tell a joke", "i want to hear a joke", "got any jokes?",
            "know any good jokes", "another joke", "tell us a joke", "be funny", "crack a joke", "give me a joke",
            "one joke please", "i need a laugh", "tell joke"]), _told(row))]
    told = [row]
    while draw.chance(0.5) and len(turns) < 5:
        # Jokes follow each other in one order: which one comes next can be learned.
        row = known[(known.index(row) + 1) % len(known)] if row in known else draw.choice(known)
        told.append(row)
        turns.append(Turn(asked(draw, ["another one", "one more", "another", "another one please", "more", "again",
            "tell me another", "next one", "haha, another one", "lol one more", "a different one", "and another?",
            "not funny, another one", "a better one please"]), _told(row)))
    if draw.chance(0.15):
        turns.append(Turn(asked(draw, ["haha", "lol", "that was funny", "good one", "hahaha nice"]),
            draw.choice(["I am glad that you like it!", "Thank you! I have more of them.", "Ha! Do you want another one?"])))
    return turns


#: Jokes that are told when no topic is named.
_JOKES = 70


def _told(row: seeds.Row) -> str:
    return f"{row['question']} {row['punchline']}"


_TOPICS = {
    "egg": "eggs", "house": "the house", "fruit": "fruit", "food": "food", "school": "school", "sea": "the sea",
    "body": "the body", "farm": "a farm", "weather": "the weather", "snow": "snow",
    "sun": "the sun", "moon": "the moon", "space": "space", "music": "music", "sport": "sports", "travel": "travel",
    "coffee": "coffee", "computer": "computers", "fish": "fish", "sheep": "sheep",
}


def _topic(topic: str) -> str:
    return _TOPICS.get(topic, plural(topic))


def _riddle(draw: Draw, row: seeds.Row) -> list[Turn]:
    """A riddle with a guess: right, wrong, or given up."""
    answer = row["punchline"].rstrip(".")
    turns = [Turn(asked(draw, ["tell me a riddle", "a riddle please", "give me a riddle", "do you know a riddle", "riddle",
        "ask me a riddle", "lets do a riddle"]), row["question"])]
    form = draw.number(0, 2)
    small = answer[0].lower() + answer[1:]
    if form == 0:
        turns.append(Turn(asked(draw, ["{a}?", "{a}", "is it {a}", "i think {a}", "thats {a}"], a=small),
            draw.choice([f"Yes, {small}! Well done.", f"Right! It is {small}.",
            f"Correct, {small}!"]) if not small.startswith("your") else f"Right, {small}!"))
    elif form == 1:
        wrong = draw.choice(["a cat", "a house", "the moon", "a shoe", "water", "a tree", "a book"])
        turns.append(Turn(asked(draw, ["{a}?", "{a}", "is it {a}"], a=wrong), f"Not quite. The answer is {small}."))
    else:
        turns.append(Turn(asked(draw, ["i dont know", "no idea", "tell me", "what is it", "i give up", "whats the answer"]),
            f"The answer is {small}."))
    return turns


def haiku_about_a_thing(draw: Draw) -> list[Turn]:
    """A haiku about any small thing, in a frame that has room for a word of its length."""
    turns: list[Turn] = []
    frames = draw.some(seeds.haiku_frames(), len(seeds.haiku_frames()))
    word, syllables = _haiku_word(draw)
    for number in range(1 + draw.chance(0.3) + draw.chance(0.1)):
        if number:
            word, syllables = _haiku_word(draw)
        slot = f"{{{syllables}}}"
        frame = next(frame for frame in frames if slot in frame)
        frames.remove(frame)
        text = fill(draw, frame.replace(slot, "{x}"), {"x": word})
        wordings = _HAIKU_ABOUT if number == 0 else _NOW_ABOUT
        turns.append(Turn(asked(draw, wordings, t=_meant(draw, word)), text))
    return turns


def _haiku_word(draw: Draw) -> tuple[str, str]:
    """A word with its number of syllables: from the table, or any thing or animal, whose syllables are counted by its vowels."""
    if draw.chance(0.3):
        row = draw.choice(seeds.facts("haiku_words"))
        return row["word"], row["syllables"]
    while not 1 <= (count := _syllables(word := draw.word(draw.choice(("thing", "animal"))))) <= 3 or not word.isalpha():
        pass
    return word, str(count)


def _syllables(word: str) -> int:
    """The number of groups of vowels, without a silent e at the end."""
    silent = word.endswith("e") and not re.search(r"([^aeiouy]l|[aeiouy])e$", word)
    return len(re.findall(r"[aeiouy]+", word)) - silent


def _meant(draw: Draw, word: str) -> str:
    """A thing as somebody asks for it: mostly `a kettle`, or `my kettle`, `the kettle`, `kettles`."""
    form = draw.rng.random()
    return (with_article(word) if form < 0.55 else f"my {word}" if form < 0.75 else f"the {word}" if form < 0.9
        else plural(word))


def poem_about_a_thing(draw: Draw) -> list[Turn]:
    """A poem about any thing or animal."""
    while len(thing := draw.word(draw.choice(("thing", "animal")))) > 9 or " " in thing:
        pass
    text = fill(draw, draw.choice(seeds.poem_frames()), {"x": thing})
    return [Turn(asked(draw, _POEM_ABOUT, t=_meant(draw, thing)), text, (thing,))]


def lines_about(draw: Draw) -> list[Turn]:
    """Two or four lines about a thing, an animal or the topic of a poem."""
    if draw.chance(0.5):
        known = [made for made in seeds.poems() if made[1].count("\n") == 3]
        topic, text = draw.choice(known)
        shown = "yourself" if topic == "a small model" else topic
        protected: tuple[str, ...] = ()
    else:
        while len(topic := draw.word(draw.choice(("thing", "animal")))) > 9 or " " in topic:
            pass
        text = fill(draw, draw.choice([frame for frame in seeds.poem_frames() if frame.count("\n") == 3 and "x}" in frame.split("\n")[0]]),
            {"x": topic})
        shown, protected = _meant(draw, topic), (topic,)
    count = draw.choice((2, 4, 4))
    wordings = ["{n} lines about {t}", "write {n} lines about {t}", "Write {n} lines about {t}.", "a poem of {n} lines about {t}",
        "a poem with {n} lines about {t}", "a poem about {t} in {n} lines", "{n} rhyming lines about {t} please",
        "poem about {t}, {n} lines", "make {n} lines on {t}"]
    return [Turn(asked(draw, wordings, n=draw.choice((number_word(count), str(count))), t=shown),
        "\n".join(text.split("\n")[:count]), protected)]


def no_joke(draw: Draw) -> list[Turn]:
    """A joke about an unknown topic: says so and tells another one."""
    topics = " ".join(_TOPICS.values()) + " ".join(row["topic"] for row in seeds.facts("jokes"))
    while (thing := draw.word(draw.choice(("thing", "job", "animal")))) in topics:
        pass
    row = draw.choice([row for row in seeds.facts("jokes") if row["topic"] != "riddle"])
    start = draw.choice((f"I know no joke about {plural(thing)}, but here is another: ",
        f"None about {plural(thing)} comes to mind, but I have this one: "))
    return [Turn(asked(draw, _JOKE_ABOUT, t=plural(thing)), start + _told(row), (plural(thing),))]


def haiku(draw: Draw) -> list[Turn]:
    """A haiku, perhaps of a topic, and another one."""
    known = seeds.haiku()
    topic, text = known[0] if draw.chance(0.1) else draw.choice(known)
    if draw.chance(0.65):
        question = asked(draw, _HAIKU_ABOUT, t=_poem_topic(draw, topic))
    else:
        question = asked(draw, ["write a haiku", "haiku", "a haiku please", "can you write a haiku", "write me a haiku",
            "Please write a haiku.", "make a haiku", "tell me a haiku", "i want a haiku", "do you know a haiku"])
    turns = [Turn(question, text)]
    while draw.chance(0.3) and len(turns) < 4:
        if draw.chance(0.5):
            other, text = draw.choice([made for made in known if made[1] != text])
            turns.append(Turn(asked(draw, _NOW_ABOUT, t=_poem_topic(draw, other)), text))
            topic = other
        else:
            topic, text = known[([made[1] for made in known].index(text) + 1) % len(known)]
            turns.append(Turn(asked(draw, ["another one", "one more", "another haiku", "again", "write another one"]), text))
    return turns


_WITHOUT_ARTICLE = set(
    "rain snow winter spring summer autumn fall coffee tea bread food school love home time music silence peace hope sleep fog "
    "work family money happiness sadness travel sand sunset sunrise".split()
)
_WITH_THE = set("sea ocean moon stars night morning evening sun wind sky library city market park".split())


def _poem_topic(draw: Draw, topic: str) -> str:
    """Returns a topic as it appears in a request."""
    if topic == "ember":
        return "yourself"
    if topic in _WITHOUT_ARTICLE or topic == "stars":
        return topic
    if topic in _WITH_THE:
        return f"the {topic}"
    return with_article(topic)


def poem(draw: Draw) -> list[Turn]:
    """A short poem of a topic, another one, or half of it."""
    known = seeds.poems()
    topic, text = draw.choice(known)
    if draw.chance(0.75):
        shown = "yourself" if topic == "a small model" else topic
        question = asked(draw, _POEM_ABOUT, t=shown)
    else:
        question = asked(draw, ["write a poem", "a poem please", "poem", "can you write a poem", "write me a poem",
            "tell me a poem", "a short poem", "do you know a poem", "make a rhyme", "recite something"])
    turns = [Turn(question, text)]
    if draw.chance(0.25):
        form = draw.number(0, 2)
        if form == 0:
            turns.append(Turn(asked(draw, ["shorter", "make it shorter", "only the first two lines", "shorter please",
                "just two lines"]), "\n".join(text.split("\n")[:2])))
        else:
            other, text = draw.choice([made for made in known if made[1] != text])
            turns.append(Turn(asked(draw, ["now one about {t}", "and about {t}?", "another one, about {t}",
                "one about {t} please"], t="yourself" if other == "a small model" else other), text))
    return turns


_MAKERS = {"explain": (explain, 36), "how": (how, 44), "joke": (joke, 30), "no joke": (no_joke, 4), "haiku": (haiku, 26),
    "haiku about a thing": (haiku_about_a_thing, 22), "poem": (poem, 16), "poem about a thing": (poem_about_a_thing, 14),
    "lines about": (lines_about, 14)}
