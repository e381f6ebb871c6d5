"""Tiny random encoders and their tokenizers, with the hidden states that transformers computes."""
import base64, json

VOCAB = 384
TEXT = "the quick brown fox jumps over 7 lazy dogs and says hello number 42"
SMALL = {"vocab_size": VOCAB, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96,
         "max_position_embeddings": 130}

# The class and the configuration of transformers, the tokenizer, and further options.
CONFIGS = {
    "bert": ("BertModel", "bert", SMALL, "words", {"pooling": "mean"}),
    "bert-rank": ("BertForSequenceClassification", "bert", dict(SMALL, num_labels=1), "words", {}),
    "distilbert": ("DistilBertModel", "distilbert", {"vocab_size": VOCAB, "dim": 64, "n_layers": 2, "n_heads": 4,
                                                     "hidden_dim": 96, "max_position_embeddings": 130}, "words", {}),
    "roberta": ("RobertaModel", "roberta", dict(SMALL, pad_token_id=1, type_vocab_size=1), "bytes", {"pooling": "cls"}),
    "roberta-rank": ("RobertaForSequenceClassification", "roberta", dict(SMALL, pad_token_id=1, num_labels=1), "bytes", {}),
    "xlm-roberta": ("XLMRobertaModel", "xlm-roberta", dict(SMALL, pad_token_id=1, type_vocab_size=1), "unigram", {"pooling": "cls"}),
    "xlm-roberta-pieces": ("XLMRobertaModel", "xlm-roberta", dict(SMALL, pad_token_id=1, type_vocab_size=1), "pieces", {}),
    "xlm-roberta-rank": ("XLMRobertaForSequenceClassification", "xlm-roberta", dict(SMALL, pad_token_id=1, num_labels=1), "unigram", {}),
    "modern-bert": ("ModernBertModel", "modernbert", dict(SMALL, num_hidden_layers=4, local_attention=8, pad_token_id=0, **{
        f"{role}_token_id": 1 for role in ("bos", "eos", "cls", "sep")}), "bytes", {"pooling": "mean"}),
    "modern-bert-rank": ("ModernBertForSequenceClassification", "modernbert", dict(
        SMALL, num_hidden_layers=4, local_attention=8, num_labels=1, classifier_pooling="mean", pad_token_id=0, **{
            f"{role}_token_id": 1 for role in ("bos", "eos", "cls", "sep")}), "bytes", {}),
    "eurobert": ("EuroBertModel", "eurobert", dict(SMALL, num_key_value_heads=2, bos_token_id=1, eos_token_id=1, pad_token_id=1), "bytes", {"pooling": "mean"}),
    "nomic-bert": ("NomicBertModel", "nomic_bert", SMALL, "words", {"pooling": "mean"}),
    "nomic-bert-published": ("NomicBertModel", "nomic_bert", SMALL, "words", {"pooling": "mean", "published": "nomic"}),
    "jina-bert-v3": ("JinaEmbeddingsV3Model", "jina_embeddings_v3", dict(SMALL, pad_token_id=1), "unigram", {"pooling": "mean"}),
    "jina-bert-v3-published": ("JinaEmbeddingsV3Model", "jina_embeddings_v3", dict(SMALL, pad_token_id=1), "unigram",
                               {"pooling": "mean", "published": "jina"}),
    "embeddinggemma": ("Gemma3TextModel", "gemma3_text", dict(SMALL, num_key_value_heads=2, head_dim=16, query_pre_attn_scalar=16, sliding_window=8,
                                                              use_bidirectional_attention=True, bos_token_id=1, eos_token_id=2,
                                                              pad_token_id=0), "merged pieces", {"pooling": "mean"}),
    "qwen3-embedding": ("Qwen3Model", "qwen3", dict(SMALL, num_key_value_heads=2, head_dim=16), "bytes", {"pooling": "lasttoken"}),
}

# Models that transformers does not have: the class, its configuration, shapes of tensors, the tokenizer.
LAYERS = range(2)
NOMIC = {"model_type": "nomic_bert_remote", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_inner": 96, "n_positions": 2048,
         "max_trained_positions": 2048, "layer_norm_epsilon": 1e-5, "rotary_emb_base": 10000.0, "rotary_emb_fraction": 1.0,
         "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "prenorm": False, "causal": False,
         "vocab_size": VOCAB, "type_vocab_size": 1}


def norm(name, size=64):
    return {f"{name}.weight": [size], f"{name}.bias": [size]}


def dense(name, rows, cols, bias=True):
    return {f"{name}.weight": [rows, cols], **({f"{name}.bias": [rows]} if bias else {})}


def bert_layer(layer):
    name = f"encoder.layer.{layer}"
    return {**dense(f"{name}.attention.self.query", 64, 64), **dense(f"{name}.attention.self.key", 64, 64),
            **dense(f"{name}.attention.self.value", 64, 64), **dense(f"{name}.attention.output.dense", 64, 64),
            **norm(f"{name}.attention.output.LayerNorm")}


