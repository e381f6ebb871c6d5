"""Things learned, built, cooked and won."""

from ember.stories.plots.plot import Plot

_PRACTICE = Plot(
    about=("hero",),
    facts={
        "skill": (
            ("swim", "went under and swallowed water", "You move your arms too fast", "swam all the way across the pond"),
            ("whistle", "only blew air", "You press your lips too hard", "whistled a whole song"),
            ("ride a bicycle", "fell over after two turns of the wheels", "You look down and not ahead", "rode all the way around the square"),
            ("play the flute", "made a sound like a sick goose", "You blow too hard", "played a whole song"),
            ("climb the old tree", "slid down again", "You look down too often", "sat in the very top of the tree"),
            ("skate", "fell down on the ice", "You stand too stiff", "skated in a big circle"),
            ("bake bread", "made a loaf as hard as a stone", "You do not wait until the dough was ready", "baked a loaf as soft as a cloud"),
            ("juggle three balls", "dropped them all", "You throw them too high", "kept all three in the air"),
            ("dance", "stepped on everybody's feet", "You count too fast", "danced the whole evening"),
        ),
    },
    text="""
{intro} {h.the} wanted to learn to {skill0}. [Everyone else could do it.|All the others knew how to do it.|{h.He} had wished for it for a long time.]

{when}, {h} tried it for the first time, but {h.he} {skill1}. [Somebody laughed.|The others laughed.] {h} <sad>. "[I will never learn it|It is too hard for me|I give up]," said {h.the}.

{f.first} [had seen it|was watching]. "[Nobody can do it the first time|I could not do it at first, either]," said {f}. "[How long did it take you|How long did you have to learn]?" asked {h}. "[A whole summer|Many weeks]," said {f}. "[I tried a little every day|I never went home before I had tried ten times]. Come, I will help you."

<nextday>, they began. {h} tried, and {h.he} {skill1} once more. "[You see|There]!" said {h}. But {f} [said|only said], "[That was better|I know what is wrong]. {skill2}. Try again." {h} tried again. It was [a little|a tiny bit] better.

[{h} practiced in the sun and in the rain.|Every day after breakfast, {h} practiced.|Day after day, the two of them went out to practice.] [Some days it went well, and some days it did not.|Sometimes {h} was angry, and sometimes {h.he} laughed.] [But {f} was always there.|But {h.he} did not give up.]

And then, one <wonderful> morning, {h} {skill3}! "[I did it|Look at me|I can do it]!" <cried> {h}. The others [stared|stopped and stared]. {f} <glad>. "[I knew that you could learn to {skill0}|I knew it], {h.call}!" {f} said.

[{h} <happy>.|That was the best day of the whole year.] [|When a small child came and said, "It is too hard," {h} answered, "I know. Come, I will help you."|And what did {h} do then? {h.He} began to learn something new.|Every day a little is a lot in the end.]
""",
)

_CONTEST = Plot(
    about=("food", "hero"),
    facts={
        "rich": (("a proud cook with a tall hat", "the proud cook"), ("a rich lady in a silk dress", "the rich lady"),
                 ("a loud man with a golden chain", "the loud man")),
        "judge": (("the old queen", "the queen"), ("the mayor", "the mayor"), ("the king", "the king")),
    },
    text="""
{intro} {when}, {judge1} sent out a message: whoever made the best {food} would win a bag of gold. "[I would like to try|Let me try it]," said {h}. "[Why not?|Do it,]" said {e.first}. "I will show you how to make {food.a}."

{h} [practiced for a week|practiced every day]. The first {food} was [burned|too salty], and the second one was [raw|too sweet]. The third one was just right. "[It tastes like home|It makes me feel warm inside]," said {e}.

On the day of the contest, many people came. There was {rich0}, too, with {food.a} twice as big as all the others. "[Go home|You have no chance], little one," said {rich1}. "[Mine is the best|Nobody can beat me]." {h} <sad>, but {h.he} stayed.

On the way to the table stood {f.first}, [thin and pale|with hungry eyes|who had not eaten for two days]. "[Could I have a bite|May I have just one bite]?" asked {f}. {h} <thought>. If {h.he} gave some of it away, it would not look so fine anymore. But then {h.he} [held out a part of it|gave some of it away]. "[Eat|Here]," {h.he} said. "[{food.any} is for the hungry|You need it more than I do]." {f} ate it and smiled.

Now {judge1} tasted. {judge1} took a bite of [one|the first], then of [another|the second], and [said nothing|yawned]. Then came the turn of {h}. "[Some of it is missing|Somebody has eaten from this one]," said {judge1}. "[Ha|Look at that]!" <cried> {rich1}. But {f} said, "It was for me, because I was hungry."

{judge1} tasted, and took a second bite, and a third. "[It tastes of kindness|This is the best {food} in the land]," said {judge1}. "{h} has won!" And {h} <happy>. {h.He} [shared the gold with {f}|bought a new stove for {e}] and [invited everyone to supper|made {food.a} for the whole town]. [|Even {rich1} had a bite and liked it.]
""",
)

