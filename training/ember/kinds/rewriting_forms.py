"""Sentences composed of a subject, a verb and what follows it, in all forms: tenses, the passive, another person, joined, corrected.

The forms of the verbs are those of `seeds/words/verbs.tsv`, so that each is right by the table.
"""

import re
from dataclasses import dataclass
from functools import cache

from .. import seeds
from ..chat import Turn
from ..draw import Draw
from ..fill import fill
from ..grammar import capitalized, plural, with_article
from .facts_asking import asked

#: Verbs with what can follow them; where an object follows, it stands in angle brackets.
_AFTER_VERBS = """
bake <some bread> | bake <a cake for {name}> | borrow <a {trinket}> | break <the {trinket}> | bring <some {foods}> | brush <the {critter}> | build <a small house> | bury <the {trinket}>
buy <a {trinket}> | buy <some {foods}> | call <{name}> | carry <the {trinket}> | catch <a ball> | choose <the {color} {trinket}> | clean <the {trinket}> | climb <the hill>
close <the door> | collect <old coins> | cook <some {foods}> | copy <the letter> | count <the {foods}> | cross <the bridge> | cut <the {foods}> | deliver <the parcel>
describe <the {trinket}> | dig <a hole> | draw <a {critter}> | drink <a cup of tea> | drive <a red car> | drop <the {trinket}> | eat <some {foods}> | empty <the bucket>
enjoy <the concert> | explain <the rules> | feed <the {critter}> | fetch <the {trinket}> | fill <the bottle> | find <a {trinket}> | fix <the {trinket}> | follow <the {critter}>
forget <the {trinket}> | gather <wood> | guard <the house> | hear <a noise> | help <{name}> | hide <the {trinket}> | hold <the {trinket}> | hug <{name}>
invite <{name}> | iron <the shirts> | kick <the ball> | knit <a scarf> | know <the answer> | lend <the {trinket} to {name}> | lift <the box> | light <a candle>
like <{foods}> | lock <the door> | lose <the {trinket}> | love <{foods}> | make <some soup> | meet <{name}> | mend <the fence> | miss <the bus> | move <the chair>
need <a new {trinket}> | notice <the {critter}> | offer <some {foods}> | open <the window> | order <some {foods}> | own <a {critter}> | pack <the suitcase> | paint <the {trinket}>
pay <the bill> | peel <the {foods}> | pick <some {foods}> | plant <a tree> | play <the piano> | polish <the {trinket}> | pour <the tea> | prepare <dinner>
print <the ticket> | pull <the cart> | push <the {trinket}> | read <a letter> | remember <the song> | repair <the {trinket}> | rescue <the {critter}> | ride <a horse>
ring <the bell> | save <the {critter}> | see <a {critter}> | sell <the {trinket}> | send <a letter to {name}> | serve <some {foods}> | sew <a dress> | share <the {foods}>
sharpen <the knife> | sign <the paper> | sing <a song> | solve <the puzzle> | steal <the {foods}> | sweep <the floor> | taste <the soup> | teach <the children> | tell <a story>
throw <the ball> | touch <the {critter}> | use <a {trinket}> | visit <{name}> | want <a {trinket}> | wash <the dishes> | watch <the {critter}> | water <the plants> | wear <a {color} hat>
have <a {critter}> | have a headache | have two {foods} | do <the dishes> | do <the homework> | go to school | go home | go to work | go to the cinema | get up at six | get <a letter>
come home late | take <the bus> | take <a photo> | say hello to {name} | feel happy | make <a cake> | play football | play in the garden | play chess with {name} | eat breakfast
drink coffee | drink too much tea | buy new shoes | catch a cold | teach English | run every morning | ride to the {place} | sing in the bath | sit on the floor | sleep badly
win <the game> | wrap <the gift> | write <a letter>
arrive in {city} | dance in the rain | fall asleep at nine | go to {city} | go to the {place} | hurry to the station | jump over the fence | laugh at the joke | leave at noon
listen to {name} | live in {city} | look at the moon | play with the {critter} | rest under a tree | return to {city} | run to the {place} | sit next to {name} | sleep in the garden
smile at {name} | speak to {name} | speak {language} | stand behind the {place} | stay at home | swim in the lake | talk about {foods} | think about {name} | travel to {country} | wait for {name}
wake up early | walk to the {place} | wave to {name} | work as a {job} | work in {city} | worry about {name} | dream of {country} | forget about {name} | come from {country} | begin at eight
"""

