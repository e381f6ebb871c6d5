"""Sessions."""

import os
import signal
import threading
import time

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
    with pytest.raises(inferno.SavedStateError, match="use kv_dtype i16"):
        inferno.Model(device="cpu", context=512, kv_dtype="f16").session().load(tmp_path / "session")


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


def test_a_prompt_that_fills_the_context_can_be_computed(model):
    session = model.session()
    session.extend([5] * 500)
    session.extend([6] * 12)
    assert session.tokens == [5] * 500 + [6] * 12
    with pytest.raises(inferno.ContextLengthError):
        session.extend([7])
    session.truncate(500)
    expected = model.generate([5] * 500, **{**OPTIONS, "max_tokens": 4}).tokens
    assert session.generate("", **{**OPTIONS, "max_tokens": 4}).tokens == expected


def test_a_session_is_extended_by_nothing(model):
    session = model.session()
    session.extend("")
    assert session.tokens == []
    session.extend(PROMPT)
    tokens = session.tokens
    session.extend("")
    assert session.tokens == tokens


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_the_computation_of_a_prompt():
    # A step computes two tokens, so the prompt needs 500.
    model = inferno.Model(device="cpu", max_num_seqs=1, max_num_batched_tokens=2, prefix_cache=False)
    session = model.session()
    session.extend(PROMPT)
    tokens, before = session.tokens, model.metrics()["steps"]

    def interrupt():
        while model.metrics()["steps"] < before + 10:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    # A process that a shell started in the background ignores the signal.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.extend([5] * 1000)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, previous)
    # Waits for the step in progress.
    assert session.tokens == tokens
    assert model.metrics()["steps"] < before + 500


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
