#!/usr/bin/env python3
"""Writes the fixtures of `cargo test` for decoders whose configurations have keys that llama.cpp's converter ignores.

    pip install numpy torch transformers
    python3 decoders.py            # rewrites ../fixtures/decoders/*.json
    python3 decoders.py NAME...    # rewrites only these

A fixture has `config.json` in the form of published files, the shapes of the tensors, token ids, and at every position the
logits that transformers computes in single precision. The weights follow from their names: `weights` here, and
`../convert/decoders.rs`.
"""
import json
import pathlib
import sys

import numpy
import torch
import transformers

FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "decoders"
NUM_TOKENS = 20
SIZES = {"vocab_size": 24, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 64, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": None}
GROUPED = {**SIZES, "num_key_value_heads": 2}
GPT2 = {"model_type": "gpt2", "vocab_size": 24, "n_embd": 32, "n_head": 4, "n_layer": 2, "n_ctx": 64, "n_positions": 64,
        "layer_norm_epsilon": 1e-5, "bos_token_id": 1, "eos_token_id": 1}

CONFIGS = {
    "gpt-neox": {**SIZES, "architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "rotary_pct": 0.5,
                 "rotary_emb_base": 250000, "layer_norm_eps": 1e-5, "use_parallel_residual": True},
    "falcon": {**SIZES, "architectures": ["FalconForCausalLM"], "model_type": "falcon", "alibi": False, "bias": False,
               "ffn_hidden_size": 48, "layer_norm_epsilon": 1e-5, "max_position_embeddings": 8192, "multi_query": True,
               "new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1, "parallel_attn": True,
               "rope_theta": 500042.0},
    "stablelm": {**GROUPED, "architectures": ["StableLmForCausalLM"], "model_type": "stablelm", "layer_norm_eps": 1e-5,
                 "partial_rotary_factor": 0.5, "rope_theta": 1000000},
    "phi": {**SIZES, "architectures": ["PhiForCausalLM"], "model_type": "phi", "intermediate_size": 128,
            "num_key_value_heads": 4, "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "rope_theta": 1000000.0},
    "mistral": {**GROUPED, "architectures": ["MistralForCausalLM"], "model_type": "mistral", "rms_norm_eps": 1e-5,
                "sliding_window": 5, "rope_theta": 10000.0},
    "starcoder2": {**GROUPED, "architectures": ["Starcoder2ForCausalLM"], "model_type": "starcoder2", "norm_epsilon": 1e-5,
                   "sliding_window": 5, "use_bias": True, "rope_theta": 999999.0},
    "gpt2": {**GPT2, "architectures": ["GPT2LMHeadModel"], "n_inner": 48},
    "bamba": {**GROUPED, "architectures": ["BambaForCausalLM"], "model_type": "bamba", "num_hidden_layers": 3,
              "attn_layer_indices": [1], "attn_rotary_emb": 4, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "mamba_chunk_size": 8, "mamba_conv_bias": True, "mamba_d_conv": 4, "mamba_d_head": 16, "mamba_d_state": 6,
              "mamba_expand": 2, "mamba_n_groups": 2, "mamba_n_heads": 4, "mamba_proj_bias": False,
              "time_step_limit": [0.0, float("inf")]},
    "gemma2": {**GROUPED, "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "head_dim": 8, "sliding_window": 5,
               "query_pre_attn_scalar": 24, "layer_types": ["full_attention", "sliding_attention"], "rms_norm_eps": 1e-6,
               "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "tie_word_embeddings": True,
               "hidden_activation": "gelu_pytorch_tanh", "rope_theta": 10000.0},
    "gemma3": {**GROUPED, "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "head_dim": 8,
               "num_hidden_layers": 3, "sliding_window": 5, "query_pre_attn_scalar": 24, "rms_norm_eps": 1e-6,
               "layer_types": ["full_attention", "sliding_attention", "full_attention"], "tie_word_embeddings": True,
               "hidden_activation": "gelu_pytorch_tanh", "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0},
    "falcon-h1-tied": {**GROUPED, "architectures": ["FalconH1ForCausalLM"], "model_type": "falcon_h1", "head_dim": 8,
                       "tie_word_embeddings": True, "embedding_multiplier": 1.5, "lm_head_multiplier": 0.25,
                       "key_multiplier": 0.7, "attention_in_multiplier": 1.1, "attention_out_multiplier": 0.8,
                       "mlp_multipliers": [0.9, 0.7], "ssm_multipliers": [0.9, 0.8, 1.1, 1.2, 0.7], "ssm_in_multiplier": 1.2,
                       "ssm_out_multiplier": 0.6, "mamba_chunk_size": 8, "mamba_conv_bias": True, "mamba_d_conv": 4,
                       "mamba_d_head": 16, "mamba_d_ssm": 64, "mamba_d_state": 6, "mamba_expand": 2, "mamba_n_groups": 1,
                       "mamba_n_heads": 4, "mamba_proj_bias": False, "mamba_rms_norm": False, "mamba_norm_before_gate": False,
                       "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu"},
    "gemma-untied": {**GROUPED, "architectures": ["GemmaForCausalLM"], "model_type": "gemma", "head_dim": 8, "rms_norm_eps": 1e-6,
                     "hidden_activation": "gelu_pytorch_tanh", "rope_theta": 10000.0},
    "nemotron": {**GROUPED, "architectures": ["NemotronForCausalLM"], "model_type": "nemotron", "head_dim": 16, "norm_eps": 1e-5,
                 "hidden_act": "relu2", "partial_rotary_factor": 0.5, "rope_theta": 10000.0},
    "cohere2": {**GROUPED, "architectures": ["Cohere2ForCausalLM"], "model_type": "cohere2", "head_dim": 16,
                "layer_norm_eps": 1e-5, "logit_scale": 0.25, "sliding_window": 5, "rope_theta": 10000.0,
                "layer_types": ["sliding_attention", "full_attention"], "tie_word_embeddings": True},
    # The table of the layers' embeddings has fewer tokens than the vocabulary.
    "gemma3n": {**GROUPED, "architectures": ["Gemma3nForCausalLM"], "model_type": "gemma3n_text", "head_dim": 8,
                "vocab_size_per_layer_input": 17, "hidden_size_per_layer_input": 8, "num_hidden_layers": 4,
                "num_kv_shared_layers": 2, "laurel_rank": 4, "altup_num_inputs": 4, "altup_active_idx": 0,
                "activation_sparsity_pattern": [0.95, 0.0, 0.0, 0.0], "sliding_window": 5, "rms_norm_eps": 1e-6,
                "layer_types": ["sliding_attention", "full_attention"] * 2, "tie_word_embeddings": True, "pad_token_id": 0,
                "final_logit_softcapping": 30.0, "hidden_activation": "gelu_pytorch_tanh"},
}
CONFIGS["falcon-h1-biases"] = {**CONFIGS["falcon-h1-tied"], "attention_bias": True, "mamba_proj_bias": True, "mlp_bias": True,
                               "projectors_bias": True}


def weights(number, shape):
    """Numbers between -0.5 and 0.5 with 24 bits, which depend on the number of the tensor in the order of names."""
    mask = numpy.uint64(0xFFFFFFFF)
    index = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint64) + numpy.uint64(7919 * (number + 1))
    hashed = index * numpy.uint64(2654435761) & mask
    hashed ^= hashed >> numpy.uint64(15)
    hashed = hashed * numpy.uint64(2246822519) & mask
    hashed ^= hashed >> numpy.uint64(13)
    return ((hashed >> numpy.uint64(8)).astype(numpy.float32) / 2**24 - 0.5).reshape(shape)


def make(name, config):
    loaded = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
    model = getattr(transformers, config["architectures"][0])._from_config(loaded, attn_implementation="eager").float().eval()
    names = sorted(model.state_dict())
    if loaded.tie_word_embeddings:
        names.remove("lm_head.weight")
    shapes = {key: list(model.state_dict()[key].shape) for key in names}
    values = {key: torch.from_numpy(weights(number, shapes[key])) for number, key in enumerate(names)}
    model.load_state_dict(values, strict=False)
    tokens = [(7 * position + position // 3) % config["vocab_size"] for position in range(NUM_TOKENS)]
    with torch.no_grad():
        logits = model(torch.tensor([tokens]), use_cache=False).logits[0]
    fixture = {"config": json.dumps(config), "shapes": shapes, "tokens": tokens,
               "logits": [[float(f"{value:.7g}") for value in row] for row in logits.tolist()]}
    (FOLDER / f"{name}.json").write_text(json.dumps(fixture) + "\n")


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CONFIGS:
        make(name, CONFIGS[name])


main()
