"""Rules of the evaluation, on given answers."""
import json
import pathlib
import sys
import unittest

EVALUATION = pathlib.Path(__file__).resolve().parent.parent / "evaluation"
sys.path.insert(0, str(EVALUATION))
import judge  # noqa: E402


class Rules(unittest.TestCase):
    def test_patterns_and_counts(self):
        broken = judge.broken_rules({"any_of": ["(?i)paris"], "max_words": 5}, "It is Paris.", [], [])
        self.assertEqual(broken, [])
        broken = judge.broken_rules({"any_of": ["(?i)paris"], "none_of": ["(?i)^no"]}, "No, Rome.", [], [])
        self.assertEqual(broken, ["any_of", "none_of"])

    def test_json_is_found_in_a_code_block(self):
        rules = {"json_equals": {"name": "Ana", "age": 31}}
        self.assertEqual(judge.broken_rules(rules, '```json\n{"Name": "Ana", "age": 31}\n```', [], []), [])
        self.assertEqual(judge.broken_rules(rules, '{"name": "Ana"}', [], []), ["json_equals"])
        self.assertEqual(judge.broken_rules(rules, "no", [], []), ["json_equals"])

    def test_calls_compare_names_and_the_listed_arguments(self):
        call = {"function": {"name": "set_timer", "arguments": '{"minutes": 9, "label": "egg"}'}}
        rules = {"calls": [{"name": "set_timer", "arguments": {"minutes": 9}}]}
        self.assertEqual(judge.broken_rules(rules, "", [call], []), [])
        self.assertEqual(judge.broken_rules(rules, "Done.", [], []), ["calls"])
        self.assertEqual(judge.broken_rules({"calls": []}, "Hello.", [call], []), ["calls"])

    def test_items_are_counted_in_lists_and_sentences(self):
        self.assertEqual(judge.list_items("Three fruits: apple, pear, and plum."), 3)
        self.assertEqual(judge.list_items("1. a cat\n2. a dog"), 2)

    def test_loops(self):
        self.assertTrue(judge.has_loop("The man went home. " * 4))
        self.assertTrue(judge.has_loop("one two three four five six seven eight nine ten eleven twelve " * 2))
        self.assertFalse(judge.has_loop("The man went home. Then he made tea and slept until noon."))

    def test_unknown_words_ignore_names_and_endings(self):
        dictionary = {"walk", "bake", "city", "run", "the"}
        text = "the Zorblat walked, baking the cities and running the flumpet"
        self.assertEqual(judge.unknown_words(text, dictionary), ["and", "flumpet"])

    def test_every_prompt_has_a_rule_for_each_turn(self):
        ids = set()
        for path in (EVALUATION / "prompts").glob("*.jsonl"):
            for line in path.read_text(encoding="utf-8").splitlines():
                case = json.loads(line)
                self.assertEqual(len(case["turns"]), len(case["rules"]), case["id"])
                for rules in case["rules"]:
                    judge.broken_rules(rules, "", [], ["", "", ""])
                ids.add(case["id"])
        self.assertEqual(len(ids), 300)


if __name__ == "__main__":
    unittest.main()
