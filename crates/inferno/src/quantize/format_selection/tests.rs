//! The selection of llama.cpp (llama-cpp-python 0.3.36) for a model of 19 layers, two query heads per value head and tied
//! embeddings, read from the files that it wrote.

use inferno_gguf::{GgmlType, GgufWriter, Metadata};

use super::*;
use crate::{ImportanceMatrix, QuantizedWeights};

const NUM_LAYERS: u64 = 19;
const SENSITIVE: &[u64] = &[0, 1, 4, 7, 10, 13, 16, 17, 18];

/// A model whose rows are a multiple of every block length.
fn checkpoint() -> Gguf {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "qwen3");
    metadata.insert("qwen3.attention.head_count", 4_u32);
    metadata.insert("qwen3.attention.head_count_kv", 2_u32);
    let mut names = vec!["token_embd.weight".to_owned()];
    for layer in 0..NUM_LAYERS {
        for part in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
        {
            names.push(format!("blk.{layer}.{part}.weight"));
        }
    }
    with_weights(&metadata, &names)
}

/// A file with F16 tensors of these names.
fn with_weights(metadata: &Metadata, names: &[String]) -> Gguf {
    let mut writer = GgufWriter::new(metadata).unwrap();
    for name in names {
        writer.add_tensor(name, &[256, 1], GgmlType::F16).unwrap();
    }
    let mut payloads = writer.in_memory();
    for name in names {
        payloads.write_tensor(name, &[0; 512]).unwrap();
    }
    Gguf::from_bytes(payloads.finish().unwrap()).unwrap()
}

/// The options of a conversion without an importance matrix.
fn options(recipe: Recipe, is_pure: bool) -> QuantizeOptions<'static> {
    QuantizeOptions {
        recipe,
        importance: None,
        is_pure,
        quantized: QuantizedWeights::Reject,
        overwrite: false,
        num_threads: None,
    }
}

fn targets(recipe: Recipe, part: &str) -> Vec<DType> {
    let gguf = checkpoint();
    let formats = FormatSelection::new(&gguf, &options(recipe, false));
    let target = |name: &str| formats.target(gguf.tensor(name).unwrap()).0.unwrap();
    match part {
        "token_embd" => vec![target("token_embd.weight")],
        part => {
            (0..NUM_LAYERS).map(|layer| target(&format!("blk.{layer}.{part}.weight"))).collect()
        }
    }
}

/// `finer` in these layers and `base` in the others.
fn layers(finer: DType, layers: &[u64], base: DType) -> Vec<DType> {
    (0..NUM_LAYERS).map(|layer| if layers.contains(&layer) { finer } else { base }).collect()
}

fn all(dtype: DType) -> Vec<DType> {
    layers(dtype, &[], dtype)
}

#[test]
fn value_projections_are_stored_as_llama_cpp_stores_them() {
    for (recipe, expected) in [
        (Recipe::Q2K, all(DType::Q3K)),
        (Recipe::Q3KS, all(DType::Q3K)),
        (Recipe::Q3KM, layers(DType::Q5K, &[0, 1], DType::Q4K)),
        (Recipe::Q3KL, all(DType::Q5K)),
        (Recipe::Q4KS, layers(DType::Q5K, &[0, 1, 2, 3], DType::Q4K)),
        (Recipe::Q4KM, layers(DType::Q6K, SENSITIVE, DType::Q4K)),
        (Recipe::Q5KS, all(DType::Q5K)),
        (Recipe::Q5KM, layers(DType::Q6K, SENSITIVE, DType::Q5K)),
        (Recipe::Q6K, all(DType::Q6K)),
        (Recipe::Iq4Nl, all(DType::Iq4Nl)),
        (Recipe::Q4_0, all(DType::Q4_0)),
        (Recipe::Iq3Xxs, all(DType::Iq3S)),
        (Recipe::Iq3S, all(DType::Iq3S)),
        (Recipe::Nvfp4, all(DType::Nvfp4)),
    ] {
        assert_eq!(targets(recipe, "attn_v"), expected, "{recipe}");
    }
}

#[test]
fn second_feed_forward_matrices_are_stored_as_llama_cpp_stores_them() {
    for (recipe, expected) in [
        (Recipe::Q2K, all(DType::Q3K)),
        (Recipe::Q3KS, all(DType::Q3K)),
        (Recipe::Q3KM, layers(DType::Q5K, &[0], DType::Q4K)),
        (Recipe::Q3KL, all(DType::Q5K)),
        (Recipe::Q4KS, layers(DType::Q5K, &[0, 1], DType::Q4K)),
        (Recipe::Q4KM, layers(DType::Q6K, SENSITIVE, DType::Q4K)),
        (Recipe::Q5KM, layers(DType::Q6K, SENSITIVE, DType::Q5K)),
        (Recipe::Iq4Nl, layers(DType::Q5K, &[0, 1], DType::Iq4Nl)),
        (Recipe::Iq4Xs, layers(DType::Q5K, &[0, 1], DType::Iq4Xs)),
        (Recipe::Q8_0, all(DType::Q8_0)),
        (Recipe::Iq3Xxs, layers(DType::Q4K, &[0, 1], DType::Q3K)),
        (Recipe::Tq1_0, all(DType::Tq1_0)),
    ] {
        assert_eq!(targets(recipe, "ffn_down"), expected, "{recipe}");
    }
}

