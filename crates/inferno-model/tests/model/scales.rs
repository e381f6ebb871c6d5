//! Scales that are tensors of their own: of bytes, one per row, and of matrices of other types.
//!
//! Files with NVFP4 by Python's `gguf` are compared with transformers in `logits.rs`.

use std::sync::Arc;

use crate::support::file::{File, Tensor};
use crate::support::synthetic::synthetic;
use crate::support::{Feed, fixtures, limits, logits};
use inferno_backend::{Backend, KvDType, ReferenceBackend};
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_gguf::{GgmlType, Gguf, Metadata};
use inferno_model::{
    ARCHITECTURES, CacheLayout, Footprint, Model, ModelError, ModelSpec, Requantize, TensorCache,
    TensorScales, TokenCost,
};
use inferno_tensor::quant::Int8Row;
use inferno_tensor::{DType, quant};

/// A tensor as bytes, and its scales.
fn to_bytes(tensor: &Tensor) -> [Tensor; 2] {
    let (values, cols) = (tensor.values(), tensor.dims[0]);
    let (mut bytes, mut scales) = (Vec::new(), Vec::new());
    for row in values.chunks_exact(cols) {
        let mut encoded = vec![0; Int8Row::SCALE_BYTES + cols];
        quant::encode_row(DType::Int8, row, &mut encoded).expect("finite values");
        let row = Int8Row::read(&encoded);
        bytes.extend_from_slice(row.quants);
        scales.push(row.scale);
    }
    let dims = if tensor.dims.len() > 1 { &tensor.dims[1..] } else { &[1] };
    let scales = Tensor::floats(TensorScales::name_for(&tensor.name), dims, &scales);
    [Tensor { ggml_type: GgmlType::I8, bytes, ..tensor.clone() }, scales]
}

/// A file with all matrices as bytes with scales.
fn with_bytes(mut file: File) -> File {
    let gguf = file.write();
    let spec = ModelSpec::from_checkpoint(&gguf).expect("a valid model");
    let convertible = spec.convertible_tensors();
    let is_scale = |name: &str| convertible.iter().any(|it| TensorScales::name_for(it) == name);
    let tensors = std::mem::take(&mut file.tensors).into_iter();
    for mut tensor in tensors.filter(|tensor| !is_scale(&tensor.name)) {
        if !convertible.contains(&tensor.name[..]) {
            file.tensors.push(tensor);
            continue;
        }
        let info = gguf.tensor(&tensor.name).expect("a tensor of the file");
        if let Some(scales) = TensorScales::find(&gguf, info).expect("valid scales") {
            let scales = scales.read(&gguf).expect("valid scales");
            let mut values = tensor.values();
            for (row, scale) in values.chunks_exact_mut(tensor.dims[0]).zip(scales) {
                row.iter_mut().for_each(|value| *value *= scale);
            }
            tensor = Tensor::floats(tensor.name, &tensor.dims, &values);
        }
        file.tensors.extend(to_bytes(&tensor));
    }
    file
}

fn cpu() -> Arc<CpuBackend> {
    let options = CpuOptions { threads: Some(2), ..CpuOptions::default() };
    Arc::new(CpuBackend::new(options).expect("every machine has one"))
}

fn computed<B: Backend>(
    gguf: &Gguf,
    backend: Arc<B>,
    requantize: Option<Requantize>,
) -> Vec<Vec<f32>> {
    let tokens: Vec<u32> = (0..19).map(|i| i * 7 % 40).collect();
    let model = Model::load(gguf, backend, requantize, &mut |_| ()).expect("a valid model");
    logits(&model, &tokens, Feed::Chunks(12))
}

fn load_error(gguf: &Gguf) -> ModelError {
    match Model::load(gguf, Arc::new(ReferenceBackend::new()), None, &mut |_| ()) {
        Ok(_) => panic!("the model loaded"),
        Err(error) => error,
    }
}

fn architectures() -> impl Iterator<Item = (&'static str, Gguf)> {
    let decoders = ARCHITECTURES.iter().filter(|architecture| architecture.is_causal);
    decoders.map(|architecture| {
        let bytes = synthetic(architecture.name);
        (architecture.name, Gguf::from_bytes(bytes).expect("a valid file"))
    })
}

#[test]
fn bytes_with_scales_give_the_bits_of_requantized_weights_in_every_architecture() {
    let backend = cpu();
    let fixtures = ["llama-tied.gguf", "llama-biases.gguf", "mixtral.gguf"];
    let fixtures = fixtures.into_iter().map(|name| (name, File::fixture(name).write()));
    for (name, source) in architectures().chain(fixtures) {
        let stored = with_bytes(File::of(&source)).write();
        assert_eq!(
            computed(&stored, Arc::clone(&backend), None),
            computed(&source, Arc::clone(&backend), Some(Requantize::Int8)),
            "{name}"
        );
    }
}

