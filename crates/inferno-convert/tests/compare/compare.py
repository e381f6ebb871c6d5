#!/usr/bin/env python3
"""Compares conversions with those of llama.cpp's converter, for tiny random models of every family.

    compare.py --converter LLAMA_CPP --inferno PROGRAM [NAME...]

For each configuration in families.json, transformers creates a model with random weights in bfloat16 and saves it with a
tokenizer. Both programs convert the folder; all tensors (names, shapes, types, bytes) and metadata keys are compared.
LLAMA_CPP is a checkout of llama.cpp; PROGRAM is the example `convert` of this crate, or `inferno` itself.
"""
import argparse, base64, json, os, pathlib, subprocess, sys, tempfile, traceback

import encoders

HERE = pathlib.Path(__file__).parent
# Descriptions of the model, which llama.cpp guesses from the folder's name.
IGNORED = {"general.basename", "general.finetune", "general.version", "general.organization", "GGUF.version",
           "GGUF.tensor_count", "GGUF.kv_count", "general.quantized_by", "general.tags", "general.languages"}
# Families with sentence-piece tokenizers.
PIECES = {"gemma", "gemma2", "gemma2-27b", "gemma3", "gemma3-27b", "gemma3n", "ernie4-5", "ernie4-5-moe", "nemotron",
          "jamba", "llama-pieces", "phi3", "phi3-longrope", "phi4-longrope"}
SPECIAL = ["<|endoftext|>", "<|user|>", "<|observation|>", "[gMASK]", "<unk>", "<think>"]
VOCAB = 384


def bytes_to_unicode():
    kept = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table, extra = {}, 0
    for byte in range(256):
        if byte in kept:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + extra)
            extra += 1
    return table


def write_byte_level(folder):
    table = bytes_to_unicode()
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("i", "n"), ("Ġ", "a")]
    vocab = {table[byte]: byte for byte in range(256)}
    for a, b in merges:
        vocab[a + b] = len(vocab)
    added = [{"id": len(vocab) + i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": text != "<think>"} for i, text in enumerate(SPECIAL)]
    pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}, byte_level]},
        "post_processor": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                  "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab, "merges": [list(pair) for pair in merges]},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
              "bos_token": "<|endoftext|>", "add_bos_token": False, "model_max_length": 2048,
              "chat_template": "{{ messages[0].content }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_pieces(folder, cache):
    model = cache / "pieces.model"
    if not model.exists():
        import sentencepiece
        text = cache / "text.txt"
        text.write_text("\n".join(f"the quick brown fox number {i} jumps over {i * 7} lazy dogs and says hello" for i in range(2000)))
        sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=str(cache / "pieces"), vocab_size=340,
                                                 model_type="bpe", byte_fallback=True, pad_id=3)
    (folder / "tokenizer.model").write_bytes(model.read_bytes())
    config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
              "add_bos_token": True, "add_eos_token": False, "add_prefix_space": True,
              "added_tokens_decoder": {"345": {"content": "<|extra|>", "special": True},
                                       "346": {"content": "▁text▁", "special": False}}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False))
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }} from a file")


