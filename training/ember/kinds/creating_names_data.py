"""Kinds of things that get names and slogans, with words that fit them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Naming:
    """A kind of thing: its nouns, first and second words of names, what the names make people think of, and slogans."""

    nouns: tuple[str, ...]
    firsts: tuple[str, ...]
    seconds: tuple[str, ...]
    #: What names of the kind call to mind: `fresh bread`.
    theme: str
    slogans: tuple[str, ...]
    #: How names are formed of the words.
    forms: tuple[str, ...] = ("The {a} {b}",)


_SHOP_FORMS = ("The {a} {b}", "The {a} {b}", "{a} {b}", "{b} and {b2}", "The {b} and the {b2}")
_PLAIN_FORMS = ("{a} {b}", "{a} {b}", "The {a} {b}")


def _naming(nouns: str, firsts: str, seconds: str, theme: str, slogans: str, forms: tuple[str, ...] = _SHOP_FORMS) -> Naming:
    """Words are divided by spaces, with `_` within one of them; nouns and slogans by ` | `."""
    words = [tuple(word.replace("_", " ") for word in text.split()) for text in (firsts, seconds)]
    return Naming(tuple(nouns.split(" | ")), *words, theme, tuple(slogans.split(" | ")), forms)


NAMINGS = (
    _naming("bakery | bread shop", "Golden Warm Crusty Early Little Honest Floury Sunrise Village", "Loaf Crust Oven Crumb Roll Sheaf Rye Bun Rolling_Pin", "fresh bread from the oven",
        "Warm bread from the first hour of the day. | Good mornings begin in our oven. | Come for the smell, stay for the crust. | Bread as it should be. | Every loaf is made by hand."),
    _naming("cake shop | pastry shop", "Sweet Sugar Velvet Little Happy Vanilla Creamy Rosy", "Slice Layer Icing Cherry Whisk Spoon Crumb Candle", "sweet cakes",
        "Life is sweeter by the slice. | A cake for every wish. | There is always room for one more piece. | Baked with butter and joy."),
    _naming("flower shop | florist's", "Wild Blooming Rosy Fresh Green Morning Little Secret", "Petal Bouquet Tulip Stem Bud Rose Daisy Meadow Blossom", "fresh flowers",
        "Say it with flowers. We know how. | Fresh color for every day. | A bunch of joy for every table. | Where spring never ends. | Small stems, big smiles."),
    _naming("bookshop | bookstore", "Quiet Open Turning Old Curious Last Midnight Paper", "Page Chapter Shelf Bookmark Story Margin Reader Library_Cat Spine", "good books",
        "Your next story is on our shelf. | Come in for a page, stay for a chapter. | New worlds, small prices. | There is a book for everybody. We find it."),
    _naming("coffee shop | cafe", "Warm Morning Slow Dark Corner Lazy Roasted Blue", "Bean Cup Roast Mug Drop Foam Spoon Kettle", "hot coffee",
        "One cup, and the day can begin. | Freshly roasted, slowly enjoyed. | The warmest corner of the street. | Take a break. We have the beans."),
    _naming("tea room | tea shop", "Gentle Green Quiet Steaming Old Silver Rainy", "Leaf Teapot Cup Kettle Saucer Blossom Steam", "a quiet cup of tea",
        "Time for tea, time for you. | A leaf for every mood. | Sit down, breathe in, drink up. | Peace in a pot."),
    _naming("pizza place | pizzeria", "Hot Round Happy Flying Golden Little Stone", "Slice Crust Oven Tomato Basil Olive Dough", "hot pizza",
        "Hot, round and ready. | A slice of joy. | Thin crust, big taste. | From our oven to your table."),
    _naming("restaurant | diner", "Golden Hungry Friendly Red Long Merry Copper Corner", "Fork Table Spoon Pot Plate Kitchen Ladle Chef", "a good meal",
        "Come hungry, leave happy. | A table is waiting for you. | Home cooking without the dishes. | Good food needs good company."),
    _naming("ice cream shop | ice cream parlor", "Frozen Cool Melting Happy Snowy Double Sunny", "Scoop Cone Cherry Penguin Spoon Snowflake Sprinkle", "cold ice cream",
        "Cool down, one scoop at a time. | The sweetest way to freeze. | Two scoops and the sun comes out. | Cold cones, warm smiles."),
    _naming("toy shop", "Jolly Wooden Spinning Wonder Little Bouncing Magic", "Top Teddy Marble Kite Rocking_Horse Block Drum Puppet", "play and fun",
        "Where grown-ups become children. | Play is serious work. | Fun for small hands. | Come in and play."),
    _naming("bike shop | bicycle shop", "Quick Spinning Rolling Free Silver Happy Downhill", "Wheel Pedal Spoke Chain Saddle Bell Gear", "riding a bike",
        "Two wheels, no worries. | We keep you rolling. | Feel the wind again. | Your way to work can be fun."),
    _naming("shoe shop | shoe store", "Happy Light Dancing Walking Polished Red Comfortable", "Sole Step Heel Lace Boot Slipper Buckle", "good shoes",
        "Every journey begins with a good shoe. | Happy feet live here. | Step in, walk out. | Shoes that like your feet."),
    _naming("hat shop", "Tall Velvet Feathered Dashing Round Elegant", "Brim Cap Feather Ribbon Bonnet Crown", "hats for every head", "Heads up: here come the hats. | A hat for every head. | Keep your ideas warm. | Top off your day."),
    _naming("hair salon | barber shop", "Sharp Silver Curly Shining Wavy Neat", "Scissors Comb Curl Cut Ribbon Mirror Fringe", "a good haircut", "A new cut, a new day. | We make heads turn. | Short, long or curly: always you. | Sit down, look up, smile."),
    _naming("garden shop | garden center", "Green Growing Sunny Blooming Busy Wild", "Thumb Seed Spade Sprout Watering_Can Root Shoot Wheelbarrow", "plants that grow", "Let it grow. | Green thumbs start here. | From small seeds come big gardens. | Dig in!"),
    _naming("pet shop", "Happy Furry Wagging Cozy Gentle Playful", "Paw Tail Whisker Feather Basket Collar Nest", "happy animals", "For paws, wings and whiskers. | Because they are family. | Happy tails start here. | Good food for good friends."),
    _naming("music shop", "Golden Humming Ringing Silver Loud Merry", "Note String Chord Drum Bow Key Trumpet Fiddle", "music", "Find your sound. | Every song starts here. | Strings, keys and happy neighbors. | Play it your way."),
    _naming("wool shop | yarn shop", "Soft Cozy Tangled Warm Woolly Knitted", "Yarn Stitch Needle Ball Sheep Thread Mitten", "warm wool", "Warm hands make warm socks. | One more row! | Wool for long evenings. | Soft, warm and made by you."),
    _naming("clock shop | watchmaker's", "Ticking Patient Golden Swinging Punctual", "Hand Pendulum Hour Minute Spring Cuckoo Dial", "clocks and time", "It is about time. | We have all the time in the world. | Always on the minute. | Time well kept."),
    _naming("candle shop", "Glowing Warm Flickering Golden Quiet", "Wick Flame Light Wax Glow Match", "warm candlelight", "Light up your evening. | A small flame makes a big difference. | Let it glow. | Warm light for long nights."),
    _naming("fish shop | fishmonger's", "Salty Silver Fresh Blue Happy", "Net Herring Fin Anchor Harbor Tide Trout", "fresh fish", "This morning in the sea, tonight on your plate. | Fresh from the boat. | Our fish could not be fresher. | The sea comes to town."),
    _naming("fruit stand | fruit shop", "Juicy Ripe Sunny Fresh Sweet", "Orchard Basket Cherry Plum Apple Pear Barrow", "ripe fruit", "Picked today, gone tomorrow. | Sunshine you can eat. | Sweet, ripe and ready. | An apple for every pocket."),
    _naming("cheese shop", "Golden Ripe Mellow Smiling Alpine", "Rind Wheel Mouse Cellar Slice Goat", "good cheese", "Say cheese! | Good things take time. Ours is ripe. | A slice of the mountains. | Even the mice approve."),
    _naming("tool shop | hardware store", "Trusty Handy Iron Strong Solid", "Hammer Nail Toolbox Screw Wrench Bolt Anvil", "good tools", "You build it. We have the nails. | The right tool for every job. | Fix it once, fix it well. | Strong tools for busy hands."),
    _naming("furniture shop", "Wooden Comfortable Solid Quiet Soft", "Chair Table Cushion Oak Sofa Shelf", "a cozy home", "Sit down. You are home. | Make room for comfort. | Chairs that wait for you. | Built to be lived with."),
    _naming("soap shop", "Clean Foaming Gentle Lavender Fresh", "Bubble Foam Bar Splash Drop Lather", "clean hands and soft foam", "Clean hands, happy nose. | Bubbles for everybody. | Fresh as the morning. | Wash the day away."),
    _naming("juice bar", "Fresh Squeezed Sunny Cool Zesty", "Orange Lemon Straw Squeeze Drop Ginger", "fresh juice", "Squeezed, not stirred long. | A glass full of sun. | Drink your fruit. | Fresh in a minute."),
    _naming("hotel | inn | guesthouse", "Quiet Golden Sleepy Old Friendly Star", "Pillow Lantern Key Rest Bell Feather_Bed Harbor", "a good night's sleep", "Sleep well, wake up smiling. | Your home away from home. | Soft beds, quiet nights. | The light is on for you."),
    _naming("farm", "Green Muddy Sunny Windy Old Long", "Meadow Furrow Barn Acre Hill Orchard Rooster", "fields and animals", "From our field to your table. | Good earth, good food. | Up with the rooster, every day. | Honest food from honest soil.", ("{a} {b} Farm", "The {a} {b} Farm")),
    _naming("laundry | laundromat", "Clean Fresh Spinning Bubbling White", "Sock Shirt Bubble Clothesline Peg Drum", "clean clothes", "We bring back both socks. | Fresh, folded and friendly. | Dirty day? Clean shirt. | You rest, we wash."),
    _naming("gym | sports club", "Strong Jumping Iron Active Mighty", "Muscle Mat Step Jump Heart Rope", "moving and getting stronger", "One more step, one more smile. | Stronger every day. | Your sofa can wait. | Move a little, feel a lot."),
    _naming("dance school", "Dancing Light Twirling Turning Swinging", "Step Shoe Spin Rhythm Waltz Ribbon", "dancing", "Even left feet can dance. | Take the first step. | If you can walk, you can dance. | Turn up and turn around."),
    _naming("photo studio", "Bright Sharp Golden Flashing Smiling", "Lens Frame Flash Moment Shutter Portrait", "good pictures", "Smile, it is forever. | We keep your best moments. | One click, many memories. | Look here, please!"),
    _naming("taxi company | bus company", "Quick Yellow Rolling Trusty Night", "Wheel Ride Road Corner Cab Mile", "a safe ride", "Sit back. We know the way. | From door to door, day and night. | Late? We are not. | Every road leads home."),
    _naming("cleaning company", "Shining Spotless Busy Fresh Bright", "Broom Bucket Mop Sparkle Sponge Window", "clean rooms", "Dust has no chance. | You live, we sweep. | So clean that it shines. | Leave the mess to us."),
    _naming("travel agency", "Far Blue Open Wandering Happy", "Suitcase Horizon Compass Map Road Island", "faraway places", "The world is waiting. Pack light. | Go far, come home happy. | Your holiday starts here. | There is always another island."),
    _naming("honey stand | bee farm", "Golden Busy Humming Sweet Wild", "Bee Hive Honeycomb Jar Clover Blossom", "sweet honey", "Made by bees, loved by all. | Liquid gold in a jar. | A spoonful of summer. | The bees work so that you can smile."),
    _naming("bakery for dogs | dog salon", "Happy Wagging Barking Shaggy Proud", "Tail Biscuit Bone Nose Paw Ear", "happy dogs", "Every dog has its day. Today is it. | Clean paws, happy noses. | For the best friend you have. | Sit, stay, enjoy."),
    _naming("library", "Quiet Open Endless Old Bright", "Page Shelf Reading_Lamp Chapter Story Book", "reading in peace", "A thousand worlds, one card. | Borrow a book, keep the story. | Quiet outside, adventure inside. | Read more, for nothing."),
    _naming("cinema | theater", "Silver Golden Velvet Midnight Grand", "Curtain Screen Ticket Spotlight Stage Lantern", "the moment when the lights go out", "Lights out, story on. | The best seat in town is free. | Laugh, cry and eat popcorn. | Every night, another world."),
    _naming("school | kindergarten", "Bright Little Sunny Busy Curious", "Pencil Chalk Bell Sparrow Apple Rainbow", "children who learn with joy", "Small steps, big ideas. | Curious minds welcome. | Learning is an adventure. | Every child can shine."),
    _naming("repair shop | workshop", "Handy Trusty Patient Second Busy", "Screw Wrench Patch Spring Toolbox Chance", "things that work again", "Broken? Not for long. | We give old things a second life. | Fixed today, happy tomorrow. | Do not throw it away, bring it here."),
    _naming("band | rock band", "Electric Loud Midnight Velvet Broken Wild Paper", "Drums Strings Echoes Amplifiers Choruses Lions Guitars Basslines", "loud and happy music", "Turn it up! | Four chords and the truth. | Louder than your alarm clock. | Hear us once, hum us for a week.", ("The {a} {b}", "{a} {b}")),
    _naming("choir", "Golden Singing Merry Morning Clear Happy", "Voices Larks Notes Nightingales Robins Harmonies", "many voices in one song", "Many voices, one song. | We sing until the windows smile. | Come and breathe with us. | Every voice counts.", ("The {a} {b}",)),
    _naming("orchestra", "Grand Silver Evening Flying Royal", "Bows Strings Batons Trumpets Violins", "strings and trumpets", "Eighty hands, one heart. | Hear the wood sing. | Silence, and then wonder. | Music without borders.", ("The {a} {b}", "The {a} {b} Orchestra")),
    _naming("boat | sailboat | ship", "Silver Salty Brave Blue Dancing Swift Patient North", "Wave Gull Wind Tide Dolphin Star Anchor Sail", "wind and waves", "Let the wind do the work. | Smooth sailing for all. | Cast off your worries. | The sea is calling.", ("{a} {b}", "The {a} {b}")),
    _naming("spaceship | rocket", "Silver Star Far Cosmic Shining Blue", "Comet Orbit Voyager Meteor Traveler Nova Beam", "the stars", "Next stop: the stars. | The sky is only the beginning. | Up, up and farther. | One small ticket, one big trip.", ("{a} {b}", "{a} {b} One")),
    _naming("robot | machine", "Clever Copper Busy Buzzing Shiny Helpful", "Bolt Circuit Gear Spark Button Wire", "gears and wires", "It never sleeps, so you can. | Bolts, brains and good manners. | Push the button and relax. | Help at the touch of a finger.", ("{a} {b}", "{b}", "Captain {b}")),
    _naming("football team | soccer team", "Flying Mighty Roaring Quick Red Thunder", "Boots Goals Lions Strikers Kickers Rovers Eagles", "speed and goals", "Run, pass, laugh, score! | One team, one goal. | We play until the whistle. | Win or lose, we sing.", ("The {a} {b}",)),
    _naming("quiz team", "Clever Curious Quick Brainy Puzzled", "Owls Thinkers Answers Question_Marks Foxes Pencils", "clever heads", "We know that we know it. | Ask us anything. | Thinking fast, laughing faster. | Right or wrong, always together.", ("The {a} {b}",)),
    _naming("running club | walking club", "Early Swift Breathless Happy Muddy", "Shoes Steps Hares Miles Runners Laces", "running in the fresh air", "Slow is fine, stopping is not. | Every mile counts. | Run with us, walk with us, laugh with us. | First the run, then the cake.", ("The {a} {b}",)),
    _naming("chess club", "Silent Patient Wooden Clever White", "Knights Pawns Bishops Rooks Queens Kings", "calm thinking", "Think first, then move. | Every pawn counts. | Quiet hands, loud ideas. | Your move!", ("The {a} {b}",)),
    _naming("book club", "Turning Curious Sleepless Late Quiet", "Pages Readers Chapters Bookmarks Covers", "long talks about books", "Read first, talk later, eat cake always. | One book, many opinions. | The next chapter is yours. | Come for the book, stay for the talk.", ("The {a} {b}",)),
    _naming("dragon", "Smoky Ember Fiery Scaly Golden Crimson", "Wing Scale Claw Flame Fang Tail", "fire and scales", "Hot breath, warm heart. | Keeps your soup hot. | Small fire, big heart. | Fly with fire.", ("{a}{b_low}", "{a} {b}")),
    _naming("village | fantasy town", "Willow Stone Apple Fern Otter Lark", "brook ford field wick haven bridge mere", "a quiet place in the green", "Come for a day, stay for a life. | Small streets, open doors. | Where everybody waves. | Slow down, you have arrived.", ("{a}{b_low}",)),
    _naming("planet", "Zephyr Amber Silver Misty Violet Distant", "Prime Minor Seven Nova Major", "a faraway world", "Breathe in, float away. | Two moons, no traffic. | A world without Mondays. | Far away, and worth it.", ("{a} {b}",)),
    _naming("newspaper | school newspaper", "Morning Daily Honest Village Weekly", "Bell Page Post Herald Echo Courier Lantern", "news that one can trust", "All that happened, and nothing that did not. | Read today, talk tomorrow. | The news before your tea is cold. | True, short and clear.", ("The {a} {b}",)),
    _naming("podcast | radio show", "Late Kitchen Curious Quiet Morning", "Talk Voices Waves Microphone Chatter Hour", "good talks to listen to", "Good talk for long roads. | Put us in your ears. | We talk, you cook. | One hour, many ideas.", ("The {a} {b}", "{a} {b}")),
    _naming("car | van", "Rusty Red Rolling Silver Faithful Speedy", "Rocket Arrow Thunder Bumper Wheel Wanderer", "the open road", "Starts on most days. | Four wheels and a dream. | Room for all, and a dog. | The road is our friend.", ("{a} {b}", "The {a} {b}")),
    _naming("teddy bear | soft toy", "Fluffy Cuddly Sleepy Brown Button Honey", "Ears Paws Nose Patch Cuddle Snuggle", "soft hugs", "Hugs included. | Never says no to a hug. | Soft outside, soft inside. | A friend for every night.", ("{a} {b}", "Mister {b}")),
    _naming("detective | detective agency", "Sharp Silent Clever Keen Midnight", "Eye Clue Lantern Footprint Fox Magnifier", "sharp eyes and clues", "No clue is too small. | We find what you lost. | Quiet steps, sharp eyes. | The truth is under the carpet.", ("The {a} {b}", "Inspector {b}")),
    _naming("superhero | hero", "Captain Mighty Doctor Lady Brave", "Lightning Courage Shield Comet Thunder Feather", "courage", "Here to help, back for dinner. | No cat stays in the tree. | Brave at any hour. | Small cape, big heart.", ("{a} {b}",)),
    _naming("board game | card game", "Lucky Rolling Tricky Royal Seven", "Dice Pawns Cards Castles Roads Treasures", "fun around a table", "Roll the dice and laugh. | One more round! | Easy to learn, hard to stop. | For everybody from six to ninety-six.", ("{a} {b}", "The {b} Game")),
)

#: Names for animals at home by what they are like.
PET_NAMES = {
    "lazy": "Pillow Snooze Cushion Dozer Slipper Mellow Hammock", "fast": "Rocket Dash Zoom Turbo Arrow Flash Bolt", "small": "Pip Button Crumb Dot Pebble Bean Thimble", "big": "Titan Bear Tank Goliath Moose Jumbo Boulder",
    "black": "Shadow Ink Midnight Coal Raven Pepper Onyx", "white": "Snow Cotton Pearl Ivory Frost Sugar Cloud", "brown": "Cocoa Chestnut Nutmeg Toffee Acorn Mocha Bramble", "gray": "Smoky Ash Pebble Misty Flint Dusty Steel",
    "red": "Rusty Ruby Rosy Copper Poppy Cherry Ginger", "orange": "Pumpkin Marmalade Ginger Apricot Saffron Carrot Tangerine", "yellow": "Sunny Lemon Honey Buttercup Canary Mustard Daisy", "spotted": "Dots Domino Freckles Patches Speckle Pebbles Confetti",
    "striped": "Zigzag Tiger Stripes Ribbon Zebra Barcode Lines", "fluffy": "Fluff Cotton Muffin Cloud Pompom Feather Wooly", "hungry": "Nibbles Muncher Biscuit Waffle Crumbs Snack Gobble", "noisy": "Trumpet Banjo Thunder Rattle Siren Drum Boomer",
    "quiet": "Whisper Hush Misty Velvet Moth Feather Silence", "brave": "Hero Captain Lionheart Knight Champion Viking Courage", "shy": "Violet Misty Whisper Bashful Mousy Fern Snail", "clever": "Riddle Professor Sage Puzzle Wizard Scholar Owl",
    "funny": "Giggles Noodle Jester Bubbles Tickle Pickles Clown", "old": "Grandpa Walnut Granny Whiskers Duke Mossy Antique", "curious": "Scout Peek Snoop Ranger Nosy Seeker Explorer", "friendly": "Buddy Sunny Pal Happy Joy Chum Hugo",
    "grumpy": "Grumbles Vinegar Mutter Thistle Growler Pickle Stormy", "elegant": "Duchess Velvet Silk Opera Pearl Grace Baroness",
}
PETS = ("cat dog rabbit hamster parrot horse puppy kitten pony pig goat hen donkey lizard duck mouse snake budgie ferret turtle goldfish canary guinea_pig rat sheep cow rooster").split()
