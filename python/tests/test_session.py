"""Sessions."""

import pytest

import inferno

PROMPT = "Once upon a time"
OPTIONS = {"max_tokens": 12, "temperature": 0}


def test_a_session_continues_its_text(model):
    session = model.session()
    first = session.generate(PROMPT, **OPTIONS)
    assert first.text == model.generate(PROMPT, **OPTIONS).text
    tokens = session.tokens
    assert tokens[-len(first.tokens) :] == first.tokens
    second = session.generate("", **OPTIONS)
    assert second.tokens == model.generate(tokens, **OPTIONS).tokens
    assert session.tokens == tokens + second.tokens
    session.truncate(len(tokens))
    assert session.tokens == tokens
    session.reset()
    assert session.tokens == []


def test_a_session_is_saved_and_loaded(model, tmp_path):
    session, other = model.session(), model.session()
    session.extend(PROMPT)
    session.save(tmp_path / "session")
    expected = session.generate("", **OPTIONS).text
    other.load(tmp_path / "session")
    assert other.generate("", **OPTIONS).text == expected
    with pytest.raises(inferno.SavedStateError) as raised:
        other.load(tmp_path / "missing")
    assert raised.value.kind == "StateIo" and raised.value.fields["path"].endswith("missing")


def test_a_stream_reserves_its_session(model):
    session = model.session()
    chunks = session.stream(PROMPT, temperature=0, ignore_eos=True)
    token = next(chunks).token
    with pytest.raises(RuntimeError, match="close it first"):
        session.tokens
    chunks.close()
    assert token in session.tokens
    rest = list(session.stream("", **OPTIONS))
    assert rest[-1].finish_reason == "length"
    assert session.tokens[-1] == rest[-2].token


def test_invalid_calls_leave_a_session_unchanged(model):
    session = model.session()
    for options, error in [
        ({"temperature": -1}, inferno.InvalidRequestError),
        ({"priority": 1}, inferno.InvalidRequestError),
        ({"unknown": 1}, TypeError),
    ]:
        with pytest.raises(error):
            session.generate(PROMPT, **options)
    with pytest.raises(inferno.ContextLengthError):
        session.extend([1] * 1000)
    with pytest.raises(inferno.InvalidRequestError, match="the prompt is empty"):
        session.generate("")
    assert session.tokens == []