def moe_layer(layer):
    name, shapes = f"encoder.layers.{layer}", {}
    for part in (dense(f"{name}.attn.Wqkv", 192, 64), dense(f"{name}.attn.out_proj", 64, 64), norm(f"{name}.norm1"), norm(f"{name}.norm2")):
        shapes.update(part)
    if layer % 2 == 1:
        return {**shapes, **dense(f"{name}.mlp.router.layer", 4, 64, False), f"{name}.mlp.experts.mlp.w1": [4 * 96, 64],
                f"{name}.mlp.experts.mlp.w2": [4 * 96, 64], f"{name}.mlp.experts.bias": [64]}
    return {**shapes, **dense(f"{name}.mlp.fc1", 96, 64), **dense(f"{name}.mlp.fc2", 64, 96)}


def merged(parts):
    return {key: shape for part in parts for key, shape in part.items()}


EMBEDDINGS = {"embeddings.word_embeddings.weight": [VOCAB, 64], "embeddings.token_type_embeddings.weight": [1, 64]}
HAND_MADE = {
    "nomic-bert-moe": (dict(NOMIC, architectures=["NomicBertModel"], activation_function="gelu", moe_every_n_layers=2, num_experts=4,
                            moe_top_k=2, qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, pad_token_id=1),
                       merged([EMBEDDINGS, norm("emb_ln"), *map(moe_layer, LAYERS)]), "unigram"),
    "jina-bert-v2": ({"architectures": ["JinaBertForMaskedLM"], "model_type": "jina_remote", "hidden_size": 64, "num_hidden_layers": 2,
                      "num_attention_heads": 4, "intermediate_size": 96, "max_position_embeddings": 128, "layer_norm_eps": 1e-12,
                      "vocab_size": VOCAB, "type_vocab_size": 1},
                     merged([EMBEDDINGS, norm("embeddings.LayerNorm"), *map(bert_layer, LAYERS)] + [
                         {**dense(f"encoder.layer.{i}.mlp.gated_layers", 192, 64, False), **dense(f"encoder.layer.{i}.mlp.wo", 64, 96),
                          **norm(f"encoder.layer.{i}.mlp.layernorm")} for i in LAYERS]), "words"),
    "neo-bert": ({"architectures": ["NeoBERT"], "model_type": "neobert_remote", "hidden_size": 64, "num_hidden_layers": 2,
                  "num_attention_heads": 4, "intermediate_size": 96, "max_length": 128, "norm_eps": 1e-6, "vocab_size": VOCAB},
                 merged([{"model.encoder.weight": [VOCAB, 64], "model.layer_norm.weight": [64]}] + [
                     {f"model.transformer_encoder.{i}.{name}.weight": shape for name, shape in {
                         "attention_norm": [64], "ffn_norm": [64], "qkv": [192, 64], "wo": [64, 64], "ffn.w12": [128, 64],
                         "ffn.w3": [64, 64]}.items()} for i in LAYERS]), "words"),
}


def added(texts):
    return [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
            for i, text in texts]


def template(first, last, ids):
    token = lambda text, kind=0: {"SpecialToken": {"id": text, "type_id": kind}}
    a, b = ({"Sequence": {"id": name, "type_id": kind}} for kind, name in enumerate("AB"))
    return {"type": "TemplateProcessing", "single": [token(first), a, token(last)],
            "pair": [token(first), a, token(last), b, token(last, 1)],
            "special_tokens": {text: {"id": text, "ids": [i], "tokens": [text]} for text, i in ids.items()}}


def write(folder, tokenizer, config):
    (folder / "tokenizer.json").write_text(json.dumps(
        {"version": "1.0", "truncation": None, "padding": None, **tokenizer}, ensure_ascii=False))
    (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False))


def write_words(folder):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'"
    texts = special + list(letters) + ["##" + letter for letter in letters] + "the quick brown fox jump ##s hello and 你 é".split()
    write(folder, {
        "added_tokens": added(enumerate(special)),
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": template("[CLS]", "[SEP]", {"[CLS]": 2, "[SEP]": 3}),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {text: i for i, text in enumerate(dict.fromkeys(texts))}},
    }, {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]",
        "cls_token": "[CLS]", "mask_token": "[MASK]"})


def trained_text(cache):
    text = cache / "encoders.txt"
    text.write_text("\n".join(f"the quick brown fox number {i} jumps over {i * 7} lazy dogs and says hello" for i in range(2000)))
    return str(text)


def unigram_model(cache, rule="nmt_nfkc"):
    import sentencepiece
    model = cache / f"unigram-{rule}.model"
    if not model.exists():
        sentencepiece.SentencePieceTrainer.train(input=trained_text(cache), model_prefix=str(model.with_suffix("")), vocab_size=120,
                                                 model_type="unigram", normalization_rule_name=rule)
    return model


