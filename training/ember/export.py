"""Writes the trained model as GGUF with Python's `gguf` package: `ember-f16.gguf` and `ember.gguf` (Q8_0).

    python -m ember.export --out out
"""

import argparse
import json
from pathlib import Path

import gguf
import torch

from . import tokens
from .model import Config

LICENSE = "MIT OR Apache-2.0"
TEMPLATE_PATH = Path(__file__).with_name("chat_template.jinja")


def write_metadata(writer: gguf.GGUFWriter, config: Config, tokenizer: dict) -> None:
    """The shape of the model, its vocabulary and its chat template."""
    writer.add_name("Ember")
    writer.add_description("A small demo model for chat and stories, trained by the inferno project")
    writer.add_license(LICENSE)
    writer.add_languages(["en"])
    writer.add_sampling_temp(0.1)
    writer.add_sampling_top_p(0.9)
    writer.add_float32("general.sampling.dry_multiplier", 1.0)
    writer.add_uint32("general.sampling.dry_allowed_length", 4)
    writer.add_context_length(config.context_length)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.num_kv_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_freq_base(config.rope_base)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)

    ids = dict(tokenizer["model"]["vocab"])
    ids.update({added["content"]: added["id"] for added in tokenizer["added_tokens"]})
    texts = sorted(ids, key=ids.__getitem__)
    types = []
    for text in texts:
        if text in tokens.CONTROL_TOKENS:
            types.append(gguf.TokenType.CONTROL)
        elif text in tokens.TEXT_TOKENS:
            types.append(gguf.TokenType.USER_DEFINED)
        else:
            types.append(gguf.TokenType.NORMAL)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(texts)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(ids[tokens.TURN_END])
    writer.add_pad_token_id(ids[tokens.END_OF_TEXT])
    writer.add_bos_token_id(ids[tokens.END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE_PATH.read_text())


def write(path: Path, state: dict, tokenizer: dict, quantization: gguf.GGMLQuantizationType) -> None:
    """Writes one file; matrices are quantized, norms stay F32."""
    writer = gguf.GGUFWriter(str(path), "qwen3")
    write_metadata(writer, Config(**state["config"]), tokenizer)
    file_type = {
        gguf.GGMLQuantizationType.F16: gguf.LlamaFileType.MOSTLY_F16,
        gguf.GGMLQuantizationType.Q8_0: gguf.LlamaFileType.MOSTLY_Q8_0,
    }[quantization]
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for name, parameter in state["model"].items():
        values = parameter.float().cpu().numpy()
        if values.ndim == 1:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    """Exports `state.pt` of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder that holds state.pt")
    parser.add_argument("--average", action="store_true", help="export the average of the weights, for a run before its cooldown")
    arguments = parser.parse_args()
    out: Path = arguments.out
    state = torch.load(out / "state.pt", map_location="cpu")
    if arguments.average:
        state["model"] = state["average"]
    tokenizer = json.loads((out / "tokenizer.json").read_text())
    write(out / "ember-f16.gguf", state, tokenizer, gguf.GGMLQuantizationType.F16)
    write(out / "ember.gguf", state, tokenizer, gguf.GGMLQuantizationType.Q8_0)


if __name__ == "__main__":
    main()
