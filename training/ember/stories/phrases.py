"""Paraphrases that many plots share, and the sentences that open stories."""

PHRASES = {
    "happy": "was very happy|was so happy|felt very happy|was full of joy|was as happy as could be|felt warm inside",
    "glad": "smiled|smiled a big smile|laughed|smiled happily|clapped with joy|beamed",
    "sad": "was very sad|felt sad|wanted to cry|felt a tear on {h.his} cheek|felt sad and small|was full of sorrow",
    "afraid": "was afraid|was scared|felt afraid|trembled a little|felt {h.his} heart beat fast|shook with fear",
    "went": "went|walked|hurried|set off",
    "hurried": "ran|hurried|rushed|ran as fast as {h.he} could",
    "said": "said|said|said|answered",
    "asked": "asked|asked|asked|said",
    "cried": "cried|shouted|called",
    "thought": "thought for a while|thought hard|thought and thought|sat down and thought|thought about it for a long time",
    "looked": "looked everywhere|searched high and low|looked all around|searched all day long",
    "thanks": "Thank you|Thank you so much|Thank you very much|Oh, thank you|Many thanks",
    "yes": "Of course|Yes|Yes, of course|Certainly|With pleasure|Gladly",
    "ever": "From that day on|From then on|Ever since that day|After that day|From that time on",
    "evening": "That evening|In the evening|When the sun went down|Before bed that night|At the end of the day",
    "slept": "fell asleep with a smile|slept very well|fell fast asleep|slept soundly until morning|dreamed happy dreams",
    "friends": "best friends|good friends|the best of friends|friends for life",
    "nextday": "The next day|The next morning|On the following day|Early the next morning|The day after",
    "oh": "Oh no|Oh dear|Oh my",
    "wonderful": "wonderful|lovely|beautiful|splendid|marvelous",
}

#: Openings that say who lived, each with a weight; "one day" follows them.
STATE_INTROS = (
    ("Once upon a time, there was {h.first}.", 20),
    ("Once upon a time, {h.first} lived {home}.", 14),
    ("Once upon a time, {home}, there lived {h.first}.", 9),
    ("Once there was {h.first}.", 4),
    ("There was once {h.first} who lived {home}.", 4),
    ("There was once {h.first}.", 4),
    ("There once lived {h.first}.", 2),
    ("Long ago, there lived {h.first}.", 4),
    ("Long, long ago, {home}, there lived {h.first}.", 3),
    ("Many years ago, {h.first} lived {home}.", 3),
    ("{home}, there lived {h.first}.", 7),
    ("{home} lived {h.first}.", 4),
    ("This is the story of {h.first}.", 3),
    ("{h.first} lived {home}.", 5),
    ("Not so long ago, {home}, there lived {h.first}.", 2),
    ("Far away, {home}, there lived {h.first}.", 3),
)

#: Such openings for a hero who has a name.
NAMED_INTROS = (
    ("{h} was {h.described}.", 8),
    ("{h} was {h.described} who lived {home}.", 6),
    ("{h} lived {home}.", 3),
    ("Everyone knew {h}, {h.described} who lived {home}.", 2),
)

#: Openings in the middle of a day; "later that day" follows them.
EVENT_INTROS = (
    ("On a {weather} morning, {h.first} woke up early.", 4),
    ("On a {weather} day, {h.first} sat at the window.", 2),
    ("One {weather} morning, {h.first} got up before everyone else.", 4),
    ("One day, {h.first} was on the way to the {place}.", 4),
    ("One morning, {h.first} could not wait for the day to begin.", 3),
    ("One {weather} afternoon, {h.first} was playing near the {place}.", 4),
    ("Early one morning, {h.first} opened the door and looked out.", 3),
    ("It was a {weather} day, and {h.first} had nothing to do.", 3),
    ("The wind was blowing, and {h.first} was wide awake.", 1),
    ("The sun was just coming up when {h.first} opened both eyes.", 2),
    ("It was the first day of [spring|summer], and {h.first} was glad.", 3),
)
