//! `inferno inspect`, `gguf-inspect`, `inferno completions` and the help.

use std::path::Path;

use crate::support::hub_server::HubServer;
use crate::support::{Run, fixture, model, oracle};

fn inspect(flags: &[&str]) -> Run {
    Run::inferno()
        .args(["inspect", "tests/fixtures/qwen3.gguf"])
        .args(flags)
        .current_dir(env!("CARGO_MANIFEST_DIR").as_ref())
}

#[test]
fn a_file_is_summarized() {
    insta::assert_snapshot!(inspect(&[]).success().stdout);
}

#[test]
fn tensors_are_listed_with_type_shape_size_and_offset() {
    let listed = inspect(&["--tensors"]).success().stdout;
    let own = Run::program(env!("CARGO_BIN_EXE_gguf-inspect"))
        .args(["tests/fixtures/qwen3.gguf"])
        .current_dir(env!("CARGO_MANIFEST_DIR").as_ref());
    assert_eq!(own.success().stdout, listed);
    let (_, tensors) = listed.split_once("\ntensors ").unwrap();
    insta::assert_snapshot!(tensors);
}

#[test]
fn unsupported_types_are_listed() {
    let path = "../inferno-gguf/tests/fixtures/tensor-types.gguf";
    let run = Run::inferno().args(["inspect", "--tensors", path]);
    let stdout = run.current_dir(env!("CARGO_MANIFEST_DIR").as_ref()).success().stdout;
    let line =
        stdout.lines().find(|line| line.contains(" F64 ") && line.ends_with("not supported"));
    assert!(line.is_some(), "{stdout}");
}

#[test]
fn json_contains_the_summary_and_the_tensors() {
    let document: serde_json::Value =
        serde_json::from_str(&inspect(&["--json", "--tensors"]).success().stdout).unwrap();
    assert_eq!(document["architecture"], "qwen3");
    assert_eq!(document["shape"]["context_length"], 256);
    assert_eq!(document["metadata"]["qwen3.attention.layer_norm_rms_epsilon"], 1e-6);
    assert_eq!(document["metadata"]["tokenizer.ggml.tokens"]["length"], 260);
    let bytes: u64 =
        document["tensors"].as_array().unwrap().iter().map(|t| t["bytes"].as_u64().unwrap()).sum();
    assert_eq!(
        document["types"]["F16"]["bytes"].as_u64().unwrap()
            + document["types"]["F32"]["bytes"].as_u64().unwrap(),
        bytes
    );
}

#[test]
fn a_metadata_value_is_printed_completely() {
    assert_eq!(inspect(&["--metadata", "general.name"]).success().stdout, "tiny random qwen3\n");
    let tokens = inspect(&["--metadata", "tokenizer.ggml.tokens"]).success().stdout;
    assert_eq!(serde_json::from_str::<Vec<String>>(&tokens).unwrap().len(), 260);
    let missing = inspect(&["--metadata", "head_count"]).failure(1);
    assert!(
        missing.stderr.contains("similar keys:\n  qwen3.attention.head_count\n"),
        "{}",
        missing.stderr
    );
}

#[test]
fn tensor_statistics_match_numpy() {
    let Some(model) = oracle("models/stories260K.gguf") else {
        return;
    };
    let run =
        Run::inferno().args(["inspect", "--json", "--tensor", "blk.0.attn_q.weight"]).args([model]);
    let found: serde_json::Value = serde_json::from_str(&run.success().stdout).unwrap();
    // From the file, with numpy.
    for (key, expected) in [
        ("min", -1.5936817),
        ("max", 1.2301071),
        ("mean", -0.005_817_339),
        ("standard_deviation", 0.236_027_29),
    ] {
        assert!((found[key].as_f64().unwrap() - expected).abs() < 1e-6, "{key}: {found}");
    }
    let missing = inspect(&["--tensor", "blk.9.attn_q.weight"]).failure(1);
    assert!(
        missing.stderr.contains("the file has no tensor \"blk.9.attn_q.weight\""),
        "{}",
        missing.stderr
    );
}