_ONE = ("he", "she", "{name2}", "my {relative}", "the {job}", "the {critter2}", "my friend", "the old man", "our neighbor", "a young woman", "the {adjective} {critter2}", "your {relative}")
_MANY = ("we", "they", "the children", "I", "you", "my friends", "{name2} and {name3}", "the neighbors", "the teachers", "my parents", "two doctors", "our {relative}s", "the boys", "some people")
_BE = {"I": ("am", "was")}
_OBJECT_OF = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them", "you": "you"}


@dataclass(frozen=True)
class Sentence:
    """A subject, whether it is one, the forms of its verb, and what follows, of which the first part may be an object."""

    subject: str
    single: bool
    verb: seeds.Row
    rest: str
    thing: str

    def having(self, form: str) -> str:
        """The sentence with its verb in a form, without a full stop."""
        one = self.single
        be, been = _BE.get(self.subject, ("is", "was") if one else ("are", "were"))
        verb, negation = self.verb, "does not" if one else "do not"
        said = {
            "present": verb["third person"] if one else verb["verb"], "past": verb["past"], "future": f"will {verb['verb']}",
            "negative": f"{negation} {verb['verb']}", "past negative": f"did not {verb['verb']}", "future negative": f"will not {verb['verb']}",
            "continuous": f"{be} {verb['ing']}", "past continuous": f"{been} {verb['ing']}", "perfect": f"{'has' if one else 'have'} {verb['participle']}",
            "can": f"can {verb['verb']}", "must": f"must {verb['verb']}", "wrong person": verb["verb"] if one else verb["third person"],
            "past with did": f"did not {verb['past']}", "can with s": f"can {verb['third person']}", "perfect with past": f"{'has' if one else 'have'} {verb['past']}",
            "no ing": f"{be} {verb['verb']}", "don't": f"{'do not' if one else 'does not'} {verb['verb']}",
        }[form]
        return f"{self.subject} {said} {self.rest}"

    def passive(self) -> str:
        """The past tense with the object first, without a full stop."""
        first = self.thing.split()[-1]
        many = first.endswith("s") and self.thing.split()[0] in ("some", "the", "old") and not first.endswith("ss")
        by = _OBJECT_OF.get(self.subject, self.subject)
        tail = self.rest.removeprefix(self.thing)
        return f"{self.thing} {'were' if many else 'was'} {self.verb['participle']}{tail} by {by}"


@cache
def _verbs() -> dict[str, seeds.Row]:
    return {row["verb"]: row for row in seeds.words("verbs")}


@cache
def _predicates() -> tuple[str, ...]:
    found = tuple(part.strip() for line in _AFTER_VERBS.strip().splitlines() for part in line.split("|"))
    return tuple(part for part in found if part.split()[0] in _verbs())


def sentence(draw: Draw, with_object: bool = False) -> Sentence:
    """A sentence with its slots filled."""
    single = draw.chance(0.6)
    values: dict[str, str] = {}
    predicate = draw.choice([part for part in _predicates() if "<" in part and "{name}" not in part] if with_object else _predicates())
    verb, _, rest = predicate.partition(" ")
    subject = fill(draw, draw.choice(_ONE if single else _MANY), values)
    rest = fill(draw, rest, values)
    thing = re.search(r"<(.*?)>", rest)
    return Sentence(subject, single, _verbs()[verb], re.sub(r"[<>]", "", rest), thing[1] if thing else "")


def ended(text: str, sign: str = ".") -> str:
    """`text` with a capital and its last sign."""
    return capitalized(text) + sign


def _typed(draw: Draw, text: str) -> str:
    """A sentence as it may be given: whole, or without its capital and its full stop."""
    return draw.choice((ended(text), ended(text), text, f'"{ended(text)}"'))