_RACE = Plot(
    about=("hero",),
    facts={
        "rival": (("hare", "the hare"), ("greyhound", "the greyhound"), ("young stallion", "the stallion"), ("ostrich", "the ostrich")),
        "goal": ("the old mill", "the big stone", "the red barn", "the last tree on the hill"),
        "prize": ("a golden cup", "a crown of flowers", "a basket of sweet pears", "a silver medal"),
    },
    text="""
{intro} {when}, there was a great race from the bridge to {goal}. The prize was {prize}. "I am the fastest of all," said {rival1}. "[Nobody can win against me|The rest of you can stay at home]." {h} [was not fast|had short legs], but {h.he} wanted to run all the same.

"[You|You want to run]?" said {rival1} and laughed. "[A snail would be faster|I will be there before you have begun]!" But {h} [said nothing|did not answer]. "[Never mind|Do not listen]," said {f.first}. "[Run as well as you can|Do your best], {h.call}. That is all that counts."

[One, two, three!|Ready, set, go!] Off they went. {rival1} was [soon far ahead|soon out of sight]. {h} ran at the very end, but {h.he} ran on, step after step.

Halfway there, {h} heard a cry. A small bird [had fallen out of its nest|lay in the road and could not fly]. All the others had run past it. {h} stopped. "[I cannot leave you here|Somebody has to help you]," {h.he} said. {h.He} picked it up and put it [back into its nest|in a safe place]. "[Thank you|Bless you]!" said the mother of the bird. "[Take the path behind the
hedge|Go through the little wood]. It is the shortest way, and only birds know it."

{h} [did as she said|took that path] and ran and ran. Meanwhile, {rival1} [stopped to drink at a stream|lay down for a nap|stopped to look into the water and admire that fine face]. "[There is plenty of time|I have all the time in the world]," said {rival1}.

When {rival1} came to {goal}, somebody was already there. It was {h}! "[How can that be?|That is not possible!]" <cried> {rival1}. "[I had a little help|Someone showed me the way]," said {h}. {f} <glad>, and everyone cheered as {h} got {prize}. [|<ever>, {rival1} did not boast so much.|"Next time we can run together," {h} said to {rival1}, and so they did.|The one who
stops to help is not always the last.]
""",
)

_BUILD = Plot(
    about=("hero", "sight"),
    facts={
        "build": (("a bridge over the stream", "bridge", "the first stone was washed away"), ("a house in a tree", "tree house", "the first boards fell down"),
                  ("a raft", "raft", "the first raft sank like a stone"), ("a little windmill", "windmill", "the wind blew the first one over"),
                  ("a swing", "swing", "the first rope broke")),
        "stuff": ("old boards and a rope", "branches and some nails", "logs and a long rope"),
    },
    text="""
{intro} {h.His} greatest wish was to see {sight.a} [one day|with {h.his} own eyes], but first {h.he} had a plan. "I want to build {build0}," {h.he} said. {e.first} smiled. "[That is a lot of work|That is not easy]," said {e}.

{when}, {h} [gathered|found] {stuff} and began. {h.He} [sawed|measured] and [hammered|tied knots] all day. But it was [badly made|not strong enough], and {build2}. {h} <sad>. "[I cannot do it alone|It will never work]," {h.he} said.

{f.first} came by. "[What will it be when it is done|What are you making]?" <asked> {f}. "A {build1}," said {h}, "but it does not hold." {f} [walked around it|looked at it from all sides]. "[It needs to be wider at the bottom|You must tie it twice]," said {f}. "[May I help?|Let me show you.]"

The two worked [side by side|hand in hand]. {h} [held the wood|carried the wood], and {f} [tied the knots|drove in the nails]. [They argued once, but not for long.|When they were tired, they ate bread and laughed.] {e} [brought them lemonade|lent them a good saw] and said, "[I see that I was wrong|It looks fine]."

After [three days|a week|five days], the {build1} was ready. "[Who goes first|Who will try it]?" asked {f}. "[Both of us|We go together]," said {h}. They [tried it carefully|counted to three and tried it]. It held! They [laughed and shouted|hugged each other].

"[With you, I can do anything|Together we can do anything]," said {h}. "[Now we can go and see the {sight}.|What about the {sight} now?]" And the next week, they [went|set out], and {e} came along. They saw the {sight}, and it was <wonderful>. "[But our {build1} is better|I like our {build1} better]," whispered {h}, and {f} [nodded|had to laugh].
""",
)

PLOTS = (_PRACTICE, _CONTEST, _RACE, _BUILD)