#[test]
fn an_invalid_file_is_rejected_with_name_and_offset() {
    let refused = Run::inferno().args(["inspect"]).args([fixture("qwen3.json")]).failure(1);
    assert!(refused.stderr.contains("qwen3.json: not a GGUF file"), "{}", refused.stderr);
    assert!(refused.stderr.contains("it looks like a JSON document"), "{}", refused.stderr);
    let missing = Run::inferno().args(["inspect", "missing.gguf"]).failure(1);
    assert!(missing.stderr.starts_with("error: missing.gguf: "), "{}", missing.stderr);
}

#[test]
fn a_truncated_file_is_rejected_with_both_sizes() {
    let bytes = std::fs::read(model()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.gguf");
    std::fs::write(&path, &bytes[..bytes.len() - 1000]).unwrap();
    let inspect = || Run::inferno().args(["inspect"]).args([&path]);
    let stderr = inspect().failure(1).stderr;
    let sizes = format!("expected {} bytes, found {}", bytes.len(), bytes.len() - 1000);
    assert!(stderr.contains("part.gguf: the file is truncated: "), "{stderr}");
    assert!(stderr.contains(&sizes) && stderr.contains("download the file again"), "{stderr}");
    // In the header, some of these cuts are in the middle of the vocabulary.
    for length in [100, 1000, 2000, 4000] {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let stderr = inspect().failure(1).stderr;
        assert!(stderr.contains("the file is truncated"), "{stderr}");
        assert!(stderr.contains("download the file again"), "{stderr}");
    }
}

const COMMANDS: [&str; 12] = [
    "generate",
    "chat",
    "bench",
    "serve",
    "inspect",
    "tokenize",
    "template",
    "logits",
    "perplexity",
    "quantize",
    "pull",
    "completions",
];

#[test]
fn every_command_has_help_with_examples() {
    for command in COMMANDS {
        let help = Run::inferno().args([command, "--help"]).success().stdout;
        assert!(help.contains("\nExamples:\n  "), "{command}: {help}");
        assert_eq!(help.matches("INFERNO_").count(), 1, "{command}: {help}");
    }
}

#[test]
fn help_fits_the_width_of_the_terminal() {
    let commands = COMMANDS.map(|command| vec![command]);
    for command in commands.into_iter().chain([vec![], vec!["bench", "serve"]]) {
        for flag in ["-h", "--help"] {
            let run = Run::inferno().args(&command).args([flag]).env("COLUMNS", "80");
            let help = run.success().stdout;
            let long = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(long, None, "{command:?}");
            let examples = help.split("\nExamples:\n").nth(1).unwrap_or_default();
            let examples = examples.split("\n\n").next().unwrap_or_default();
            let starts = ["  inferno ", "  echo ", "    "];
            let wrapped =
                examples.lines().find(|line| !starts.iter().any(|start| line.starts_with(start)));
            assert_eq!(wrapped, None, "{command:?}");
        }
    }
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = Run::inferno().args(["completions", shell]).success().stdout;
        assert!(script.contains("max-tokens") && script.contains("quantize"), "{shell}");
    }
    Run::inferno().args(["completions", "cmd"]).failure(2);
}

#[test]
fn a_model_can_be_inspected_by_hub_reference() {
    let server = HubServer::start("o/m", &[("m.gguf", &std::fs::read(model()).unwrap())]);
    let cache = tempfile::tempdir().unwrap();
    let run = || {
        let run =
            Run::inferno().env("HF_ENDPOINT", server.endpoint()).env("HF_HUB_CACHE", cache.path());
        run.args(["inspect", "--metadata", "general.name", "hf:o/m:m.gguf"])
    };
    assert_eq!(run().success().stdout, "tiny random qwen3\n");
    assert_eq!(server.downloads(), ["/cdn/m.gguf bytes=0-"]);
    assert_eq!(run().success().stdout, "tiny random qwen3\n");
    assert_eq!(server.requests(), [""; 0]);
}

