"""What the generated data promise. Run in `training/`: python3 -m unittest discover tests"""

import json
import re
import sys
import unittest
from functools import cache
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from ember import chat_text, continuing, documents, mentioned, seeds, stories, swapping, texts, vocabulary  # noqa: E402
from ember.chat import Chat, assistant, system, tool, user  # noqa: E402
from ember.draw import Draw  # noqa: E402
from ember.fill import fill  # noqa: E402
from ember.grammar import article, listed, number_word, plural, verdict  # noqa: E402
from ember.kinds import chats, plain, short_story_chats, sums, tool_chats, tool_specs, word_tasks  # noqa: E402
from ember.noise import misspelled_word, noisy  # noqa: E402
from ember.split import HELD_OUT_KINDS, Split  # noqa: E402

TEMPLATE = Path(__file__).parents[1] / "ember" / "chat_template.jinja"


def drawn(number: int, split: Split = Split.TRAIN, seed: int = 0, family: str | None = None) -> list[Chat]:
    """So many chats."""
    draw = Draw(Random(seed), split)
    return [chats.chat(draw, family) for _ in range(number)]


@cache
def many() -> list[Chat]:
    """Chats for training, which several tests read."""
    return drawn(4_000, seed=7)


class Seeds(unittest.TestCase):
    def test_there_is_as_much_as_was_asked_for(self):
        self.assertGreaterEqual(len(seeds.dialogues()), 8000)
        self.assertGreaterEqual(len(seeds.facts("capitals")), 120)
        self.assertGreaterEqual(len(seeds.facts("opposites")), 200)
        self.assertGreaterEqual(len(seeds.facts("comparisons")), 150)
        self.assertGreaterEqual(len(seeds.facts("explain")), 150)
        self.assertGreaterEqual(len(seeds.facts("jokes")), 150)
        self.assertGreaterEqual(len(seeds.haiku()), 150)
        self.assertGreaterEqual(len(seeds.poems()), 80)

    def test_tables_have_all_their_columns(self):
        for path in (seeds.FOLDER / "facts").glob("*.tsv"):
            lines = path.read_text(encoding="utf-8").splitlines()
            columns = lines[0].count("\t")
            for line in lines:
                self.assertEqual(line.count("\t"), columns, f"{path.name}: {line}")

    def test_short_stories_are_many_and_whole(self):
        found = seeds.short_stories()
        self.assertGreaterEqual(len(found), 8000)
        beginnings = [" ".join(one.text.split()[:8]) for one in found]
        self.assertGreater(len(set(beginnings)), 0.99 * len(beginnings))
        for one in found:
            self.assertTrue(one.text.isascii() and one.kind and one.setting, one)
            self.assertEqual(one.text.count('"') % 2, 0, one)
            self.assertTrue(20 <= len(one.text.split()) <= 190, one)

    def test_every_turn_is_answered(self):
        for dialogue in seeds.dialogues():
            for said, answer in dialogue.turns:
                self.assertTrue(said and answer, dialogue)
        for intent in seeds.intents():
            self.assertTrue(intent.wordings and intent.answers, intent)

    def test_no_wording_asks_for_two_things(self):
        wordings = [wording for intent in seeds.intents() for wording in intent.wordings]
        self.assertEqual(sorted(wordings), sorted(set(wordings)))