#[test]
fn attention_outputs_are_stored_as_llama_cpp_stores_them() {
    for (recipe, expected) in [
        (Recipe::Q2K, DType::Q3K),
        (Recipe::Q3KS, DType::Q3K),
        (Recipe::Q3KM, DType::Q4K),
        (Recipe::Q3KL, DType::Q5K),
        (Recipe::Q4KM, DType::Q4K),
        (Recipe::Q5KM, DType::Q5K),
        (Recipe::Iq3Xxs, DType::Iq3S),
    ] {
        assert_eq!(targets(recipe, "attn_output"), all(expected), "{recipe}");
    }
}

#[test]
fn embeddings_that_are_the_output_head_too_are_stored_finer() {
    for (recipe, expected) in [
        (Recipe::Q2K, DType::Q6K),
        (Recipe::Q4_0, DType::Q6K),
        (Recipe::Q4KM, DType::Q6K),
        (Recipe::Q8_0, DType::Q8_0),
        (Recipe::F16, DType::F16),
    ] {
        assert_eq!(targets(recipe, "token_embd"), [expected], "{recipe}");
    }
}

/// The models of `make_recipes.py`: architecture, layers, query heads, key/value heads, experts.
const MODELS: [(&str, &str, u32, u32, u32, u32); 8] = [
    ("tied", "qwen3", 19, 4, 2, 0),
    ("shared", "llama", 32, 8, 2, 0),
    ("fused", "phi3", 16, 4, 4, 0),
    ("falcon", "falcon", 32, 8, 1, 0),
    ("eight", "llama", 32, 8, 2, 8),
    ("many", "qwen3moe", 16, 4, 4, 16),
    ("sharing", "qwen2moe", 24, 4, 4, 16),
    ("gaps", "llama", 32, 8, 2, 0),
];

/// A model of `make_recipes.py` with tensors of these names.
fn model_of_recipes(name: &str, names: &[String]) -> Gguf {
    let &(_, architecture, layers, heads, kv_heads, experts) =
        MODELS.iter().find(|(model, ..)| *model == name).unwrap();
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", architecture);
    metadata.insert(format!("{architecture}.block_count"), layers);
    metadata.insert(format!("{architecture}.attention.head_count"), heads);
    metadata.insert(format!("{architecture}.attention.head_count_kv"), kv_heads);
    metadata.insert(format!("{architecture}.expert_count"), experts);
    with_weights(&metadata, names)
}

