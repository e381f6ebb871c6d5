"""Storms, snow, gardens, and nights under the sky."""

from ember.stories.plots.plot import Plot

_STORM = Plot(
    about=("hero", "land creature"),
    facts={"light": ("a lamp", "a candle", "a lantern")},
    text="""
{intro} {h} was afraid of only one thing, and that was thunder.

{night}, heavy clouds came over the [hill|roof|trees]. The wind [howled|began to howl]. [Boom!|Crash!|Rumble!] {h} <afraid> and hid under the blanket. "[It is only a storm|It will pass]," said {e.first}. But {h} [shook|did not come out].

Then, between two claps of thunder, {h} heard {a.sound} outside. "[What was that|Did you hear that]?" {h.he} asked. {h} [crept to the window|looked out]. There, [in the rain|under a bush|by the gate], sat {a.first}, wet and cold and all alone.

"[It must be so afraid|Poor thing]," said {h}. "[Somebody has to help it|We must bring it in]." {h.He} forgot the thunder. {h.He} took {light}, opened the door, and ran out into the rain. The wind pulled at {h.him}, and the [lightning flashed|thunder rolled]. But {h} [thought
only of {a}|did not turn back].

"Come with me," said {h} softly. {h.He} [wrapped {a} in a blanket|held out {h.his} hand to {a}] and brought it into the warm house. {e} [dried it with a cloth|made a place by the fire]. {h} gave it some {a.food}, and soon {a} stopped shaking.

Boom! There was the thunder again. {a} jumped. "[Do not be afraid|You are safe]," said {h}. "It is only a storm, and it will pass." {e} smiled. "[Who is afraid of thunder now|And what about you]?" <asked> {e}. Then {h} noticed it: the fear was gone.

[In the morning|When morning came], the sky was blue. {a} [said goodbye|looked back once] and went home to its family. [|{h} still did not like thunder, but {h.he} was never so afraid of it again.|When we help someone, we forget our own fear.|<ever>, {a} came to visit whenever it
rained.]
""",
)

_SNOW = Plot(
    about=("thing", "hero"),
    facts={
        "made": ("a snow bear", "a castle of snow", "a snow horse", "a big round snowman", "a snow rabbit as tall as a door"),
    },
    text="""
{intro} [One morning in winter|One winter day|One cold winter morning|On the first day of winter], everything was white. Snow lay on the roofs, on the trees, and on the road. "Snow!" <cried> {h}. {h.He} [jumped out of bed|put on a warm coat|ran to the door] and went to find {f.first}.

"[What shall we do|What shall we make]?" asked {f}. {h} <thought>. "Let us make {made}," {h.he} said. So they [rolled big balls of snow|pushed the snow together]. Their [noses|faces] were red, but they [were warm from the work|did not feel the cold]. At noon, it was done. But something was missing.

"[It still needs something|It does not look right yet]," said {f}. {h} ran home and came back with {thing.a}. {h.He} put the {thing} [on top|right in front], and now it was perfect. "It is <wonderful>!" said {f}.

<nextday>, the {thing} was gone! "[Who took it|Where is the {thing}]?" <cried> {h}. There were small tracks in the snow. {h} and {f} followed them [past the {place}|along the fence|between the trees]. The tracks ended at a hole [under a tree|in the bank]. Inside, in the dark, sat {a.first}. It had put the {thing} [at the
door, so that the wind could not get in|beside its bed, because it was so alone].

"[I am sorry|Please do not be angry]," said {a}. "[I was so cold|The winter is so long]. I did not know that the {thing} was yours."

{h} looked at {f}, and {f} nodded. "[You may keep the {thing} until spring|Keep it as long as there is snow]," said {h}. And they brought {a} a [blanket|bed of hay] and some {a.food}.

[When the sun grew warm|In spring], nothing was left of the snow. But [at the door of {h}|on the steps of the house], there lay the {thing}, and beside it [the first flower of the year|a bunch of flowers]. {h} <glad>.
""",
)

