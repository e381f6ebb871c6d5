//! `inferno quantize IN OUT nvfp4`: matrices with scales of their own.

use std::path::{Path, PathBuf};

use crate::support::Run;
use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata};
use inferno_model::TensorScales;
use inferno_tensor::{DType, quant};

fn quantize(input: &Path, output: &Path, format: &str) -> Run {
    Run::inferno().args(["quantize", "--force"]).args([input, output]).args([format])
}

/// A fixture of NVFP4 that Python's `gguf` wrote.
fn written_by_python(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures").join(name)
}

/// Values between -1 and 1.
fn noise(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.7).sin() * (i as f32 * 0.013).cos()).collect()
}

/// Writes a file with F32 tensors.
fn write(path: &Path, tensors: &[(&str, &[usize], Vec<f32>)]) {
    let mut writer = GgufWriter::new(&Metadata::new()).unwrap();
    for (name, dims, _) in tensors {
        writer.add_tensor(name, dims, GgmlType::F32).unwrap();
    }
    let mut payloads = writer.create(path).unwrap();
    for (name, _, values) in tensors {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        payloads.write_tensor(name, &bytes).unwrap();
    }
    payloads.finish().unwrap();
}

/// The values of a tensor in NVFP4, times its scales, and the number of those in the file.
fn decoded(gguf: &Gguf, name: &str) -> (Vec<f32>, usize) {
    let info = gguf.tensor(name).unwrap();
    assert_eq!(info.ggml_type(), GgmlType::NVFP4, "{name}");
    let mut values = vec![0.0; info.num_elements()];
    quant::decode_row(DType::Nvfp4, &gguf.data(info), &mut values).unwrap();
    let scales = TensorScales::find(gguf, info).unwrap().expect("scales");
    let rows = values.chunks_exact_mut(info.dims()[0]);
    for (row, scale) in rows.zip(scales.read(gguf).unwrap()) {
        row.iter_mut().for_each(|value| *value *= scale);
    }
    (values, gguf.tensor(scales.name()).unwrap().num_elements())
}

/// The norm of the difference over the norm of the expected values.
fn relative_error(expected: &[f32], found: &[f32]) -> f32 {
    let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
    norm(&mut expected.iter().zip(found).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied())
}

#[test]
fn small_and_large_weights_are_as_accurate_as_others() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("f32.gguf"), folder.path().join("nvfp4.gguf"));
    let magnitudes = [1e-5, 1e-3, 1.0, 1e4];
    let names = magnitudes.map(|magnitude| format!("blk.0.at_{magnitude}.weight"));
    let matrix = |magnitude: f32| noise(512).into_iter().map(move |value| value * magnitude);
    let mut tensors: Vec<(&str, &[usize], Vec<f32>)> = Vec::new();
    for (name, magnitude) in names.iter().zip(magnitudes) {
        tensors.push((name, &[128, 4], matrix(magnitude).collect()));
    }
    // A scale for each expert; and one in the input, which becomes a part of them.
    let experts: Vec<f32> = magnitudes.into_iter().flat_map(matrix).collect();
    tensors.push(("blk.0.ffn_up_exps.weight", &[128, 4, 4], experts.clone()));
    tensors.push(("blk.0.zeros.weight", &[64, 2], vec![0.0; 128]));
    tensors.push(("blk.0.scaled.weight", &[128, 4], matrix(1.0).collect()));
    tensors.push(("blk.0.scaled.scale", &[1], vec![-1e-4]));
    write(&input, &tensors);
    quantize(&input, &output, "nvfp4").success();

    let gguf = Gguf::open(&output).unwrap();
    for (name, magnitude) in names.iter().zip(magnitudes) {
        let (found, num_scales) = decoded(&gguf, name);
        let expected: Vec<f32> = matrix(magnitude).collect();
        let error = relative_error(&expected, &found);
        assert!(error < 0.12 && num_scales == 1, "{name}: {error}");
    }
    let (found, num_scales) = decoded(&gguf, "blk.0.ffn_up_exps.weight");
    assert_eq!(num_scales, 4);
    for (expected, found) in experts.chunks(512).zip(found.chunks(512)) {
        let error = relative_error(expected, found);
        assert!(error < 0.12, "{error}");
    }
    assert!(decoded(&gguf, "blk.0.zeros.weight").0.iter().all(|&value| value == 0.0));
    let expected: Vec<f32> = matrix(-1e-4).collect();
    let error = relative_error(&expected, &decoded(&gguf, "blk.0.scaled.weight").0);
    assert!(error < 0.12, "{error}");
}

