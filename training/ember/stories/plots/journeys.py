"""Journeys on foot, by boat and through the air, and moves to a new home."""

from ember.stories.plots.plot import Plot

_TO_SEE = Plot(
    about=("sight", "hero"),
    facts={
        "guide": (("a mail carrier", "the mail carrier"), ("an old sailor", "the sailor"), ("a farmer with a cart", "the farmer"),
                  ("a girl with a goat", "the girl"), ("a man with a donkey", "the man")),
        "turn": ("beyond the third hill", "on the other side of the river", "behind the tall trees", "past the last house"),
    },
    text="""
{intro} {h} had heard many stories about {sight.a}, but {h.he} had never seen [one|it]. "[One day I will see the {sight}|How I wish I could see the {sight}|I must see that {sight} with my own
eyes]," {h.he} often said.

{when}, {h} [packed a small bag|put some bread in a bag|filled a bottle with water]. "[Where are you going|What are you doing]?" <asked> {e.first}. "I am going to see the {sight}," said {h}. "[It is far
away|That is a long way]," said {e}. "[Take this warm scarf|Take these apples|Take my walking stick], and be careful."

[Soon|After a while], {h} met {f.first}. "May I come, too?" <asked> {f}. "<yes>," said {h}. "[It is more fun with two|Then I will not be alone]." So they walked on together. [They sang songs on the way.|They
talked about all the things they liked.|They counted the birds they saw.]

At noon, the road split in two. "[Which way is right|Which way should we go]?" said {f}. They did not know. Just then {guide0} came along. "[Excuse me|Please], where is the {sight}?" asked {h}. "[Go left and keep
on|Take the small road on the right]," said {guide1}. "It is {turn}."

[They walked and walked.|The sun burned hot.|Their feet began to hurt.] "[I am so tired|I cannot go any farther]," said {f}. {h} [shared the last of the food with {f}|took the hand of {f}]. "[Only a few more steps|We are
nearly there]," {h.he} said.

And there it was, {turn}: the {sight}! [It was bigger than in any story.|It was even more <wonderful> than {h} had dreamed.|It shone in the evening light.] For a long time they [said nothing|only stood and looked].

"[It was worth every step|I will never forget this]," said {h}. [They went home under the stars, and {h} told {e} everything.|Late that night, {h} came home and <slept>.|"And next time," said {f}, "we will go even farther."|The
{sight} was <wonderful>, but {h} liked the long way with {f} just as much.]
""",
)

_BOAT = Plot(
    about=("sea creature",),
    facts={
        "catch": ("a thick fog came down", "a strong wind drove the boat away from the shore", "a big wave took the oars away"),
    },
    text="""
{intro} {when}, {h} and {f.first} [found|built|borrowed] a small [wooden|green|white] boat. They [wanted to row around the bay|wanted to see what was behind the rocks|rowed out as far as they could]. [{e.first} had told {h}
that {a.first} lived there.|People said that {a.first} lived out there.|"Maybe we will meet {a.first}," said {h}.]

At first [the water was as smooth as glass|the sun was shining on the water]. {h} rowed, and {f} sang a song. But then {catch}. Soon they could not see the land anymore.

"[We are lost|Now we cannot get home]!" <cried> {f}. {h} <afraid>, too, but {h.he} said, "[Let us stay calm|We must not give up]. Let us call for help." They called as loudly as they could. [Nobody answered.|At first they heard
nothing but the waves.]

Then something moved near the boat. It was the {a.kind}! "[Do not be afraid|I heard you call]," said {a}. "[I know the way|I can find the shore in any weather]. [Hold this rope and throw me the other end|Throw me your rope]."

{h} threw the rope, and {a} [took it|held it tightly] and pulled. Slowly the boat began to move. [{f} kept watch in front.|{h} and {f} held on to each other.] They went past [dark rocks|a row of sharp rocks] and over high waves, but {a} did not
let go.

At last the boat touched the [sand|shore]. "<thanks>!" said {h} to {a}. "[How can we thank you|What can we do for you]?" "[Bring me something good to eat|I would like a little {a.food}|I get lonely out there]," said {a}. "[Come and visit me again|Then
visit me tomorrow]."

<nextday>, {h} and {f} came back to the shore with [a basket of|some] {a.food}. {a} was waiting for them, and [they laughed and talked until evening|they had a feast together]. [|<ever>, {h} never went out without looking at the sky first.|<ever>, {a} was their
friend.|And nobody was lonely anymore.]
""",
)

