"""Clever tricks, strange sounds, lies undone, and kings with troubles."""

from ember.stories.plots.plot import Plot

_TRICK = Plot(
    about=("hero", "food"),
    traits=("clever", "bright", "small", "young"),
    facts={
        "greedy": (("a greedy wolf", "the wolf"), ("a greedy giant", "the giant"), ("a greedy troll", "the troll"), ("a greedy ogre", "the ogre")),
        "trick": (
            ("there is a much bigger one in the pond, round and yellow", "It was only the moon in the water", "jumped into the pond with a great splash"),
            ("there is a much bigger one at the bottom of the well", "It was only a picture in the water", "leaned over too far and fell into the well"),
            ("there is a much bigger one inside that hollow tree", "It was only a nest of bees", "put his whole head into the tree"),
            ("there is a much bigger one on top of that steep hill", "It was only a round stone", "ran up the hill and rolled down the other side"),
        ),
    },
    text="""
{intro} {when}, {h} was taking {food.a} to {e.first}. [The way was long, and it led through a dark wood.|It was a fine {food}, still warm from the oven.] Suddenly, {greedy0} [jumped out from behind a tree|stood in the road]. "[Stop|Halt]!" said {greedy1}. "[I smell {food.a}!|What do you have there?] Give it
to me, or I will eat you!"

{h} <afraid>. But {h.he} was clever, and {h.he} thought fast. "[Gladly|As you wish, sir]," said {h}. "[Take it|You may have it]. But it is only a small one. [I am surprised that you want it|I thought that you were hungrier than that]. Did you not know that {trick0}?"

"[A bigger one|Much bigger]?" asked {greedy1}, and his mouth [watered|fell open]. "[Where is it?|Show me!] I want the small one and the big one!"

"[As you like|Very well]," said {h}. "But you need both hands for the big one. [I will hold the small one for you|Let me hold the small one in the meantime]." And {h} [led him there|showed him the way].

{greedy1} [looked|saw it] and [licked his lips|laughed with greed]. "[All mine|It is mine, all mine]!" he shouted, and he {trick2}. {trick1}. ["Ouch!" he cried.|"Help!" he cried.|What a cry that was!] [By the time he was back on the road|When he came back], {h} was far away.

{e} [was waiting at the door|stood at the gate]. "[You are late,|What kept you so long?]" said {e}. {h} told the whole story, and {e} laughed until {e.he} cried. "[He wanted two, and now he has none|Whoever wants everything gets nothing]," said {e}. Then they [sat down|laughed again] and ate the {food} together[| down to the last crumb]. [|And {greedy1} was never
seen on that road again.|{f.first}, who came by, got the biggest piece.]
""",
)

