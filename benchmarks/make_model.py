#!/usr/bin/env python3
"""Writes a GGUF file with random weights in the shape of a real model, within seconds.

Speed does not depend on the values of weights, so such a file stands in for a checkpoint in benchmarks. Rows are slices
of a pool of random blocks. Requires NumPy.

    make_model.py OUT.gguf qwen3-0.6b Q8_0
    make_model.py OUT.gguf llama-3-8b Q4_K_M
"""

import struct
import sys

import numpy as np

# architecture, layers, hidden size, heads, key heads, head size, feed-forward size, vocabulary, context, RoPE base,
# epsilon, whether embeddings are the output head
SHAPES = {
    "qwen3-0.6b": ("qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, 1e6, 1e-6, True),
    "qwen3-8b": ("qwen3", 36, 4096, 32, 8, 128, 12288, 151936, 40960, 1e6, 1e-6, False),
    "llama-2-7b": ("llama", 32, 4096, 32, 32, 128, 11008, 32000, 4096, 1e4, 1e-5, False),
    "llama-3-8b": ("llama", 32, 4096, 32, 8, 128, 14336, 128256, 8192, 5e5, 1e-5, False),
}
# The number of a type, columns and bytes of a block. Types without blocks are written 32 numbers at a time.
BLOCKS = {
    "F32": (0, 1, 4),
    "F16": (1, 32, 64),
    "BF16": (30, 32, 64),
    "Q4_0": (2, 32, 18),
    "Q8_0": (8, 32, 34),
    "Q4_K": (12, 256, 144),
    "Q6_K": (14, 256, 210),
}
# The numbers of quantizations of files.
FILE_TYPES = {"F16": 1, "BF16": 32, "Q4_0": 2, "Q8_0": 7, "Q4_K_M": 15}
POOL_BLOCKS = 1 << 18
rng = np.random.default_rng(1)


def pool(kind, cols):
    """Random blocks whose weights have a standard deviation of about 1.2 / sqrt(cols)."""
    width, size = BLOCKS[kind][1:]
    if kind in ("F16", "BF16"):
        numbers = rng.standard_normal(POOL_BLOCKS * width, dtype=np.float32) * 1.2 / cols**0.5
        halves = numbers.astype(np.float16) if kind == "F16" else numbers.view(np.uint16)[1::2]
        return halves.tobytes()
    blocks = rng.integers(0, 256, (POOL_BLOCKS, size), dtype=np.uint8)
    deviation = 1.2 / cols**0.5

    def write_scale(at, scale):
        scales = (scale * (0.8 + 0.4 * rng.random(POOL_BLOCKS))).astype(np.float16)
        blocks[:, at : at + 2] = scales.view(np.uint8).reshape(POOL_BLOCKS, 2)

    if kind == "Q8_0":
        write_scale(0, deviation / 74)
    elif kind == "Q4_0":
        write_scale(0, deviation / 4.6)
    elif kind == "Q4_K":
        write_scale(0, deviation / (4.6 * 32))
        write_scale(2, deviation * 7.5 / (4.6 * 32))
    elif kind == "Q6_K":
        write_scale(208, deviation / (18.5 * 70))
    return blocks.tobytes()


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def metadata(value):
    """The type and the encoding of a metadata value."""
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def byte_tokens():
    """A token for each byte, as GPT-2 writes them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def tensors(shape, quantization):
    """Names, shapes (columns first) and types."""
    _, layers, hidden, heads, key_heads, head, inner, vocabulary, *_, is_tied = SHAPES[shape]
    is_mixed = quantization == "Q4_K_M"
    base = "Q4_K" if is_mixed else quantization
    precise = "Q6_K" if is_mixed else base
    yield "token_embd.weight", (hidden, vocabulary), precise if is_tied else base
    if not is_tied:
        yield "output.weight", (hidden, vocabulary), precise
    yield "output_norm.weight", (hidden,), "F32"
    eighth = layers // 8
    for layer in range(layers):
        # The layers that llama.cpp gives more bits.
        has_more = layer < eighth or layer >= 7 * eighth or (layer - eighth) % 3 == 2
        more = precise if has_more else base
        prefix = f"blk.{layer}."
        yield prefix + "attn_norm.weight", (hidden,), "F32"
        yield prefix + "attn_q.weight", (hidden, heads * head), base
        yield prefix + "attn_k.weight", (hidden, key_heads * head), base
        yield prefix + "attn_v.weight", (hidden, key_heads * head), more
        yield prefix + "attn_output.weight", (heads * head, hidden), base
        if shape.startswith("qwen3"):
            yield prefix + "attn_q_norm.weight", (head,), "F32"
            yield prefix + "attn_k_norm.weight", (head,), "F32"
        yield prefix + "ffn_norm.weight", (hidden,), "F32"
        yield prefix + "ffn_gate.weight", (hidden, inner), base
        yield prefix + "ffn_up.weight", (hidden, inner), base
        yield prefix + "ffn_down.weight", (inner, hidden), more


def main(out, shape, quantization):
    arch, layers, hidden, heads, key_heads, head, inner, vocabulary, context, theta, eps, _ = SHAPES[shape]
    tokens = [*byte_tokens(), "<|endoftext|>"]
    tokens += [f"unused{number}" for number in range(vocabulary - len(tokens))]
    values = {
        "general.architecture": arch,
        "general.name": f"{shape} (random)",
        f"{arch}.context_length": context,
        f"{arch}.embedding_length": hidden,
        f"{arch}.block_count": layers,
        f"{arch}.feed_forward_length": inner,
        f"{arch}.attention.head_count": heads,
        f"{arch}.attention.head_count_kv": key_heads,
        f"{arch}.attention.key_length": head,
        f"{arch}.attention.value_length": head,
        f"{arch}.attention.layer_norm_rms_epsilon": eps,
        f"{arch}.rope.freq_base": theta,
        f"{arch}.rope.dimension_count": head,
        f"{arch}.vocab_size": vocabulary,
        "general.quantization_version": 2,
        # OpenVINO requires it.
        "general.file_type": FILE_TYPES[quantization],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * 256 + [3] + [1] * (vocabulary - 257),
        "tokenizer.ggml.merges": ["Ġ t", "h e"],
        "tokenizer.ggml.eos_token_id": 256,
    }
    listed = list(tensors(shape, quantization))
    header = struct.pack("<4sIQQ", b"GGUF", 3, len(listed), len(values))
    header += b"".join(text(key) + metadata(value) for key, value in values.items())
    offset, sizes = 0, []
    for name, dims, kind in listed:
        number, width, size = BLOCKS[kind]
        num_bytes = int(np.prod(dims)) // width * size
        header += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, offset)
        sizes.append(num_bytes)
        offset += (num_bytes + 31) // 32 * 32
    header += bytes(-len(header) % 32)
    pools = {}
    with open(out, "wb") as file:
        file.write(header)
        for (_, dims, kind), num_bytes in zip(listed, sizes, strict=True):
            if kind == "F32":
                file.write((1 + 0.1 * rng.standard_normal(dims[0])).astype(np.float32).tobytes())
            else:
                if (kind, dims[0]) not in pools:
                    pools[kind, dims[0]] = pool(kind, dims[0])
                data, left = memoryview(pools[kind, dims[0]]), num_bytes
                while left > 0:
                    start = int(rng.integers(0, POOL_BLOCKS // 2)) * BLOCKS[kind][2]
                    left -= file.write(data[start : start + left])
            file.write(bytes(-num_bytes % 32))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in SHAPES:
        sys.exit(__doc__)
    main(*sys.argv[1:])
