"""What the generated tasks promise. Run in `training/`: python3 -m unittest tests.test_tasks"""

import json
import re
import sys
import unittest
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from ember import seeds  # noqa: E402
from ember.draw import Draw  # noqa: E402
from ember.kinds import declining, json_shapes, lists, rewriting_forms, story_plans, tool_chats, tool_specs, tool_values  # noqa: E402


class Stories(unittest.TestCase):
    def test_each_way_of_a_problem_has_all_parts(self):
        self.assertGreaterEqual(len(story_plans.problems()), 55)
        for problem in story_plans.problems():
            self.assertEqual({len(part) for part in problem.parts}, {2}, problem.clauses)

    def test_a_story_has_its_character_and_ends_as_asked(self):
        draw = Draw(Random(0))
        for _ in range(600):
            for turn in story_plans.planned(draw):
                self.assertNotRegex(turn.user + turn.answer, r"[{}|<>]")
                self.assertEqual(turn.answer.count('"') % 2, 0, turn.answer)
            turn = story_plans.planned(draw)[0]
            asked = re.search(r'(?:last word (?:should|must) be|last word:|with the word) "?([\w \'-]+)"?', turn.user)
            if asked and "is about" not in turn.user and "about" not in turn.user[asked.end():] and turn.user.strip('."').endswith(asked[1]):
                self.assertTrue(turn.answer.endswith(f"{asked[1]}."), turn)

    def test_given_words_are_in_the_story_and_in_the_sentence(self):
        draw = Draw(Random(1))
        for _ in range(300):
            for maker in (story_plans.given_words, story_plans.sentence):
                for turn in maker(draw):
                    for word in re.split(r", | and ", turn.protected[0].replace('"', "")):
                        self.assertIn(word.lower(), turn.answer.lower(), turn)


class Lists(unittest.TestCase):
    def test_nothing_is_listed_twice(self):
        for name, items in lists.COMMON.items():
            self.assertEqual(len(items), len(set(items)), name)
        draw = Draw(Random(2))
        for _ in range(400):
            said = [re.sub(r"^\d+\. ", "", line) for turn in lists.reasons(draw) for line in turn.answer.splitlines()]
            self.assertEqual(len(said), len(set(said)))

    def test_words_begin_with_the_letter(self):
        draw = Draw(Random(3))
        for _ in range(300):
            for turn in lists.starting_with(draw):
                words = re.split(r", | and ", turn.answer.rstrip("."))
                self.assertEqual(len({word[0].lower() for word in words}), 1, turn)


class Json(unittest.TestCase):
    def test_answers_are_json(self):
        draw = Draw(Random(4))
        for name, (maker, _) in json_shapes.SHAPES.items():
            for _ in range(100):
                for turn in maker(draw):
                    if name != "into lines":
                        json.loads(turn.answer)


class Tools(unittest.TestCase):
    def test_there_are_many_tools_and_all_their_slots_are_known(self):
        self.assertGreaterEqual(len(tool_specs.specs()), 200)
        for spec in tool_specs.specs():
            known = set(spec.kinds())
            for template in (*spec.asks, *spec.replies, *(spec.missing.asks if spec.missing else ())):
                self.assertLessEqual(set(re.findall(r"\{(\w+)\}", template)), known, spec.names)
            for slot in set(spec.slots()) - spec.optional:
                self.assertTrue(all(f"{{{slot}}}" in template for template in spec.asks), (spec.names, slot))
            draw = Draw(Random(5))
            for kind in spec.kinds().values():
                self.assertNotRegex(str(tool_values.value(draw, kind)), r"[{}]")

    def test_chats_fit_a_row(self):
        draw = Draw(Random(6))
        lengths = [tool_chats._length(tool_chats.chat(draw)) for _ in range(300)]
        self.assertLess(sorted(lengths)[280], 2000)


class Rewriting(unittest.TestCase):
    def test_polite_sentences_have_no_capital_inside(self):
        draw = Draw(Random(7))
        for _ in range(500):
            for turn in rewriting_forms.orders(draw):
                self.assertNotRegex(turn.answer, r"[Pp]lease (Give|Pass|Hand|Bring|Show|Put|Come|Be|Tell)\b", turn)

    def test_verbs_are_those_of_the_table(self):
        known = {row["verb"] for row in seeds.words("verbs")}
        for part in rewriting_forms._AFTER_VERBS.strip().replace("\n", "|").split("|"):
            self.assertIn(part.split()[0], known)


class Declining(unittest.TestCase):
    def test_topics_have_reasons_and_offers_without_open_slots(self):
        self.assertGreaterEqual(len(declining.topics()), 50)
        draw = Draw(Random(8))
        for _ in range(600):
            for turn in declining.chat(draw)[1]:
                self.assertNotRegex(turn.user + turn.answer, r"[{}<>\[\]]|\bmy my\b", turn)


if __name__ == "__main__":
    unittest.main()
