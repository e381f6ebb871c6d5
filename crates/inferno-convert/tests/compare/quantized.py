#!/usr/bin/env python3
"""Writes the fixtures of `cargo test` for quantized weights, with the values that the original libraries compute.

    pip install torch safetensors transformers autoawq gptqmodel compressed-tensors bitsandbytes auto-round
    python3 quantized.py            # rewrites ../fixtures/quantized/*.safetensors
    python3 quantized.py NAME...    # rewrites only these

A file has random weights of a few modules as a checkpoint stores them, and next to them the dequantized ones in single
precision, as `expected/NAME`. Its metadata have `quantization_config`.
"""
import json
import pathlib
import sys
import tempfile
import types

import safetensors.torch
import torch

FOLDER = pathlib.Path(__file__).parent.parent / "fixtures" / "quantized"
LAYER = "model.layers.0."
DOWN = LAYER + "mlp.down_proj"
GATE = LAYER + "mlp.gate_proj"
UP = LAYER + "mlp.up_proj"
QUERY = LAYER + "self_attn.q_proj"
CASES = {}


def case(make):
    CASES[make.__name__.replace("_", "-")] = make
    return make


def random(name):
    """A generator that depends on the name."""
    return torch.Generator().manual_seed(sum(map(ord, name)))


def words(shape, generator):
    """Random words of 32 bits."""
    return torch.randint(-2**31, 2**31, shape, generator=generator, dtype=torch.int64).to(torch.int32)


def scales(shape, generator, dtype=torch.float16):
    return (torch.rand(shape, generator=generator) * 0.03 + 0.003).to(dtype)


# AWQ and GPTQ: random words are valid codes.