_GARDEN = Plot(
    about=("hero",),
    facts={
        "plant": (("a bean", "a bean plant as high as the house", "beans"), ("a sunflower seed", "a sunflower as tall as a tree", "seeds"),
                  ("a pumpkin seed", "a pumpkin as big as a wagon", "pumpkin"), ("an apple seed", "a small apple tree", "apples"),
                  ("a strange blue seed", "a bush full of blue berries", "berries"), ("a cherry stone", "a little cherry tree", "cherries")),
        "rival": ("nothing will ever grow there", "that is only a waste of time", "the ground there is too dry"),
    },
    text="""
{intro} {when}, {e.first} gave {h} {plant0}. "[It is small|It looks like nothing]," said {e}, "but [there is something big inside|if you care for it, it will be big one day]."

{h.the} [dug a small hole|made a hole in the ground] behind the house, put it in, and covered it with earth. Then {h.he} [gave it water|watered it]. <nextday>, {h.he} ran to look. There was nothing. [The day after that, there was still nothing.|Three days went by, and there was still
nothing.|{h} waited all week, but there was only brown earth.]

{f.first} came by and said, "[You will see|Give up], {rival}." {h} <sad>. "[Is {f} right|Why does it not grow]?" {h.he} asked {e}. "[Good things need time|You cannot hurry a seed]," said {e}. "[Go on|Do not stop now]. Give it water, sun, and a kind word."

So {h} [went on|did not give up]. Every morning {h.he} [brought water|pulled out the weeds] and said, "[Good morning, little one|Grow, little seed|Take your time]." And one day, a tiny green leaf [looked out of the ground|stood there in the sun]!

[Once there was a cold night, and {h} covered the leaf with {h.his} own scarf.|When the birds came, {h} chased them away.|When it was hot, {h} carried water from the well.] The leaf grew and grew. By the end of summer, it was {plant1}.

{f} came by again and stared. "[I was wrong|I did not think it would grow]," said {f}. "[I am sorry that I laughed.|Can you forgive me?]" "[Yes|Of course]," said {h}. "Come and [eat|share] with me." And {h} gave {f} [a basket full of|some of the] {plant2}, and {e} got the rest. [|"You see," said {e}, "patience
grows the best fruit."|{h} saved one seed for the next spring.|<ever>, {f} had a garden, too.]
""",
)

_NIGHT_OUT = Plot(
    about=("hero", "land creature"),
    facts={
        "noise": ("a branch rubbing against another", "the wind in an empty bottle", "a loose board"),
    },
    text="""
{intro} {when}, {h} and {f.first} wanted to sleep under the stars. They [made a tent from a sheet|put up a little tent|made a hut of branches] {at_place}. {e.first} gave them [a lantern and some bread|blankets and a bag of apples].

At first it was [fun|lovely]. They [told stories|sang all the songs they knew|ate everything they had brought]. But when the sun was gone, it grew dark, and then very dark. "[Are you afraid|Do you want to go home]?" whispered {f}. "[No|Not at all]," said {h}. "[Are you|And you]?" "[No|Not me]," said {f}. But both of them [were a
little afraid|moved a little closer].

Then they heard {a.sound}. "[What is that|Did you hear it]?" whispered {f}. "[Maybe it is {noise}|It is only {noise}]," said {h}. They heard it again, and it was closer this time. {h} <afraid>. [But {h.he} picked up a light|But {h.he} took a deep breath] and went out of the tent.

Two eyes [shone in the dark|looked at {h.him}]. Then {a.first} came into the light. "[Please do not hurt me|I did not want to scare you]," it said. "[I saw your light|I heard you sing]. [I live here, and the nights are long|I am afraid of the dark]."

{h} [began to laugh|had to laugh]. "[You were afraid of the dark, and we were afraid of you|We are afraid of the dark, too]!" {h.he} said. "[Come in|Sit with us], {a.kind}. There is room for three."

So {a} sat down between them. It [showed them the star that always points north|told them the names of the stars|knew a song that they had never heard], and [nobody was afraid anymore|the night was not so dark anymore]. In the middle of a story, one after the other, they fell asleep.

In the morning, [{a} was gone, but there was a circle of flowers around the tent|they all had breakfast together in the wet grass|{e} found the three of them, still fast asleep]. [|<ever>, {h} was not afraid of the dark.|"Can we do it again tonight?" asked {f}, and {h} nodded.]
""",
)

PLOTS = (_STORM, _SNOW, _GARDEN, _NIGHT_OUT)