class Drawing(unittest.TestCase):
    def test_familiar_words_are_drawn_more_often(self):
        draw = Draw(Random(0))
        words = ["gerbil", "dog", "tapir", "ocelot"]
        found = [draw.familiar(words) for _ in range(1000)]
        self.assertGreater(found.count("dog"), 500)
        self.assertEqual(set(found), set(words))

    def test_a_misspelled_word_keeps_its_first_letter_and_most_of_its_length(self):
        draw = Draw(Random(0))
        for _ in range(500):
            word = draw.word("any")
            typed = misspelled_word(draw, word)
            self.assertEqual(typed[0], word[0])
            self.assertLessEqual(abs(len(typed) - len(word)), 6)
        self.assertEqual(misspelled_word(draw, "cat"), "cat")

    def test_an_opening_and_its_continuation_make_the_text(self):
        draw = Draw(Random(0))
        for _ in range(300):
            opening, rest, told = continuing.continued(draw)
            self.assertTrue(opening and rest)
            self.assertTrue(told.text.startswith(opening))
            self.assertTrue(told.text.endswith(rest))

    def test_a_continuation_repeats_a_name_or_a_thing_of_its_opening(self):
        self.assertTrue(continuing.shares("The fox was gone.", "Nobody had seen any foxes."))
        self.assertTrue(continuing.shares("Oscar sang.", '"Why?" asked Oscar.'))
        self.assertFalse(continuing.shares("The fox was gone.", "Oscar sang."))
        self.assertFalse(continuing.shares("Oscar sang.", "Nobody had seen any foxes."))
        self.assertTrue(continuing.shares("It was late.", "Nobody had seen any foxes."))
        draw = Draw(Random(1))
        found = [continuing.continued(draw) for _ in range(1000)]
        # Some openings mention only what no body can repeat.
        self.assertGreater(sum(continuing.shares(opening, rest) for opening, rest, _ in found), 950)

    def test_an_opening_is_searched_for_what_a_body_can_repeat(self):
        self.assertEqual(mentioned.named_in("Oscar saw a fox at the museum.")["animal"], "fox")
        self.assertEqual(mentioned.named_in("The museum closes at six."), {"place": "museum"})
        self.assertEqual(mentioned.named_in("The taxi driver turned around."), {"job": "taxi driver"})
        self.assertEqual(mentioned.named_in("The sun is a huge ball of hot gas."), {})
        self.assertEqual(mentioned.named_in("Oranges."), {"foods": "oranges"})

    def test_a_short_story_is_about_what_was_asked_for(self):
        draw = Draw(Random(4))
        for _ in range(500):
            turn, = short_story_chats.about(draw)
            self.assertTrue(turn.protected or turn.names)
            for word in (*turn.protected, *turn.names):
                self.assertRegex(turn.answer, rf"\b{word}")

    def test_an_opened_short_story_is_whole(self):
        draw = Draw(Random(5))
        for _ in range(500):
            made = texts.short_story_text(draw)
            self.assertTrue(made.rest.strip())
            self.assertRegex(made.rest[-1], r"[.!?\"'\w]")

    def test_bodies_are_enough_and_whole(self):
        bodies = continuing.bodies()
        self.assertGreaterEqual(len(bodies), 150)
        self.assertGreaterEqual(sum(body.needs.startswith("none") for body in bodies), 50)
        draw = Draw(Random(2))
        for body in bodies:
            for thing in ("object", "animal"):
                if thing in body.needs:
                    self.assertGreaterEqual(str(body.frame.parts).lower().count(f"{{{thing}"), 2, body)
            for _ in range(20):
                text = stories.told_in_parts(draw, body.frame, stories.people(draw, {}))
                self.assertNotRegex(text, r"[{}|]|\(\d+\)")
                self.assertEqual(text.count('"') % 2, 0, text)

    def test_fragments_are_enough_and_whole(self):
        self.assertGreaterEqual(len(continuing.fragments()), 350)
        draw = Draw(Random(3))
        for kind, frame in continuing.fragments():
            for _ in range(10):
                text = continuing.told_fragment(draw, kind, frame).text
                self.assertNotRegex(text, r"[{}|]|\(\d+\)", kind)
                self.assertEqual(text.count('"') % 2, 0, text)

    def test_an_opening_breaks_off_after_any_word(self):
        self.assertEqual(continuing.after_words("When it rained,\nwe stayed in.", 3), ("When it rained,", "we stayed in."))
        self.assertEqual(continuing.after_words("One two three four five.", 12), ("One two", "three four five."))

    def test_a_body_has_an_alternative_for_each_way_through_it(self):
        def marks(way: str) -> set[str]:
            return set(way[1:].split(")", 1)[0]) if way.startswith("(") else set("1234")

        for body in continuing.bodies():
            left = [frozenset("1234")]
            for part in body.frame.parts:
                for mark in left:
                    self.assertTrue(any(marks(way) & mark for way in part), f"{body.needs}: {part}")
                left = [mark & marks(way) for mark in left for way in part if mark & marks(way)]
                left = list(dict.fromkeys(left))