#[test]
fn every_recipe_is_that_of_llama_cpp_with_and_without_an_importance_matrix() {
    let lines = include_str!("../../../tests/fixtures/recipes.txt").lines();
    // The formats of each tensor by model, file type and whether there is an importance matrix.
    let mut files = std::collections::BTreeMap::<_, Vec<(String, DType)>>::new();
    for line in lines {
        let [model, recipe, which, parts, runs] =
            line.splitn(5, ' ').collect::<Vec<_>>().try_into().unwrap();
        let formats = runs.split(' ').flat_map(|run| {
            let (count, dtype) = run.split_once('*').unwrap();
            let named = |name| DType::ALL.into_iter().find(|dtype| dtype.name() == name);
            let dtype = (dtype != "-").then(|| named(dtype).unwrap());
            std::iter::repeat_n(dtype, count.parse().unwrap())
        });
        let formats: Vec<Option<DType>> = formats.collect();
        let tensors = files.entry((model, recipe, which)).or_default();
        for part in parts.split(',') {
            match part {
                "token_embd" | "output" => {
                    tensors.extend(formats[0].map(|dtype| (format!("{part}.weight"), dtype)));
                }
                part => tensors.extend((0..).zip(&formats).filter_map(|(layer, dtype)| {
                    Some((format!("blk.{layer}.{part}.weight"), (*dtype)?))
                })),
            }
        }
    }
    assert!(files.len() > 340);
    let matrix = ImportanceMatrix::new(512);
    let mut wrong = Vec::new();
    for ((model, recipe, which), tensors) in files {
        let names: Vec<String> = tensors.iter().map(|(name, _)| name.clone()).collect();
        let gguf = model_of_recipes(model, &names);
        let importance = (which == "imatrix").then_some(&matrix);
        let options = QuantizeOptions { importance, ..options(recipe.parse().unwrap(), false) };
        let formats = FormatSelection::new(&gguf, &options);
        for (name, expected) in tensors {
            let found = formats.target(gguf.tensor(&name).unwrap()).0;
            if found != Some(expected) {
                wrong.push(format!("{model} {recipe} {which} {name}: {found:?}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_recipes_store_everything_alike() {
    let gguf = checkpoint();
    let formats = FormatSelection::new(&gguf, &options(Recipe::Q4KM, true));
    assert!(gguf.tensors().iter().all(|info| formats.target(info) == (Some(DType::Q4K), None)));
}

#[test]
fn nvfp4_is_not_used_for_lookups_unless_it_is_for_everything() {
    let names = ["token_embd.weight", "output.weight", "blk.0.attn_q.weight"].map(str::to_owned);
    let gguf = with_weights(&Metadata::new(), &names);
    for (is_pure, expected) in [
        (false, [DType::Q4K, DType::Q6K, DType::Nvfp4]),
        (true, [DType::Nvfp4, DType::Nvfp4, DType::Nvfp4]),
    ] {
        let formats = FormatSelection::new(&gguf, &options(Recipe::Nvfp4, is_pure));
        let found = gguf.tensors().iter().map(|info| formats.target(info).0.unwrap());
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn rows_that_do_not_divide_fall_back_to_small_blocks_and_then_to_halves() {
    for (wanted, row_len, expected) in [
        (DType::Q4K, 256, DType::Q4K),
        (DType::Q4K, 64, DType::Q5_0),
        (DType::Q5K, 64, DType::Q5_1),
        (DType::Q6K, 64, DType::Q8_0),
        (DType::Iq4Xs, 64, DType::Iq4Nl),
        (DType::Iq3S, 64, DType::Iq4Nl),
        (DType::Tq1_0, 64, DType::Q4_0),
        (DType::Nvfp4, 64, DType::Nvfp4),
        (DType::Nvfp4, 96, DType::Q4_0),
        (DType::Q6K, 172, DType::F16),
        (DType::Q8_0, 172, DType::F16),
    ] {
        assert_eq!(fallback(wanted, row_len), expected, "{wanted} {row_len}");
    }
}

#[test]
fn layers_that_the_model_does_not_have_count_for_nothing() {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "qwen3");
    metadata.insert("qwen3.block_count", 16_u32);
    for (number, expected) in
        [(u64::MAX, DType::Q4K), (u64::from(u32::MAX), DType::Q6K), (15, DType::Q6K)]
    {
        let mut names: Vec<_> = (0..16).map(|i| format!("blk.{i}.attn_v.weight")).collect();
        let name = format!("blk.{number}.attn_v.weight");
        names.retain(|known| *known != name);
        names.push(name.clone());
        let gguf = with_weights(&metadata, &names);
        let formats = FormatSelection::new(&gguf, &options(Recipe::Q4KM, false));
        let target = |name: &str| formats.target(gguf.tensor(name).unwrap()).0.unwrap();
        assert_eq!(target(&name), expected, "{name}");
        // The first of 16 layers are the sensitive ones, whatever else the file names.
        assert_eq!(target("blk.1.attn_v.weight"), DType::Q6K, "{name}");
        assert_eq!(target("blk.2.attn_v.weight"), DType::Q4K, "{name}");
    }
}

#[test]
fn small_tensors_that_llama_cpp_copies_are_copied() {
    let copied = [
        "blk.0.ssm_conv1d.weight",
        "blk.0.ssm_conv1d_q.weight",
        "blk.0.shortconv.conv.weight",
        "blk.0.altup_correct_coef.weight",
        "altup_proj.weight",
        "blk.0.laurel_l.weight",
        "per_layer_model_proj.weight",
        "blk.0.attn_norm.weight",
        "blk.0.ffn_gate_inp.weight",
        "blk.0.ffn_gate_inp_shexp.weight",
    ];
    let quantized = ["blk.0.ssm_in.weight", "blk.0.shortconv.in_proj.weight"];
    let names: Vec<String> = copied.into_iter().chain(quantized).map(ToOwned::to_owned).collect();
    let gguf = with_weights(&Metadata::new(), &names);
    for recipe in [Recipe::Q4KM, Recipe::Q8_0] {
        let formats = FormatSelection::new(&gguf, &options(recipe, false));
        let target = |name: &str| formats.target(gguf.tensor(name).unwrap());
        copied.iter().for_each(|name| assert_eq!(target(name), (None, None), "{name}"));
        for name in quantized {
            assert_eq!(target(name), (Some(recipe.base()), None), "{name}");
        }
    }
}
