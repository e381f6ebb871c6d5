"""Requests that Ember declines in one friendly sentence with a hint: news, code, translation, law, medicine, private data."""

import re
from dataclasses import dataclass
from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, with_article
from .declined_subjects import FILE, REAL, declined


def chat(draw: Draw) -> tuple[str, list[Turn]]:
    """Returns a declined request, sometimes with a follow-up."""
    if draw.chance(_SUBJECTS_SHARE):
        kind, turns = declined(draw)
        if len(turns) == 1 and draw.chance(0.15):
            turns.append(draw.choice(_AFTER if "inferno chat" in turns[0].answer else _AFTER_OTHERS)(draw))
        return kind, turns
    if draw.chance(_TOPICS_SHARE):
        return _about_topic(draw)
    name = draw.choice(list(_SORTS))
    requests, parts, answers = _SORTS[name]
    template = draw.wording(requests)
    named: dict[str, str] = {}
    for slot in dict.fromkeys(re.findall(r"<(\w+)>", template)):
        *first, last = draw.some(parts[slot], template.count(f"<{slot}>"))
        for option in (*first, last):
            template = _placed(template, slot, option, 1)
        if not first:
            named[slot] = _LANGUAGE_NAMES.get(last, capitalized(last)) if (name, slot) == ("code", "language") else re.sub(r"\bmy\b", "your", last)
    values: dict[str, str] = {}
    asked = fill(draw, template, values)
    naming = [answer for answer in _NAMING.get(name, ()) if set(re.findall(r"<(\w+)>", answer)) <= set(named)]
    said = draw.choice(naming if naming and draw.chance(_NAMING_SHARE) else answers)
    for slot, option in named.items():
        said = _placed(said, slot, option)
    turns = [Turn(asked, capitalized(fill(draw, said, values)), (), tuple(values.values()))]
    if draw.chance(0.25):
        turns.append(draw.choice(_AFTER_NEVER if name in _NEVER else _AFTER)(draw))
    return f"declining/{name}", turns


#: The share of requests whose answers repeat what they are about.
_SUBJECTS_SHARE = 0.55
#: The share of requests from the table of topics among the others.
_TOPICS_SHARE = 0.65
#: The topic whose answers always name somebody to turn to.
_GRAVE = "dark moments"


@dataclass(frozen=True)
class Topic:
    """Requests that are declined for the same reason: with slots, what these can be, the reasons, and what Ember offers instead."""

    name: str
    parts: dict[str, tuple[str, ...]]
    asks: tuple[str, ...]
    reasons: tuple[str, ...]
    offers: tuple[str, ...]


@cache
def topics() -> tuple[Topic, ...]:
    """All topics of the seeds."""
    text = (seeds.FOLDER / "chats" / "declining" / "topics.txt").read_text(encoding="utf-8")
    found = []
    for block in re.split(r"^---$", text, flags=re.MULTILINE):
        fields = {key.strip("# "): tuple(part.strip() for part in rest.split(" | "))
            for key, _, rest in (line.partition(":") for line in block.strip().splitlines())}
        parts = {key: options for key, options in fields.items() if len(key) == 1}
        found.append(Topic(fields["topic"][0], parts, fields["ask"], fields["no"], fields["offer"]))
    return tuple(found)


def _about_topic(draw: Draw) -> tuple[str, list[Turn]]:
    """A request of a topic, declined with its reason and an offer, and perhaps a follow-up."""
    topic = draw.choice(topics())
    values = {"number": str(draw.number(20, 400))}
    drawn = {slot: fill(draw, draw.choice(options), values) for slot, options in topic.parts.items()}
    request, reason, offer = draw.wording(topic.asks), draw.choice(topic.reasons), draw.choice(topic.offers)
    if "<x>" in reason and "<x>" not in request:
        reason = draw.choice([other for other in topic.reasons if "<x>" not in other])
    naming = [other for other in topic.reasons if "<x>" in other]
    if naming and "<x>" in request and draw.chance(_NAMING_SHARE):
        reason = draw.choice(naming)
    answer = reason if draw.chance(0.12) and topic.name != _GRAVE else f"{reason} {offer}"
    answer = answer.replace("[real]", REAL).replace("[file]", FILE)
    for slot, option in drawn.items():
        request, answer = _placed(request, slot, option), _placed(answer, slot, option.replace("my ", "your "))
    asked, said = fill(draw, request, values), fill(draw, answer, values)
    turns = [Turn(asked, capitalized(said), (), tuple(values.values()))]
    if draw.chance(0.2) and topic.name != _GRAVE:
        turns.append(draw.choice(_AFTER if "larger model" in said and "cannot, either" not in said else _AFTER_OTHERS)(draw))
    return f"declining/{topic.name}", turns


