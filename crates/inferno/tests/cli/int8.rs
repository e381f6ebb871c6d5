//! `inferno quantize IN OUT int8`: files with bytes and their scales.

use std::path::{Path, PathBuf};

use crate::support::{Run, fixture, model, oracle};
use inferno_gguf::{GgmlType, Gguf};

fn quantize(input: &Path, output: &Path, format: &str) -> Run {
    Run::inferno().args(["quantize", "--force"]).args([input, output]).args([format])
}

fn logits(model: &Path, flags: &[&str]) -> String {
    let run = Run::inferno().args(["logits", "--tokens", "1,2,3,4,5,6,7,8,9,10,11,12,13", "-m"]);
    run.args([model]).args(flags).success().stdout
}

/// The model of the fixtures, converted.
fn converted(folder: &tempfile::TempDir) -> PathBuf {
    let output = folder.path().join("int8.gguf");
    quantize(&model(), &output, "int8").success();
    output
}

/// Checks that the converted model has the bits of the one that is quantized while loading.
fn assert_same_bits(source: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("int8.gguf");
    quantize(source, &output, "int8").success();
    for backend in ["parallel", "reference"] {
        let found = logits(&output, &["--backend", backend]);
        let expected = logits(source, &["--backend", backend, "--requantize", "int8"]);
        assert!(found == expected, "{} with {backend}", source.display());
    }
}

#[test]
fn a_converted_file_has_the_bits_of_a_model_quantized_while_loading() {
    let others = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures");
    for source in [
        model(),
        fixture("hybrid.gguf"),
        others.join("mixtral.gguf"),
        others.join("llama-tied.gguf"),
        others.join("llama-biases.gguf"),
    ] {
        assert_same_bits(&source);
    }
}

#[test]
fn every_converted_oracle_model_has_the_bits_of_the_model_quantized_while_loading() {
    let Some(facts) = oracle("logits/FACTS.md") else { return };
    let folder = facts.parent().unwrap();
    let mut num_models = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_model = path.extension().is_some_and(|extension| extension == "gguf");
        let is_float = |gguf: &Gguf| {
            let mut tensors = gguf.tensors().iter();
            tensors.all(|info| {
                matches!(info.ggml_type(), GgmlType::F32 | GgmlType::F16 | GgmlType::BF16)
            })
        };
        let has_logits = |gguf: &Gguf| {
            inferno_model::ModelSpec::from_checkpoint(gguf).is_ok_and(|spec| spec.has_logits())
        };
        if is_model && Gguf::open(&path).is_ok_and(|gguf| is_float(&gguf) && has_logits(&gguf)) {
            assert_same_bits(&path);
            num_models += 1;
        }
    }
    assert!(num_models > 50, "{num_models} models");
}

#[test]
fn matrices_become_bytes_with_scales_and_embeddings_do_too() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = Gguf::open(converted(&folder)).unwrap();
    assert_eq!(gguf.metadata().required::<u32>("general.file_type").unwrap(), 1000);
    for (weight, scales) in [
        ("token_embd.weight", "token_embd.scale"),
        ("blk.0.attn_q.weight", "blk.0.attn_q.scale"),
        ("blk.1.ffn_down.weight", "blk.1.ffn_down.scale"),
    ] {
        let [weight, scales] = [weight, scales].map(|name| gguf.tensor(name).unwrap());
        assert_eq!(weight.ggml_type(), GgmlType::I8);
        assert_eq!((scales.ggml_type(), scales.dims()), (GgmlType::F32, &weight.dims()[1..]));
    }
    let others = gguf.tensors().iter().filter(|info| info.ggml_type() != GgmlType::I8);
    assert!(others.into_iter().all(|info| info.ggml_type() == GgmlType::F32));
}

#[test]
fn estimates_and_perplexity_are_those_of_a_model_quantized_while_loading() {
    let folder = tempfile::tempdir().unwrap();
    let output = converted(&folder);
    let text = folder.path().join("text.txt");
    std::fs::write(&text, "Once upon a time there was a model of bytes. ".repeat(4)).unwrap();
    let run = |model: &Path, flags: &[&str]| {
        let run = Run::inferno().args(["perplexity", "-c", "16"]).args([&text]);
        run.args(["-m"]).args([model]).args(flags).success().stdout
    };
    assert_eq!(run(&output, &[]), run(&model(), &["--requantize", "int8"]));
    let dry = |model: &Path, flags: &[&str]| {
        let run = Run::inferno().args(["generate", "--dry-run", "x", "-m"]).args([model]);
        let report = run.args(flags).success().stdout;
        // The last line is the free memory, which changes.
        report
            .lines()
            .take_while(|line| !line.starts_with("free"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(dry(&output, &[]), dry(&model(), &["--requantize", "int8"]));
}

#[test]
fn inspect_shows_bytes_as_computable_and_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let output = converted(&folder);
    let inspect = |model: &Path, flags: &[&str]| -> serde_json::Value {
        let run = Run::inferno().args(["inspect", "--json"]).args([model]).args(flags);
        serde_json::from_str(&run.success().stdout).unwrap()
    };
    let [found, expected] = [&output, &model()].map(|model| inspect(model, &["--tensors"]));
    assert_eq!(found["parameters"], expected["parameters"]);
    let tensors = found["tensors"].as_array().unwrap();
    assert!(tensors.iter().all(|tensor| tensor["computable"] == true));
    let values = ["--tensor", "blk.0.attn_q.weight"];
    let [found, expected] = [&output, &model()].map(|model| inspect(model, &values));
    let [found, expected] = [found, expected].map(|it| it["standard_deviation"].as_f64().unwrap());
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
}

#[test]
fn bytes_are_expanded_freely_and_requantized_only_if_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let output = converted(&folder);
    let expanded = folder.path().join("f32.gguf");
    quantize(&output, &expanded, "f32").success();
    let gguf = Gguf::open(&expanded).unwrap();
    assert!(gguf.tensors().iter().all(|info| info.ggml_type() == GgmlType::F32));
    assert!(gguf.tensor("blk.0.attn_q.scale").is_none());
    // Without products in integers, the values of both files are the same.
    let reference = ["--backend", "reference"];
    assert_eq!(logits(&expanded, &reference), logits(&output, &reference));

    let again = folder.path().join("q4_0.gguf");
    let rejected = quantize(&output, &again, "q4_0").failure(1);
    assert!(rejected.stderr.contains("is already quantized to INT8"), "{}", rejected.stderr);
    quantize(&output, &again, "q4_0").args(["--allow-requantize"]).success();
    logits(&again, &[]);
    let same = folder.path().join("same.gguf");
    quantize(&output, &same, "int8").success();
    assert_eq!(logits(&same, &[]), logits(&output, &[]));
}

#[test]
fn an_unknown_architecture_is_not_converted_to_bytes() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../inferno-gguf/tests/fixtures/split-00001-of-00003.gguf");
    let folder = tempfile::tempdir().unwrap();
    let rejected = quantize(&source, &folder.path().join("out.gguf"), "int8").failure(1);
    assert!(rejected.stderr.starts_with("error: "), "{}", rejected.stderr);
}
