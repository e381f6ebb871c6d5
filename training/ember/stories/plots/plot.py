"""What a plot is: a text with choices, and what it can be about."""

from dataclasses import dataclass, field

from ember.stories.phrases import PHRASES
from ember.stories.template import join_lines


@dataclass(frozen=True)
class Plot:
    """A story still without its people and things.

    The text knows these fields. `{intro}` is a sentence that presents the hero, `{when}` and `{night}` begin the
    next event. `{h}` is the hero, `{f}` a friend, `{e}` someone older, `{a}` an animal that is met; each is presented
    by `.first`. `{thing}`, `{food}` and `{sight}` are nouns, `{place}` is a place and
    `{at_place}` is "in the forest" or the like. `<phrase>` is a shared phrase.
    """

    text: str
    #: What the subject of the story can be: "hero", "thing", "food", "sight", and "creature" for one
    #: that is met anywhere, "land creature" or "sea creature" for one that is met only there.
    about: tuple[str, ...]
    #: Who the hero is when the subject does not say it: "child", "animal", "person".
    heroes: tuple[str, ...] = ("child", "child", "animal")
    #: Traits of the hero, where the plot needs certain ones.
    traits: tuple[str, ...] = ()
    #: Values that are chosen once for the story: texts, or tuples of texts that go together. The parts of a tuple
    #: named "rule" are the fields `{rule0}`, `{rule1}` and so on.
    facts: dict[str, tuple] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text = self.text
        for name, phrase in PHRASES.items():
            text = text.replace(f"<{name}>", f"[{phrase}]")
        object.__setattr__(self, "text", join_lines(text))