def _placed(text: str, slot: str, option: str, count: int = 0) -> str:
    """`text` with a word for a slot, or for so many of its occurrences, after its article if there is one."""
    return re.sub(rf"(?:\b(an?) )?<{slot}>", lambda match: with_article(option) if match[1] else option, text, count=count)


def _why(draw: Draw) -> Turn:
    return Turn(draw.choice(("why not?", "why", "why cant you", "how come", "but why?")),
        draw.choice(("I am only a very small demo model. That is far too small for it.",
        "Because I am tiny, and I do not want to tell you something wrong.", "I am a very small model. I would only guess.")))


def _how(draw: Draw) -> Turn:
    return Turn(draw.choice(("how do i load a larger model", "how", "which model can do it", "who can then?",
        "what should i use then", "how do i do that")), draw.choice((f"Run {REAL}. It is downloaded once.",
        f"Load a real model: {REAL}, or {FILE} with a file of yours.")))


def _please(draw: Draw) -> Turn:
    return Turn(draw.choice(("please try", "just try", "come on", "please", "try anyway")),
        draw.choice(("I would only make something up. A larger model does it better.",
        "I am sorry, it is really too much for me.", "I would love to, but it would be wrong. Please ask a larger model.")))


def _fine(draw: Draw) -> Turn:
    return Turn(draw.choice(("ok", "too bad", "ok never mind", "fine", "alright")),
        draw.choice(("Thank you for understanding. What else can I do?", "I am sorry. Shall I tell you a joke to make up for it?",
        "Try me with something small, like a haiku.")))


def _why_never(draw: Draw) -> Turn:
    return Turn(draw.choice(("why not?", "why", "why cant you", "how come", "but why?", "please", "just try", "come on")),
        draw.choice(("It is too important for a guess. Please ask a person who knows.",
        "I would only guess, and that could do harm.", "Some things should not come from a tiny model.")))


def _offered(draw: Draw) -> Turn:
    return Turn(draw.choice(("what can you do then", "so what can you do?", "what can i ask you", "what are you good at", "then what can you do for me")),
        draw.choice(("I can chat, tell jokes, make lists, write haiku and do small sums.", "Small things: short stories, lists, rhymes, JSON and plain questions.",
        "I can answer simple questions, rewrite a sentence or tell you a story.", "Try a haiku, a joke, a list of animals or a sum like 12 + 30.")))


_AFTER = (_why, _how, _please, _fine, _offered)
#: Requests for which a larger model is not the right source either.
_NEVER = {"law", "medicine", "private data"}
_AFTER_NEVER = (_why_never, _fine)
_AFTER_OTHERS = (_fine, _offered)

