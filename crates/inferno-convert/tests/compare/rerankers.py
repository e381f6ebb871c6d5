#!/usr/bin/env python3
"""Writes the checkpoints of rerankers in ../fixtures, and what transformers computes with them.

    pip install gguf numpy torch transformers tokenizers safetensors
    python3 rerankers.py

qwen3-judge is the checkpoint of which llama.cpp's converter made qwen3-judge.gguf in the fixtures of inferno-model.
qwen3-classifier has one output; its reference.json holds `pairs` of texts with the tokens of the template and the score.
"""
import copy
import json
import pathlib
import shutil
import sys

import gguf
import torch
import transformers

FIXTURES = pathlib.Path(__file__).parent.parent / "fixtures"
ENCODERS = pathlib.Path(__file__).parents[3] / "inferno-model/tests/fixtures/encoders"
sys.path.append(str(ENCODERS))
from make_converted import qwen3_sizes, template_tokenizer
from make_encoders import PAIRS, randomize


def tokenizer():
    return template_tokenizer("$A", eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token="<|im_start|>")


def save(name, model, title):
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    # The original keeps its rotary frequencies in single precision.
    copy.deepcopy(model).half().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (folder / "README.md").write_text(f"# {title}\n")
    (folder / "generation_config.json").unlink(missing_ok=True)
    return folder


def judge():
    config = transformers.Qwen3Config(**qwen3_sizes(tokenizer(), tie_word_embeddings=False))
    save("qwen3-judge", randomize(transformers.Qwen3ForCausalLM(config), 19), "Qwen3-Reranker")


def classifier():
    config = transformers.Qwen3Config(**qwen3_sizes(tokenizer(), tie_word_embeddings=True), num_labels=1)
    model = randomize(transformers.Qwen3ForSequenceClassification(config), 31)
    folder = save("qwen3-classifier", model, "Qwen3-Reranker-0.6B-seq-cls")
    template = gguf.GGUFReader(ENCODERS / "qwen3-judge.gguf").fields["tokenizer.chat_template.rerank"].contents()
    pairs = []
    for query, document in PAIRS:
        text = template.replace("{query}", query).replace("{document}", document)
        tokens = tokenizer()(text, add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            score = model(torch.tensor([tokens])).logits[0, 0].item()
        pairs.append(dict(query=query, document=document, tokens=tokens, score=score))
    (folder / "reference.json").write_text(json.dumps({"pairs": pairs}))


judge()
classifier()