#[test]
fn estimates_for_bytes_with_scales_are_those_for_requantized_weights() {
    let backend = cpu();
    for (name, source) in architectures() {
        let stored = with_bytes(File::of(&source)).write();
        let estimates = [(stored, None), (source, Some(Requantize::Int8))].map(|(gguf, choice)| {
            let spec = ModelSpec::from_checkpoint(&gguf).expect("a valid model");
            let kv = spec.kv_layout(16, KvDType::F16);
            let cache = CacheLayout { kv, state: spec.state_layout(2) };
            let footprint =
                Footprint::estimate(&gguf, &spec, &*backend, choice, &cache, limits(16));
            let cost = TokenCost::estimate(&spec, &*backend, choice, KvDType::F16);
            let footprint = Footprint { mapped_bytes: 0, ..footprint.expect("an estimate") };
            (footprint, cost.expect("a cost"))
        });
        assert_eq!(estimates[0], estimates[1], "{name}");
    }
}

#[test]
fn scales_of_other_types_multiply_the_products_and_lookups_of_their_tensors() {
    for name in ["llama.gguf", "mixtral.gguf"] {
        let mut file = File::fixture(name);
        let is_matrix = |tensor: &Tensor| tensor.dims.len() > 1;
        let matrices: Vec<Tensor> =
            file.tensors.iter().filter(|it| is_matrix(it)).cloned().collect();
        // In F32, as the scaled ones will be: AMX adds products with F16 in another order.
        for matrix in &matrices {
            *file.tensor(&matrix.name) =
                Tensor::floats(&matrix.name, &matrix.dims, &matrix.values());
        }
        let expected = computed(&file.write(), cpu(), None);
        for (index, matrix) in matrices.into_iter().enumerate() {
            // Powers of two, so that nothing is rounded.
            let num_scales = matrix.dims.get(2).copied().unwrap_or(1);
            let scales: Vec<f32> =
                (0..num_scales).map(|i| [0.25, 0.5, 2.0, -4.0, 8.0][(index + i) % 5]).collect();
            let mut values = matrix.values();
            let len = values.len() / num_scales;
            for (values, scale) in values.chunks_exact_mut(len).zip(&scales) {
                values.iter_mut().for_each(|value| *value /= scale);
            }
            let name = matrix.name.clone();
            *file.tensor(&name) = Tensor::floats(&name, &matrix.dims, &values);
            let input_name = name.replace(".weight", ".input_scale");
            file.tensors.push(Tensor::floats(
                TensorScales::name_for(&name),
                &[num_scales],
                &scales,
            ));
            file.tensors.push(Tensor::floats(input_name, &[num_scales], &scales));
        }
        assert_eq!(computed(&file.write(), cpu(), None), expected, "{name}");
    }
}

const MATRIX: &str = "blk.0.attn_q.weight";
const SCALES: &str = "blk.0.attn_q.scale";

/// The llama fixture with bytes, edited.
fn edited(edit: impl FnOnce(&mut File)) -> Gguf {
    let mut file = with_bytes(File::fixture("llama.gguf"));
    edit(&mut file);
    file.write()
}