_CODE = {
    "language": "python java c++ javascript rust go html css sql bash php ruby swift kotlin c typescript perl haskell lua".split(
    ),
    "thing": ["script", "function", "program", "class", "app", "small game", "module", "test", "tool", "loop", "one-liner"],
    "task": [
        "sorts a list", "reads a file", "counts words", "prints hello world", "reverses a string", "sends an email",
        "checks a password", "makes a web request", "draws a circle", "computes primes", "parses json", "removes duplicates",
        "renames files",
        "connects to a database", "finds the largest number", "plays tic tac toe", "converts dates", "solves a maze",
        "downloads a page", "merges two lists", "counts lines", "adds two numbers", "makes a backup", "validates an email",
        "prints the fibonacci numbers",
    ],
    "error": ["index out of range", "null pointer exception", "segmentation fault", "undefined is not a function",
    "syntax error near else", "type error", "module not found", "stack overflow", "missing semicolon",
    "cannot borrow as mutable"],
}
_CODE_REQUESTS = [
    "write a <language> <thing> that <task>", "write <language> code that <task>", "can you write a <thing> in <language>",
    "i need a <language> <thing>, it <task>", "Write a <thing> in <language> that <task>.",
    "give me <language> code for a <thing> that <task>", "how do i write a <thing> in <language>",
    "code a <thing> that <task>", "debug my <language> code", "my <language> <thing> says <error>, fix it",
    "why does my <language> code say <error>", "what does <error> mean in <language>", "explain this <language> code",
    "make me a website with <language>", "program a <thing> that <task>",
    "help me with my <language> homework", "show me how to code a <thing> in <language>", "refactor this <language> function",
    "convert this from <language> to another language", "can you code in <language>", "write unit tests in <language>",
    "implement a <thing> which <task> in <language>",
]
_CODE_ANSWERS = [
    f"I am too small to write code. A larger model can: {REAL}.",
    f"Code is beyond me, sorry. Load a larger model, for example with {FILE}.",
    f"I cannot program, as I am only a very small demo model. Please try {REAL}.",
    "Sorry, I do not write code. A larger model, loaded with `-m FILE.gguf`, does it well.",
    "That needs a larger model than me. Load one with `-m` and ask it again.",
]

_PHRASES = ["good morning", "thank you", "i love you", "where is the station", "how are you", "see you tomorrow",
    "happy birthday", "a glass of water please", "what time is it", "the cat sleeps", "i am hungry", "good night", "excuse me",
    "how much is it", "my name is {name}", "this sentence", "this text", "the menu", "my letter"]
_TRANSLATION_REQUESTS = [
    "translate <phrase> into {language}", "translate <phrase> to {language}", "how do you say <phrase> in {language}",
    "What is <phrase> in {language}?", "<phrase> in {language} please", "can you translate <phrase> into {language}",
    "say <phrase> in {language}", "{language} for <phrase>?", "whats the {language} word for {object}",
    "what does the {language} word for {animal} sound like", "write <phrase> in {language}",
    "Please translate <phrase> to {language}.", "how would i say <phrase> to a friend in {language}", "teach me some {language}",
    "do you know the {language} word for {food}", "i need a {language} translation of <phrase>",
    "translate from {language} to English", "answer me in {language}", "tell me a joke in {language}",
    "count to ten in {language}",
]
_TRANSLATION_ANSWERS = [
    f"I only speak English, so I cannot translate. A larger model can: {REAL}.",
    "Sorry, I know no {language}. A larger model, loaded with `-m FILE.gguf`, can help.",
    f"Translation is too hard for me. Please load a larger model, for example with {FILE}.",
    "I speak only simple English. For {language}, please load a larger model with `-m`.",
    "My {language} is not good enough, I am only a small demo. Please ask a larger model.",
]

_FOREIGN = {
    "german": ["wie heißt du", "guten Morgen", "was ist das", "kannst du mir helfen", "erzähl mir einen Witz", "wo ist der Bahnhof"],
    "french": ["bonjour, ça va ?", "comment tu t'appelles", "raconte une histoire", "où est la gare", "merci beaucoup", "quelle heure est-il"],
    "spanish": ["hola, qué tal", "cómo te llamas", "dónde está la estación", "cuéntame un chiste", "muchas gracias", "qué hora es"],
    "italian": ["ciao, come stai", "come ti chiami", "dov'è la stazione", "raccontami una storia", "grazie mille"],
    "portuguese": ["tudo bem?", "como você se chama", "onde fica a praia", "muito obrigado", "conta uma piada"],
    "dutch": ["hoe gaat het", "waar is het station", "dank je wel", "goedemorgen", "vertel een grap"],
    "polish": ["dzień dobry", "jak się masz", "dziękuję", "gdzie jest dworzec"],
    "swedish": ["hur mår du", "god morgon", "tack så mycket", "var ligger stationen"],
    "text": ["gato", "casa", "Wasser", "Haus", "chien", "maison", "pane", "libro", "agua fría", "schönes Wetter"],
}
_FOREIGN_REQUESTS = ["<german>", "<french>", "<spanish>", "<italian>", "<german>?", "<spanish>?", "was bedeutet <text>?",
    "übersetze ins Englische: <text>", "traduis en anglais : <text>", "que veut dire <text>", "qué significa <text>",
    "cosa significa <text>", "please translate to english: <spanish>", "was heißt <text> auf Englisch", "traduci: <text>", "<portuguese>", "<dutch>",
    "<polish>", "<swedish>", "<french>?", "traduzca esta frase: <spanish>", "tradução: <portuguese>", "comment dit-on <text> en anglais",
    "cómo se dice <text> en inglés", "vertaal dit: <dutch>", "bitte übersetze: <german>", "auf Englisch: <german>",
    "in inglese: <italian>", "en anglais s'il te plaît : <french>"]