class Grammar(unittest.TestCase):
    def test_a_verdict_follows_the_fact(self):
        self.assertEqual(verdict("a whale is a mammal.", False), "A whale is a mammal, so no.")
        self.assertEqual(verdict("4 is even", True), "4 is even, so yes.")
        self.assertEqual(verdict("the capital is Washington, D.C.", True), "The capital is Washington, D.C., so yes.")

    def test_articles_and_plurals(self):
        self.assertEqual([article(word) for word in ("owl", "hour", "unicorn", "ukulele", "umbrella")],
            ["an", "an", "a", "a", "an"])
        self.assertEqual([plural(word) for word in ("fox", "pony", "wolf", "sheep", "potato", "bus stop")],
            ["foxes", "ponies", "wolves", "sheep", "potatoes", "bus stops"])
        self.assertEqual(listed(["a", "b", "c"]), "a, b and c")
        self.assertEqual(number_word(42), "forty-two")

    def test_slots_are_filled_alike_with_their_articles(self):
        filled = fill(Draw(Random(1)), "A {animal} saw a {animal} and {Animal}.", {"animal": "owl"})
        self.assertEqual(filled, "An owl saw an owl and Owl.")


class Noise(unittest.TestCase):
    def test_what_is_protected_stays(self):
        draw = Draw(Random(2))
        for _ in range(500):
            self.assertIn("Blue KETTLE", noisy(draw, "Please repeat the words Blue KETTLE for me now.", ("Blue KETTLE",)))

    def test_numbers_stay(self):
        draw = Draw(Random(3))
        for _ in range(500):
            self.assertEqual(re.findall(r"\d+", noisy(draw, "What is 12 plus 30, please tell me?")), ["12", "30"])


