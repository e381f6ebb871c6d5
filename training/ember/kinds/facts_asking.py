"""Questions for facts: wordings filled with their subject, and short follow-ups."""

from ..draw import Draw

_ALSO = ["and {x}?", "and {x}", "what about {x}", "What about {x}?", "how about {x}", "{x}?", "and of {x}", "and for {x}?",
    "ok and {x}", "same for {x}?"]


def asked(draw: Draw, wordings: list[str], **values: object) -> str:
    """One of several wordings, filled with what is asked about."""
    values.setdefault("b", str(values.get("x", "")).split(" ", 1)[-1])
    return draw.wording(wordings).format(**values)


def also(draw: Draw, x: str) -> str:
    """A short question that asks the same about another thing."""
    wordings = [wording for wording in _ALSO if " of " not in wording and " for " not in wording]
    return draw.wording(wordings).format(x=x)


def also_of(draw: Draw, x: str) -> str:
    """A short question that asks for the same of another thing, as for a capital."""
    return draw.wording(_ALSO).format(x=x)