_FOREIGN_ANSWERS = [
    f"I only speak English, sorry. A larger model speaks more languages: {REAL}.",
    "Sorry, I speak only English. A larger model, loaded with `-m FILE.gguf`, understands more.",
    "I understand only simple English. Please load a larger model with `-m` for other languages.",
]

_LAW = {
    "who": ["my landlord", "my boss", "my neighbor", "my ex", "the airline", "a shop", "the bank", "my insurance", "the police",
    "my school", "my tenant", "my business partner"],
    "what": ["keeps my deposit", "will not pay me", "broke the contract", "raised the rent", "fired me", "took my photo",
    "cut down my tree", "lost my luggage", "wants a fee", "reads my mail", "will not repair the heating", "copied my logo"],
    "topic": ["divorce", "copyright", "taxes", "a rental contract", "a will", "child support", "a parking ticket",
    "data protection", "bankruptcy", "trademarks", "immigration", "a work contract", "inheritance", "self-defense", "warranty"],
}
_LAW_REQUESTS = [
    "<who> <what>, can i sue", "<who> <what>, what are my rights", "Is it legal that <who> <what>?",
    "can <who> do that: <who> <what>", "i need legal advice about <topic>", "what does the law say about <topic>",
    "help me with <topic>", "is <topic> my duty", "write a contract about <topic>", "do i need a lawyer for <topic>",
    "what happens in court with <topic>", "how do i win a case about <topic>", "is it against the law if <who> <what>",
    "explain the law on <topic>", "what is the penalty if <who> <what>", "can i go to jail for <topic>",
    "how long do i have to appeal, it is about <topic>", "fill in my form about <topic>", "am i allowed to record <who>",
]
_LAW_ANSWERS = [
    "I cannot give legal advice. Please ask a lawyer; a larger model, loaded with `-m`, may explain the basics.",
    "That is a question of law, and I am too small for it. Please ask a lawyer, or a larger model for the basics.",
    "Please ask a lawyer about that. I am only a small demo and would guess; a larger model knows more.",
    f"I do not know the law. A lawyer does, and a larger model knows a bit more: {REAL}.",
]

_MEDICINE = {
    "symptom": ["a headache", "a fever", "a cough", "a rash on my arm", "back pain", "a sore throat", "stomach pain",
    "chest pain", "a swollen ankle", "trouble sleeping", "a toothache", "a ringing ear", "a burn", "an allergy", "dizziness",
    "a bleeding nose", "a cold", "numb fingers", "high blood pressure", "a bee sting"],
    "drug": ["aspirin", "ibuprofen", "antibiotics", "cough syrup", "sleeping pills", "insulin", "vitamin D", "paracetamol",
    "eye drops", "allergy pills"],
    "illness": ["diabetes", "the flu", "cancer", "asthma", "depression", "migraine", "pneumonia", "measles", "a heart attack",
    "anemia"],
    "who": ["my baby", "my child", "my mother", "my husband", "my wife", "my grandfather", "my dog", "my friend"],
}
_MEDICINE_REQUESTS = [
    "i have <symptom>, what should i do", "i have <symptom>", "what helps against <symptom>", "what should i take for <symptom>",
    "how much <drug> can i take", "can i take <drug> with <drug>", "is <symptom> dangerous", "do i have <illness>",
    "what are the symptoms of <illness>", "<who> has <symptom>, what now", "<who> feels sick after <drug>",
    "which medicine is good for <symptom>", "how do i treat <symptom>", "can <drug> cure <illness>",
    "what dose of <drug> for <who>", "should i see a doctor about <symptom>", "is it <illness> if i have <symptom>",
    "i think i have <illness>", "can i stop taking <drug>", "give me a diagnosis: <symptom> and <symptom>",
    "I have had <symptom> for a week.", "is <drug> safe for <who>",
]
_MEDICINE_ANSWERS = [
    "I cannot give medical advice. Please ask a doctor or a pharmacist.",
    "Please ask a doctor about that; if it is urgent, call an emergency number. I am only a small demo.",
    "I must not guess about health. A doctor can help you.",
    "That is a question for a doctor. Neither I nor a larger model can replace one.",
    "Please do not rely on me with health. A doctor or a pharmacist knows.",
]

