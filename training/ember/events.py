"""What an opening tells of the thing or the animal that it names: that it is lost, new, seen and so on."""

import re

#: What an opening may tell of a thing, and words that tell it; `THING` is the thing itself.
_OF_OBJECTS = {
    "lost": r"gone|missing|disappeared|vanished|could not find|(looked|looking) for (the|his|her|my|our)"
        r"|(lost|lose|stole|stolen|forgot|forgotten)( the| an?| my| his| her| our)?( \w+)? THING|THING (was|is|got) (lost|stolen)",
    "broken": r"(broken?|dropped)( the| my| his| her| our)? THING|THING (broke|is broken|was broken)|(did|does) not work|out of order|stopped working",
    "quarrel": r"argu(ed|ing) (about|over)|quarrel(ed)? (about|over)|wanted the same|belongs to (him|her|me|them)|fight over",
    "wanted": r"(want(s|ed)?|need(s|ed)?|come for|to find|looking for|wish(es|ed)? for|dream(s|ed) of|save[sd]? for)( the| an?| my)?( new)? THING"
        r"|THING, but \w+ wanted it|wanted for \w+ birthday|asked for an? THING",
    "exhibited": r"museum",
    "won": r"won|prize|raffle",
    "given": r"inherited|gave|present|(his|her|my) birthday",
    "bought": r"bought|buy|ordered|cost|paid",
    "new": r"got an?|new THING|parcel|mail",
    "found": r"found (the|an?|my)( \w+)? THING|lay|washed up|opened the box|saw an?|in the window|somebody had left|stood|picked up",
    "old": r"([Oo]ld|ancient|rusty|dusty) THING|[Gg]rand(father|mother|pa|ma)|older than|for (many )?years|generations|belonged to",
    "recipe": r"[Ss]tir|[Aa]dd|[Cc]ook the|[Ss]tep (one|two|three)|[Rr]ecipe|[Bb]oil|[Bb]ake",
    "space": r"[Ss]paceship|[Ss]pace|(the|third) moon|planets?|[Rr]obots?|computer|suns|day \d+|[Yy]ear 2\d+",
    "rule": r"[Pp]lease|Do not|Rule|Attention|THING belongs to|may not|may touch|do not lend|person who took",
}
#: What an opening may tell of an animal.
_OF_ANIMALS = {
    "lost": r"gone|missing|disappeared|vanished|escaped|(ran|run) away|not come home|not been seen|looked for|looking for"
        r"|(lost|stole|stolen)( the| an?| my| his| her| our)? THING|THING (was|is|got) (lost|stolen)",
    "space": r"[Ss]paceship|[Ss]pace|(the|third) moon|planets?|[Rr]obots?|computer|suns|[Yy]ear 2\d+",
    "rule": r"[Bb]eware|not to be fed|[Nn]otice|may not|[Dd]o not feed",
    "visiting": r"walked in|came in|came to|came on board|moved in|at the door|the door|kitchen|bathtub|pillow|jumped on|on the roof|in(to)? the house",
    "cold": r"wet|rain(ed|ing|y)?|snow(ed|ing|y)?|cold|freezing|storm(y)?|thunder|winter night",
    "in town": r"[Mm]atch|MATCH|street|road|traffic|bus|train|station|city|town|market|police|crosses|news|NEWS|Breaking|was seen|(in|at|near) the (library|school)",
    "wanted": r"(want(s|ed)?|wish(es|ed)? for|dream(s|ed) of) (a|an|my own|a new) THING",
    "new": r"(got|has|have|had|bought|keeps) (a|an|my|his|her|a new|got a|got an) THING|[Mm]y THING|new THING|birthday",
    "seen": r"(saw|see|seen|met|watched|found) (the|an?) THING|first to see",
}
#: Events that are also another one: who bought a thing has a new one.
ALSO = {"won": "new", "given": "new", "bought": "new"}
#: How an opening tells of an animal that speaks or thinks.
_FABLE = re.compile(r"^(Once|Long ago|There once|Deep in|One (spring|summer|autumn|winter)|In a small house|An old story|It is said)\b"
    r"|\b(said|asked|cried|called|whispered) the THING\b"
    r"|\bTHING (who|wanted|could not|met|left home|dreamed|decided|thought|was (tired|young|building|hungry|sad)|had never seen|and an?)\b")


def event_of(kind: str, opening: str) -> str:
    """Returns what an opening tells of its `THING`, an `object` or an `animal`: what is asked or said, or the first of the events whose
    words it has."""
    if kind == "animal" and _FABLE.search(opening):
        return "fable"
    if kind == "animal" and re.search(r"\b(hear|heard|hearing|sound)\b", opening):
        return "heard"
    if re.search(r"\b([Cc]an|[Mm]ay|[Cc]ould) (we|I) (have|keep)\b", opening):
        return "wanted"
    if '"' in opening:
        return "asked" if '?"' in opening else "said"
    if opening.endswith("?"):
        return "question"
    return next((event for event, words in (_OF_OBJECTS if kind == "object" else _OF_ANIMALS).items() if re.search(rf"\b({words})\b", opening)), "none")
