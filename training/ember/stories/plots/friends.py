"""Friends that are made, shared with, helped, hurt and forgiven."""

from ember.stories.plots.plot import Plot

_NEW_FRIEND = Plot(
    about=("hero",),
    traits=("lonely", "shy", "quiet"),
    facts={
        "game": ("hide and seek", "tag", "catch", "ball", "blind man's buff", "follow the leader"),
    },
    text="""
{intro} {h} had no friends. [Every day {h.he} played all alone.|All day long {h.he} watched the others play.|{h.He} often sat under a tree and
talked to {h.himself}.] "I wish I had a friend," said {h.the}.

{when}, {h} [heard somebody crying|heard a small voice|heard someone call for help] [near the {place}|not far from the {place}]. {h} <afraid>, but {h.he} went to see
who it was. [Behind a bush|Beside the path|Between two rocks] sat {f.first}.

"[What is wrong|Why are you crying|Can I help you]?" asked {h} [softly|in a shy voice].

"[I hurt my foot, and I cannot walk|I have a thorn in my foot|I fell down, and my foot hurts]," said {f}. "[And nobody heard me|I have been here since the morning]."

{h.the} [sat down and looked at the foot|bent down to look|knew what to do]. {h.He} [washed the foot with cool water|cleaned the foot with a wet leaf] and tied a [soft leaf|strip of cloth] around
it. "[Lean on me|Hold on to me]," said {h}, "and I will take you home." Slowly, slowly, the two of them went along. {h} told {f} a funny story, and {f} forgot
that the foot hurt.

"[You are so kind|You are so good to me]," said {f} at the door. "[Do you want to be my friend|Will you come and play with me tomorrow|May I be your friend]?"

{h} <happy>. "[Yes|Oh yes], please!" said {h.the}. <nextday>, the foot was better, and they played {game} until the sun went down. [|{h} was never lonely
again.|<ever>, they were <friends>.|{h.the} had a friend at last, and {h.his} wish had come true.|So one kind deed was the start of a great friendship.]
""",
)

_SHARING = Plot(
    about=("food",),
    facts={
        "guests": (("a hungry cat", "the cat"), ("a thin little dog", "the dog"), ("an old man", "the old man"), ("a tired traveler", "the traveler"),
                   ("a small girl", "the girl"), ("a poor woman", "the woman")),
        "helper": (("a goat", "the goat"), ("a little bird", "the bird"), ("two hungry children", "the children"), ("a sleepy bear", "the bear")),
    },
    text="""
{intro} {when}, {e.first} gave {h} {food.a}. "[This is for you|I made it for you|It is all yours]," said {e}. It smelled so good that {h} <glad>.

{h} took the {food} and went to the {place} to eat it [in peace|in the sun|all alone]. But [just as {h.he} sat down|before {h.he} took the first bite|as soon as {h.he} sat
down], {guests0} came along. "[That smells good|What a fine {food}|Oh, {food.a}]!" said {guests1}. "[I have not eaten all day|I am so hungry|I had no breakfast
today]."

{h} looked at the {food}. [It was not very big.|{h.He} was hungry, too.|{h.He} wanted to eat it all.] Then {h.he} looked at {guests1} [again|, who was thin and
tired]. "[Here|Please|Sit down]," said {h}, "[you may have some of it|we can share it|half of it is for you]."

They had just begun when {helper0} came by. "May we taste it, too?" asked {helper1}. {h} <glad>. "<yes>," {h.he} said. "There is enough for all of us."
So they all sat in a circle, and everybody had a bit of the {food}.

[Now there was not one crumb left.|Soon the {food} was gone.] {h} was still [a little|a bit] hungry, but {h.he} <happy>, because [they sang songs and told stories|everyone talked
and laughed|{h.he} had never had such a merry meal].

[<nextday>, there was a knock at the door. There stood {guests1} and {helper1} with a basket full of [plums|nuts|apples|pears|berries]. "You shared your {food} with us," they said. "Now we
share this with you."|When {h} came home, {e} asked, "How did you like the {food}?" "It was the best {food} in the world," said {h}, "because I did not eat it
alone."|"Where is the {food}?" asked {e} in the evening. "I shared it with some new friends," said {h}. {e} <glad> and said, "Then tomorrow we will make a bigger one."]
""",
)