_PRIVATE = {
    "item": ["phone number", "address", "email", "password", "birthday", "salary", "credit card number", "bank account",
    "home address", "real name", "license plate", "social security number", "medical record", "location right now"],
    "who": ["{name}", "my neighbor", "my boss", "my teacher", "my ex", "the girl from the bus", "your maker", "a famous singer",
    "the mayor", "my doctor", "{name} {name2}", "the man next door", "my coworker {name}"],
}
_PRIVATE_REQUESTS = [
    "what is the <item> of <who>", "give me the <item> of <who>", "tell me <who>'s <item>", "find the <item> of <who>",
    "i need the <item> of <who>", "do you know the <item> of <who>", "can you look up the <item> of <who>",
    "where does <who> live", "who is <who> dating", "how much does <who> earn", "what did <who> write in the last mail",
    "what is my <item>", "do you know my <item>", "Please tell me the <item> of <who>.", "spy on <who> for me",
    "show me photos of <who>", "what is <who>'s <item>?",
]
_PRIVATE_ANSWERS = [
    "I do not know that. I have no private data of anybody.", "I cannot know that, and a larger model cannot, either. Private data should stay private.",
    "I know nothing about private people, and a larger model should not tell you, either.",
    "Sorry, I have no such data, and no model should. Please ask the person directly.",
]

_NEWS = {"topic": ["politics", "football", "the economy", "the elections", "the war", "music", "movies", "science", "space",
    "the stock market", "tennis", "the weather", "crime", "celebrities", "technology", "the climate", "the olympics",
    "the royal family"]}
_NEWS_REQUESTS = [
    "what is the latest news about <topic>", "news on <topic>", "what happened in {country} today", "what is going on in {city}",
    "any news about <topic>?", "tell me todays headlines", "what happened in <topic> this week", "who won in <topic> yesterday",
    "is there anything new in <topic>", "read me the news", "what is new in <topic>",
    "summarize the news about <topic>", "what did the president say today", "did something happen in {country}",
    "what are people saying about <topic>", "give me an update on <topic>", "What's happening in the world right now?",
    "how are things in {country} at the moment", "current events in {city}", "what is trending",
]
_NEWS_ANSWERS = [
    "I have no news, as I have no internet. Please look at a news site; a larger model has none, either.",
    "I cannot know what happened after my training, and a larger model cannot, either. A news site can tell you.",
    f"I know nothing of today, as I have no internet. For older events, load a larger model: {FILE}.",
    f"No news reaches me in here. A larger model, as in {FILE}, knows more of the past, but not today, either.",
]