_KING = Plot(
    about=("hero",),
    heroes=("child", "animal", "person"),
    facts={
        "ruler": (("king", "he", "his", "him"), ("queen", "she", "her", "her")),
        "failed": (
            ("A doctor brought bitter medicine", "A singer sang until the windows shook"),
            ("A wise man read from a thick book", "A clown stood on his head"),
            ("A wizard waved his wand", "A cook made a soup of gold"),
        ),
        "reason": (
            ("sleep", "I have ten rooms, but nobody ever says good night to me", "told a bedtime story and said good night", "fast asleep"),
            ("laugh", "Everyone bows to me, but nobody ever plays with me", "made a silly face and began to play", "laughing out loud"),
            ("eat", "The table is long, and I always sit at it all alone", "sat down at the table with a piece of bread and began to talk", "eating and talking"),
            ("sing", "I knew a song once, but no one ever sings with me", "hummed a little tune, first softly, then louder", "singing at the top of {ruler2} voice"),
        ),
        "prize": ("a bag of gold", "a fine horse", "a house with a garden", "a coat with silver buttons"),
    },
    text="""
{intro} In that land, there was a {ruler0} who could not {reason0}. [Nobody knew why.|It had been so for a whole year.] "Whoever helps me shall have {prize}," said the {ruler0}.

Many came to the palace. {failed0}, but it did not help. {failed1}, but that did not help, either. The {ruler0} [only sighed|grew paler every day|became angry and sent them all away].

{when}, {h} heard of it. "[I would like to try|Perhaps I can help]," {h.he} said. "[You|How could you help]?" said {f.first}. "[You have no medicine and no magic|You are not even wise]." "[That is true|I know]," said {h}, "but [I can ask|I can listen]."

The guards at the gate laughed, but they let {h.him} in. {h} [bowed|stood before the throne] and asked, "[Tell me|Please tell me], why can you not {reason0}?"

[There was a long silence.|The whole hall was silent.] "[No one has ever asked me that|You are the first who asks me]," said the {ruler0} at last. "{reason1}."

{h} [nodded|smiled]. [Then {h.he}|{h.He} did not wait long. {h.He}] {reason2}. The guards [held their breath|could not believe their eyes]. And soon the {ruler0} was {reason3}!

<nextday>, the {ruler0} wanted to give {h} {prize}. "[Keep it|Thank you, but I do not need it]," said {h}. "[Let me come again|I would rather come back tomorrow]." "[Come every day|You are always welcome]," said the {ruler0}. [|So {h} and the {ruler0} became <friends>.|And when {f} asked what the magic had been, {h} said, "I asked, and I listened."|<ever>, the {ruler0} was never alone again.]
""",
)

_SOUND = Plot(
    about=("land creature", "thing"),
    facts={
        "where": (("in the attic", "up the stairs"), ("in the cellar", "down the steps"), ("in the old shed", "across the yard"),
                  ("in the barn", "over the wet grass")),
        "guess": ("a ghost", "a thief", "a monster", "a giant"),
    },
    text="""
{intro} {night}, {h} heard a strange sound. It was {a.sound}, and it came from somewhere {where0}. [Then it was quiet again.|{h} sat up in bed.] "[It must be|Maybe it is] {guess}," thought {h}, and {h.he} pulled the blanket over {h.his} head.

In the morning, {h.he} told {f.first} about it. "[Let us find out what it is|We should go and look]," said {f}. "[Are you not afraid|But are you not scared]?" asked {h}. "[A little|Yes]," said {f}, "but [I want to know|two are braver than one]."

And there was something else: {h.his} {thing.full} was gone. "[The one who made the sound has taken it|Now my {thing} has been stolen]!" said {h}. So they [made a plan|put flour on the floor] and waited until dark.

They crept {where1} on the tips of their toes, with a small lamp. There it was again, {a.sound}! {h} <afraid>, but {h.he} [held up the lamp|opened the door a little more]. They saw two bright eyes. And then {h} had to laugh. It was not {guess} at all. It was {a.first}!

"[Please do not be angry|Please do not send me away]," said {a}. "[It was so cold outside|I had no place to sleep]. And I took your {thing}, because [it was the only pretty thing I had ever seen|it reminded me of home]. I am sorry." It [held out|gave back] the {thing}.

"[You could have asked|Next time, just ask]," said {h}. "[You may stay here until spring|You can live here], if you [want|like]. But you must be quiet at night." "[I promise|I will]," said {a}.

Since then, {h} has slept well. [And if there is a sound in the night, {h.he} only says, "Good night, {a.kind}."|"What seems big in the dark," says {f}, "is often small in the light."|And sometimes {h.he} lends the {thing} to {a} for a day.]
""",
)