_FORMS = {
    "past": ["put this in the past: {t}", "past tense: {t}", "rewrite in the past tense: {t}", "change to the past tense: {t}", "{t} in the past tense",
        "write this as if it was yesterday: {t}", "what is the past tense of this: {t}", "Rewrite in past tense: {t}", "turn this into past tense: {t}"],
    "future": ["put this in the future: {t}", "future tense: {t}", "rewrite in the future tense: {t}", "{t} in the future tense",
        "write this as if it was tomorrow: {t}", "change to the future: {t}", "Rewrite in future tense: {t}"],
    "present": ["put this in the present: {t}", "present tense: {t}", "rewrite in the present tense: {t}", "{t} in the present tense",
        "change to the present tense: {t}", "Rewrite in present tense: {t}"],
    "negative": ["make this negative: {t}", "make it negative: {t}", "negate: {t}", "rewrite with not: {t}", "the negative form of: {t}",
        "say that it is not so: {t}", "Turn this into a negative sentence: {t}"],
    "continuous": ["put this in the present continuous: {t}", "rewrite with ing: {t}", "use the ing form: {t}", "say that it is happening now: {t}"],
    "perfect": ["put this in the present perfect: {t}", "present perfect: {t}", "rewrite with have: {t}"],
    "can": ["rewrite with can: {t}", "add can: {t}", "use can in this sentence: {t}"], "must": ["rewrite with must: {t}", "add must: {t}"],
}
_NEXT = {"past": ["now in the past", "and in the past tense?", "past tense please", "and yesterday?"], "future": ["now in the future", "and in the future?",
    "future tense", "and tomorrow?"], "present": ["and in the present?", "now in the present tense"], "negative": ["now with not", "and negative?", "negative please"],
    "continuous": ["and with ing?", "now with ing"], "perfect": ["and in the present perfect?"], "can": ["and with can?"], "must": ["and with must?"]}
#: The forms that a sentence is given in, by the form that is asked for.
_GIVEN = {"past": ("present", "present", "future"), "future": ("present", "past"), "present": ("past", "future"), "negative": ("present", "past", "future"),
    "continuous": ("present",), "perfect": ("present", "past"), "can": ("present",), "must": ("present",)}
_NEGATED = {"present": "negative", "past": "past negative", "future": "future negative"}


def forms(draw: Draw) -> list[Turn]:
    """A sentence in another tense or form, and in yet another one."""
    one = sentence(draw)
    wanted = draw.rng.choices(list(_FORMS), (8, 5, 3, 5, 2, 1, 1, 1))[0]
    given = draw.choice(_GIVEN[wanted])
    shown = _typed(draw, one.having(given))
    answer = one.having(_NEGATED[given] if wanted == "negative" else wanted)
    turns = [Turn(asked(draw, _FORMS[wanted], t=shown), ended(answer), (shown,))]
    if wanted != "negative" and draw.chance(0.35):
        other = draw.choice([form for form in ("past", "future", "present", "negative") if form != wanted])
        form = _NEGATED.get(wanted, "") if other == "negative" else other
        if form:
            turns.append(Turn(asked(draw, _NEXT[other]), ended(one.having(form))))
    return turns


def passive(draw: Draw) -> list[Turn]:
    """What somebody did, in the passive, or the other way round."""
    one = sentence(draw, with_object=True)
    if one.verb["verb"] in ("want", "need", "like", "love", "own", "miss", "know", "see", "win") or " and " in one.subject:
        return forms(draw)
    active, turned = ended(one.having("past")), ended(one.passive())
    if draw.chance(0.65):
        return [Turn(asked(draw, ["make this passive: {t}", "put this in the passive: {t}", "passive voice: {t}", "rewrite in the passive voice: {t}"], t=active), turned,
            (active,))]
    return [Turn(asked(draw, ["make this active: {t}", "active voice: {t}", "rewrite in the active voice: {t}"], t=turned), active, (turned,))]


_TIMES = {"past": ["yesterday", "last week", "last night", "two days ago", "last year", "an hour ago", "in 2019", "last summer", "last {Day}"],
    "future": ["tomorrow", "next week", "next year", "in two days", "tomorrow morning", "next {Day}", "soon"],
    "present": ["every day", "every morning", "often", "on {Day}s", "every week", "all the time"], "continuous": ["right now", "at the moment", "now"]}
#: The wrong forms that stand for a right one.
_WRONG = {"past": ("present", "wrong person", "future", "perfect with past"), "future": ("past", "present", "wrong person"), "present": ("wrong person", "wrong person"),
    "continuous": ("no ing", "past"), "past negative": ("past with did",), "can": ("can with s",), "perfect": ("perfect with past",), "negative": ("don't",)}