class Chats(unittest.TestCase):
    def test_the_same_seed_makes_the_same_chats(self):
        self.assertEqual(drawn(50, seed=5), drawn(50, seed=5))

    def test_every_family_makes_whole_chats(self):
        for family in [*chats.FAMILIES, "tools"]:
            for split in Split:
                for made in drawn(60, split, seed=6, family=family):
                    roles = [message["role"] for message in made.messages]
                    self.assertEqual(roles[-1], "assistant", made)
                    self.assertIn(roles[0], ("user", "system"), made)
                    for message in made.messages:
                        self.assertTrue(str(message["content"]).strip(), made)

    def test_no_slot_is_left(self):
        for made in many():
            for message in made.messages:
                self.assertIsNone(re.search(r"\{[A-Za-z]+\d?\}", str(message["content"])), made)

    def test_held_out_kinds_are_not_trained_on(self):
        kinds = {made.kind for made in many()}
        self.assertFalse(kinds & HELD_OUT_KINDS)
        held_out = {made.kind for made in drawn(2_000, Split.HELD_OUT, seed=9)}
        self.assertGreater(len(held_out & HELD_OUT_KINDS), 8)

    def test_held_out_words_are_not_drawn_in_training(self):
        for kind in ("name", "animal", "object", "word"):
            self.assertFalse(set(vocabulary.of_kind(kind, Split.TRAIN)) & set(vocabulary.of_kind(kind, Split.HELD_OUT)))

    def test_familiar_words_are_not_held_out(self):
        for kind, word in (("animal", "horse"), ("object", "ball"), ("any", "chocolate")):
            self.assertIn(word, vocabulary.of_kind(kind, Split.TRAIN))
            self.assertFalse(any(map(vocabulary.is_familiar, vocabulary.of_kind(kind, Split.HELD_OUT))))

    def test_several_words_are_distinct_and_there_cannot_be_more_than_all(self):
        draw = Draw(Random(0))
        self.assertEqual(len(set(draw.words("day", 7))), 7)
        with self.assertRaises(ValueError):
            draw.words("day", 8)

    def test_requests_to_invented_tools_are_grammatical(self):
        draw = Draw(Random(0))
        for _ in range(500):
            for ask in tool_specs.made_up(draw).asks:
                self.assertNotRegex(ask, r"(could you|can you|want you to|now) (how|is|what) |\|")

    def test_plain_requests_are_of_familiar_words(self):
        for chat in drawn(200, family="plain"):
            for asked, answered in zip(chat.messages, chat.messages[1:]):
                letters = re.fullmatch(r"([A-Z](?:-[A-Z])+)( has (\d+) letters\.)?", str(answered["content"]))
                if chat.kind == "plain/letters" and letters:
                    word = letters[1].replace("-", "").lower()
                    self.assertIn(word, vocabulary.familiar_words())
                    self.assertIn(word, str(asked["content"]).lower())
                    self.assertIn(letters[3], (None, str(len(word))))

    def test_rhyming_words_rhyme_in_the_table(self):
        rows = [{row["word"], *row["rhymes"].split(", ")} for row in seeds.facts("rhymes")]
        draw = Draw(Random(0))
        for turn in (turn for _ in range(100) for turn in plain.rhymes(draw)):
            words = set(re.findall(r"[a-z]+", turn.answer.lower())) - {"rhymes", "rhyme", "with", "and"}
            self.assertGreater(len(words), 1, turn)
            self.assertTrue(any(words <= row for row in rows), turn)

    def test_the_longer_word_follows_the_numbers_of_letters(self):
        said = "Cup has 3 letters and window has 6, so window is longer."
        self.assertEqual(word_tasks.longer_answer("cup", "window", "longer"), said)
        self.assertEqual(word_tasks.longer_answer("window", "cup", "shorter"), "Window has 6 letters and cup has 3, so cup is shorter.")

    def test_values_of_calls_end_without_the_sign_of_the_sentence(self):
        ended = 0
        for chat in (tool_chats.chat(Draw(Random(seed))) for seed in range(300)):
            for asked, answered in zip(chat.messages, chat.messages[1:]):
                text = str(answered["content"])
                if asked["role"] == "user" and text.startswith("<tool_call>") and str(asked["content"]).endswith("."):
                    ended += 1
                    calls = re.findall(r"<tool_call>\n(.*)\n</tool_call>", text)
                    values = [value for call in calls for value in json.loads(call)["arguments"].values()]
                    self.assertFalse([value for value in values if str(value).endswith((".", "?"))], asked)
        self.assertGreater(ended, 30)

    def test_sums_are_right(self):
        for made in drawn(1_500, seed=10, family="sums"):
            for message in made.messages:
                if message["role"] == "assistant":
                    for first, sign, second, result in re.findall(r"(?<![+×\-] )(?<!\d)(-?\d+) ([+×-]) (\d+) = (-?\d+)",
                        str(message["content"])):
                        operation = {"+": "plus", "-": "minus", "×": "times"}[sign]
                        self.assertEqual(int(result), sums.result_of(int(first), int(second), operation), made)

    def test_json_is_json_with_what_was_asked_for(self):
        for made in drawn(1_000, seed=11, family="json"):
            for message in made.messages:
                said = str(message["content"])
                if message["role"] == "assistant" and said[0] in "{[":
                    json.loads(said)

    def test_calls_name_a_tool_on_offer_with_its_parameters(self):
        calls = 0
        for made in drawn(1_500, seed=12, family="tools"):
            offered = {one["function"]["name"]: one["function"]["parameters"] for one in made.tools}
            self.assertEqual(len(offered), len(made.tools), made)
            asked = " ".join(str(message["content"]) for message in made.messages if message["role"] == "user").lower()
            for message in made.messages:
                for found in re.findall(r"<tool_call>\n(.*)\n</tool_call>", str(message["content"])):
                    call = json.loads(found)
                    calls += 1
                    self.assertLessEqual(set(call["arguments"]), set(offered[call["name"]]["properties"]), made)
                    self.assertLessEqual(set(offered[call["name"]]["required"]), set(call["arguments"]), made)
                    for value in call["arguments"].values():
                        if not isinstance(value, bool):
                            self.assertIn(str(value).lower(), asked, made)
        self.assertGreater(calls, 900)

    def test_answers_repeat_what_was_told(self):
        for made in drawn(300, seed=13, family="words"):
            if made.kind == "words/spell" and "spell" in str(made.messages[0]["content"]):
                letters = re.sub(r"[^a-z]", "", str(made.messages[-1]["content"]).lower())
                self.assertTrue(letters, made)