/// The logits of a model after a short prompt.
fn logits(model: &Path) -> Vec<f32> {
    let run = Run::inferno().args(["logits", "--kv-dtype", "f32", "--tokens", "1,2,3", "-m"]);
    let rows = run.args([model]).success().stdout;
    rows.lines().flat_map(|row| serde_json::from_str::<Vec<f32>>(row).unwrap()).collect()
}

#[test]
fn weights_that_were_expanded_get_the_same_scales_again() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["llama-nvfp4.gguf", "mixtral-nvfp4.gguf"] {
        let source = written_by_python(name);
        let [expanded, output] = ["f32.gguf", name].map(|name| folder.path().join(name));
        quantize(&source, &expanded, "f32").success();
        quantize(&expanded, &output, "nvfp4").args(["--pure"]).success();
        let [expected, found] = [&source, &output].map(|path| Gguf::open(path).unwrap());
        let matrices = expected.tensors().iter();
        let matrices = matrices.filter(|info| info.ggml_type() == GgmlType::NVFP4);
        let mut num_matrices = 0;
        for info in matrices {
            let name = info.name();
            let [a, b] = [&expected, &found].map(|gguf| {
                let scale = gguf.tensor(&TensorScales::name_for(name)).unwrap();
                (scale.dims().to_vec(), scale.ggml_type(), gguf.data(scale))
            });
            assert_eq!(a, b, "{name}");
            // Python rounds some scales of blocks up to the largest, which are rounded to nearest here.
            let error = relative_error(&decoded(&expected, name).0, &decoded(&found, name).0);
            assert!(error < 0.08, "{name}: {error}");
            num_matrices += 1;
        }
        assert!(num_matrices > 10, "{num_matrices}");
        // The scales are used: only activations are rounded otherwise. Rounded weights change much in models this small.
        for (path, bound) in [(&source, 0.05), (&output, 0.5)] {
            let error = relative_error(&logits(&expanded), &logits(path));
            assert!(error < bound, "{}: {error}", path.display());
        }
    }
}

#[test]
fn weights_that_are_not_finite_are_reported_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("f32.gguf"), folder.path().join("nvfp4.gguf"));
    let mut values = noise(128);
    values[70] = f32::INFINITY;
    write(&input, &[("blk.0.attn_q.weight", &[64, 2], values)]);
    let stderr = quantize(&input, &output, "nvfp4").failure(1).stderr;
    let message = "tensor \"blk.0.attn_q.weight\", row 1: value 6 of the row is inf";
    assert!(stderr.contains(message), "{stderr}");
}

#[test]
fn weights_that_would_become_infinite_in_half_precision_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("f32.gguf"), folder.path().join("f16.gguf"));
    let mut values = noise(128);
    values[70] = -1e5;
    write(&input, &[("blk.0.attn_q.weight", &[64, 2], values)]);
    let stderr = quantize(&input, &output, "f16").failure(1).stderr;
    let message = "tensor \"blk.0.attn_q.weight\", row 1: value 6 of the row is -100000.0, which is too large for F16; \
                   use BF16 or F32 for this tensor";
    assert!(stderr.contains(message), "{stderr}");
    assert!(!output.exists());
    quantize(&input, &output, "bf16").success();
}
