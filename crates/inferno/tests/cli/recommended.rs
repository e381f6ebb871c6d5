//! Sampling recommendations of the model file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::support::{Run, expected, model};
use inferno::Gguf;
use inferno_gguf::{GgufWriter, MetadataValue};
use tempfile::TempDir;

/// Returns a copy of the fixture with sampling recommendations.
fn recommending(keys: &[(&str, MetadataValue)]) -> (TempDir, PathBuf) {
    let source = Gguf::open(model()).unwrap();
    let mut metadata = source.metadata().clone();
    for (name, value) in keys {
        metadata.insert(format!("general.sampling.{name}"), value.clone());
    }
    let mut writer = GgufWriter::new(&metadata).unwrap();
    for info in source.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type()).unwrap();
    }
    let mut payloads = writer.in_memory();
    for info in source.tensors() {
        payloads.write_tensor(info.name(), &source.data(info)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recommending.gguf");
    std::fs::write(&path, payloads.finish().unwrap()).unwrap();
    (folder, path)
}

fn generate(model: &PathBuf, flags: &[&str]) -> Run {
    let run = Run::inferno().args(["generate", "--kv-dtype", "f32", "-n", "48", "--seed", "1"]);
    run.args(flags).args(["-m"]).args([model]).args(["Once upon a time"])
}

/// Returns the greedy text of transformers.
fn golden() -> String {
    expected()["greedy_text"].as_str().unwrap().to_owned() + "\n"
}

#[test]
fn recommendations_are_the_defaults() {
    for (name, value) in
        [("temp", 0.0_f32.into()), ("top_k", 1_i32.into()), ("top_p", 1e-6_f32.into())]
    {
        let (_folder, model) = recommending(&[(name, value)]);
        assert_eq!(generate(&model, &[]).success().stdout, golden(), "{name}");
    }
    assert_ne!(generate(&model(), &[]).success().stdout, golden());
}

#[test]
fn options_override_recommendations() {
    let (_folder, advised) = recommending(&[("temp", 0.0_f32.into()), ("top_k", 1_i32.into())]);
    let free = generate(&advised, &["--temperature", "1", "--top-k", "0"]).success().stdout;
    assert_eq!(free, generate(&model(), &[]).success().stdout);
    assert_ne!(free, golden());
}

#[test]
fn greedy_ignores_recommendations() {
    let (_folder, model) =
        recommending(&[("temp", 2.0_f32.into()), ("penalty_repeat", 8.0_f32.into())]);
    assert_ne!(generate(&model, &[]).success().stdout, golden());
    for flags in [&["--greedy"][..], &["--temperature", "0"]] {
        assert_eq!(generate(&model, flags).success().stdout, golden(), "{flags:?}");
    }
}

#[test]
fn statistics_include_the_sampling_parameters() {
    let (_folder, model) = recommending(&[("temp", 0.5_f32.into()), ("top_k", 20_i32.into())]);
    for (flags, expected) in [
        (&[][..], "sampling     temperature 0.5, top_k 20\n"),
        (&["--temperature", "0.25"], "sampling     temperature 0.25, top_k 20\n"),
        (&["--greedy"], "sampling     greedy\n"),
    ] {
        let stderr = generate(&model, flags).args(["--stats"]).success().stderr;
        assert!(stderr.contains(expected), "{flags:?}: {stderr}");
    }
}

#[test]
fn dry_is_recommended_and_overridden() {
    let (_folder, model) = recommending(&[
        ("temp", 0.0_f32.into()),
        ("top_k", 1_i32.into()),
        ("dry_multiplier", 100.0_f32.into()),
        ("dry_allowed_length", 1_i32.into()),
    ]);
    let found = generate(&model, &["--stats"]).success();
    assert_ne!(found.stdout, golden());
    let shown = "greedy, top_k 1, dry_multiplier 100, dry_allowed_length 1\n";
    assert!(found.stderr.contains(shown), "{}", found.stderr);
    let same = ["--dry-multiplier", "100", "--dry-allowed-length", "1", "--dry-base", "1.75"];
    let options = [&["--greedy"][..], &same].concat();
    assert_eq!(generate(&crate::support::model(), &options).success().stdout, found.stdout);
    for flags in [["--dry-multiplier", "0"], ["--dry-penalty-last-n", "0"]] {
        assert_eq!(generate(&model, &flags).success().stdout, golden(), "{flags:?}");
    }
    let refused = generate(&model, &["--dry-base", "0.5"]).failure(2).stderr;
    assert!(refused.contains("--dry-base must be 1 or more, but is 0.5"), "{refused}");
}

#[test]
fn sequence_breakers_are_strings_with_escape_sequences() {
    let dry = |breakers: &[&str]| {
        let flags = ["--greedy", "--dry-multiplier", "100", "--dry-allowed-length", "1"];
        generate(&model(), &[&flags[..], breakers].concat()).success().stdout
    };
    let default =
        ["\\n", ":", "\"", "*"].map(|breaker| ["--dry-sequence-breaker", breaker]).concat();
    assert_eq!(dry(&default), dry(&[]));
    // Tokens that contain a breaker are not penalized.
    let text = golden();
    let letters: BTreeSet<_> = text.trim_end().chars().map(String::from).collect();
    let all: Vec<_> =
        letters.iter().flat_map(|letter| ["--dry-sequence-breaker", letter.as_str()]).collect();
    assert_eq!(dry(&all), text);
    assert_ne!(dry(&["--dry-sequence-breaker", "none"]), golden());
}

#[test]
fn an_invalid_recommendation_is_rejected_with_its_key() {
    let (_folder, model) = recommending(&[("top_p", 1.5_f32.into())]);
    let refused = generate(&model, &[]).failure(1).stderr;
    let expected =
        "recommends 1.5 in its key general.sampling.top_p, expected above 0 and at most 1";
    assert!(refused.contains(expected) && refused.contains("\nhint: --greedy"), "{refused}");
    assert_eq!(generate(&model, &["--greedy"]).success().stdout, golden());
}

#[test]
fn unsupported_recommendations_are_reported() {
    let (_folder, model) = recommending(&[("mirostat", 2_i32.into())]);
    let note = "note: ignoring sampling recommendations of the model file that are not supported: general.sampling.mirostat\n";
    assert_eq!(generate(&model, &[]).success().stderr, note);
    assert_eq!(generate(&model, &["--greedy"]).success().stderr, "");
}