class Text(unittest.TestCase):
    def test_names_are_swapped_wherever_they_stand(self):
        draw = Draw(Random(14))
        for _ in range(200):
            one = draw.choice(seeds.stories())
            names = swapping.swapping_names(draw, one)
            text = swapping.renamed(one.text, names)
            for name in names:
                self.assertIsNone(re.search(rf"\b{re.escape(name)}\b", text), text)

    def test_an_opening_and_its_rest_are_the_story(self):
        draw = Draw(Random(15))
        for _ in range(300):
            told = stories.story(draw)
            opening, rest = stories.cut(draw, told.text)
            self.assertTrue(opening and told.text.startswith(opening) and told.text.endswith(rest), told.text)

    def test_texts_of_every_family(self):
        draw = Draw(Random(16))
        for family in texts.FAMILIES:
            for _ in range(60):
                made = texts.text(draw, family)
                self.assertTrue(made.rest)
                self.assertIsNone(re.search(r"[{}]|\|\|", made.opening + made.rest), made)


class Documents(unittest.TestCase):
    def test_each_ends_with_what_is_predicted(self):
        draw = Draw(Random(17))
        for _ in range(800):
            made = documents.document(draw)
            self.assertTrue(made.segments[-1].predicted, made)
            for first, second in zip(made.segments, made.segments[1:]):
                self.assertNotEqual(first.predicted, second.predicted, made)


class Rendering(unittest.TestCase):
    def setUp(self):
        self.weather = {"type": "function", "function": {"name": "weather", "description": "Weather.",
            "parameters": {"type": "object", "properties": {}}}}

    def test_every_answer_is_predicted_and_its_reasoning_only_if_there_is_any(self):
        chat = Chat("test", [user("hi"), assistant("Hello!"), user("bye"), assistant("Bye!")])
        predicted = [segment.text for segment in chat_text.segments(chat) if segment.predicted]
        self.assertEqual(predicted, ["Hello!<|im_end|>", "Bye!<|im_end|>"])
        predicted = [segment.text for segment in chat_text.segments(chat, "A farewell.") if segment.predicted]
        self.assertEqual(predicted, ["Hello!<|im_end|>", "<think>\nA farewell.\n</think>\n\nBye!<|im_end|>"])

    def test_it_is_what_the_template_renders(self):
        try:
            import jinja2
        except ImportError:
            self.skipTest("Jinja is not installed")
        environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        template = environment.from_string(TEMPLATE.read_text())
        call = '<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>'
        cases = [
            Chat("test", [user("hi"), assistant("Hello!")]),
            Chat("test", [system("Be kind."), user("hi"), assistant("Hello!"), user("bye"), assistant("Bye!")]),
            Chat("test", [user("rain?"), assistant(call), tool('{"rain": true}'), assistant("Yes.")], [self.weather]),
            Chat("test", [system("Be kind."), user("rain?"), assistant(call)], [self.weather]),
        ]
        for chat in cases:
            for thought, options in ((None, {}), (None, {"enable_thinking": False}), ("So.", {"enable_thinking": True})):
                before = template.render(messages=chat.messages[:-1], tools=chat.tools or None, add_generation_prompt=True,
                    **options)
                answer = f"{chat.messages[-1]['content']}<|im_end|>"
                reasoning = f"<think>\n{thought}\n</think>\n\n" if thought else ""
                self.assertEqual(chat_text.text(chat, thought), f"{before}{reasoning}{answer}")
            reasoned = {**chat.messages[-1], "reasoning_content": "So."}
            whole = template.render(messages=[*chat.messages[:-1], reasoned], tools=chat.tools or None)
            self.assertEqual(whole, chat_text.text(chat, "So.") + "\n")


if __name__ == "__main__":
    unittest.main()
