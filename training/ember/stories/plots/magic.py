"""Wishes, magic things and the rules they keep."""

from ember.stories.plots.plot import Plot

_WISH = Plot(
    about=("hero", "creature"),
    facts={
        "wish": (
            ("be as tall as a tree", "{h.he} was as tall as a tree", "{h.he} could not get through {h.his} own door", "be small again"),
            ("fly like a bird", "{h.he} rose up into the air", "{h.he} could not come down, and the wind carried {h.him} far away",
             "stand on the ground again"),
            ("have a mountain of sweets", "a mountain of sweets stood before {h.him}", "{h.he} ate until {h.his} belly hurt, and a thousand ants came",
             "have my plain bread and soup again"),
            ("never have to sleep", "{h.he} was wide awake", "everyone else slept, and the nights were long and lonely", "sleep again"),
            ("be the strongest in the land", "{h.he} was stronger than ten oxen", "everything {h.he} touched broke in {h.his} hands",
             "be as strong as I was before, and no more"),
            ("turn all I touch to gold", "the first stone {h.he} touched turned to gold", "{h.his} bread turned to gold, and {h.he} could not eat",
             "eat my bread again"),
            ("have no more rain", "the clouds went away", "the grass turned brown, and the well went dry", "hear the rain again"),
        ),
    },
    text="""
{intro} {when}, {at_place}, {h} [saw|found|came upon] {a.first} [caught in a net|stuck between two rocks|tangled in a thorny bush]. "Help me, please!" [it cried|said {a}].
{h} [worked with care|was very careful|took great care], and soon {a} was free.

"<thanks>," said {a}. "[I am a magic {a.kind}|I know a little magic]. [You may make one wish|I will grant you one wish|For your kindness, you may have one wish]."

{h} <thought>. Then {h.he} said, "I wish to {wish0}."

"[Are you sure|Have you thought about it well]?" asked {a}. "[Every wish has its price|A wish is not always what it seems]." But {h} [was sure|only nodded|would not listen]. There was
[a flash of light|a puff of blue smoke|a sound like a little bell], and at once {wish1}.

At first {h} <happy>. [{h.He} laughed and sang.|"How <wonderful>!" {h.he} cried.|{h.He} showed it to everyone.] But soon [it was not so nice anymore|things went wrong|there was trouble]: {wish2}. {h} <sad>.
"[What a silly wish it was|I did not think of that]," said {h}.

[So {h.he} called for {a}|{h} looked for {a}] and [called|cried] with all {h.his} might. At last {a} came. "[Please take the wish back|I was foolish]," said {h}. "I want to {wish3}."

{a} [was not angry|smiled|nodded]. "[Now you are wiser|You have learned something]," said {a}, and [waved once|turned around three times|closed both eyes]. In a moment, everything was as it had been
before.

[{h} went home and was content with what {h.he} had.|<ever>, {h} thought well before {h.he} wished for anything.|And do you know what? {h} never made a wish again without smiling.|{h} and {a} became
<friends>, and no more magic was needed.]
""",
)

_MAGIC_RULE = Plot(
    about=("thing",),
    facts={
        "rule": (
            ("after sunset", "the sun had gone down", "until the sun comes up", "for the sun came up again"),
            ("more than three times a day", "{h.he} had used it three times already", "until tomorrow", "for a new day had begun"),
            ("when you are angry", "{h.he} was angry with {f}", "until you are kind again", "because {h} was not angry anymore"),
            ("to tease someone", "{h.he} only wanted to tease {f}", "until you say you are sorry", "because {h} was truly sorry"),
        ),
        "power": (
            ("made soup", "soup ran over the table, over the floor and out of the door", "bowl of soup"),
            ("made snow", "snow fell and fell until it reached the windows", "handful of snow"),
            ("made flowers grow", "flowers grew over the floor, up the walls and out of the chimney", "flower"),
            ("made bubbles", "bubbles filled the whole house and pushed open the door", "bubble"),
            ("made bells ring", "all the bells in the land rang so loudly that nobody could hear a word", "soft ring"),
            ("made feathers", "feathers flew everywhere until nobody could see a thing", "feather"),
        ),
    },
    text="""
{intro} {when}, {h.he} [met an old woman|helped an old woman] who carried [a heavy basket|a bundle of wood]. {h} [took it|carried it] for her, and she gave {h.him} {thing.a} [as a gift|as thanks].

"This {thing} is magic," said the old woman. "[Say 'please'|Tap it twice|Turn it to the left], and it does its work. [Say 'thank you'|Tap it once|Turn it to the right], and it stops. But never use
it {rule0}, or it will not listen to you {rule2}."

{h} [ran home|went home] and tried it at once. And really, the {thing} {power0}! {h} <happy>. {h.He} showed it to {f.first}. "[How <wonderful>|I have never seen such a thing]!" said {f}.

For [a week|many days|some time], {h} kept the rule. But one day {h.he} forgot it. {rule1}, and yet {h.he} took the {thing} and [made it work|told it to begin]. At first there was only one {power2}.
Then it did not stop: {power1}!

"[Stop it|Make it stop], {h.call}!" <cried> {f}. "[I cannot|It does not listen to me]!" said {h}. {h.He} <afraid>. [Then {h.he} remembered the words of the old woman.|Then {h.he} thought of the rule.]
"I am sorry," {h.he} said to {f} and to the {thing}. "[I broke the rule|It was my fault]." And there was nothing to do but wait.

At last [the {thing} was still|it was over], {rule3}. It took {h} and {f} [two whole days|a long, long time] to clean everything up.

[<ever>, {h} never broke the rule again.|"A rule is there for a reason," said {f}, and {h} nodded.|{h} kept the {thing}, but {h.he} used it only when {h.he} was sure.|"Next time I will listen," said
{h}, and {h.he} did.]
""",
)

PLOTS = (_WISH, _MAGIC_RULE)