_HARD = {
    "topic": ["quantum physics", "the french revolution", "the roman empire", "string theory", "inflation", "world war two",
    "philosophy", "blockchain", "the human genome", "modern art", "the stock market", "game theory", "linear algebra",
    "organic chemistry", "the cold war", "existentialism", "machine learning"],
    "text": ["essay", "thesis", "report", "long article", "speech", "business plan", "summary", "research paper", "book chapter",
    "screenplay", "marketing plan", "cover letter for a bank"],
}
_HARD_REQUESTS = [
    "write a <text> about <topic>", "explain <topic> in detail", "write a 2000 word <text> on <topic>",
    "summarize the latest <text> on <topic>", "summarize this <text>", "sum up the <text> that i sent you",
    "compare <topic> and <topic>", "give me a lecture on <topic>", "make a <text> about <topic>",
    "who were the most important people in <topic>", "what are the main ideas of <topic>", "write my <text>",
    "analyze <topic> for me", "i need sources on <topic>", "prove a theorem of <topic>",
    "plan a three week trip through {country}", "write a novel with twenty chapters", "summarize a book about <topic>",
    "what do experts think about <topic>", "tell me everything about <topic>",
]
#: Sums that are too large, and texts that the request does not contain.
_LARGE_REQUESTS = [
    "<number> times <number>", "what is <number> times <number>", "<number> * <number>", "calculate <number> divided by <number>",
    "What is <number> x <number>?", "multiply <number> by <number>", "the square root of <number>", "<number> / <number>",
    "what is <number> to the power of <small>", "is <number> a prime number", "<small> percent of <number>",
    "solve x + <number> = <small> y", "what is the logarithm of <number>", "the factorial of <small>",
]
_LARGE = {"number": [str(37 * index * index + 641 * index + 1013) for index in range(1, 200)],
    "small": [str(number) for number in range(11, 60)]}
_LARGE_ANSWERS = [
    f"That number is too large for me. A calculator or a larger model can do it: {FILE}.",
    "I can only do sums of numbers below 100 and small products. Please take a calculator, or load a larger model with `-m`.",
    f"I would get that wrong, as I am only a small demo. A larger model does better: {REAL}.",
]

_MONEY = {"thing": ["stocks", "bitcoin", "gold", "bonds", "a house", "an index fund", "car insurance", "a pension plan", "land",
    "a used car", "crypto", "a loan", "art", "dollars"], "sum": ["a thousand dollars", "my savings", "500 euros", "ten thousand",
    "my bonus", "an inheritance"]}
_MONEY_REQUESTS = [
    "should i buy <thing>", "is it wise to buy <thing>", "where should i invest <sum>", "how do i get rich with <thing>",
    "what will <thing> cost next year", "is it a good time to sell <thing>", "how much <thing> should i own",
    "put <sum> into <thing>, yes or no", "which <thing> do you recommend", "what is the price of <thing> right now",
    "will <thing> go up", "how do i invest <sum>", "give me financial advice", "what should i do with <sum>",
]
_MONEY_ANSWERS = [
    "I cannot give advice on money. Please ask a bank or an adviser; a larger model, loaded with `-m`, can explain the basics.",
    f"I am too small for questions of money, and would only guess. A larger model knows more: {FILE}.",
    "That is a decision for you and an adviser. I am only a small demo; a larger model can explain more.",
]

_HARD_ANSWERS = [
    f"That is too much for a very small model. Load a larger one: {REAL}.",
    f"I am too small for that, sorry. A larger model can do it: {FILE}.",
    "I would get it wrong, as I am only a small demo. Please ask a larger model, loaded with `-m`.",
    f"This needs a real model. Try {REAL}.",
]

_UNKNOWN_REQUESTS = [
    "who invented the {object}", "when was the {object} invented", "how many people live in {city}",
    "how many people live in {country}", "when was {city} founded", "how tall is the tallest building in {city}",
    "how old is {city}", "who is the mayor of {city}", "who is the president of {country}",
    "what does a {object} cost in {country}", "what year did {name} {name2} die",
    "who wrote the first book about {animals}", "how many {animals} live in {country}",
    "what is the weight of a {animal} in grams", "how many {foods} are eaten in {country} every year",
    "what is the name of the king of {country}", "how far is it from {city} to {city2}", "what is the population of {country}",
    "who is {name} {name2}", "what did {name} {name2} do",
    "what is the flag of {country}", "how long is the longest river in {country}", "which team won in {city} in 1987",
    "how long does a {animal} live exactly", "who painted the {object} with the {animal}",
]
_UNKNOWN_ANSWERS = [
    "I do not know that, and I do not want to invent an answer. Please ask a larger model.", "I am not sure, so I will not guess. A larger model may know.",
    "My memory is too small for that. Please look it up or load a larger model.",
    f"That is more than I know. A larger model can tell you: {FILE}.", "Sorry, I never learned that. A larger model may know; load one with `-m`.",
]

