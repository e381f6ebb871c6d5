"""Things that are lost, found, given back, broken and mended."""

from ember.stories.plots.plot import Plot

_LOST_AND_FOUND = Plot(
    about=("thing", "hero"),
    facts={
        "spot": ("under the bed", "behind the big chair", "in the tall grass", "under a pile of leaves", "under the stairs",
                 "behind the door", "beside the garden gate", "under an old bucket", "on top of the wood pile"),
        "use": ("took it everywhere", "showed it to everyone", "loved it more than anything", "kept it beside the bed",
                "looked at it every morning", "carried it all day long"),
    },
    text="""
{intro} {h} had {thing.a} [|that was a gift from {e.first}|that {h.he} had found {at_place}], and {h.he} {use}.

{when}, the {thing} was gone. {h} <looked>. {h.He} looked [under the table|in the cupboard|in the kitchen|in every corner],
but it was not there. {h.He} looked [behind the house|by the well|along the path|near the fence], but it was not there
[either|at all]. {h} <sad>.

["Why are you so sad?" <asked> {f.first}.|"What is the matter?" <asked> {f.first}.|Then {f.first} came by. "Why do you
look so sad?" <asked> {f}.]

["I lost my {thing}," said {h}. "I cannot find it anywhere."|"My {thing} is gone," said {h}. "I have looked and looked."
|"I cannot find my {thing}," said {h}. "It is the thing I love the most."]

["Let us look together," <said> {f}. "Where did you have it last?"|"Two can look better than one," said {f}. "When did you
see it last?"|"Do not cry," said {f}. "I will help you. Where were you yesterday?"]

{h} <thought>. "[Yesterday I was playing with it|I had it yesterday|I think I had it after breakfast] [when it began to
rain|when you called me|when the bell rang], and then I ran away [quickly|in a hurry]." So the two friends went back [the same
way|step by step|to look again]. And there, {spot}, [lay|was] the {thing}!

"[Here it is|I see it|Look], {h.call}!" <cried> {f}. {h} <happy>. ["<thanks>, {f.call}!" said {h}. "You are a true friend."|{h} hugged
{f} and said, "<thanks>!"] [|<ever>, {h} always put the {thing} back in its place.|<ever>, {h} took good care of the {thing}.|
<evening>, {h} put the {thing} in a safe place and <slept>.|And then they played together with the {thing} until it was dark.]
""",
)

_RETURNED = Plot(
    about=("thing", "hero"),
    facts={
        "owner": (("an old woman", "the old woman", "she", "her"), ("an old man", "the old man", "he", "his"),
                  ("a small girl", "the girl", "she", "her"), ("a small boy", "the boy", "he", "his")),
        "reward": ("a basket of red apples", "a jar of honey", "a warm loaf of bread", "a bag of nuts", "a little silver bell",
                   "a big slice of cake", "a book full of pictures", "a pair of warm socks"),
    },
    text="""
{intro} {when}, {h} found {thing.a} [lying in the road|on the path|under a bench|beside the road|on the way to the {place}].
[Nobody was near.|There was nobody to be seen.|No one else had seen it.]

["What a <wonderful> {thing}!" said {h}. "I wish I could keep it."|"Oh, how <wonderful>!" said {h}. "I have always wanted such
{thing.any}."] {h.He} picked it up and [held it close|turned it around and around|looked at it for a long time]. But then {h.he}
thought, "[Someone must be looking for it|Somebody must have lost it|It belongs to someone, and that someone may be sad]."

So {h} [went from door to door|went through the village|asked everyone on the way]. "Did you lose {thing.a}?" {h.he} asked. ["No," said
the baker. "No," said the miller.|The baker shook his head. The teacher shook her head, too.|"Not I," said the baker. "Not I," said the
shepherd.] {h} was [tired|getting tired], but {h.he} did not give up.

At last {h} [came to the last house|came to a little house by the road|came to a small gray house]. In front of it sat {owner0}, who
looked very [sad|unhappy]. "Did you lose {thing.a}?" asked {h}.

["Yes!" <cried> {owner1}. "It was a gift from my mother.|"Oh yes!" said {owner1}. "I have looked for it for three days.|"My {thing}!"
<cried> {owner1}. "I thought I would never see it again.] [Where did you find it?|How can I ever thank you?|You have made me so happy.]"

{owner1} [went into the house|opened the door of the house] and came back with {reward}. "This is for you," {owner2} said, "because you are
[honest|so honest|good and honest]." {h} <happy>.

[On the way home, {h} did not think about the {thing} anymore.|{h} went home with {reward} and told {e.first} everything. "I am proud of you,"
said {e}.|"I have no {thing}," thought {h} on the way home, "but I have a new friend, and that is better."] [|To give back what is
not yours makes two people glad.|<evening>, {h} <slept>.]
""",
)