def _mistake(draw: Draw) -> tuple[str, str]:
    """A sentence with one wrong form of its verb, and the same with the right one."""
    one = sentence(draw)
    right = draw.rng.choices(list(_WRONG), (6, 3, 6, 2, 3, 2, 2, 3))[0]
    fitting = [form for form in _WRONG[right] if one.having(form) != one.having(right)]
    if not fitting or one.verb["past"] == one.verb["participle"] and right == "perfect":
        return _mistake(draw)
    wrong = draw.choice(fitting)
    when = fill(draw, draw.choice(_TIMES[right]), {}) if right in _TIMES and (right != "present" or draw.chance(0.4)) else ""
    short = draw.chance(0.6)
    first = when and draw.chance(0.3) and when not in ("soon", "often")
    said = {form: _with_short_forms(one.having(form)) if short else one.having(form) for form in (wrong, right)}
    texts = [f"{when} {said[form]}" if first else f"{said[form]} {when}".strip() for form in (wrong, right)]
    return texts[0], texts[1]


def _with_short_forms(text: str) -> str:
    """`text` with `don't` for `do not` and so on."""
    return re.sub(r"\b(do|does|did) not\b", r"\1n't", text)


#: Other mistakes, and what is right; each bracket holds the wrong and the right word.
_SLIPS = [
    "she is <doctor/a doctor>", "he is <teacher/a teacher>", "{Name} is <good/a good> singer", "we meet <in {Day}/on {Day}>", "I was born <on {Month}/in {Month}>",
    "he is married <with/to> {Name}", "it depends <of/on> the weather", "I like to <listen/listen to> music", "we have many <informations/information>",
    "there are many <childs/children> in the park", "she has two <childs/children>", "this house is <more big/bigger> than that one", "the {critter} is <more fast/faster> than the {critter2}",
    "my {trinket} is <more better/better> than yours", "{Name} is the <most tall/tallest> of all", "there are <much/many> people here", "we have <less/fewer> {foods} than you",
    "<him/he> likes {foods}", "<her/she> lives in {City}", "<me and {Name}/{Name} and I> went to {City}", "<them/they> are my friends", "this is for {Name} and <I/me>",
    "he sings very <good/well>", "she drives too <slow/slowly>", "I have never seen <no/any> {critter}", "we do not have <no/any> {foods}", "<there/their> dog is very old",
    "<their/there> is a {critter} in the garden", "the {critter} hurt <it's/its> leg", "<its/it's> raining in {City}", "{foods} are better <then/than> {foods2}",
    "first we eat, <than/then> we sleep", "<your/you're> very kind", "I lost <you're/your> {trinket}", "it is <to/too> cold today", "I want <too/to> sleep", "there <is/are> two {foods} left",
    "there <are/is> a {trinket} on the table", "we <was/were> in {City}", "they <was/were> late", "he <were/was> tired", "I <is/am> from {Country}", "you <is/are> my friend",
    "{Name} <have/has> a {critter}", "I <has/have> a {trinket}", "she <do/does> the dishes", "everybody <know/knows> {Name}", "the news <are/is> good", "my hair <are/is> wet",
    "one of the {foods} <are/is> bad", "these <trinket/things> are mine", "this <peoples/people> are nice", "I am <agree/in agreement> with you", "he <said me/told me> a story",
    "can you <borrow/lend> me your {trinket}", "I am looking forward to <see/seeing> you", "she is afraid <from/of> the {critter}", "he is good <in/at> cooking", "I am interested <on/in> {foods}",
    "she arrived <to/in> {City}", "we waited <on/for> the bus for an hour", "I have been here <since/for> two hours", "he stopped <to smoke/smoking> last year", "I enjoy <to read/reading>",
    "she wants <go/to go> home", "he made me <to laugh/laugh>", "{Name} must <to go/go> now", "I would like <drink/to drink> some water", "the {trinket} is <mine's/mine>",
    "those {foods} <is/are> fresh", "neither of them <are/is> here", "he is <an/a> {job} who can sing", "what <do/does> she want", "where <is/are> my shoes", "how <much/many> {foods} do we need",
]
_SLIPS = [slip for slip in _SLIPS if "trinket/" not in slip and "<an/a> {job}" not in slip]


def _slip(draw: Draw) -> tuple[str, str]:
    """A sentence with a wrong word, and with the right one."""
    template = draw.choice(_SLIPS)
    values: dict[str, str] = {}
    return tuple(fill(draw, re.sub(r"<(.*?)/(.*?)>", part, template), values) for part in (r"\1", r"\2"))