def write_merged_pieces(folder, cache):
    import sentencepiece
    model = cache / "merged.model"
    if not model.exists():
        sentencepiece.SentencePieceTrainer.train(input=trained_text(cache), model_prefix=str(cache / "merged"), vocab_size=340,
                                                 model_type="bpe", byte_fallback=True, add_dummy_prefix=False)
    (folder / "tokenizer.model").write_bytes(model.read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True}))


XLM = {"tokenizer_class": "XLMRobertaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>",
       "cls_token": "<s>", "pad_token": "<pad>", "mask_token": "<mask>", "clean_up_tokenization_spaces": True}


def write_pieces(folder, cache):
    (folder / "sentencepiece.bpe.model").write_bytes(unigram_model(cache, "identity").read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps(XLM))


def write_unigram(folder, cache):
    from sentencepiece import SentencePieceProcessor, sentencepiece_model_pb2
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(unigram_model(cache).read_bytes())
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocab = [[text, 0.0] for text in special] + [[piece.piece, piece.score] for piece in model.pieces[3:]] + [["<mask>", 0.0]]
    charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    write(folder, {
        "added_tokens": added([*enumerate(special), (len(vocab) - 1, "<mask>")]),
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}]},
        "post_processor": template("<s>", "</s>", {"<s>": 0, "</s>": 2}),
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": False},
    }, XLM)


def write_bytes(folder, write_byte_level):
    write_byte_level(folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    ids = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    first, last = "<|user|>", "<|endoftext|>"
    tokenizer["post_processor"] = {"type": "RobertaProcessing", "sep": [last, ids[last]], "cls": [first, ids[first]],
                                   "trim_offsets": True, "add_prefix_space": False}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "cls_token": first, "sep_token": last, "pad_token": last}
    write(folder, tokenizer, config)


def published_nomic(config):
    sizes = {key: config[key] for key in ("vocab_size", "type_vocab_size")}
    config.clear()
    config.update(dict(NOMIC, architectures=["NomicBertModel"], n_layer=SMALL["num_hidden_layers"], n_positions=8192,
                       layer_norm_epsilon=1e-12, rotary_emb_base=1000.0, activation_function="swiglu", qkv_proj_bias=False,
                       mlp_fc1_bias=False, mlp_fc2_bias=False), **sizes)


def published_jina(config):
    config.pop("rope_parameters")
    config.update(architectures=["XLMRobertaModel"], model_type="xlm-roberta", position_embedding_type="rotary",
                  rotary_emb_base=20000.0, lora_adaptations=["retrieval.query"])


def write_pooling(folder, mode):
    (folder / "1_Pooling").mkdir(exist_ok=True)
    modes = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "lasttoken": "pooling_mode_lasttoken"}
    (folder / "1_Pooling/config.json").write_text(json.dumps({key: name == mode for name, key in modes.items()}))
    (folder / "modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]))


def make(name, folder, cache, helpers, changes={}):
    """Creates the model `name` with changes of its configuration; `helpers` is the module of the decoders."""
    import torch
    torch.manual_seed(1)
    if name in HAND_MADE:
        from safetensors.torch import save_file
        config, shapes, tokenizer = HAND_MADE[name]
        (folder / "config.json").write_text(json.dumps(config))
        save_file({key: torch.randn(shape).mul(0.3).bfloat16() for key, shape in shapes.items()}, folder / "model.safetensors")
        options, model = {}, None
    else:
        import transformers
        architecture, kind, config, tokenizer, options = CONFIGS[name]
        model = getattr(transformers, architecture)(transformers.CONFIG_MAPPING[kind].from_dict({**config, **changes}))
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parameter.normal_(0, 0.1)
                if "norm" in key.lower() and key.endswith("weight"):
                    parameter.add_(1)
        model.to(torch.bfloat16).save_pretrained(folder)
        # Loaded again, because the frequencies of rotary embeddings were rounded as well.
        model = type(model).from_pretrained(folder, dtype=torch.float32)
    if "published" in options:
        saved = json.loads((folder / "config.json").read_text())
        {"nomic": published_nomic, "jina": published_jina}[options["published"]](saved)
        (folder / "config.json").write_text(json.dumps(saved))
    if "pooling" in options:
        write_pooling(folder, options["pooling"])
    match tokenizer:
        case "words": write_words(folder)
        case "bytes": write_bytes(folder, helpers["write_byte_level"])
        case "merged pieces": write_merged_pieces(folder, cache)
        case "unigram": write_unigram(folder, cache)
        case "pieces": write_pieces(folder, cache)
    if model is None or tokenizer == "pieces":
        return
    if tokenizer == "merged pieces":
        import sentencepiece
        pieces = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
        ids = [pieces.bos_id(), *pieces.encode(TEXT)]
    else:
        import tokenizers
        ids = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids
    with torch.no_grad():
        output = model.eval()(input_ids=torch.tensor([ids]))
    key = "logits" if "logits" in output else "last_hidden_state"
    (folder / "reference.json").write_text(json.dumps({"text": TEXT, "ids": ids, key: output[key][0].tolist()}))
