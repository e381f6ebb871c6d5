"""Tests of how openings are recognized by their theme."""

import sys
import unittest
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ember import continuing, stories, themes  # noqa: E402
from ember.draw import Draw  # noqa: E402


class Themes(unittest.TestCase):
    def test_an_opening_is_recognized_by_its_words(self):
        draw = Draw(Random(0))
        for opening, needs, word in (
            ("It was raining again.", "weather", "rain"),
            ("The tram was late.", "ride", "tram"),
            ("My grandma cannot ski.", "family", "grandmother"),
            ("Help!", "one word", "Help"),
            ("Where is my hat?", "question", "Where is my hat"),
            ("Found: a red scarf.", "found notice", "red scarf"),
            ("Umbrella for sale.", "sale notice", "umbrella"),
            ("How to paint a chair:", "task", "paint a chair"),
            ("Recipe for pea soup:", "recipe", "pea soup"),
        ):
            self.assertEqual(themes.theme_of(draw, opening), themes.Theme(needs, word))

    def test_letters_and_names_have_no_theme(self):
        draw = Draw(Random(0))
        self.assertIsNone(themes.theme_of(draw, "Dear Grandma, it is raining."))
        self.assertIsNone(themes.theme_of(draw, "Uncle Viktor nodded."))

    def test_each_theme_has_bodies(self):
        needs = {body.needs for body in continuing.bodies()}
        for _, theme in themes._forms():
            self.assertIn(theme.needs, needs)
        self.assertLessEqual(themes.OF_ANY_VOICE, needs)

    def test_a_coda_may_follow_each_end(self):
        self.assertEqual(continuing._parts(["then: One. || Two.", "coda: Three."]), (("One.", "Two.", "One. Three.", "Two. Three."),))

    def test_a_body_of_a_theme_repeats_its_word(self):
        draw = Draw(Random(1))
        for body in continuing.bodies():
            if body.needs == "one word":
                text = stories.told_in_parts(draw, body.frame, stories.people(draw, {"word": "Xylograph"}))
                self.assertIn("Xylograph", text)


if __name__ == "__main__":
    unittest.main()