_FIX = ["fix this sentence: {t}", "correct this: {t}", "fix the grammar: {t}", "Please correct: {t}", "correct my sentence: {t}", "what is wrong with: {t}",
    "fix the mistakes: {t}", "proofread: {t}", "correct my english: {t}", "Correct the grammar: {t}", "is this sentence right: {t}", "how do you say this correctly: {t}",
    "{t} - correct?", "please correct my sentence, it is: {t}", "find and fix the mistake: {t}", "Fix: {t}", "check my grammar: {t}"]


def mistakes(draw: Draw) -> list[Turn]:
    """A sentence with a mistake, corrected; a few have none and stay as they are."""
    turns: list[Turn] = []
    for number in range(1 + draw.chance(0.3)):
        wrong, right = _mistake(draw) if draw.chance(0.6) else _slip(draw)
        fine = draw.chance(0.08)
        wrong = right if fine else wrong
        sign = "?" if right.split()[0].lower() in ("what", "where", "how", "can") else "."
        shown = draw.choice((ended(wrong, sign), ended(wrong, sign), wrong[0].lower() + wrong[1:] if not wrong.startswith("I ") else wrong))
        turns.append(Turn(asked(draw, _FIX if number == 0 else ["and this: {t}", "now this one: {t}", "and {t}", "next: {t}"], t=shown), ("That is right: " if fine else "") + ended(right, sign), (shown,)))
    return turns


#: Orders with somebody who gets something, and other ones.
_GIVING = ["give me {x}", "pass me {x}", "hand me {x}", "bring me {x}", "show me {x}", "lend me {x}", "fetch {x}", "send me {x}", "buy {x}", "get me {x}", "find {x}",
    "hold {x}", "look at {x}", "put {x} {where}", "take {x} with you", "leave {x} {where}", "clean {x}", "count {x}", "move {x}", "wrap {x}", "give {x} to {name}",
    "bring {x} to {name}", "sell me {x}", "draw {x}", "return {x} by {day}", "wait here with {x}", "describe {x} to me", "carry {x} for me"]
_THINGS = ["the {trinket}", "the {foods}", "some {foods}", "my {trinket}", "a {color} {trinket}", "that {trinket}", "another {trinket}", "your {trinket}", "two {foods}",
    "the {color} {trinket}", "the salt", "the bill", "a glass of water", "the menu", "the key", "your phone number", "the report"]
_OTHER_ORDERS = ["come to my office", "be quiet", "wait outside", "call me on {day}", "speak more slowly", "turn down the music", "write your name here", "sit next to {name}",
    "tell me the time", "tell me your name", "tell me what happened", "tell me where the {place} is", "help {name}", "explain this again", "close the window", "take off your shoes",
    "stop singing", "sign the form", "stay away from the {critter}", "feed the {critter}", "answer my question", "check this again", "come back at nine", "meet me {where}",
    "drive more slowly", "wake me up at six", "let me finish", "let {name} speak", "keep the door open", "switch off your phone", "pay at the desk", "wash your hands", "step aside"]


def orders(draw: Draw) -> list[Turn]:
    """Orders and wishes of many kinds, as polite requests."""
    turns: list[Turn] = []
    for number in range(1 + draw.chance(0.35)):
        blunt, polite = _order(draw)
        shown = draw.choice((ended(blunt), ended(blunt), blunt, ended(blunt, "!"), f'"{ended(blunt)}"', f'"{blunt}"'))
        turns.append(Turn(asked(draw, ["make this polite: {t}", "make it polite: {t}", "say this politely: {t}", "how do i say this politely: {t}", "a polite way to say {t}",
            "polite version: {t}", "Please make this sound polite: {t}", "Rewrite politely: {t}", "rephrase this more politely: {t}", "Make this more polite: {t}",
            "how can i say {t} in a polite way", "turn this into a polite request: {t}", "say it nicely: {t}", "nicer please: {t}"] if number == 0 else [
            "and this: {t}", "and {t}", "now {t}", "and how about {t}", "the same with {t}"], t=shown), polite, (shown,)))
    return turns


