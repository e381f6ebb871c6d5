#!/usr/bin/env python3
"""Writes the fixtures of `cargo test` for encoders: hidden states that transformers computes.

    pip install numpy torch transformers
    python3 states.py            # rewrites ../fixtures/states/*.json
    python3 states.py NAME...    # rewrites only these

The form is that of `decoders.py`, with `states`, a row for each token, instead of logits. `gte-published` has the names of
published files, and their scaling of rotary embeddings, which transformers does not implement.
"""
import json
import pathlib
import sys

import torch
import transformers

from decoders import weights

FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "states"
NUM_TOKENS = 20
SIZES = {"vocab_size": 24, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 64, "layer_norm_eps": 1e-5, "hidden_act": "gelu"}

CONFIGS = {
    "distilbert": {"architectures": ["DistilBertModel"], "model_type": "distilbert", "vocab_size": 24, "dim": 32, "n_layers": 2,
                   "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64, "activation": "gelu"},
    "electra": {**SIZES, "architectures": ["ElectraModel"], "model_type": "electra", "embedding_size": 32, "type_vocab_size": 2},
    "ernie": {**SIZES, "architectures": ["ErnieModel"], "model_type": "ernie", "type_vocab_size": 4, "use_task_id": False},
    "mpnet": {**SIZES, "architectures": ["MPNetModel"], "model_type": "mpnet", "relative_attention_num_buckets": 32},
    "gte": {**SIZES, "architectures": ["GteModel"], "model_type": "gte", "type_vocab_size": 1, "rope_theta": 5000.0},
}
PUBLISHED = {**SIZES, "architectures": ["NewModel"], "model_type": "new", "type_vocab_size": 1, "rope_theta": 5000.0,
             "rope_scaling": {"factor": 8.0, "type": "ntk"}, "position_embedding_type": "rope", "layer_norm_type": "layer_norm",
             "logn_attention_scale": False, "pack_qkv": True, "unpad_inputs": False}


def random(shapes):
    return {name: torch.from_numpy(weights(number, shape)) for number, (name, shape) in enumerate(sorted(shapes.items()))}


def save(name, config, shapes, model):
    tokens = [(7 * position + position // 3) % 20 + 3 for position in range(NUM_TOKENS)]
    with torch.no_grad():
        states = model(torch.tensor([tokens])).last_hidden_state[0]
    fixture = {"config": json.dumps(config), "shapes": dict(sorted(shapes.items())), "tokens": tokens,
               "states": [[float(f"{value:.7g}") for value in row] for row in states.tolist()]}
    (FOLDER / f"{name}.json").write_text(json.dumps(fixture) + "\n")


def make(name, config):
    loaded = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
    model = getattr(transformers, config["architectures"][0])._from_config(loaded, attn_implementation="eager").float().eval()
    shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
    model.load_state_dict(random(shapes))
    save(name, config, shapes, model)


def published_gte():
    """GTE with one matrix for queries, keys and values, and one for gates and their inputs."""
    keys = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings",
            "layer_norm_eps", "hidden_act", "type_vocab_size")
    scaling = PUBLISHED["rope_scaling"]["factor"]
    base = scaling * PUBLISHED["rope_theta"]
    config = transformers.GteConfig(**{key: PUBLISHED[key] for key in keys}, rope_parameters={"rope_type": "default", "rope_theta": base})
    model = transformers.GteModel._from_config(config, attn_implementation="eager").float().eval()
    names = {"self_attn.o_proj": "attention.o_proj", "post_attention_layernorm": "attn_ln", "post_mlp_layernorm": "mlp_ln",
             "mlp.down_proj": "mlp.down_proj"}
    stacked = {"attention.qkv_proj": [f"self_attn.{part}_proj" for part in "qkv"], "mlp.up_gate_proj": ["mlp.up_proj", "mlp.gate_proj"]}
    own, shapes, places = model.state_dict(), {}, {}
    for name, value in own.items():
        if not name.startswith("layers."):
            shapes[name], places[name] = list(value.shape), [name]
    for layer in range(config.num_hidden_layers):
        parts = {new: [old] for old, new in names.items()} | stacked
        for new, olds in parts.items():
            for kind in ("weight", "bias"):
                sources = [f"layers.{layer}.{old}.{kind}" for old in olds if f"layers.{layer}.{old}.{kind}" in own]
                if sources:
                    rows = sum(own[source].shape[0] for source in sources)
                    name = f"encoder.layer.{layer}.{new}.{kind}"
                    shapes[name], places[name] = [rows, *own[sources[0]].shape[1:]], sources
    values = random(shapes)
    model.load_state_dict({source: part for name, sources in places.items()
                           for source, part in zip(sources, values[name].chunk(len(sources)))})
    head = config.hidden_size // config.num_attention_heads
    model.rotary_emb.inv_freq.div_(scaling ** (2 / head))
    save("gte-published", PUBLISHED, shapes, model)


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or [*CONFIGS, "gte-published"]:
        published_gte() if name == "gte-published" else make(name, CONFIGS[name])


if __name__ == "__main__":
    main()
