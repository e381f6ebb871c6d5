"""The types of prompts and of other arguments."""

import asyncio
from types import MappingProxyType

import numpy as np
import pytest

import inferno

PROMPT = "Once upon a time"


def bytes_like():
    return [b"Once", bytearray(b"Once"), memoryview(b"Once")]


def test_bytes_are_neither_a_prompt_nor_tokens(model):
    session = model.session()
    for value in bytes_like():
        for call in (model.generate, model.embed, model.logits, session.generate, session.extend):
            with pytest.raises(TypeError, match="a prompt is a text or a list of token ids, not (bytes|bytearray|memoryview)"):
                call(value)
    for value in bytes_like()[:2]:
        with pytest.raises(TypeError, match="token ids must be in a list, not in bytes"):
            model.detokenize(value)
    assert session.tokens == []


def test_a_text_that_is_not_unicode_raises_the_error_of_its_encoding(model):
    session = model.session()
    for call in (model.generate, session.generate, session.extend):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            call("\ud800")


def test_other_types_raise_type_errors_that_say_what_a_prompt_is(model):
    engine = inferno.Engine(model)
    for call in (model.generate, model.embed, lambda prompt: asyncio.run(engine.generate(prompt))):
        with pytest.raises(TypeError, match="a text or a list of token ids, not dict"):
            call({"prompt": "x"})
    for call in (engine.generate, engine.embed):
        with pytest.raises(TypeError, match="a text or a list of token ids, not int"):
            asyncio.run(call(7))
    for call in (model.session().generate, lambda prompt: asyncio.run(engine.generate(prompt))):
        with pytest.raises(TypeError, match="not a list of str; pass one prompt at a time"):
            call(["a", "b"])


def test_tokens_may_be_in_an_array(model):
    tokens = model.tokenize(PROMPT, add_special=True)
    expected = model.generate(tokens, max_tokens=4, temperature=0).tokens
    for call in (model.generate, model.session().generate):
        assert call(np.array(tokens), max_tokens=4, temperature=0).tokens == expected


def test_tokens_outside_the_vocabulary_cannot_be_decoded(model):
    with pytest.raises(inferno.InvalidRequestError, match="out of range"):
        model.detokenize([model.vocab_size])


def test_mappings_of_any_kind_are_accepted(model):
    schema = MappingProxyType({"type": "object", "properties": MappingProxyType({"age": {"type": "integer"}})})
    text = model.generate("A person: ", json_schema=schema, seed=1, max_tokens=60).text
    plain = {"type": "object", "properties": {"age": {"type": "integer"}}}
    assert model.generate("A person: ", json_schema=plain, seed=1, max_tokens=60).text == text
    message = MappingProxyType({"role": "user", "content": "Invent a person."})
    options = {"seed": 1, "max_tokens": 20, "enable_thinking": False}
    answers = [model.chat([each], json_schema=of, **options) for each, of in ((message, schema), (dict(message), plain))]
    assert answers[0].text == answers[1].text
    token = model.generate(PROMPT, max_tokens=1, temperature=0).tokens[0]
    banned = model.generate(PROMPT, max_tokens=1, temperature=0, logit_bias=MappingProxyType({token: -100.0})).tokens
    assert banned == model.generate(PROMPT, max_tokens=1, temperature=0, logit_bias={token: -100.0}).tokens != [token]
    with pytest.raises(TypeError, match="logit_bias"):
        model.generate(PROMPT, logit_bias=[(token, 1.0)])
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        model.chat("Hello", json_schema={"enum": {1}})


def test_a_session_cannot_be_truncated_to_a_negative_length(model):
    session = model.session()
    session.extend(PROMPT)
    tokens = session.tokens
    with pytest.raises(ValueError, match="num_tokens must be 0 or more, but is -1"):
        session.truncate(-1)
    assert session.tokens == tokens
