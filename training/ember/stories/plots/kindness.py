"""Creatures helped, birthdays, old ones listened to, and things that want to be useful."""

from ember.stories.plots.plot import Plot

_STRANDED = Plot(
    about=("creature",),
    heroes=("child",),
    facts={
        "trouble": (("caught in an old net", "cut the net, knot by knot"), ("stuck between two rocks", "pushed the rocks apart with a strong branch"),
                    ("tangled in a long rope", "untied the rope with great care"), ("too weak to move", "brought it water and waited by its side")),
        "repaid": (("lost {h.his} way in the fog", "led {h.him} home"), ("fell into the water", "pulled {h.him} to the shore"),
                   ("could not find {h.his} little dog", "brought the dog back, safe and sound"),
                   ("dropped {h.his} silver ring into the water", "found the ring and brought it back")),
    },
    text="""
{intro} {when}, {h} [saw|found] {a.first} [|on the way home|not far from the house]. It was {trouble0}, and it [looked at {h} with sad eyes|made {a.sound}].

"[Poor {a.kind}|You poor thing]," said {h}. "[Who will help you|How did this happen]?" {h} [looked around, but there was nobody near|called for help, but nobody came]. "Then I must do it alone," {h.he} said. {h.His} hands shook, but {h.he} {trouble1}.

It took [a long time|almost an hour|all morning]. "[Be patient|Hold still|Do not be afraid]," said {h} again and again. At last {a} was free. It [shook itself|took a deep breath] and looked at {h}. Then it [went slowly away|turned and was gone].

At home, {h} told {e.first} about it. "[You have a good heart|That was kind of you]," said {e}. "[It will not forget you|{a.a_kind} never forgets]." "[Do you really think so|Will I see it again]?" asked {h}. "[Wait and see,|Who knows?]" said {e}.

[Weeks went by.|Summer came and went.|A whole year went by.] Then, on a gray day, {h} {repaid0}. {h} <sad> and did not know what to do. "[Help!|Can anybody hear me?]" <cried> {h}.

All at once, there was {a.sound}. {h} looked up. It was the {a.kind}! It had heard {h.his} voice and had come at once. And it {repaid1}.

"[You did not forget me|Now you have saved me]," said {h} and [put both arms around the {a.kind}|laughed and cried at the same time]. [|<ever>, the {a.kind} came back every [spring|summer|autumn].|And that is how {h} and the {a.kind} became <friends>.|A good deed is never lost.]
""",
)

_NEW_PET = Plot(
    about=("land creature",),
    heroes=("child",),
    facts={
        "trick": ("came when {h} whistled", "fell asleep only when {h} sang", "waited at the gate every day", "followed {h} wherever {h.he} went"),
        "name": ("Button", "Pepper", "Sunny", "Cloud", "Biscuit", "Star", "Bubbles", "Ginger", "Pip", "Moon"),
    },
    text="""
{intro} {when}, there was {a.first} [at the door|in front of the house|in the garden]. [Nobody knew where it had come from.|It sat there all alone.|It looked at {h} and did not go away.]

"[May I keep it|Can it stay with us]?" {h} asked {e.first}. "[Please|Oh please]!"

"{a.a_kind} is not a toy," said {e}. "[It needs food and care, every single day|You must look after it, even when you do not feel like it]. [And perhaps someone is looking for it|If someone is looking for it, we must give it back]." "[I promise|I will do it all]," said {h}.

{h} called the {a.kind} {name}. {h.He} gave it {a.food} [in the morning and in the evening|twice a day], and made it a bed of [straw|old blankets]. At first the {a.kind} [was afraid and hid|would not eat]. But {h} was patient. {h.He} [sat beside it and told it stories|spoke to it softly], and soon {name} {trick}.

Then, one day, {h} wanted to go out and play with {f.first}. "[Have you fed {name}|Did you give {name} any water]?" <asked> {e}. {h} [had forgotten|turned red]. The bowl was empty, and the {a.kind} [looked at {h.him}|lay in the corner]. {h} <sad>. "[I am sorry, {name}|I will never forget you again]," {h.he} said. {h.He} [filled|washed and filled] the bowl at once,
and {f} helped [carry the water|with the bed].

"[Now I see that I can trust you|Everyone forgets something once]," said {e}. "[You said you were sorry, and you did better|What counts is what you do then]. Nobody has come to ask for {name}. The {a.kind} may stay." {h} <happy>, and {name} made {a.sound}, as if to say thank you. [|<evening>, {h} and {name} <slept>.]
""",
)