#[test]
fn bytes_without_scales_are_rejected() {
    let error = load_error(&edited(|file| file.tensors.retain(|tensor| tensor.name != SCALES)));
    assert!(matches!(error, ModelError::MissingScales { .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.contains(MATRIX) && message.contains(SCALES) && message.contains("[32]"),
        "{message}"
    );
    let error = load_error(&edited(|file| {
        let norm = file.tensor("blk.0.attn_norm.weight");
        (norm.ggml_type, norm.bytes) = (GgmlType::I8, vec![1; 32]);
    }));
    assert!(matches!(error, ModelError::UnsupportedFormat { .. }), "{error}");
}

#[test]
fn scales_of_another_shape_or_type_are_rejected() {
    for dims in [&[31][..], &[1], &[32, 1, 2], &[8, 4]] {
        let values = vec![1.0; dims.iter().product()];
        let error = load_error(&edited(|file| {
            *file.tensor(SCALES) = Tensor::floats(SCALES, dims, &values);
        }));
        assert!(
            matches!(&error, ModelError::TensorShape { expected, .. } if expected == &[32]),
            "{error}"
        );
    }
    let error = load_error(&edited(|file| {
        let scales = file.tensor(SCALES);
        (scales.ggml_type, scales.bytes) = (GgmlType::I8, vec![1; 32]);
    }));
    assert!(matches!(error, ModelError::UnsupportedFormat { .. }), "{error}");
    // Other types have one scale per matrix.
    let mut file = File::fixture("mixtral.gguf");
    file.tensors.push(Tensor::floats("blk.1.ffn_down_exps.scale", &[4, 32], &[1.0; 128]));
    let error = load_error(&file.write());
    assert!(
        matches!(&error, ModelError::TensorShape { expected, .. } if expected == &[4]),
        "{error}"
    );
}

#[test]
fn scales_that_are_not_usable_numbers_are_rejected() {
    for bad in [f32::NAN, f32::INFINITY, -1.0, f32::MAX] {
        let error = load_error(&edited(|file| {
            let scales = file.tensor(SCALES);
            scales.bytes[4 * 5..4 * 6].copy_from_slice(&bad.to_le_bytes());
        }));
        assert!(matches!(error, ModelError::InvalidScale { index: 5, .. }), "{bad}: {error}");
        assert!(error.to_string().contains(SCALES), "{error}");
    }
    let mut file = File::fixture("llama.gguf");
    file.tensors.push(Tensor::floats(SCALES, &[1], &[f32::NEG_INFINITY]));
    let error = load_error(&file.write());
    assert!(matches!(error, ModelError::InvalidScale { index: 0, .. }), "{error}");
}

#[test]
fn scales_of_vectors_are_unused_tensors() {
    let mut file = File::fixture("llama.gguf");
    file.tensors.push(Tensor::floats("blk.0.attn_norm.scale", &[1], &[1.0]));
    let error = load_error(&file.write());
    assert!(matches!(error, ModelError::UnusedTensors { .. }), "{error}");
}

#[test]
fn shards_can_separate_bytes_from_their_scales() {
    let file = with_bytes(File::fixture("llama.gguf"));
    let expected = computed(&file.write(), cpu(), None);
    let folder = std::env::temp_dir().join(format!("inferno-scales-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (scales, others): (Vec<_>, Vec<_>) =
        file.tensors.iter().cloned().partition(|tensor| tensor.name.ends_with(".scale"));
    let num_tensors = file.tensors.len() as i32;
    for (number, tensors) in [others, scales].into_iter().enumerate() {
        let mut metadata = if number == 0 { file.metadata.clone() } else { Metadata::new() };
        metadata.insert("split.no", number as u16);
        metadata.insert("split.count", 2_u16);
        metadata.insert("split.tensors.count", num_tensors);
        let shard = File { metadata, tensors };
        let path = folder.join(format!("model-0000{}-of-00002.gguf", number + 1));
        std::fs::write(path, shard.bytes()).expect("a writable folder");
    }
    let gguf = Gguf::open(folder.join("model-00001-of-00002.gguf")).expect("both shards");
    let found = computed(&gguf, cpu(), None);
    drop(gguf);
    std::fs::remove_dir_all(&folder).expect("the folder");
    assert_eq!(found, expected);
}

#[test]
fn tensors_of_bytes_are_decoded_with_their_scales() {
    let mut file = with_bytes(File::fixture("mixtral.gguf"));
    let source = Gguf::open(fixtures().join("mixtral.gguf")).expect("the fixture");
    for name in ["blk.1.ffn_down_exps.weight", "token_embd.weight"] {
        let gguf = file.write();
        let [found, expected] = [&gguf, &source].map(|gguf| {
            let tensor = TensorCache::new(gguf, 0).get(name).expect("a decodable tensor");
            assert_eq!(tensor.shape().dims().last(), Some(&tensor_cols(gguf, name)));
            tensor.as_slice().to_vec()
        });
        let largest = expected.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        let difference = |(a, b): (&f32, &f32)| (a - b).abs();
        let worst = found.iter().zip(&expected).map(difference).fold(0.0, f32::max);
        assert!(worst > 0.0 && worst <= 0.5001 * largest / 127.0, "{name}: {worst}");
        file.tensors.retain(|tensor| tensor.name != TensorScales::name_for(name));
        let gguf = file.write();
        let error = TensorCache::new(&gguf, 0).get(name).expect_err("no scales");
        assert!(matches!(error, ModelError::MissingScales { .. }), "{error}");
    }
}

fn tensor_cols(gguf: &Gguf, name: &str) -> usize {
    gguf.tensor(name).expect("a tensor of the file").dims()[0]
}
