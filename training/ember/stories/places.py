"""Places, times, weathers, feelings and other small words of the setting."""

HOMES = [
    "in a small village by the sea", "in a little house at the edge of the forest", "in a town with narrow streets",
    "on a farm among green hills", "in a tall house in the city", "in a cottage by the river", "on a small island",
    "in a valley between two mountains", "in a house with a blue door", "in a quiet village", "near an old mill",
    "in a white house on a hill", "above a little shop", "in a busy harbor town", "next to a big park",
    "in a stone house by the lake", "at the end of a long road", "in a village under the mountains",
    "in a house with a garden", "by a wide river", "in a sunny little town", "near the old bridge",
]

#: Places to walk to, and how one says that something is there.
PLACES = {
    "forest": "in", "meadow": "in", "park": "in", "beach": "on", "hill": "on", "river": "by", "garden": "in", "pond": "by",
    "orchard": "in", "field": "in", "old mill": "at", "harbor": "at", "lake": "by", "valley": "in", "cornfield": "in",
    "market square": "in", "old barn": "in", "old bridge": "by", "big oak tree": "under", "well": "by", "crossroads": "at",
    "stone wall": "by", "stream": "by", "cave": "in", "village green": "on", "school": "at", "ruined tower": "by",
}

TRAITS = """
kind brave cheerful curious clever gentle quiet shy friendly patient careful helpful honest happy thoughtful playful bold
hopeful lively merry polite busy dreamy
""".split()

CHILD_TRAITS = ["little", "small", "young"]

COLORS = "red blue green yellow orange purple pink white black brown gray silver golden".split()

LOOKS = ["little", "big", "old", "new", "shiny", "small", "pretty", "plain", "bright"]

WEATHERS = ["sunny", "windy", "rainy", "foggy", "cloudy", "warm", "bright", "gray", "cool", "fresh", "fine", "quiet"]

DAYS = ["One day", "One morning", "One afternoon", "One {weather} day", "One {weather} morning", "One Saturday",
        "One day in spring", "One fine day", "One summer morning", "One Sunday afternoon", "Early one morning"]

SAME_DAYS = ["That day", "Later that day", "A little later", "That afternoon", "Soon after", "That same day"]

NIGHTS = ["One night", "One windy night", "Late one night", "One dark night", "One winter night", "One summer night"]
