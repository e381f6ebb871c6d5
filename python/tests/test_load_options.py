"""The options of loading a model, and the warnings and errors about them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import inferno

PROMPT = "Once upon a time"
QWEN3 = Path(__file__).parents[2] / "crates/inferno/tests/fixtures/qwen3.gguf"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kv_cache_tokens": 100}, "KV cache of 100 tokens is smaller than the context of 512 tokens"),
        ({"requantize": "q4_k"}, "requantizing has no effect"),
    ],
)
def test_options_without_effect_cause_warnings_at_the_call(options, message):
    with pytest.warns(RuntimeWarning, match=message) as warned:
        inferno.Model(device="cpu", context=512, **options)
    assert [each.filename for each in warned] == [__file__]


def test_options_with_effect_cause_no_warnings(recwarn):
    inferno.Model(QWEN3, device="cpu", requantize="q8_0", kv_cache_tokens=256)
    assert list(recwarn) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speculate": 65}, "speculate must be between 0 and 64, but is 65"),
        ({"draft_model": "ember", "draft_min": 65}, "draft_min must be between 0 and 64, but is 65"),
        ({"max_num_seqs": 0}, "max_num_seqs must be between 1 and 65536, but is 0"),
        ({"threads": 0}, "threads must be at least 1, but is 0"),
    ],
)
def test_numbers_out_of_range_are_rejected(options, message):
    with pytest.raises(inferno.InvalidRequestError, match=message):
        inferno.Model(device="cpu", **options)


def test_a_context_of_0_is_the_maximum_of_the_model():
    assert inferno.Model(QWEN3, device="cpu", context=0).context_length == 256


def test_paths_may_be_bytes_and_need_not_be_unicode(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.gguf"
    try:
        Path(os.fsdecode(path)).write_bytes(QWEN3.read_bytes())
    except OSError:
        pytest.skip("the file system does not support the name")
    for source in (path, os.fsdecode(path), Path(os.fsdecode(path))):
        model = inferno.Model(source, device="cpu", draft_model=source)
        assert model.vocab_size == inferno.Model(QWEN3, device="cpu").vocab_size
    assert inferno.divide(path, 2) == [range(0, 1), range(1, 2)]
    session = model.session()
    session.extend("hi")
    saved = os.fsencode(tmp_path) + b"/\xfe"
    session.save(saved)
    other = model.session()
    other.load(os.fsdecode(saved))
    assert other.tokens == session.tokens
    with pytest.raises(inferno.ModelFileError) as raised:
        inferno.Model(path + b".missing.gguf")
    assert "missing" in str(raised.value) and "missing" in raised.value.fields["path"]
    with pytest.raises(TypeError, match="int"):
        inferno.Model(7)


def test_a_chat_template_replaces_that_of_the_file(model, tmp_path):
    template = tmp_path / "chat.jinja"
    template.write_text("Question: {{ messages[0].content }}\nAnswer:")
    custom = inferno.Model(device="cpu", context=512, chat_template=template)
    options = {"max_tokens": 8, "temperature": 0}
    expected = model.generate("Question: Who are you?\nAnswer:", **options)
    assert custom.chat("Who are you?", **options).usage.prompt_tokens == expected.usage.prompt_tokens
    assert custom.chat("Who are you?", **options).text == expected.text
    assert not inferno.Model(QWEN3, device="cpu").has_chat_template
    assert inferno.Model(QWEN3, device="cpu", chat_template=os.fsencode(template)).has_chat_template
    with pytest.raises(inferno.ModelFileError, match=r"missing\.jinja"):
        inferno.Model(chat_template=tmp_path / "missing.jinja")


# Prints the size of the memory that is not mapped from files, in kilobytes, once it exceeds a limit or after some time.
MEMORY = """
import time, inferno
model = inferno.Model(device="cpu", kv_cache_tokens=65536, warm_up={warm_up})
deadline = time.monotonic() + {seconds}
while True:
    with open("/proc/self/status") as status:
        size = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    if size > {limit} or time.monotonic() > deadline:
        break
    time.sleep(0.01)
print(size)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux")
def test_a_model_that_is_warmed_up_has_the_memory_of_its_cache():
    def kilobytes(**options) -> int:
        command = [sys.executable, "-c", MEMORY.format(**options)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    # The cache has 67 MB.
    limit = kilobytes(warm_up=False, limit=1 << 40, seconds=0.5) + 50_000
    assert kilobytes(warm_up=True, limit=limit, seconds=60) > limit


def test_servers_warm_up_the_models_that_they_load(monkeypatch):
    load, options_of_load = inferno.Model.__init__, []

    def recorded(self, *source, **options):
        options_of_load.append(options)
        load(self, *source, **options)

    monkeypatch.setattr(inferno.Model, "__init__", recorded)
    inferno.asgi_app()
    assert options_of_load == [{"warm_up": True}]