def awq(modules, group_size, outputs=16, inputs=64):
    from awq.utils.packing_utils import dequantize_gemm

    tensors, generator = {}, random("awq")
    for module in modules:
        groups = inputs // group_size
        parts = {"qweight": words((inputs, outputs // 8), generator), "qzeros": words((groups, outputs // 8), generator),
                 "scales": scales((groups, outputs), generator)}
        tensors |= {f"{module}.{name}": part for name, part in parts.items()}
        weight = dequantize_gemm(parts["qweight"], parts["qzeros"], parts["scales"].float(), 4, group_size)
        tensors[f"expected/{module}.weight"] = weight.t()
    config = {"quant_method": "awq", "bits": 4, "group_size": group_size, "version": "gemm", "zero_point": True,
              "modules_to_not_convert": None}
    return config, tensors


@case
def awq_groups():
    return awq([DOWN, QUERY], 32)


@case
def awq_small_groups():
    return awq([DOWN], 16)


@case
def awq_experts():
    return awq([f"{LAYER}block_sparse_moe.experts.{expert}.w1" for expert in range(2)], 32, outputs=8, inputs=32)


def first_version(zeros, bits):
    """Zeros as the first version of the format stores them."""
    from gptqmodel.nn_modules.qlinear import BaseQuantLinear
    from gptqmodel.utils.model import convert_gptq_v2_to_v1_format_module

    module = BaseQuantLinear.__new__(BaseQuantLinear)
    torch.nn.Module.__init__(module)
    module.register_buffer("qzeros", zeros.clone())
    convert_gptq_v2_to_v1_format_module(module, types.SimpleNamespace(bits=bits, pack_dtype=torch.int32))
    return module.qzeros


def gptq(name, bits, group_size, version="gptq", outputs=32, inputs=64, order=None, is_symmetric=False, has_order=True):
    from gptqmodel.utils.model_dequant import convert_gptq_file

    generator = random(name)
    groups = inputs // group_size
    zeros = words((groups, outputs * bits // 32), generator)
    # The first zero is 0.
    zeros[0, 0] &= -1 << bits
    if is_symmetric:
        zero = 1 << (bits - 1)
        packed = sum(zero << (bits * index) for index in range(32 // bits))
        zeros = torch.full_like(zeros, packed if packed < 2**31 else packed - 2**32)
    columns = torch.arange(inputs, dtype=torch.int32) // group_size
    if order == "any":
        columns = columns[torch.randperm(inputs, generator=generator)]
    if order == "groups":
        columns = columns.reshape(groups, group_size).flip(0).reshape(inputs)
    parts = {"qweight": words((inputs * bits // 32, outputs), generator), "qzeros": zeros,
             "scales": scales((groups, outputs), generator), "g_idx": columns}
    tensors = {f"{DOWN}.{name}": part for name, part in parts.items()}
    config = {"quant_method": "gptq", "bits": bits, "group_size": group_size, "desc_act": order == "any", "sym": is_symmetric,
              "checkpoint_format": version}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.safetensors"
        safetensors.torch.save_file(tensors, path)
        second = config | {"checkpoint_format": "gptq_v2"}
        weight = convert_gptq_file(path, torch.float32, second, "cpu")[f"{DOWN}.weight"]
    tensors[f"expected/{DOWN}.weight"] = weight
    if version == "gptq":
        tensors[f"{DOWN}.qzeros"] = first_version(zeros, bits)
    if not has_order:
        del tensors[f"{DOWN}.g_idx"]
    return config, tensors


@case
def gptq_2_bits():
    return gptq("2", 2, 32)


@case
def gptq_3_bits():
    return gptq("3", 3, 32, outputs=32)


@case
def gptq_4_bits():
    return gptq("4", 4, 32, outputs=16, has_order=False)


@case
def gptq_8_bits():
    return gptq("8", 8, 32, outputs=16)


@case
def gptq_symmetric():
    return gptq("symmetric", 4, 32, outputs=16, is_symmetric=True)


@case
def gptq_symmetric_8_bits():
    return gptq("symmetric 8", 8, 64, outputs=16, is_symmetric=True)


@case
def gptq_second_version():
    return gptq("v2", 4, 64, version="gptq_v2", outputs=16)


@case
def gptq_activation_order():
    return gptq("order", 4, 16, outputs=16, order="any")


@case
def gptq_order_of_groups():
    return gptq("order of groups", 4, 32, outputs=16, order="groups")


def auto_round(module_name, packing_format):
    """The product of the identity and a module is its weight."""
    import importlib

    module = importlib.import_module(f"auto_round_extension.torch.{module_name}")
    generator = random(packing_format)
    inputs, outputs, group_size = 64, 32, 32
    layer = module.QuantLinear(4, group_size, inputs, outputs, False)
    # Zeros less one are at most 14.
    zeros = torch.randint(0, 15, (inputs // group_size, outputs // 8, 8), generator=generator)
    zeros = (zeros << torch.arange(0, 32, 4)).sum(2)
    parts = {"qweight": words((inputs // 8, outputs), generator), "qzeros": zeros.to(torch.int32),
             "scales": scales((inputs // group_size, outputs), generator)}
    for name, part in parts.items():
        setattr(layer, name, part.float() if name == "scales" else part)
    weight = layer(torch.eye(inputs)).t()
    tensors = {f"{DOWN}.{name}": part for name, part in parts.items()} | {f"expected/{DOWN}.weight": weight}
    config = {"quant_method": "auto-round", "bits": 4, "group_size": group_size, "sym": False, "data_type": "int",
              "packing_format": packing_format}
    return config, tensors


@case
def auto_round_plain():
    return auto_round("qlinear_torch", "auto_round")


@case
def auto_round_less_one():
    return auto_round("qlinear_torch_zp", "auto_round:auto_gptq")


# compressed-tensors.


def compress(modules, file_format, ignore=("lm_head",), **more):
    """Compresses random weights: `modules` are names with the shape and the scheme of their weights."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    tensors, groups = {}, {}
    for index, (module, (shape, group, targets)) in enumerate(modules.items()):
        generator = random(f"{file_format} {module}")
        group = dict(group)
        own, scale_type = group.pop("format", file_format), group.pop("scale_type", torch.bfloat16)
        args = QuantizationArgs(**group)
        scheme = QuantizationScheme(targets=targets, weights=args)
        weight = torch.randn(shape, generator=generator)
        rows, cols = shape
        strategy = group["strategy"]
        scale_shape = {"tensor": (1,), "channel": (rows, 1)}.get(strategy)
        if strategy in ("group", "tensor_group"):
            scale_shape = (rows, cols // group["group_size"])
        if strategy == "block":
            block = group["block_structure"]
            scale_shape = (-(-rows // block[0]), -(-cols // block[1]))
        largest = {"int": 2 ** (group["num_bits"] - 1), "float": 448 if group["num_bits"] == 8 else 6}[group.get("type", "int")]
        scale = ((torch.rand(scale_shape, generator=generator) + 1) * 2 / largest).to(scale_type)
        state = {"weight": weight, "weight_scale": scale}
        if own == "nvfp4-pack-quantized":
            # Scales of groups are 8-bit floats: multiples of the inverse of the scale of the tensor.
            state |= {"weight_scale": (scale.float() * 1792).to(torch.float8_e4m3fn).float(),
                      "weight_global_scale": torch.tensor([1792.0])}
        if own in ("mxfp4-pack-quantized", "mxfp8-quantized"):
            state["weight_scale"] = torch.exp2(torch.floor(torch.log2(scale.float())))
        if not group.get("symmetric", True):
            zero = torch.randint(-largest, largest, scale_shape, generator=generator, dtype=torch.int8)
            state["weight_zero_point"] = zero
        compressor = BaseCompressor.get_value_from_registry(own)
        compressed = compressor.compress(dict(state), scheme)
        single = {name: part.float() if part.dtype in (torch.bfloat16, torch.float16) else part
                  for name, part in compressed.items()}
        weight = compressor.decompress(single, scheme)["weight"].float()
        tensors |= {f"{module}.{name}": part for name, part in compressed.items() if part is not None}
        tensors[f"expected/{module}.weight"] = weight
        groups[f"group_{index}"] = {"targets": targets, "weights": group} | ({"format": own} if own != file_format else {})
    config = {"quant_method": "compressed-tensors", "format": file_format, "config_groups": groups, "ignore": list(ignore),
              "quantization_status": "compressed", **more}
    return config, tensors


LINEAR = ["Linear"]
INTEGERS = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}
FLOATS = {"num_bits": 8, "type": "float", "strategy": "tensor", "symmetric": True}


@case
def packed_symmetric():
    return compress({DOWN: ((16, 64), INTEGERS, LINEAR)}, "pack-quantized")


@case
def packed_asymmetric():
    return compress({DOWN: ((20, 64), INTEGERS | {"symmetric": False}, LINEAR)}, "pack-quantized")


@case
def packed_channels_of_8_bits():
    group = {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}
    return compress({DOWN: ((8, 64), group, LINEAR)}, "pack-quantized")


@case
def packed_3_bits():
    group = INTEGERS | {"num_bits": 3, "symmetric": False, "group_size": 16}
    return compress({DOWN: ((12, 48), group, LINEAR)}, "pack-quantized")


@case
def float_tensor():
    return compress({DOWN: ((8, 32), FLOATS, LINEAR)}, "float-quantized")


@case
def float_channels():
    return compress({DOWN: ((8, 32), FLOATS | {"strategy": "channel"}, LINEAR)}, "float-quantized")


@case
def float_blocks():
    group = FLOATS | {"strategy": "block", "block_structure": [8, 16]}
    return compress({DOWN: ((12, 40), group, LINEAR)}, "float-quantized")


@case
def int_channels():
    group = {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": True}
    return compress({DOWN: ((8, 64), group, LINEAR)}, "int-quantized")


@case
def int_asymmetric():
    group = {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": False, "scale_type": torch.float32}
    return compress({DOWN: ((8, 64), group, LINEAR)}, "int-quantized")


@case
def naive_tensor():
    group = {"num_bits": 8, "type": "int", "strategy": "tensor", "symmetric": True, "scale_type": torch.float32}
    return compress({DOWN: ((8, 32), group, LINEAR)}, "naive-quantized")


@case
def nvfp4():
    group = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}
    return compress({DOWN: ((8, 128), group, LINEAR), QUERY: ((8, 64), group, LINEAR)}, "nvfp4-pack-quantized")


@case
def mxfp4():
    group = {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True}
    return compress({DOWN: ((8, 64), group, LINEAR)}, "mxfp4-pack-quantized")


@case
def mxfp8():
    group = {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True}
    return compress({DOWN: ((8, 64), group, LINEAR)}, "mxfp8-quantized")


@case
def mixed_precision():
    integers = INTEGERS | {"format": "pack-quantized"}
    floats = FLOATS | {"strategy": "channel", "format": "float-quantized"}
    return compress({
        UP: ((8, 64), integers, LINEAR),
        DOWN: ((8, 64), integers | {"num_bits": 8, "group_size": 64}, ["re:.*down_proj$"]),
        GATE: ((8, 64), floats, [GATE]),
    }, "mixed-precision")


# ModelOpt and Quark.


def reader(tensors):
    """The tensors as a file of safetensors."""
    class Reader:
        keys = staticmethod(lambda: tensors.keys())
        get_tensor = staticmethod(lambda name: tensors[name])

    return Reader


@case
def modelopt_nvfp4():
    from gptqmodel.utils.model_dequant import convert_nvfp4_shard

    generator = random("modelopt")
    tensors = {}
    for module, shape in {DOWN: (8, 64), QUERY: (8, 48)}.items():
        rows, cols = shape
        tensors |= {
            f"{module}.weight": torch.randint(0, 256, (rows, cols // 2), generator=generator, dtype=torch.uint8),
            f"{module}.weight_scale": (torch.rand((rows, cols // 16), generator=generator) * 448).to(torch.float8_e4m3fn),
            f"{module}.weight_scale_2": torch.rand((), generator=generator) / 1000,
            f"{module}.input_scale": torch.tensor(0.01),
        }
    expected = convert_nvfp4_shard(reader(tensors), torch.float32)
    tensors |= {f"expected/{module}.weight": expected[f"{module}.weight"] for module in (DOWN, QUERY)}
    return {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}, tensors


@case
def quark():
    from gptqmodel.utils.model_dequant import convert_mx_shard

    generator = random("quark")
    tensors = {
        f"{DOWN}.weight": torch.randint(0, 256, (8, 32), generator=generator, dtype=torch.uint8),
        f"{DOWN}.weight_scale": torch.randint(110, 130, (8, 2), generator=generator, dtype=torch.uint8),
        f"{GATE}.weight": torch.randn((8, 32), generator=generator).to(torch.float8_e4m3fn),
        f"{GATE}.weight_scale": torch.rand((), generator=generator),
        f"{GATE}.input_scale": torch.tensor(0.01),
    }
    expected = convert_mx_shard(reader(tensors), torch.float32)
    tensors |= {f"expected/{module}.weight": expected[f"{module}.weight"] for module in (DOWN, GATE)}
    return {"quant_method": "quark", "quant_mode": "eager_mode"}, tensors


# bitsandbytes.


def four_bits(kind, is_nested, shape, block_size=64, dtype=torch.float32):
    from bitsandbytes import functional

    weight = torch.randn(shape, generator=random(kind)).to(dtype)
    codes, state = functional.quantize_4bit(weight, quant_type=kind, blocksize=block_size, compress_statistics=is_nested)
    tensors = {f"{DOWN}.weight": codes}
    tensors |= {f"{DOWN}.weight.{name}": part for name, part in state.as_dict(packed=True).items()}
    state.dtype = torch.float32
    tensors[f"expected/{DOWN}.weight"] = functional.dequantize_4bit(codes, state)
    return {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind}, tensors


@case
def nf4():
    return four_bits("nf4", False, (8, 64))


@case
def nf4_nested():
    return four_bits("nf4", True, (24, 40), dtype=torch.bfloat16)


@case
def fp4():
    return four_bits("fp4", True, (8, 128), block_size=128)


@case
def eight_bits():
    from bitsandbytes import functional

    weight = torch.randn((8, 64), generator=random("eight bits")).half()
    codes, largest, _ = functional.int8_vectorwise_quant(weight)
    tensors = {f"{DOWN}.weight": codes, f"{DOWN}.SCB": largest, f"{DOWN}.weight_format": torch.tensor(0, dtype=torch.uint8)}
    tensors[f"expected/{DOWN}.weight"] = functional.int8_vectorwise_dequant(codes, largest)
    return {"quant_method": "bitsandbytes", "load_in_8bit": True}, tensors


@case
def transposed_modules():
    """A model whose modules are of the class `Conv1D`, as transformers saves it."""
    import transformers
    from bitsandbytes import functional

    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=4, n_embd=16, n_head=2, n_layer=1, n_positions=8)
    options = transformers.BitsAndBytesConfig(load_in_8bit=True)
    with tempfile.TemporaryDirectory() as original, tempfile.TemporaryDirectory() as quantized:
        transformers.GPT2LMHeadModel(config).save_pretrained(original)
        model = transformers.GPT2LMHeadModel.from_pretrained(original, quantization_config=options, device_map="cpu")
        model.save_pretrained(quantized)
        tensors = safetensors.torch.load_file(pathlib.Path(quantized) / "model.safetensors")
    for name in [name for name in tensors if name.endswith(".SCB")]:
        module = name.removesuffix(".SCB")
        weight = functional.int8_vectorwise_dequant(tensors[f"{module}.weight"], tensors[name])
        tensors[f"expected/{module}.weight"] = weight.t()
    return {"quant_method": "bitsandbytes", "load_in_8bit": True}, tensors


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CASES:
        config, tensors = CASES[name]()
        tensors = {key: value.detach().contiguous() for key, value in tensors.items()}
        metadata = {"quantization_config": json.dumps(config)}
        safetensors.torch.save_file(tensors, FOLDER / f"{name}.safetensors", metadata)


main()
