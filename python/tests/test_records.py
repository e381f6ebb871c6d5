"""The results of requests can be copied, pickled and compared."""

import copy
import pickle

import pytest

import inferno

COPIES = [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]


def fields(record):
    return {name: getattr(record, name) for name in dir(record) if not name.startswith("_")}


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_results_can_be_copied_and_pickled(model, copied):
    completion = model.generate("Once upon a time", max_tokens=3, logprobs=2, prompt_logprobs=1)
    again = copied(completion)
    assert (again.text, again.tokens, again.usage) == (completion.text, completion.tokens, completion.usage)
    assert fields(copied(completion.timings)) == fields(completion.timings)
    for kind in ("logprobs", "prompt_logprobs"):
        assert [fields(each) for each in getattr(again, kind)] == [fields(each) for each in getattr(completion, kind)]
        assert [fields(copied(each)) for each in getattr(again, kind)] == [fields(each) for each in getattr(again, kind)]
    answer = model.chat("Hello", max_tokens=3)
    assert copied(answer) == answer


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_chunks_can_be_copied_and_pickled(model, copied):
    chunks = list(model.stream("Once upon a time", max_tokens=2, logprobs=1, prompt_logprobs=1))
    assert chunks[0].prompt_logprobs and chunks[1].logprob and chunks[-1].timings
    for chunk in chunks:
        again = copied(chunk)
        for name in ("text", "token", "finish_reason", "usage"):
            assert getattr(again, name) == getattr(chunk, name)
        for name in ("logprob", "timings"):
            assert fields(getattr(again, name)) == fields(getattr(chunk, name))
        logprobs = [[fields(each) for each in it.prompt_logprobs or []] for it in (again, chunk)]
        assert logprobs[0] == logprobs[1]


def test_usages_can_be_keys():
    assert len({inferno.Usage(1, 2, 3), inferno.Usage(1, 2, 3), inferno.Usage(1, 2, 4)}) == 2