_ESCAPE = Plot(
    about=("thing", "hero"),
    facts={
        "chasers": (("a dog", "the dog"), ("a goose", "the goose"), ("a boy with a stick", "the boy"), ("the postman", "the postman"),
                    ("a fat cook", "the cook")),
        "high": (("the top of a tall tree", "climbed up, one branch at a time"), ("the roof of the barn", "climbed up a long ladder"),
                 ("the old tower", "ran up a hundred steps"), ("the arm of the windmill", "waited until the arm came down again")),
    },
    text="""
{intro} {when}, a strong wind began to blow. {h} [was carrying|was playing with|had just come out with] {thing.a}. [Whoosh! The|Swish! The|All at once, the] wind took the {thing} out of {h.his} hands and carried it away!

"[Stop|Come back|Oh no]! My {thing}!" <cried> {h}. {h.He} ran after it [as fast as {h.he} could|down the road]. The {thing} flew [over the fence|over the wall|around the corner], and {h} [climbed over it|ran after it]. "[What are you running after|Why are you
running]?" <asked> {f.first}. "The wind has taken my {thing}!" <cried> {h}. So {f} ran, too.

The {thing} flew past {chasers0}, and {chasers1} ran after it as well. It flew over the [market|pond|school], and everyone who was there ran after it. [What a noise that was!|It was the longest chase that anybody had ever seen.|Soon half of the village was
running.] But nobody could catch it.

At last the wind [grew tired|stopped for a moment]. The {thing} came down on {high0}, and there it [stayed|stuck]. [Everyone stood below and looked up.|"Now it is lost," said {chasers1}.] "[Who will get it down|Who is brave enough to get it]?" asked {f}.

{h} <afraid>, but {h.he} wanted the {thing} back. {h.He} {high1}. "[Do not look down|Be careful]!" <cried> {f}. {h} reached out, and [a little more|farther and farther], until {h.he} held the {thing} in {h.his} hand. [Everyone cheered|Everybody clapped].

"[You ran faster than the wind|You were so brave]," said {f}. {h} <happy>. [Then they all laughed about the chase and drank cold milk together.|And because so many people had come, they had a party right there.|{h} thanked everyone and went home with the {thing}
under one arm.] [|<ever>, {h} held the {thing} with both hands when the wind blew.|<evening>, {h} tied a string to the {thing}, so that it could not fly away again.]
""",
)

_MOVING = Plot(
    about=("hero", "thing"),
    traits=("sad", "quiet", "shy"),
    facts={"old": ("the old apple tree", "the squeaky gate", "the creek behind the house", "the soft green hill", "the blue kitchen")},
    text="""
{intro} {when}, {e.first} said, "We are going to move to a new house." {h} did not want to go. "[I will miss|But what about] {old}," {h.he} said, "and [I will not know anyone there|I will have no friends there]."

But [the day came|soon it was time]. They [put everything into boxes|packed all they had]. {h} kept only one thing in {h.his} arms. It was {thing.a}. "[This {thing} stays with me|I will carry the {thing} myself]," said {h.the}.

The new house was [big and empty|strange and quiet]. [The stairs creaked|The rooms smelled of paint]. {h} sat down on the front steps with the {thing} and <sad>. "[I want to go home|Nothing here is mine but you]," {h.he} said to the {thing}.

Then {h} heard [steps|a voice]. At the gate stood {f.first}. "[Hello|Good morning]," said {f}. "[Are you new here?|I live next door.] What a <wonderful> {thing}! [May I see it|Where did you get it]?"

{h} [was shy at first|did not know what to say at first], but then {h.he} [held out the {thing}|told {f} all about the {thing}]. "[My old home is far away|I miss my old home]," {h.he} said. "[I moved here last year|I was new here once]," said {f}. "[I cried for a week|I felt just the same]. But there are good places
here, too. Come, I will show you."

{f} showed {h} [the best tree to climb|a pond full of frogs|a secret path] and [a place where berries grew|a bench where one could see the whole town|a hole in the fence]. They [played|laughed] until [it grew dark|they were called for supper].

"[How was your day|Do you still want to go home]?" <asked> {e}. {h} put the {thing} on the window of the new room. "[I am home|I think I am home now]," {h.he} said, and {h.he} <slept>. [|A new place needs only one friend to become a home.]
""",
)

PLOTS = (_TO_SEE, _BOAT, _ESCAPE, _MOVING)