_MENDED = Plot(
    about=("thing",),
    facts={
        "mend": (("glue", "stuck the pieces together"), ("string", "tied the pieces together"), ("a pot of paint", "painted over the crack"), ("a small tool box", "put it right again, bit by bit"), ("a piece of wire", "bound it up tightly")),
    },
    text="""
{intro} {e.first} had {thing.a} [that was very old|that stood on a high shelf|that nobody was allowed to touch]. "Please do not play with the
{thing}," {e} always said.

{when}, {h} was [alone at home|all alone]. {h.He} looked at the {thing}. "I will only hold it for a moment," {h.he} thought. {h.He} [took it in
both hands|reached up and took it|climbed on a chair and took it down]. But it [slipped|slid from {h.his} hands|was heavier than it looked], and it fell to
the floor. Crack! The {thing} was broken.

{h} <afraid>. [{h.He} hid the {thing} in a corner|{h.He} pushed the {thing} under a blanket|{h.He} put the {thing} in a box and shut the lid]. When {e} came home
and asked, "[Where is my {thing}|Have you seen my {thing}]?", {h} said, "I do not know."

[But that night {h} could not sleep. The lie felt as heavy as a stone.|But at supper {h} could not eat. The lie was like a stone in {h.his} belly.|
But {h} could not play anymore. {h.He} thought about the lie all the time.] At last {h.he} went to {e} and [said very softly|said in a small voice], "I broke
your {thing}, and I told you a lie. I am so sorry."

{e} was [quiet|silent] for a moment. Then {e.he} said, "[I am sad about the {thing}, but I am glad that you told me the truth|{thing.any} can be mended. It is harder
to mend a lie|Thank you for telling me. That was brave]. Come, we will mend it together."

{e} brought {mend0}, and together they {mend1}. It took [an hour|a long time|the whole evening]. In the end, the {thing} was [almost as good as new|not quite
as it had been, but it was whole again]. {h} <happy>. [|<ever>, {h} always told the truth.|"I like it even more now," said {e}, "because we mended it together."|
And that night, {h} <slept>.]
""",
)

_TREASURE_MAP = Plot(
    about=("thing", "hero"),
    facts={
        "found_in": ("inside an old book", "in the attic", "in the pocket of an old coat", "under a loose board", "in a bottle on the shore"),
        "mark": ("a big gray rock", "a crooked tree", "a tree struck by lightning", "three white stones", "an old stone well"),
    },
    text="""
{intro} {when}, {h} found a map {found_in}. There was a red cross on it, and under the cross was a picture of {thing.a}. [Under it stood: "Find it if you
can."|"A treasure map!" whispered {h}.|{h.His} hands shook with joy.]

{h} ran to {h.his} friend, {f.first}. "[Look at this|Look what I have found|See, a map]!" {h.he} cried. "[Will you come with me|Shall we look for the treasure|Do you
want to find it with me]?"

"<yes>!" said {f}. They packed [bread and cheese|two apples and some bread|some water and a little cake] and [set off|started at once|went on their way].
First the map led them [over the old bridge|across the river|past the {place}]. Then it led them [up a steep hill|along a narrow path|through a dark
wood]. [It was hot, and they grew tired.|The way was long, and their feet hurt.] "[Should we go back|Is it still far]?" asked {f}. "[Only a little more|Just a
little farther]," said {h}.

At last they saw {mark}. "That is the place on the map!" cried {h}. They dug [with their hands|with a flat stone|with two sticks]. They dug and dug until they
struck something hard. It was a box. They opened the lid, and inside lay {thing.a}, just as the map had shown.

["It is <wonderful>!" said {f}. "But there is only one {thing}, and there are two of us."|"There is only one {thing}," said {f} softly. "Who will have it?"] {h}
<thought>. "[You will have it one week, and I will have it the next|It is yours and mine|We will keep it together]," {h.he} said. "[We found it together, so it
belongs to both of us|Without you I would have turned back]."

So they carried the {thing} home [side by side|arm in arm], and [everyone wanted to see it|they told everyone about the map|all their friends came to look at it]. [|The best
treasure, though, was the day they had spent together.|And they were <friends>.|<evening>, they made a new map and hid it for someone else to find.]
""",
)

PLOTS = (_LOST_AND_FOUND, _RETURNED, _MENDED, _TREASURE_MAP)