def _order(draw: Draw) -> tuple[str, str]:
    """A blunt sentence without its last sign, and a polite one."""
    values: dict[str, str] = {}
    thing = fill(draw, draw.choice(_THINGS), values)
    form = draw.rng.random()
    if form < 0.62:
        order = fill(draw, draw.choice(_GIVING).replace("{x}", thing) if draw.chance(0.7) else draw.choice(_OTHER_ORDERS), values)
        lead = draw.choice(("Could you please {o}?", "Could you please {o}?", "Could you please {o}?", "Would you please {o}?"))
        blunt = draw.choice(("{o}", "{o}", "{o}", "{o} now", "you must {o}", "you have to {o}", "i want you to {o}", "hey, {o}"))
        return blunt.format(o=order), lead.format(o=order)
    if form < 0.78:
        wish = fill(draw, draw.choice(("{x}", "{x}", "to see {x}", "to buy {x}", "to talk to {name}", "to go home", "to go to {city}", "a cup of tea", "a table for two")).replace(
            "{x}", thing), values)
        return draw.choice(("i want {w}", "I want {w}")).format(w=wish), f"I would like {wish}, please."
    if form < 0.9:
        action = fill(draw, draw.choice(("touch {x}", "move {x}", "shout", "run here", "sit on {x}", "eat {x}", "call after nine", "park here", "feed the {critter}", "open the window",
            "forget {x}", "talk about {name}", "lean on {x}", "leave the door open")).replace("{x}", thing), values)
        return draw.choice(("don't {a}", "do not {a}", "never {a}", "stop it, don't {a}")).format(a=action), f"Please do not {action}."
    place = fill(draw, draw.choice(("the {place}", "the station", "the exit", "{name}", "the nearest {place}", thing)), values)
    return f"where is {place}", f"Excuse me, could you please tell me where {place} is?"


def replaced(draw: Draw) -> list[Turn]:
    """A sentence with one word in place of another."""
    values: dict[str, str] = {}
    template = draw.choice(("{Name} put the {trinket} next to the {critter}", "The {critter} likes {foods}", "On {day} the {job} went to {city}", "My {relative} has a {color} {trinket}",
        "The {job} gave {name} some {foods}", "In {city}, {name} saw a {critter}", "{Name} and the {critter} share the {foods}", "I bought a {trinket} on {day}"))
    text = f"{fill(draw, template, values)}."
    slot = draw.choice([slot for slot in values if not re.search(rf"\b[Aa]n? {re.escape(values[slot])}", text)])
    new = draw.word(slot)
    if new == values[slot]:
        return forms(draw)
    answer = re.sub(rf"\b{re.escape(values[slot])}\b", new, text)
    return [Turn(asked(draw, ["replace {a} with {c}: {t}", "in this sentence, replace {a} by {c}: {t}", "{t} Use {c} instead of {a}.", "{t} replace {a} with {c}",
        "change {a} to {c}: {t}", "swap {a} for {c} in: {t}", "put {c} in place of {a}: {t}"], a=values[slot], c=new, t=text), capitalized(answer), (text, values[slot], new))]


_SHORTENED = {"I am": "I'm", "do not": "don't", "does not": "doesn't", "will not": "won't", "cannot": "can't", "it is": "it's", "did not": "didn't", "is not": "isn't",
    "are not": "aren't", "we are": "we're", "they are": "they're", "you are": "you're", "I have": "I've", "I will": "I'll", "she is": "she's", "he is": "he's", "was not": "wasn't",
    "should not": "shouldn't", "could not": "couldn't", "has not": "hasn't", "let us": "let's", "that is": "that's", "we will": "we'll"}
_WITH_THEM = {"I am": "from {city}", "do not": "", "it is": "{weather} today", "we are": "in {city}", "they are": "at the {place}", "you are": "very kind",
    "I have": "seen the {critter}", "I will": "call {name}", "she is": "a {job}", "he is": "a {job}", "that is": "my {trinket}", "we will": "eat {foods}", "let us": "go to {city}"}
_AFTER_HELPERS = ["need the {trinket}", "like {foods}", "know {name}", "live in {city}", "eat {foods}", "work on {day}", "see the {critter}", "trust the {job}"]


