"""Tools that do something in the house: music, clocks, lights, doors, food."""

from ember.chats.tools_data import Tool

HOME = (
    Tool(
        "play_music|play_song|music_player|play",
        "Play a song|Start a song by its title",
        ("song|title|track: title", "artist|singer|by: person"),
        (
            "Play {song}.", "Play the song {song}.", "Please play {song} by {artist}.", "I want to hear {song}.",
            "Can you play {song} by {artist}?", "Put on {song}, please.", 'Play "{song}".',
        ),
        "to hear {song}",
        ("status|state|playing: ok",),
        ("Now playing {song}.", "I am playing {song}.", "Here is {song}. Enjoy it!"),
    ),
    Tool(
        "set_timer|timer|start_timer|countdown",
        "Set a timer|Start a timer in minutes",
        ("minutes|duration|time: minutes",),
        (
            "Set a timer for {minutes} minutes.", "Start a timer of {minutes} minutes.",
            "Please set a timer for {minutes} minutes.",
            "Timer for {minutes} minutes, please.", "Tell me when {minutes} minutes are over.",
            "I need a timer: {minutes} minutes.",
        ),
        "a timer for {minutes} minutes",
        ("status|state|started: ok",),
        (
            "The timer is set for {minutes} minutes.", "I started a timer for {minutes} minutes.",
            "Your timer runs for {minutes} minutes.",
        ),
    ),
    Tool(
        "set_alarm|alarm|wake_up|add_alarm",
        "Set an alarm|Set an alarm for a time",
        ("time|hour|at: time", "day|date: day"),
        (
            "Set an alarm for {time}.", "Wake me up at {time}.", "Please wake me at {time} on {day}.",
            "I need an alarm at {time}.",
            "Set an alarm for {time} on {day}.", "Can you set an alarm for {time}?",
        ),
        "an alarm at {time}",
        ("status|state|set: ok",),
        ("The alarm is set for {time}.", "I set an alarm for {time}.", "I will wake you at {time}."),
    ),
    Tool(
        "set_light|light|switch_light|lamp",
        "Turn a light on or off|Switch the light of a room",
        ("room|place|where: room", "on|state|turn_on: on"),
        (
            "Turn {on} the light in the {room}.", "Turn the light in the {room} {on}.",
            "Switch {on} the {room} light.",
            "Please turn {on} the lamp in the {room}.", "Light {on} in the {room}, please.",
            "I want the light in the {room} {on}.",
        ),
        "the light in the {room} {on}",
        ("status|state|changed: ok",),
        (
            "The light in the {room} is now {on}.", "I turned the light in the {room} {on}.",
            "Done. The {room} light is {on}.",
        ),
    ),
    Tool(
        "set_temperature|heating|thermostat|set_heat",
        "Set how warm a room is|Set the heating of a room",
        ("room|place|where: room", "degrees|temperature|value: degrees"),
        (
            "Set the {room} to {degrees} degrees.", "Make the {room} {degrees} degrees warm.",
            "I want {degrees} degrees in the {room}.",
            "Please set the heating in the {room} to {degrees} degrees.", "Heat the {room} to {degrees} degrees.",
        ),
        "{degrees} degrees in the {room}",
        ("status|state|changed: ok",),
        (
            "The {room} is now set to {degrees} degrees.", "I set the {room} to {degrees} degrees.",
            "Done. It will be {degrees} degrees in the {room}.",
        ),
    ),
    Tool(
        "find_recipe|get_recipe|recipe|cook_book",
        "Find a recipe|Get a recipe for a dish",
        ("dish|food|meal|name: food", "people|servings: small"),
        (
            "How do I make {dish}?", "Find a recipe for {dish}.", "I want to cook {dish}. Find me a recipe.",
            "Give me a recipe for {dish} for {people} people.",
            "Can you find a {dish} recipe?", "I need a recipe: {dish} for {people} people.",
        ),
        "a recipe for {dish}",
        ("recipe|title|name: title", "minutes|time: minutes"),
        (
            'I found the recipe "{recipe}". It takes {minutes} minutes.',
            '"{recipe}" is a recipe for {dish}. It takes {minutes} minutes.',
        ),
    ),
)