_PROMISE = Plot(
    about=("hero", "thing"),
    facts={
        "fun": ("fishing at the river", "swimming in the lake", "flying kites on the hill", "watching the boats", "climbing trees"),
    },
    text="""
{intro} {h.the} had a good friend, {f.first}. {f} was making {thing.a} for the [summer fair|village fair|school fair], and it was hard work. "I promise
to help you tomorrow," said {h}. "<thanks>," said {f}. "[I cannot do it alone|I need four hands for it]."

<nextday>, some others called {h}. "Come with us! We are going to spend the day {fun}!" Then {h} forgot all about the promise. {h.He} ran with them and had fun
the whole day.

[In the evening|When the sun went down], {h} passed the house of {f}. {f} sat [on the steps|by the door] with a sad face. The {thing} lay there, only half done. "[I waited for you all
day|I waited and waited]," said {f}. "[You promised|You gave me your word]."

{h} <sad>. [{h.He} did not know what to say.|{h.His} face grew hot.|{h.He} looked at the ground.] "I am sorry," {h.he} said at last. "I broke my promise, and that was
wrong. [Can you forgive me?|Please let me make it good.|Will you let me help you now?]"

{f} [was silent for a moment|looked at {h} for a long time|wiped away a tear]. "[The fair is tomorrow|There is not much time left]," said {f}. "But [if we work together, we may still do it|two can work
fast]."

So {h} [lit a lamp|brought a lamp] and they worked side by side [until late at night|until the stars came out|until the moon was high]. {h} held the parts, and {f} put them together. At
last the {thing} was done, and it was <wonderful>.

At the fair, [everyone liked the {thing}|the {thing} won a prize|people came from far away to see the {thing}]. "[{h} helped me|We made it together]," said {f} proudly. {h} <happy>. [|<ever>, {h} kept
every promise.|"Next time, I will keep my word," said {h}, and so {h.he} did.|And they were <friends> again.]
""",
)

_SICK_FRIEND = Plot(
    about=("hero", "food"),
    facts={
        "tell": ("funny stories", "a story about a flying pig", "all the news of the day", "a tale about a silly king"),
        "gift": ("some flowers", "a yellow leaf", "a smooth white stone", "a picture of the two of them"),
    },
    text="""
{intro} {h.his} best friend was {f.first}. Every day they played together {at_place}, and afterward they ate {food.a}.

{when}, {f} did not come. {h.the} waited and waited. [At last {h.he} went to the house of {f} and knocked.|Then {h.he} ran to the house of {f}.] "[{f} is sick and must stay
in bed|{f} has a fever and needs rest]," said the mother of {f}.

{h} <sad>. "What can I do to help?" {h.he} asked {e.first}. {e} <thought>. "[A friend is the best medicine|When I am sick, I like something good to eat|A warm meal and a kind word help
a lot]," said {e}. "We could make {food.a}."

So {h} and {e} went to work. {h} [stirred and stirred|washed and cut and mixed|carried the wood for the stove], and {e} watched the fire. Soon the {food} was ready, and the whole house smelled
good. {h} also took {gift}.

{f} lay in bed and looked [pale|very tired]. "[I have something for you|Look what I have brought]," said {h}. {f} took a bite of the {food} and smiled a little. Then {h} told
{tell}, until {f} had to laugh.

{h} came back [the next day, and the day after that|every day]. [On the third day|After a week|On the fourth day], {f} was sitting up. And [one day later|soon after], {f} was running
[in the sun|across the grass] again.

"[You made me well|I got well because of you], {h.call}," said {f}. "[It was the {food}|The {food} did it]," said {h} and laughed. "[No|Not only]," said {f}. "It was [the friend who brought
it|you]." [|And then they ran off to play.|<ever>, they shared the good days and the bad ones.|They were <friends>, and they stayed so all their lives.]
""",
)

PLOTS = (_NEW_FRIEND, _SHARING, _PROMISE, _SICK_FRIEND)