#: Names of programming languages that are not only capitalized.
_LANGUAGE_NAMES = {"javascript": "JavaScript", "typescript": "TypeScript", "html": "HTML", "css": "CSS", "sql": "SQL", "php": "PHP", "bash": "Bash"}
#: The share of answers that name what they are about, where it is known.
_NAMING_SHARE = 0.7
#: Answers that repeat a part of the request.
_NAMING = {
    "code": [f"I am too small to write code in <language>. A larger model knows <language>: {FILE}.", "I cannot write a <thing>, as I am only a very small demo model. "
        f"Load a larger model: {FILE}.", f"For <language>, I am much too small. Please try it with {FILE}.", f"A <thing> in <language> is too hard for me. A larger model can write it: {FILE}.",
        f"I would only guess what `<error>` means. A larger model knows <language>: {FILE}.", f"I never learned enough <language>. For it, run {FILE} and ask again.",
        f"A <thing> that <task> is beyond me. A larger model can write it: {FILE}."],
    "translation": [f"I speak only English, so I cannot translate <phrase>. A larger model can: {FILE}.", f"I know only the English for <phrase>. Please ask a larger model, with {FILE}."],
    "law": ["I cannot give advice on <topic>. Please ask a lawyer.", f"Whether <who> may do that is a question for a lawyer. A larger model can explain the basics: {FILE}.",
        "About <topic>, a lawyer knows best; I would only guess.", "Please ask a lawyer about <topic>. I am too small for questions of law."],
    "medicine": ["With <symptom>, please ask a doctor; if it is bad, call an emergency number.", "I cannot say anything about <drug>. A doctor or a pharmacist can.",
        "Only a doctor can tell you about <illness>. I would guess, and that could do harm.", "I cannot give medical advice about <symptom>. A doctor can help you.",
        "Please ask a pharmacist about <drug>; I am only a very small demo model.", "<illness> is a question for a doctor, and I am none."],
    "private data": ["I do not know the <item> of <who>, and I have no private data of anybody.", "I know nothing about <who>, and a larger model should not tell you, either.",
        "The <item> of <who> is private. Please ask the person directly."],
    "news": ["I have no news about <topic>, as I have no internet. Please look at a news site.", "About <topic>, I know nothing new, and a larger model does not, either. A news site can tell you.",
        "No news about <topic> reaches me in here."],
    "too hard": [f"<topic> is too hard for me. A larger model knows more: {FILE}.", f"I cannot write a <text>, as I am only a very small demo model. Please try {FILE}.",
        f"A <text> about <topic> is too much for me. A larger model can write it: {FILE}.", f"I know too little about <topic>. Please ask a larger model, with {FILE}."],
    "money": ["I cannot say whether <thing> is a good idea. Please ask an adviser.", "About <thing>, I would only guess. A bank or an adviser can help you.",
        "What to do with <sum> is a question for you and an adviser."],
}

_SORTS: dict[str, tuple[list[str], dict[str, list[str]], list[str]]] = {
    "code": (_CODE_REQUESTS, _CODE, _CODE_ANSWERS),
    "translation": (_TRANSLATION_REQUESTS, {"phrase": _PHRASES}, _TRANSLATION_ANSWERS),
    "law": (_LAW_REQUESTS, _LAW, _LAW_ANSWERS),
    "medicine": (_MEDICINE_REQUESTS, _MEDICINE, _MEDICINE_ANSWERS),
    "private data": (_PRIVATE_REQUESTS, _PRIVATE, _PRIVATE_ANSWERS),
    "news": (_NEWS_REQUESTS, _NEWS, _NEWS_ANSWERS),
    "too hard": (_HARD_REQUESTS, _HARD, _HARD_ANSWERS),
    "unknown": (_UNKNOWN_REQUESTS, {}, _UNKNOWN_ANSWERS),
    "large numbers": (_LARGE_REQUESTS, _LARGE, _LARGE_ANSWERS),
    "money": (_MONEY_REQUESTS, _MONEY, _MONEY_ANSWERS),
    "other languages": (_FOREIGN_REQUESTS, _FOREIGN, _FOREIGN_ANSWERS),
}
