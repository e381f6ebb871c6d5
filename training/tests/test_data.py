"""What the generated data promise. Run in `training/`: python3 -m unittest discover tests"""

import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ember.chats import KINDS, chat, judge  # noqa: E402
from ember.chats.chat import Check  # noqa: E402
from ember.split import Split, split_of  # noqa: E402
from ember.stories import SUBJECTS, opening, story  # noqa: E402


class Stories(unittest.TestCase):
    def test_the_same_seed_tells_the_same_story(self):
        told = [story(random.Random(7), Split.TRAIN) for _ in range(2)]
        self.assertEqual(*told)

    def test_a_story_names_its_subject_early_and_again(self):
        rng = random.Random(1)
        for subject in [*rng.sample(SUBJECTS, 60), "blorvin", "red kite"]:
            text = story(rng, split_of(subject), subject).lower()
            self.assertIn(subject, ".".join(text.split(".")[:3]), text)
            self.assertGreaterEqual(text.count(subject), 3, text)

    def test_stories_have_the_length_that_the_model_can_hold(self):
        rng = random.Random(2)
        for split in Split:
            for _ in range(200):
                words = len(story(rng, split).split())
                self.assertTrue(120 <= words <= 330, words)

    def test_an_opening_begins_a_story(self):
        rng = random.Random(3)
        for _ in range(50):
            self.assertTrue(opening(rng, Split.HELD_OUT)[0].isupper())


class Chats(unittest.TestCase):
    def test_every_answer_passes_its_own_check(self):
        rng = random.Random(4)
        seen = set()
        for number in range(2_000):
            made = chat(rng, Split.HELD_OUT if number % 4 == 0 else Split.TRAIN, refining=number % 2 == 0)
            seen.add(made.kind)
            self.assertIsNone(judge(made.check, made.answer), made)
            self.assertIn(made.messages[-1]["role"], ("user", "tool"))
        self.assertEqual(seen, set(KINDS))

    def test_what_is_held_out_is_not_asked_in_training(self):
        rng = random.Random(5)
        asked = {split: {made.messages[-1]["content"] for made in (KINDS["sums"][0](rng, split) for _ in range(2_000))}
                 for split in Split}
        self.assertFalse(asked[Split.TRAIN] & asked[Split.HELD_OUT])

    def test_a_wrong_answer_is_told_apart(self):
        check = Check(contains=("7",), lacks=("8",))
        self.assertIsNone(judge(check, "<think>\n3 + 5 = 8\n</think>\n\n3 + 4 = 7."))
        self.assertIsNotNone(judge(check, "It is 17."))
        self.assertIsNotNone(judge(check, "7 or 8."))
        self.assertIsNone(judge(Check(json={"a": [1]}), '{"a": [1]}'))
        self.assertIsNotNone(judge(Check(json={"a": [1]}), '{"a": [2]}'))
        call = {"name": "get_time", "arguments": {"city": "Oslo"}}
        said = '<tool_call>\n{"name": "get_time", "arguments": {"city": "Oslo"}}\n</tool_call>'
        self.assertIsNone(judge(Check(tool_calls=(call,)), said))
        self.assertIsNotNone(judge(Check(tool_calls=(call,)), said.replace("Oslo", "Bern")))


if __name__ == "__main__":
    unittest.main()
