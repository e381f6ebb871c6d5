"""Small GGUF files, which the scripts that make fixtures write.

A script finds this module with `sys.path.append(str(pathlib.Path(__file__).parents[N] / "inferno-conformance/python"))`.
"""
import gguf
import numpy as np


def byte_alphabet():
    """GPT-2's way to write each byte as a visible character."""
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in keep]
    return {**{b: chr(b) for b in keep}, **{b: chr(256 + i) for i, b in enumerate(hidden)}}


# Bytes, three control tokens, and one merge.
TOKENS = [byte_alphabet()[b] for b in range(256)] + ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "th"]


def add_tokens(writer):
    """A byte-level tokenizer with `TOKENS`."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(256)
    writer.add_add_bos_token(False)


def add_sizes(writer, layers, hidden, heads, kv_heads, head_dim, feed_forward, context, eps, theta):
    """The sizes of a decoder with RMS norms and rotary embedding."""
    writer.add_context_length(context)
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(eps)
    writer.add_rope_freq_base(theta)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def add_metadata(writer, architecture, metadata):
    """Keys of an architecture, with the types that their values have in Python."""
    for key, value in metadata.items():
        key = f"{architecture}.{key}"
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
        add.get(type(value), writer.add_array)(key, value)


def half_precision(values, is_vector):
    """An array as files store it: matrices as float16."""
    return np.asarray(values).astype(np.float32 if is_vector else np.float16)


def finish(writer):
    """Writes the file."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