def contractions(draw: Draw) -> list[Turn]:
    """Short forms written out, or the other way round."""
    long, short = draw.choice(list(_SHORTENED.items()))
    if long in _WITH_THEM and long != "do not":
        text = f"{long} {_WITH_THEM[long]}"
    elif long in ("is not", "was not"):
        text = f"the {{critter}} {long} in the garden"
    elif long == "are not":
        text = "the {foods} are not ready"
    elif long == "has not":
        text = "{name2} has not seen the {critter}"
    else:
        text = f"{'he' if long == 'does not' else draw.choice(('they', 'we', 'I', 'the children'))} {long} {draw.choice(_AFTER_HELPERS)}"
    full = ended(fill(draw, text, {}))
    contracted = re.sub(rf"\b{long}\b", short, full, count=1, flags=re.IGNORECASE)
    contracted = capitalized(contracted)
    if draw.chance(0.5):
        return [Turn(asked(draw, ["write out the short forms: {t}", "without contractions: {t}", "expand the contractions: {t}", "no short forms please: {t}"], t=contracted), full, (contracted,))]
    return [Turn(asked(draw, ["use short forms: {t}", "with contractions: {t}", "contract this: {t}", "make it shorter with an apostrophe: {t}"], t=full), contracted, (full,))]


def joined(draw: Draw) -> list[Turn]:
    """Two sentences in one with a given word, or a sentence with `and` in two."""
    first, second = sentence(draw), sentence(draw)
    word = draw.choice(("and", "but", "because", "so", "while", "or"))
    form = draw.choice(("past", "present") if word == "while" else ("past", "present", "future"))
    pair = [one.having(form) for one in (first, second)]
    link = f" {word} " if word in ("because", "while") else f", {word} "
    one, two = ended(pair[0] + link + pair[1]), " ".join(map(ended, pair))
    if draw.chance(0.65):
        return [Turn(asked(draw, ["join these with {w}: {t}", "make one sentence with {w}: {t}", "combine with {w}: {t}", "connect these sentences with {w}: {t}",
            "{t} Make one sentence with {w}."], w=f'"{word}"' if draw.chance(0.4) else word, t=two), one, (two, word))]
    return [Turn(asked(draw, ["split this into two sentences: {t}", "make two sentences: {t}", "two short sentences please: {t}"], t=one), two, (one,))]


def cased(draw: Draw) -> list[Turn]:
    """A composed sentence in upper or lower case, with capitals at all words, or with one capital only."""
    text = ended(sentence(draw).having(draw.choice(("past", "present", "future", "negative"))))
    shown = draw.choice((text, text.lower(), text.upper()))
    form = draw.number(0, 3)
    wordings, answer = (
        (["in upper case: {t}", "write in capitals: {t}", "all caps: {t}", "make it upper case: {t}", "{t} in capital letters"], text.upper()),
        (["in lower case: {t}", "write in small letters: {t}", "lowercase: {t}", "no capitals: {t}"], text.lower()),
        (["capitalize every word: {t}", "title case: {t}", "each word with a capital letter: {t}"], " ".join(capitalized(word) for word in text.lower().split())),
        (["upper case without the full stop: {t}", "in capitals, no full stop: {t}"], text.upper().rstrip(".")),
    )[form]
    return [Turn(asked(draw, wordings, t=shown), answer, (shown,))]


def numbered(draw: Draw) -> list[Turn]:
    """A sentence about one thing, about several."""
    noun, verb = draw.word(draw.choice(("critter", "trinket", "job"))), sentence(draw)
    if noun.endswith("man") or plural(noun) == noun:
        return forms(draw)
    given, wanted = f"the {noun} is {draw.word('color')}", f"the {plural(noun)} are "
    wanted += given.rsplit(" ", 1)[1]
    if draw.chance(0.6):
        given = f"{with_article(noun)} {verb.verb['third person']} {verb.rest}"
        wanted = f"{plural(noun)} {verb.verb['verb']} {verb.rest}"
    if draw.chance(0.3):
        given, wanted = wanted, given
        wordings = ["make this singular: {t}", "singular: {t}", "about one only: {t}"]
    else:
        wordings = ["make this plural: {t}", "plural: {t}", "put this in the plural: {t}", "about more than one: {t}"]
    shown = ended(given)
    return [Turn(asked(draw, wordings, t=shown), ended(wanted), (shown,))]


FORMS = {"forms": (forms, 34), "passive": (passive, 5), "mistakes": (mistakes, 40), "orders": (orders, 34), "replaced": (replaced, 10), "contractions": (contractions, 6),
    "joined": (joined, 9), "cased": (cased, 12), "numbered": (numbered, 5)}