_BIRTHDAY = Plot(
    about=("hero", "food", "thing"),
    facts={
        "excuse": ("I have no time today", "I am busy today", "I must help at home"),
    },
    text="""
{intro} {when}, it was {h.his} birthday. {h} [woke up early|got up with the sun] and thought, "[Today I will get {thing.a} and {food.a}|Today everyone will come]!"

But nobody [said a word about it|said 'Happy birthday']. {e.first} only said, "[Good morning|Hurry up, it is late]." {h} went to {f.first} and asked, "[Shall we play|Do you know what day it is]?" "[I am sorry|Oh]," said {f}, "but {excuse}." And {f} [shut the door|ran off].

{h} <sad>. {h.He} [sat down {at_place}|went to sit {at_place}] and [threw stones|watched the clouds]. "[Everyone has forgotten me|Nobody remembers my birthday]," {h.he} said.

In the evening, {h} [went slowly home|walked home with a long face]. The house was dark. [There was not a sound.|No lamp was lit.] {h} opened the door. "Surprise!" <cried> many voices. All the lamps were lit at once, and there stood {f}, {e}, and all the others! On the table stood {food.a}, and beside it lay a present with {a_color} ribbon.

"[We did not forget you,|How could we forget you?]" said {e}. "[We only wanted to surprise you|It had to be a secret]." "[I was so busy because I had to make the {food}|I had no time because I was making your present]," said {f}. "[I am sorry that I made you sad.|Are you angry with me?]"

{h} [laughed and cried at the same time|could hardly speak]. {h.He} opened the present, and in it was {thing.a}. "It is <wonderful>!" {h.he} cried. Then they [ate the {food} until nothing was left|sang and danced and ate the {food}]. [|"This was the best birthday of all," said {h}.|{h} put the {thing} beside the bed and <slept>.|And everybody agreed that the {food} was the best
they had ever had.]
""",
)

_ELDER_LESSON = Plot(
    about=("hero", "thing"),
    traits=("proud", "hasty", "impatient", "wild"),
    facts={
        "lesson": (
            ("finish fast", "Slow hands make good work"),
            ("do everything alone", "Many hands make the work light"),
            ("stop as soon as it was hard", "The last step is the one that counts"),
        ),
    },
    text="""
{intro} {h.He} always wanted to {lesson0}. {e.first} used to say, "{lesson1}," but {h} did not listen.

{when}, {h} wanted to make {thing.a}. {h.He} took some [old wood and cloth|paper and glue|cloth and thread] and began. [Bang, bang, bang!|Snip, snap!|In no time the work was half done.] But {h} did what {h.he} always did, and when {h.he} picked up the {thing}, it fell apart. "[What a bad {thing}|Stupid {thing}]!" <cried> {h}.

{e} [heard it and came in|was sitting by the fire]. "[May I tell you a story?|Let me tell you something,]" said {e}. "[When I was as young as you|Long ago], I wanted to make {thing.a}, too. I [tried|began] three times, and three times it fell apart. I [threw it into the corner|was so angry that I cried]."

"[And then|What did you do then]?" <asked> {h}. "[Then I learned something|Then my own grandmother told me a secret]," said {e}. "{lesson1}."

{h} was [quiet|silent] for a while. "[Will you show me|Can we try it your way]?" {h.he} asked. So they sat down together. They [looked at every part|laid out all the parts] and [put them together one by one|joined them with care]. When it was hard, they [rested a little and went on|took a deep breath and tried again]. {e} told stories, {h} worked, and the time flew by.

In the evening, the {thing} was finished, and this time it [held|did not fall apart]. It was the most <wonderful> {thing} {h.he} had ever seen. "{lesson1}," said {h} with a smile. "[I have heard that somewhere,|Who told you that?]" said {e}, and both of them laughed. [|{h} gave the {thing} to {f.first} as a present.|<ever>, {h} listened when {e} spoke.]
""",
)

_LONELY_THING = Plot(
    about=("thing",),
    text="""
[Once upon a time, there was|There was once|Long ago, there was|Once there was] {thing.a} that lived [on a dusty shelf|at the bottom of a box|in a dark cupboard] in an old shop. [Every day people came in, but nobody wanted the {thing}.|The people who came in always bought something else.] "[I am too old|I am not pretty enough]," thought the {thing}. "[Does nobody need me|What am I good for]?"

[Next to it stood an old vase.|In the same shop lived a mouse.|Above it hung a fine painting.] "[Do not be sad|Be patient]," the other one said. "[For everything there is someone|Your day will come]." But [winter came, and spring|the days went by], and the {thing} was still there. It [got a little more dusty every day|no longer believed it].

{when}, {h.first} came into the shop. {h} [looked at the new things in the window|looked to the left and to the right], but found nothing that {h.he} liked. Then {h.he} [saw something in the corner|bent down]. "[What is that|What do you have there]?" {h.he} asked. "[That is only an old {thing}|Oh, that is nothing]," said the shopkeeper. "[Nobody wants it|It has been here for
years]."

{h} picked up the {thing} and [wiped off the dust|rubbed it with {h.his} sleeve]. Under the dust, it was [still <wonderful>|as good as new]. "[I like it|This is just what I was looking for]," said {h}. "I want to give it to my friend {f}, [whose birthday is today|who lost one just like it]. How much is it?" "[Take it|You may have it], if you care for it well," said the shopkeeper.

{h} carried the {thing} [through the streets|out into the sun]. [How bright the world was!|The {thing} had never seen so much light.] When {f} saw it, {f.he} [cried out with joy|could not stop smiling]. "[I will always keep it|It is just what I wished for]," said {f}. "<thanks>, {h.call}!"

<evening>, the {thing} [stood by the bed|lay on the table] and was happy. "[So I am good for something|My day has come]," it thought. [|And it was never dusty again.|And {f} used it every single day.|For everything there is someone, if one waits long enough.]
""",
)

PLOTS = (_STRANDED, _NEW_PET, _BIRTHDAY, _ELDER_LESSON, _LONELY_THING)
