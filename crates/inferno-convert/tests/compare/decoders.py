#!/usr/bin/env python3
"""Writes the fixtures of `cargo test` for decoders that llama.cpp's converter does not know or some of whose keys it ignores, for
classes outside transformers that have an equivalent in it, and for the text models of larger ones.

    pip install numpy safetensors torch transformers
    python3 decoders.py            # rewrites ../fixtures/decoders/*.json
    python3 decoders.py NAME...    # rewrites only these

A fixture has `config.json` in the form of published files, the shapes of the tensors, token ids, and at every position the
logits or scores that transformers computes in single precision. The weights follow from their names: `weights` here, and
`../convert/decoders.rs`.
"""
import json
import pathlib
import sys
import tempfile

import numpy
import safetensors.torch
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
    "kimi-linear": {**SIZES, "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "num_hidden_layers": 3,
                    "num_key_value_heads": 4, "first_k_dense_replace": 1, "head_dim": 8, "hidden_act": "silu", "kv_lora_rank": 16,
                    "linear_attn_config": {"full_attn_layers": [2], "head_dim": 6, "kda_layers": [1, 3], "num_heads": 4,
                                           "short_conv_kernel_size": 4},
                    "mla_use_nope": True, "model_max_length": 64, "moe_intermediate_size": 12, "moe_layer_freq": 1,
                    "moe_renormalize": True, "moe_router_activation_func": "sigmoid", "num_expert_group": 1, "num_experts": 4,
                    "num_experts_per_token": 2, "num_nextn_predict_layers": 0, "num_shared_experts": 1, "q_lora_rank": 20,
                    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
                    "routed_scaling_factor": 2.446, "topk_group": 1, "use_grouped_topk": True, "v_head_dim": 6},
}
CONFIGS |= {
    "glm": {**GROUPED, "architectures": ["GlmForCausalLM"], "model_type": "glm", "attention_bias": True, "head_dim": 8,
            "partial_rotary_factor": 0.5, "rms_norm_eps": 1.5625e-07, "rope_theta": 10000.0},
    "olmo": {**GROUPED, "architectures": ["OlmoForCausalLM"], "model_type": "olmo", "clip_qkv": 0.75, "rope_theta": 10000.0},
    "jais2": {**GROUPED, "architectures": ["Jais2ForCausalLM"], "model_type": "jais2", "hidden_act": "relu2",
              "attention_bias": True, "mlp_bias": True, "layer_norm_eps": 1e-5, "rope_theta": 500000.0},
    "cwm": {**GROUPED, "architectures": ["CwmForCausalLM"], "model_type": "cwm", "head_dim": 8, "num_hidden_layers": 5,
            "rms_norm_eps": 1e-5, "sliding_window": 5, "rope_theta": 1000000.0},
    "ministral": {**GROUPED, "architectures": ["MinistralForCausalLM"], "model_type": "ministral", "head_dim": 8,
                  "num_hidden_layers": 3, "rms_norm_eps": 1e-5, "sliding_window": 5, "rope_theta": 10000.0,
                  "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    "helium": {**GROUPED, "architectures": ["HeliumForCausalLM"], "model_type": "helium", "head_dim": 8, "rms_norm_eps": 1e-8,
               "rope_theta": 100000.0},
    # Classes whose code is in the repositories of their models.
    "minicpm": {**GROUPED, "architectures": ["MiniCPMForCausalLM"], "model_type": "minicpm", "scale_emb": 12, "scale_depth": 1.4,
                "dim_model_base": 16, "rms_norm_eps": 1e-5},
    "internlm2": {**GROUPED, "architectures": ["InternLM2ForCausalLM"], "model_type": "internlm2", "bias": False,
                  "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 1000000,
                  "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "chatglm": {"architectures": ["ChatGLMModel"], "model_type": "chatglm", "num_layers": 2, "padded_vocab_size": 24,
                "hidden_size": 32, "ffn_hidden_size": 48, "kv_channels": 8, "num_attention_heads": 4, "multi_query_attention": True,
                "multi_query_group_num": 2, "seq_length": 64, "layernorm_epsilon": 1.5625e-07, "rmsnorm": True,
                "add_bias_linear": False, "add_qkv_bias": True, "apply_residual_connection_post_layernorm": False,
                "post_layer_norm": True, "original_rope": True, "rope_ratio": 500, "tie_word_embeddings": False},
    "exaone": {**GROUPED, "architectures": ["ExaoneForCausalLM"], "model_type": "exaone", "activation_function": "silu",
               "num_layers": 2, "layer_norm_epsilon": 1e-5, "rope_theta": 1000000,
               "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 16}},
}
CONFIGS |= {
    "bitnet": {**GROUPED, "architectures": ["BitNetForCausalLM"], "model_type": "bitnet", "hidden_act": "relu2",
               "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": True},
    "minicpm3": {**SIZES, "architectures": ["MiniCPM3ForCausalLM"], "model_type": "minicpm3", "num_key_value_heads": 4,
                 "kv_lora_rank": 16, "q_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 8, "rms_norm_eps": 1e-5,
                 "scale_emb": 3, "scale_depth": 1.2, "dim_model_base": 16, "tie_word_embeddings": True,
                 "rope_scaling": {"type": "longrope", "long_factor": [1.5, 2.0], "short_factor": [1.0, 1.25],
                                  "original_max_position_embeddings": 64}},
    "granite-swa": {**GROUPED, "architectures": ["GraniteSWAForCausalLM"], "model_type": "granite_swa", "num_hidden_layers": 3,
                    "layer_types": ["full_attention", "sliding_attention", "sliding_attention"], "sliding_window": 5,
                    "layer_rope_theta": [0, 5000.0, 5000.0], "rms_norm_eps": 1e-5, "attention_multiplier": 0.3,
                    "embedding_multiplier": 1.5, "residual_multiplier": 0.7, "logits_scaling": 2.0},
    "gptj": {"architectures": ["GPTJForCausalLM"], "model_type": "gptj", "vocab_size": 24, "n_embd": 32, "n_head": 4,
             "n_layer": 2, "n_positions": 64, "n_inner": None, "rotary_dim": 4, "layer_norm_epsilon": 1e-5,
             "activation_function": "gelu_new", "bos_token_id": 1, "eos_token_id": 1, "tie_word_embeddings": False},
    # The slopes of further heads than a power of two are others.
    "bloom": {"architectures": ["BloomForCausalLM"], "model_type": "bloom", "vocab_size": 24, "hidden_size": 48, "n_head": 6,
              "n_layer": 2, "layer_norm_epsilon": 1e-5, "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 3},
    "vaultgemma": {**GROUPED, "architectures": ["VaultGemmaForCausalLM"], "model_type": "vaultgemma", "head_dim": 8,
                   "sliding_window": 5, "query_pre_attn_scalar": 24, "layer_types": ["full_attention", "sliding_attention"],
                   "rms_norm_eps": 1e-6, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0,
                   "tie_word_embeddings": True, "hidden_activation": "gelu_pytorch_tanh", "rope_theta": 10000.0},
    "mpt": {"architectures": ["MptForCausalLM"], "model_type": "mpt", "vocab_size": 24, "d_model": 48, "n_heads": 6,
            "n_layers": 2, "max_seq_len": 64, "expansion_ratio": 4, "learned_pos_emb": True, "layer_norm_epsilon": 1e-5,
            "attn_config": {"alibi": True, "alibi_bias_max": 8, "clip_qkv": 0.5}},
}
del CONFIGS["exaone"]["num_hidden_layers"]

# Models that read images, of which the text model is converted.
TEXT = {key: value for key, value in GROUPED.items() if not key.endswith("token_id")}
VISION = {"model_type": "siglip_vision_model", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
          "num_attention_heads": 2, "image_size": 8, "patch_size": 4}
# transformers does not multiply the logits of these composite models by the factor of the text model.
COHERE = {**TEXT, "model_type": "cohere2", "num_hidden_layers": 4, "sliding_window": 5, "logit_scale": 1.0, "layer_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": True}
INTERN_VISION = {**VISION, "model_type": "internvl_vision", "image_size": [8, 8], "patch_size": [4, 4]}
CONFIGS |= {
    "aya-vision": {"architectures": ["AyaVisionForConditionalGeneration"], "model_type": "aya_vision", "text_config": COHERE,
                   "vision_config": VISION, "image_token_index": 23},
    "cohere2-vision": {"architectures": ["Cohere2VisionForConditionalGeneration"], "model_type": "cohere2_vision",
                       "text_config": COHERE, "vision_config": VISION, "image_token_id": 23},
    "internvl": {"architectures": ["InternVLForConditionalGeneration"], "model_type": "internvl",
                 "text_config": {**TEXT, "model_type": "qwen2", "rms_norm_eps": 1e-6}, "vision_config": INTERN_VISION,
                 "image_token_id": 23},
    "lfm2-vl": {"architectures": ["Lfm2VlForConditionalGeneration"], "model_type": "lfm2_vl",
                "text_config": {**TEXT, "model_type": "lfm2", "conv_L_cache": 3, "layer_types": ["conv", "full_attention"],
                                "block_auto_adjust_ff_dim": False, "norm_eps": 1e-5, "rope_theta": 1000000.0},
                "vision_config": {**VISION, "model_type": "siglip2_vision_model", "num_patches": 4}, "image_token_id": 23},
    "llava-next": {"architectures": ["LlavaNextForConditionalGeneration"], "model_type": "llava_next",
                   "text_config": {**TEXT, "model_type": "llama", "rms_norm_eps": 1e-5}, "vision_config": VISION,
                   "image_token_index": 23},
    "llava-onevision": {"architectures": ["LlavaOnevisionForConditionalGeneration"], "model_type": "llava_onevision",
                        "text_config": {**TEXT, "model_type": "qwen2", "rms_norm_eps": 1e-6}, "vision_config": VISION,
                        "image_token_index": 23, "video_token_index": 22},
    "ovis2": {"architectures": ["Ovis2ForConditionalGeneration"], "model_type": "ovis2",
              "text_config": {**TEXT, "model_type": "qwen2", "rms_norm_eps": 1e-6},
              "vision_config": {**VISION, "model_type": "ovis2", "vocab_size": 16, "num_visual_indicator_tokens": 5},
              "image_token_id": 23, "visual_indicator_token_ids": [18, 19, 20, 21, 22]},
    "qwen2-5-omni": {"architectures": ["Qwen2_5OmniThinkerForConditionalGeneration"], "model_type": "qwen2_5_omni_thinker",
                     "text_config": {**TEXT, "model_type": "qwen2_5_omni_text", "rope_theta": 1000000.0,
                                     "rope_scaling": {"type": "default", "mrope_section": [1, 1, 2]}},
                     "vision_config": {"depth": 1, "hidden_size": 8, "intermediate_size": 8, "num_heads": 2, "out_hidden_size": 32,
                                       "patch_size": 4, "fullatt_block_indexes": [0]},
                     "audio_config": {"encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 8, "d_model": 8,
                                      "output_dim": 32}, "image_token_id": 23, "video_token_id": 22, "audio_token_id": 21},
}

# Configurations of classes that compute the same as those outside transformers.
EQUIVALENT = {
    "minicpm": {**CONFIGS["minicpm"], "architectures": ["GraniteForCausalLM"], "model_type": "granite",
                "attention_multiplier": 8**-0.5, "embedding_multiplier": 12.0, "residual_multiplier": 1.4 / 2**0.5,
                "logits_scaling": 2.0, "rope_theta": 10000.0},
    "internlm2": {**CONFIGS["internlm2"], "architectures": ["LlamaForCausalLM"], "model_type": "llama"},
    "chatglm": {**CONFIGS["glm"], "rope_theta": 5000000.0},
    "exaone": {**CONFIGS["exaone"], "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2,
               "rms_norm_eps": 1e-5},
}

# Names of tensors outside transformers.
NAMES = {
    "internlm2": {"embed_tokens": "tok_embeddings", "lm_head": "model.output", "input_layernorm": "attention_norm",
                  "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1",
                  "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2", "self_attn.q_proj": "attention.wqkv"},
    "chatglm": {"model.embed_tokens": "transformer.embedding.word_embeddings", "lm_head": "transformer.output_layer",
                "model.norm": "transformer.encoder.final_layernorm", "model.layers": "transformer.encoder.layers",
                "self_attn.o_proj": "self_attention.dense", "mlp.gate_up_proj": "mlp.dense_h_to_4h",
                "mlp.down_proj": "mlp.dense_4h_to_h", "self_attn.q_proj": "self_attention.query_key_value"},
    "exaone": {"model.embed_tokens": "transformer.wte", "model.norm": "transformer.ln_f", "model.layers": "transformer.h",
               "input_layernorm": "ln_1", "post_attention_layernorm": "ln_2", "self_attn.o_proj": "attn.attention.out_proj",
               "self_attn": "attn.attention", "mlp.gate_proj": "mlp.c_fc_0", "mlp.up_proj": "mlp.c_fc_1",
               "mlp.down_proj": "mlp.c_proj"},
}


def grouped(parts):
    """Queries, keys and values of two groups of heads: the queries, the key and the value of one group after those of another."""
    return torch.cat([part.reshape(2, -1, *part.shape[1:]) for part in parts], 1).flatten(0, 1)


# How classes outside transformers store queries, keys and values.
FUSED = {"internlm2": grouped, "chatglm": torch.cat}

EXPERTS = {**GROUPED, "intermediate_size": 20, "num_hidden_layers": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
           "hidden_act": "silu", "rms_norm_eps": 1e-5}
WINDOWS = ["full_attention", "sliding_attention", "full_attention"]
CONFIGS |= {
    # The scores of experts that the sparse mixer chose, and layer norms: llama.cpp has other ones.
    "phimoe": {**GROUPED, "architectures": ["PhiMoEForCausalLM"], "model_type": "phimoe", "intermediate_size": 20,
               "num_local_experts": 9, "num_experts_per_tok": 2, "attention_bias": True, "lm_head_bias": True, "rms_norm_eps": 1e-5,
               "rope_theta": 10000.0, "original_max_position_embeddings": 32, "hidden_act": "silu", "router_jitter_noise": 0.01,
               "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.5, 2.0], "long_factor": [1.0, 1.1, 1.5, 2.0],
                                "short_mscale": 1.2, "long_mscale": 1.2, "original_max_position_embeddings": 32}},
    "mellum": {**EXPERTS, "architectures": ["MellumForCausalLM"], "model_type": "mellum", "head_dim": 16, "num_experts": 6,
               "sliding_window": 5, "layer_types": WINDOWS, "norm_topk_prob": True,
               "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 4.0,
                                                      "original_max_position_embeddings": 16},
                                   "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "hy-v3": {**EXPERTS, "architectures": ["HYV3ForCausalLM"], "model_type": "hy_v3", "head_dim": 16, "num_experts": 6,
              "num_shared_experts": 2, "router_scaling_factor": 1.5, "rope_theta": 10000.0,
              "mlp_layer_types": ["dense", "sparse", "sparse"]},
    "mimo-v2": {**EXPERTS, "architectures": ["MiMoV2FlashForCausalLM"], "model_type": "mimo_v2_flash", "head_dim": 12,
                "v_head_dim": 8, "n_routed_experts": 6, "num_key_value_heads": 1, "sliding_window": 5, "layer_types": WINDOWS,
                "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 1.0,
                "attention_value_scale": 0.7, "mlp_layer_types": ["dense", "sparse", "sparse"],
                "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 50000.0, "partial_rotary_factor": 0.334},
                                    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                                                          "partial_rotary_factor": 0.334}}},
    "dbrx": {"architectures": ["DbrxForCausalLM"], "model_type": "dbrx", "vocab_size": 24, "d_model": 32, "n_heads": 4,
             "n_layers": 2, "max_seq_len": 64, "tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0},
             "attn_config": {"kv_n_heads": 2, "clip_qkv": 0.5, "rope_theta": 5000.0},
             "ffn_config": {"ffn_hidden_size": 12, "moe_num_experts": 6, "moe_top_k": 2, "ffn_act_fn": {"name": "silu"},
                            "moe_normalize_expert_weights": 1.0}},
    "laguna": {**EXPERTS, "architectures": ["LagunaForCausalLM"], "model_type": "laguna", "head_dim": 8, "num_experts": 6,
               "shared_expert_intermediate_size": 12, "num_attention_heads_per_layer": [4, 6, 4], "sliding_window": 5,
               "layer_types": WINDOWS, "mlp_layer_types": ["dense", "sparse", "sparse"], "gating": True,
               "moe_routed_scaling_factor": 1.5,
               "rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 50000.0, "partial_rotary_factor": 0.5,
                                                      "factor": 4.0, "original_max_position_embeddings": 16},
                                   "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                                                         "partial_rotary_factor": 1.0}}},
    "cohere2-moe": {**EXPERTS, "architectures": ["Cohere2MoeForCausalLM"], "model_type": "cohere2_moe", "head_dim": 8,
                    "num_experts": 6, "num_shared_experts": 2, "first_k_dense_replace": 1, "prefix_dense_intermediate_size": 28,
                    "sliding_window": 5, "sliding_window_pattern": 2, "layer_norm_eps": 1e-5, "rms_norm_eps": None,
                    "logit_scale": 0.25, "rope_theta": 10000.0, "tie_word_embeddings": True, "expert_selection_fn": "sigmoid"},
    "solar-open": {**EXPERTS, "architectures": ["SolarOpenForCausalLM"], "model_type": "solar_open", "head_dim": 16,
                   "n_routed_experts": 6, "n_shared_experts": 2, "n_group": 3, "topk_group": 2, "routed_scaling_factor": 1.5,
                   "norm_topk_prob": True, "rope_theta": 10000.0},
    "flex-olmo": {**GROUPED, "architectures": ["FlexOlmoForCausalLM"], "model_type": "flex_olmo", "intermediate_size": 20,
                  "num_experts": 6, "num_experts_per_tok": 2, "norm_topk_prob": False, "rms_norm_eps": 1e-6,
                  "rope_theta": 500000.0},
}
# The text models of larger ones.
CONFIGS |= {
    "glm46v": {"architectures": ["Glm46VForConditionalGeneration"], "model_type": "glm46v", "tie_word_embeddings": False,
               "text_config": {**GROUPED, "model_type": "glm4v_text", "hidden_act": "silu", "rms_norm_eps": 1e-5,
                               "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5,
                                                   "mrope_section": [1, 1, 0]}},
               "vision_config": {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16, "out_hidden_size": 32}},
    "qwen3-omni": {"architectures": ["Qwen3OmniMoeThinkerForConditionalGeneration"], "model_type": "qwen3_omni_moe_thinker",
                   "tie_word_embeddings": False,
                   "text_config": {**GROUPED, "model_type": "qwen3_omni_moe_text", "hidden_act": "silu", "rms_norm_eps": 1e-6,
                                   "head_dim": 16, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
                                   "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [],
                                   "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2],
                                                       "mrope_interleaved": True}},
                   "vision_config": {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16,
                                     "out_hidden_size": 32, "deepstack_visual_indexes": [0]},
                   "audio_config": {"d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 16,
                                    "output_dim": 32, "num_mel_bins": 16, "n_window": 4, "downsample_hidden_size": 8}},
}
# Decoders with a score instead of logits.
SCORED = {**GROUPED, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "rms_norm_eps": 1e-5, "rope_theta": 10000.0}
CONFIGS |= {
    "llama-score": {**SCORED, "architectures": ["LlamaForSequenceClassification"], "model_type": "llama", "hidden_act": "silu"},
    "mistral-score": {**SCORED, "architectures": ["MistralForSequenceClassification"], "model_type": "mistral",
                      "hidden_act": "silu", "sliding_window": 5},
    "qwen2-score": {**SCORED, "architectures": ["Qwen2ForSequenceClassification"], "model_type": "qwen2", "hidden_act": "silu"},
    "gemma2-score": {**CONFIGS["gemma2"], **SCORED, "architectures": ["Gemma2ForSequenceClassification"],
                     "tie_word_embeddings": True},
    "qwen2moe-score": {**SCORED, "architectures": ["Qwen2MoeForSequenceClassification"], "model_type": "qwen2_moe",
                       "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "hidden_act": "silu",
                       "shared_expert_intermediate_size": 12, "decoder_sparse_step": 1, "norm_topk_prob": False},
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


def published(name, tensors):
    """The tensors as files have them, from those of the class in transformers."""
    result = {}
    for own, tensor in tensors.items():
        if name in FUSED and any(f"self_attn.{part}_proj" in own for part in "qkv"):
            if "q_proj" not in own:
                continue
            tensor = FUSED[name]([tensors[own.replace("q_proj", f"{part}_proj")] for part in "qkv"])
        for part, replacement in NAMES.get(name, {}).items():
            own = own.replace(part, replacement)
        result[own] = tensor
    return result


def make(name, config):
    equivalent = EQUIVALENT.get(name, config)
    loaded = transformers.CONFIG_MAPPING[equivalent["model_type"]].from_dict(dict(equivalent))
    # The published name of a class of transformers.
    known = {"PhiMoEForCausalLM": "PhimoeForCausalLM"}
    name_of_class = equivalent["architectures"][0]
    model_class = getattr(transformers, known.get(name_of_class, name_of_class))
    with tempfile.TemporaryDirectory() as folder:
        model_class._from_config(loaded, attn_implementation="eager").float().save_pretrained(folder)
        path = pathlib.Path(folder) / "model.safetensors"
        values = safetensors.torch.load_file(path)
        # The place of each number among those of all tensors, then the same arranged as in files.
        places, num_places = {}, 0
        for key, tensor in sorted(values.items()):
            # The others have no effect on text.
            if "visual" not in key and "audio" not in key:
                places[key] = torch.arange(num_places, num_places + tensor.numel()).reshape(tensor.shape)
                num_places += tensor.numel()
        arranged = dict(sorted(published(name, places).items()))
        shapes = {key: list(tensor.shape) for key, tensor in arranged.items()}
        numbers = torch.empty(num_places)
        for number, (key, tensor) in enumerate(arranged.items()):
            numbers[tensor] = torch.from_numpy(weights(number, shapes[key]))
        values |= {key: numbers[tensor] for key, tensor in places.items()}
        safetensors.torch.save_file(values, path, {"format": "pt"})
        model = model_class.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    # The last tokens of models that read images stand for these.
    num_tokens = 16 if "text_config" in config else loaded.vocab_size
    tokens = [(7 * position + position // 3) % num_tokens for position in range(NUM_TOKENS)]
    with torch.no_grad():
        if name_of_class.endswith("ForSequenceClassification"):
            # The scores of the sequence up to each position.
            prefixes = [torch.tensor([tokens[:length]]) for length in range(1, NUM_TOKENS + 1)]
            logits = torch.cat([model(prefix, use_cache=False).logits for prefix in prefixes])
        else:
            logits = model(torch.tensor([tokens]), use_cache=False).logits[0]
    fixture = {"config": json.dumps(config), "shapes": shapes, "tokens": tokens,
               "logits": [[float(f"{value:.7g}") for value in row] for row in logits.tolist()]}
    (FOLDER / f"{name}.json").write_text(json.dumps(fixture) + "\n")


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CONFIGS:
        make(name, CONFIGS[name])


if __name__ == "__main__":
    main()