#[test]
fn no_file_sends_control_characters_to_the_terminal() {
    use inferno_gguf::{GgmlType, GgufWriter, Metadata};
    let mut metadata = Metadata::new();
    metadata.insert("general.name", "a\x1b[2J\r\nb\tc");
    metadata.insert("general.\x1b[31m", 1_u32);
    let mut writer = GgufWriter::new(&metadata).unwrap();
    writer.add_tensor("\x1b[0mw", &[2], GgmlType::F32).unwrap();
    let mut payloads = writer.in_memory();
    payloads.write_tensor("\x1b[0mw", &[0; 8]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, payloads.finish().unwrap()).unwrap();

    let inspect = |flags: &[&str]| {
        let run = Run::inferno().args(["inspect"]).args([&path]).args(flags);
        run.outcome()
    };
    for flags in [
        &["--tensors"][..],
        &["--metadata", "general.name"],
        &["--metadata", "general."],
        &["--metadata", "\x1b"],
        &["--tensor", "\x1b[0mw"],
        &["--tensor", "\x1b[0mv"],
    ] {
        let outcome = inspect(flags);
        let printed = outcome.stdout + &outcome.stderr;
        let is_steering = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!printed.contains(is_steering), "{flags:?}: {printed:?}");
    }
    let whole = inspect(&["--metadata", "general.name"]);
    assert_eq!(whole.stdout, "a\\u{1b}[2J\\r\nb\tc\n");
    let exact = inspect(&["--metadata", "general.name", "--json"]);
    let exact: String = serde_json::from_str(&exact.stdout).unwrap();
    assert_eq!(exact, "a\x1b[2J\r\nb\tc");
}

#[test]
fn floats_in_json_have_the_shortest_form() {
    let printed = inspect(&["--json", "--tensor", "blk.0.attn_q.weight"]);
    let document: serde_json::Value = serde_json::from_str(&printed.success().stdout).unwrap();
    for key in ["min", "max"] {
        let text = document[key].to_string();
        let value: f32 = text.parse().unwrap();
        assert_eq!(text.trim_start_matches('-').len(), value.abs().to_string().len(), "{text}");
    }
    let first = document["first"].as_array().unwrap();
    assert!(
        first.iter().all(|value| value.to_string().len() <= "-0.0123456789".len()),
        "{first:?}"
    );
}

#[test]
fn a_checkpoint_in_a_folder_is_no_version_of_gguf() {
    let run = Run::inferno().args(["inspect", "../inferno-convert/tests/fixtures/qwen3moe"]);
    let stdout = run.current_dir(env!("CARGO_MANIFEST_DIR").as_ref()).success().stdout;
    assert!(stdout.contains("qwen3moe") && !stdout.contains("GGUF"), "{stdout}");
}

#[test]
fn a_file_of_a_checkpoint_opens_the_checkpoint() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-convert/tests/fixtures/qwen3moe");
    let inspect = |path: &Path| Run::inferno().args(["inspect"]).args([path]).success().stdout;
    let expected = inspect(&folder);
    let output = tempfile::tempdir().unwrap();
    for part in ["model.safetensors", "config.json"] {
        let part_path = folder.join(part);
        let text = Run::inferno().args(["perplexity"]).args([&part_path]).failure(2).stderr;
        assert!(text.contains("is a model, but is used as the text"), "{text}");
        let converted = output.path().join(format!("{part}.gguf"));
        Run::inferno().args(["convert"]).args([part_path, converted]).success();
        assert_eq!(inspect(&folder.join(part)), expected, "{part}");
    }
    // Without the rest of the checkpoint.
    let other = tempfile::tempdir().unwrap();
    let alone = other.path().join("model.safetensors");
    std::fs::copy(folder.join("model.safetensors"), &alone).unwrap();
    let stderr = Run::inferno().args(["inspect"]).args([&alone]).failure(1).stderr;
    assert!(
        stderr.contains("a safetensors file; specify the folder of the checkpoint"),
        "{stderr}"
    );
}
