"""Writes a model and a draft model of a tenth of its size, to measure speculative decoding.

Both contain Ember, the trained model of models/ember.gguf, in wider layers whose other weights are zero, so both generate
its text. The model has further layers with random weights, whose outputs are multiplied by --noise before they are added:
with 0, both models agree always; the more noise, the less. Speed does not depend on the values of weights.

Usage: make_pair.py OUT_FOLDER [--noise 0.02]. Needs numpy and gguf.
"""

import argparse
from pathlib import Path

import gguf
import numpy as np

EMBER = Path(__file__).parents[2] / "models" / "ember.gguf"
# Width, layers, heads, key/value heads, width of the feed-forward block.
MODEL = (1024, 30, 16, 8, 3072)
DRAFT = (640, 8, 4, 2, 2048)
HEAD = 64


def write(path, shape, noise, seed=0):
    width, num_layers, heads, kv_heads, inner = shape
    reader = gguf.GGUFReader(EMBER)
    own = {t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float32) for t in reader.tensors}
    size = own["token_embd.weight"].shape[1]
    num_own = 1 + max(int(name.split(".")[1]) for name in own if name.startswith("blk."))
    assert num_layers >= num_own, f"Ember has {num_own} layers"
    writer = gguf.GGUFWriter(path, "qwen3")
    eps = float(reader.fields["qwen3.attention.layer_norm_rms_epsilon"].contents())
    replaced = {
        "embedding_length": width, "block_count": num_layers, "feed_forward_length": inner,
        "attention.head_count": heads, "attention.head_count_kv": kv_heads,
    }
    for name, field in reader.fields.items():
        key = name.removeprefix("qwen3.")
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind, value = field.types[0], replaced.get(key, field.contents())
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_array(name, value)
        elif key == "attention.layer_norm_rms_epsilon":
            # The mean of the squares is taken over more columns, all others of which are zero.
            writer.add_float32(name, eps * size / width)
        else:
            writer.add_key_value(name, value, kind)
    random = np.random.default_rng(seed)
    quantized = gguf.GGMLQuantizationType.Q8_0

    def matrix(name, rows, cols, factor):
        values = np.zeros((rows, cols), dtype=np.float32)
        if name in own:
            values[:own[name].shape[0], :own[name].shape[1]] = own[name]
        else:
            values = random.standard_normal((rows, cols), dtype=np.float32) * np.float32(factor / cols**0.5)
        writer.add_tensor(name, gguf.quantize(values, quantized), raw_dtype=quantized)

    def norm(name, length):
        values = np.ones(length, dtype=np.float32)
        if name in own:
            scale = (size / length)**0.5 if length == width else 1.0
            values[:len(own[name])] = own[name] * scale
        writer.add_tensor(name, values)

    matrix("token_embd.weight", own["token_embd.weight"].shape[0], width, 1.0)
    norm("output_norm.weight", width)
    for layer in range(num_layers):
        # Ember's layers come first.
        prefix = f"blk.{layer}."
        assert (prefix + "attn_q.weight" in own) == (layer < num_own)
        norm(prefix + "attn_norm.weight", width)
        norm(prefix + "ffn_norm.weight", width)
        norm(prefix + "attn_q_norm.weight", HEAD)
        norm(prefix + "attn_k_norm.weight", HEAD)
        matrix(prefix + "attn_q.weight", heads * HEAD, width, 1.0)
        matrix(prefix + "attn_k.weight", kv_heads * HEAD, width, 1.0)
        matrix(prefix + "attn_v.weight", kv_heads * HEAD, width, 1.0)
        matrix(prefix + "attn_output.weight", width, heads * HEAD, noise)
        matrix(prefix + "ffn_gate.weight", inner, width, 1.0)
        matrix(prefix + "ffn_up.weight", inner, width, 1.0)
        matrix(prefix + "ffn_down.weight", width, inner, noise)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--noise", type=float, default=0.0)
    arguments = parser.parse_args()
    write(arguments.folder / f"model-{arguments.noise:g}.gguf", MODEL, arguments.noise)
    write(arguments.folder / "draft.gguf", DRAFT, 0.0)


if __name__ == "__main__":
    main()