_LIE = Plot(
    about=("hero", "creature"),    facts={"pasture": ("on the hill", "in the meadow", "behind the village", "by the river"), "job": ("watch the sheep", "watch the geese", "look after the goats", "guard the apples")},
    text="""
{intro} {h.His} work was to {job} {pasture}, and {h.he} often [felt bored|had nothing to do].

{when}, {h} thought of a joke. "Help, help!" {h.he} <cried>. "There is {a.first} in the well!" At once, {f.first} came running, and so did {e.first}. [They were out of breath.|They brought ropes and a long ladder.] But there was no {a.kind}. {h} [laughed and laughed|laughed at their faces]. "[That was not funny|You should not do that]," said {f}.

A few days later, {h} did it again. "Help! The {a.kind} is in the well!" And again they came running, and again there was nothing. "[If you lie, nobody will believe you when you tell the truth|One day you will need help, and nobody will come]," said {e}.

But then, [one week later|one morning], {h} heard {a.sound}. It came from the well. {h.He} looked down, and there, in the cold water, really was {a.first}! "Help!" <cried> {h}. "There is {a.first} in the well! This time it is true!" But nobody came. "[It is only another joke|I do not believe it]," said {f} at home.

{h} <sad>. "[This is all my fault!|What have I done?]" {h.he} said. {h.He} ran to {f} and [took {f.him} by the hand|fell on {h.his} knees]. "[I lied twice, and I am sorry|I am sorry that I lied]. I will never do it again. But please come, or the {a.kind} will [drown|die]!"

{f} saw {h.his} tears and [believed {h.him}|got up]. They took a rope and a bucket and ran to the well. Together they [pulled and pulled|let down the bucket and pulled], until the {a.kind} was out of the water. [It shook itself and went away.|It was cold and wet, but it was alive.]

"<thanks>," said {h} to {f}. "[You believed me, although I lied to you|I did not deserve that]." [<ever>, {h} told no more lies.|"The truth needs no ladder," said {e}, and {h} never forgot it.|{h} never made that joke again.]
""",
)

_THREE_HELPERS = Plot(
    about=("thing", "hero"),
    facts={
        "helper": (
            ("fish, which lay on the dry sand", "put it back into the water", "the ring", "brought the ring up from the bottom"),
            ("bee, which had fallen into a puddle", "lifted it out with a leaf", "the one real flower among a hundred of paper",
             "sat down on the real flower"),
            ("mouse, which was caught in a trap", "opened the trap", "the key to the iron door", "brought the key out of a tiny hole"),
        ),
        "task": ("an old witch", "a grim giant", "a rich miser", "a sly wizard"),
    },
    text="""
{intro} {when}, {task} took {thing.a} from {e.first}, and {e} was sad about it. "[I will get the {thing} back|Do not cry, I will bring you the {thing}]," said {h}, and {h.he} [set off|went on {h.his} way].

[On the road|Before long], {h.he} found a {helper0}. {h} {helper1}. "I will not forget it," said the little creature. At last {h.he} came upon {f.first}, who was [hungry|thirsty], and {h} [shared {h.his} lunch|shared all that {h.he} had].

"Where are you going?" asked {f}. "I am going to get the {thing}," said {h}. "Then I will come with you," said {f}, "for [I know the way|you were kind to me]."

They came to a [black house|high gray tower]. There sat the one who had taken the {thing}. "You may have it," a voice said, "if you find {helper2}. [You have until sunset|You have only one hour]!" [Then {h} looked and looked.|But {h} had no idea where to begin.] {h} <sad>. "[I can never do it|It cannot be done]," {h.he} said.

Then the little creature came, the one that {h} had helped on the road. "[You helped me, and now I help you|Let me do that]," it said, and it {helper3}. "[Here it is|I have found it]!" <cried> {h}.

[There was a great howl of anger|The door flew open], but a promise is a promise. {h} took the {thing}, and {f} [led the way home|knew a short way home].

How happy {e} was to see the {thing} again! "[How did you do it all alone|Were you not afraid]?" asked {e}. "I was not alone," said {h}. "[I had friends|Everyone I had helped came to help me]." [|And {f} stayed for supper, and for the next day, too.|Kindness comes back, even from the smallest.]
""",
)

PLOTS = (_TRICK, _KING, _SOUND, _LIE, _THREE_HELPERS)