def write_piece_merges(folder):
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("i", "n")]
    texts = ["<pad>", "<eos>", "<bos>", "<unk>", "<|channel>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    texts += list("abcdefghijklmnopqrstuvwxyz.,!▁") + [a + b for a, b in merges]
    # llama.cpp drops embeddings beyond the tokens, of which it counts the added ones twice.
    texts += [f"filler{i}" for i in range(VOCAB - 5 - len(texts))]
    added = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, text in enumerate(texts[:5])]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}, "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                                                     {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
                  "ignore_merges": False, "vocab": {text: i for i, text in enumerate(texts)},
                  "merges": [list(pair) for pair in merges]},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>",
              "pad_token": "<pad>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_tekken(folder):
    letters = "abcdefghijklmnop"
    texts = [bytes([byte]) for byte in range(256)] + [(a + b).encode() for a in letters for b in letters][:104]
    texts += [b"abac", b"aba", b"abab", "ä".encode()]
    special = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
               "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]",
               "[TOOL_CONTENT]"]
    (folder / "tekken.json").write_text(json.dumps({
        "config": {"pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+", "version": "v7",
                   "num_vocab_tokens": len(texts), "default_vocab_size": VOCAB, "default_num_special_tokens": VOCAB - len(texts)},
        "vocab": [{"rank": rank, "token_bytes": base64.b64encode(text).decode(), "token_str": text.decode(errors="replace")}
                  for rank, text in enumerate(texts)],
        "special_tokens": [{"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(special)]}))


def make_model(name, config, folder, cache):
    if config is None:
        return encoders.make(name, folder, cache, globals())
    import torch, transformers
    architecture = config["architectures"][0]
    config = json.loads(json.dumps(config))
    for part in (config, config.get("text_config") or {}):
        if "vocab_size" in part:
            part["vocab_size"] = VOCAB
        for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
            if isinstance(part.get(key), int):
                part[key] = 1
        if "vocab_size_per_layer_input" in part:
            part["vocab_size_per_layer_input"] = VOCAB
    kind = config.pop("model_type")
    config.pop("time_step_limit", None)
    loaded = transformers.CONFIG_MAPPING[kind].from_dict(config)
    torch.manual_seed(1)
    model = getattr(transformers, architecture)(loaded)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
        for key, buffer in model.named_buffers():
            if buffer.is_floating_point() and ("bias" in key or "scalar" in key):
                buffer.normal_(0, 0.3)
    model.to(torch.bfloat16).save_pretrained(folder)
    if name in BY_LOGITS:
        ids = list(range(5, 260, 11))
        with torch.no_grad():
            loaded = type(model).from_pretrained(folder, dtype=torch.float32)
            logits = loaded.eval()(torch.tensor([ids])).logits[0]
        (folder / "reference.json").write_text(json.dumps({"ids": ids, "logits": logits.tolist()}))
    saved = json.loads((folder / "config.json").read_text())
    if name in PUBLISHED:
        PUBLISHED[name](saved)
        (folder / "config.json").write_text(json.dumps(saved))
    if name == "qwen3vlmoe":
        transpose_experts(folder / "model.safetensors")
    if name == "kimi-linear":
        rename_dense_blocks(folder / "model.safetensors")
    (folder / "generation_config.json").write_text(json.dumps({"temperature": 0.7, "top_k": 20, "top_p": 0.8, "repetition_penalty": 1.05}))
    if name in PIECES:
        write_pieces(folder, cache)
    elif name == "mistral-tekken":
        write_tekken(folder)
    elif name.startswith("gemma4"):
        write_piece_merges(folder)
    else:
        write_byte_level(folder)


def transpose_experts(path):
    """Stores experts as published files do, which transformers 5 saves as rows."""
    from safetensors.torch import load_file, save_file
    tensors = load_file(path)
    experts = (".experts.gate_up_proj", ".experts.down_proj")
    save_file({key: tensor.transpose(1, 2).contiguous() if key.endswith(experts) else tensor for key, tensor in tensors.items()},
              path, {"format": "pt"})


def rename_dense_blocks(path):
    """Names dense blocks as published files do, which transformers 5 saves with the name of mixtures."""
    from safetensors.torch import load_file, save_file
    dense = tuple(f".block_sparse_moe.{part}_proj.weight" for part in ("gate", "up", "down"))
    names = {key: key.replace(".block_sparse_moe.", ".mlp.") if key.endswith(dense) else key for key in load_file(path)}
    save_file({names[key]: tensor for key, tensor in load_file(path).items()}, path, {"format": "pt"})


def gptneox_published(config):
    config["rotary_pct"] = config["rope_parameters"]["partial_rotary_factor"]
    without_class(config)


def falcon_published(config):
    config.pop("num_kv_heads", None)
    without_class(config)


def nemotron_h_published(config):
    for key in [key for key in config if "expert" in key or key.startswith("moe_")] + ["n_group", "topk_group", "norm_topk_prob", "routed_scaling_factor"]:
        config.pop(key, None)
    letters = {"mamba": "M", "linear_attention": "M", "attention": "*", "full_attention": "*", "mlp": "-"}
    config["hybrid_override_pattern"] = "".join(letters[kind] for kind in config.pop("layers_block_type"))
    config["num_hidden_layers"] = len(config["hybrid_override_pattern"])
    without_class(config)


def without_class(config):
    """Prevents transformers from adding the keys of its own configuration class."""
    config["model_type"] += "_published"


def mistral4_published(config):
    text = {key: value for key, value in config.items() if key != "architectures"}
    config.clear()
    config.update(architectures=["Mistral3ForConditionalGeneration"], model_type="mistral3", text_config=text)


def granite_published(config):
    names = {"full_attention": "attention", "linear_attention": "mamba"}
    config["layer_types"] = [names.get(kind, kind) for kind in config["layer_types"]]


# Models whose logits `reference.py` compares with those of transformers as well.
BY_LOGITS = {"falcon", "gptneox", "stablelm-12b", "nemotron-h"}

# The form that published files have, where that of transformers 5 is not understood by llama.cpp's converter.
PUBLISHED = {"gptneox": gptneox_published, "falcon": falcon_published, "nemotron-h": nemotron_h_published, "mistral4": mistral4_published,
             "granitehybrid": granite_published, "granitehybrid-dense": granite_published}


def convert_with_llama_cpp(folder, output):
    import torch
    import conversion, conversion.base as base
    # Tiny vocabularies are not among the hashes that it knows.
    is_word_piece = '"WordPiece"' in (folder / "tokenizer.json").read_text() if (folder / "tokenizer.json").exists() else False
    base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "bert-bge" if is_word_piece else "qwen2"
    with torch.inference_mode():
        hparams = base.ModelBase.load_hparams(folder, False)
        kind = conversion.get_model_class(base.get_model_architecture(hparams, base.ModelType.TEXT))
        # Unless the checkpoint has layers that predict further tokens.
        if hasattr(kind, "opt_num_mtp_layers"):
            kind.no_mtp = not hparams.get("mtp_num_hidden_layers")
        if kind.__name__ == "HunYuanMoEModel":
            kind.set_vocab = base.TextModel.set_vocab
        kind(folder, base.gguf.LlamaFileType.GUESSED, output).write()


def read(path):
    from gguf import GGUFReader
    reader = GGUFReader(path)
    keys = {}
    for key, field in reader.fields.items():
        value = field.contents()
        keys[key] = ([str(kind) for kind in field.types], value)
    return keys, {tensor.name: tensor for tensor in reader.tensors}


def short(value):
    text = repr(value)
    return text if len(text) < 90 else text[:90] + "…"


def ulps(a, b):
    import numpy
    if a.dtype != numpy.float32 or a.size != b.size:
        return None
    a, b = (x.reshape(-1).view(numpy.int32).astype(numpy.int64) for x in (a, b))
    return int(abs(a - b).max())


def compare(ours, theirs):
    import numpy
    (own_keys, own_tensors), (keys, tensors) = read(ours), read(theirs)
    problems, rounded = [], 0
    for name in sorted(tensors.keys() | own_tensors.keys()):
        if name not in own_tensors or name not in tensors:
            problems.append(f"tensor {name} only {'ours' if name in own_tensors else 'theirs'}")
            continue
        a, b = own_tensors[name], tensors[name]
        if list(a.shape) != list(b.shape) or a.tensor_type != b.tensor_type:
            problems.append(f"{name}: {list(a.shape)} {a.tensor_type.name}, expected {list(b.shape)} {b.tensor_type.name}")
        elif not numpy.array_equal(a.data.view(numpy.uint8), b.data.view(numpy.uint8)):
            distance = ulps(a.data, b.data)
            if distance == 1 and (name.endswith("ssm_a") or name == "rope_freqs.weight"):
                rounded += 1
            else:
                problems.append(f"{name}: other bytes (ulps {distance})")
    for key in sorted(keys.keys() | own_keys.keys()):
        if key in IGNORED or key.startswith("general.base_model"):
            continue
        if own_keys.get(key) != keys.get(key):
            problems.append(f"key {key}: {short(own_keys.get(key))}, expected {short(keys.get(key))}")
    return problems, rounded, len(tensors), len(keys)


# What llama.cpp's converter omits although its runtime uses it: without its pooler, a classifier of BERT is another function.
# The name of a built-in template is no template, it writes scores, which are floats, as integers, and one family has no type there.
# It omits the rotary base of a few families, the window of Mistral, the groups of Kimi Linear's experts, whether gpt-oss
# rounds YaRN's ramp, and that queries of Mistral 4 grow. The length of contexts is that of positions before they are scaled.
BEYOND = {"mistral-tekken": ["key tokenizer.chat_template", "key tokenizer.ggml.scores", "key llama.attention.sliding_window"],
          "mistral": ["key llama.attention.sliding_window"],
          "gptneox": ["key general.file_type", "key gptneox.rope.freq_base"],
          "falcon": ["key falcon.rope.freq_base"], "phi2": ["key phi2.rope.freq_base"],
          "stablelm": ["key stablelm.rope.freq_base"], "stablelm-12b": ["key stablelm.rope.freq_base"],
          "gemma": ["key gemma.rope.freq_base"], "gemma2": ["key gemma2.rope.freq_base"],
          "gemma2-27b": ["key gemma2.rope.freq_base"], "gpt-oss": ["key gpt-oss.context_length", "key gpt-oss.rope.scaling.yarn_truncate"],
          "mistral4": ["key mistral4.attention.temperature_scale", "key mistral4.context_length"],
          "kimi-linear": ["key kimi-linear.expert_group_count"],
          "deepseek2": ["key deepseek2.context_length"], "deepseek2-lite": ["key deepseek2.context_length"],
          "llama-linear": ["key llama.context_length"],
          "bert-rank": ["tensor cls.bias only ours", "tensor cls.weight only ours", "key general.size_label"]}

# Small models that are committed, with what llama.cpp's converter made of them.
FIXTURES = {
    "llama-pieces": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "tie_word_embeddings": True,
                     "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                                         "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}},
    "qwen3moe": {"hidden_size": 32, "intermediate_size": 48, "moe_intermediate_size": 16, "num_hidden_layers": 2,
                 "head_dim": 16, "tie_word_embeddings": True},
    "mamba2": {"num_hidden_layers": 2, "tie_word_embeddings": True},
    "bert": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "max_position_embeddings": 40},
    "xlm-roberta-pieces": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "max_position_embeddings": 40},
}


def make_fixtures(families, cache, names):
    import hashlib
    for name, changes in FIXTURES.items():
        if names and name not in names:
            continue
        folder = HERE.parent / "fixtures" / name
        folder.mkdir(parents=True, exist_ok=True)
        if name in families:
            make_model(name, dict(families[name], **changes), folder, cache)
        else:
            encoders.make(name, folder, cache, globals(), changes)
        output = cache / f"fixture-{name}.gguf"
        output.unlink(missing_ok=True)
        convert_with_llama_cpp(folder, output)
        keys, tensors = read(output)
        expected = {
            "keys": {key: value for key, (_, value) in keys.items() if key not in IGNORED},
            "tensors": {key: [[int(size) for size in tensor.shape], tensor.tensor_type.name,
                              hashlib.sha256(tensor.data.tobytes()).hexdigest()] for key, tensor in tensors.items()},
        }
        (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--converter", required=True)
    parser.add_argument("--inferno", required=True)
    parser.add_argument("--keep", help="folder for the models, which are used again")
    parser.add_argument("--fixtures", action="store_true", help="write the fixtures of the tests instead")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, options.converter)
    sys.path.insert(0, os.path.join(options.converter, "gguf-py"))
    families = json.loads((HERE / "families.json").read_text())
    cache = pathlib.Path(options.keep or tempfile.mkdtemp())
    cache.mkdir(exist_ok=True)
    if options.fixtures:
        return make_fixtures(families, cache, options.names)
    failed = 0
    print("| model | tensors | keys | result |\n|---|---|---|---|")
    for name, config in {**families, **dict.fromkeys([*encoders.CONFIGS, *encoders.HAND_MADE])}.items():
        if options.names and name not in options.names:
            continue
        folder = cache / name
        theirs, ours = cache / f"{name}.llama-cpp.gguf", cache / f"{name}.gguf"
        try:
            if not (folder / "config.json").exists():
                folder.mkdir(exist_ok=True)
                make_model(name, config, folder, cache)
            if not theirs.exists():
                convert_with_llama_cpp(folder, theirs)
        except Exception as error:
            print(f"| {name} | | | llama.cpp or transformers failed: {type(error).__name__}: {str(error)[:150]} |", flush=True)
            if os.environ.get("TRACE"):
                traceback.print_exc()
            theirs = None
        command = [options.inferno] + (["convert"] if options.inferno.endswith("inferno") else [])
        ours.unlink(missing_ok=True)
        run = subprocess.run(command + [str(folder), str(ours)], capture_output=True, text=True)
        if run.returncode != 0:
            failed += 1
            print(f"| {name} | | | FAILED: {run.stderr.strip()[:300]} |", flush=True)
            continue
        if theirs is None:
            continue
        problems, rounded, tensors, keys = compare(ours, theirs)
        beyond = [problem for problem in problems if any(problem.startswith(known) for known in BEYOND.get(name, []))]
        problems = [problem for problem in problems if problem not in beyond]
        failed += bool(problems)
        note = f" ({rounded} tensors of exp within 1 ulp)" if rounded else ""
        note += f", except {'; '.join(beyond)}" if beyond else ""
        result = "equal" + note if not problems else f"DIFFERENT: {'; '.join(problems[:8])}" + (f" … {len(problems)}" if len(problems) > 8 else "")
        print(f"| {name} | {tensors} | {keys} | {result} |", flush=True)
    sys.exit(failed > 0)


main()
