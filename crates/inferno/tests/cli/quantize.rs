//! `inferno quantize`.

use std::fs;
use std::path::Path;

use crate::support::{Run, expected, fixture, model};
use inferno_gguf::{GgmlType, Gguf};

fn quantize(input: &Path, output: &Path, recipe: &str) -> Run {
    Run::inferno().args(["quantize"]).args([input, output]).args(["--type", recipe])
}

#[test]
fn every_format_loads_and_generates() {
    let folder = tempfile::tempdir().unwrap();
    for recipe in inferno::Recipe::names() {
        let output = folder.path().join(format!("{recipe}.gguf"));
        let matrix = fixture("imatrix/llama-cpp.gguf");
        let run = quantize(&model(), &output, recipe);
        let run = match recipe.starts_with("iq") {
            true => run.args(["--imatrix"]).args([matrix]),
            false => run,
        };
        assert_eq!(run.success().stdout, "");
        let gguf = Gguf::open(&output).unwrap();
        let recipe: inferno::Recipe = recipe.parse().unwrap();
        assert_eq!(
            gguf.metadata().required::<u32>("general.file_type").unwrap(),
            recipe.file_type()
        );
        assert_eq!(gguf.metadata().required::<u32>("general.quantization_version").unwrap(), 2);
        let norms = gguf.tensors().iter().filter(|info| info.dims().len() == 1);
        assert!(norms.into_iter().all(|info| info.ggml_type() == GgmlType::F32));
        let run = Run::inferno().args(["generate", "--greedy", "-n", "4", "-m"]).args([&output]);
        let outcome = run.args(["Once"]).success();
        // Formats of one or two levels only suit models that were trained for them.
        if !["tq1_0", "tq2_0", "q1_0"].contains(&recipe.name()) {
            assert_eq!(outcome.stdout.trim_end_matches('\n').len(), 4);
        }
    }
}

#[test]
fn q8_0_generates_the_text_of_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("q8_0.gguf");
    quantize(&model(), &output, "q8_0").success();
    let run = Run::inferno().args(["generate", "--greedy", "-n", "6", "-m"]).args([&output]);
    let text = run.args(["Once upon a time"]).success().stdout;
    assert_eq!(text.trim_end(), &expected()["greedy_text"].as_str().unwrap()[..6]);
}

#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["1", "3"].map(|threads| {
        let output = folder.path().join(threads);
        quantize(&model(), &output, "q4_k_m").args(["--threads", threads]).success();
        fs::read(output).unwrap()
    });
    assert!(files[0] == files[1]);
}

#[test]
fn fallback_formats_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = quantize(&model(), &folder.path().join("out.gguf"), "q4_k_m").success();
    // Rows of 64 values are not a multiple of 256; those of the down projections are.
    let expected = "as Q5_0 instead of Q4_K: rows are not a multiple of the Q4_K block length";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    let gguf = Gguf::open(folder.path().join("out.gguf")).unwrap();
    assert_eq!(gguf.tensor("blk.1.ffn_down.weight").unwrap().ggml_type(), GgmlType::Q6_K);
    assert_eq!(gguf.tensor("blk.0.attn_q.weight").unwrap().ggml_type(), GgmlType::Q5_0);
}

#[test]
fn shards_become_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.gguf");
    let shards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-gguf/tests/fixtures");
    let first = shards.join("split-00001-of-00003.gguf");
    quantize(&first, &output, "f32").success();
    let (input, output) = (Gguf::open(first).unwrap(), Gguf::open(output).unwrap());
    assert_eq!(output.num_shards(), 1);
    assert!(!output.metadata().contains("split.count"));
    let names =
        |gguf: &Gguf| gguf.tensors().iter().map(|info| info.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&output), names(&input));
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.gguf");
    fs::write(&output, "precious").unwrap();
    let refused = quantize(&model(), &output, "q8_0").failure(1);
    assert!(
        refused.stderr.contains("out.gguf exists; choose another name, or pass --force"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_to_string(&output).unwrap(), "precious");
    quantize(&model(), &output, "q8_0").args(["--force"]).success();
    Gguf::open(&output).unwrap();

    let own = folder.path().join("own.gguf");
    fs::copy(fixture("qwen3.gguf"), &own).unwrap();
    let refused = quantize(&own, &own, "q8_0").args(["--force"]).failure(2);
    assert!(refused.stderr.contains("is the model file itself"), "{}", refused.stderr);
    Gguf::open(&own).unwrap();
}

#[test]
fn a_directory_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let refused = quantize(&model(), folder.path(), "q8_0").args(["--force"]).failure(2);
    assert!(refused.stderr.contains("is not a regular file"), "{}", refused.stderr);
}

#[cfg(unix)]
#[test]
fn a_link_to_the_output_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (output, link) = (folder.path().join("out.gguf"), folder.path().join("link.gguf"));
    fs::write(&output, "old").unwrap();
    std::os::unix::fs::symlink(&output, &link).unwrap();
    quantize(&model(), &link, "q8_0").args(["--force"]).success();
    assert!(link.is_symlink());
    Gguf::open(&output).unwrap();
}

#[test]
fn requantizing_must_be_allowed_explicitly() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("q8_0.gguf"), folder.path().join("q4_0.gguf"));
    quantize(&model(), &first, "q8_0").success();
    let refused = quantize(&first, &second, "q4_0").failure(1);
    assert!(refused.stderr.contains("is already quantized to Q8_0"), "{}", refused.stderr);
    assert!(!second.exists());
    quantize(&first, &second, "q4_0").args(["--allow-requantize"]).success();
    // Expanding is lossless and always allowed.
    quantize(&first, &folder.path().join("f32.gguf"), "f32").success();
}

#[test]
fn the_type_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.gguf");
    let missing = Run::inferno().args(["quantize"]).args([&model(), &output]).failure(2);
    assert!(
        missing.stderr.contains("no format specified; pass it after OUT"),
        "{}",
        missing.stderr
    );
    quantize(&model(), &output, "q9_9").failure(2);
}

#[test]
fn an_output_that_cannot_be_written_is_rejected_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("missing/out.gguf");
    let refused = Run::inferno().args(["quantize"]).args([&model(), &output]).args(["q8_0"]);
    let stderr = refused.failure(1).stderr;
    let message = format!("error: cannot write {}: the directory", output.display());
    assert!(stderr.starts_with(&message), "{stderr}");
}

/// Writes a checkpoint in half precision with a single weight that is too large for it, in a tensor of another type.
fn write_large_weight(folder: &Path) {
    let fixture =
        format!("{}/../inferno-convert/tests/fixtures/qwen3-judge", env!("CARGO_MANIFEST_DIR"));
    for file in fs::read_dir(fixture).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: serde_json::Value = serde_json::from_slice(&bytes[8..start]).unwrap();
    let tensor = &mut header["model.layers.0.mlp.down_proj.weight"];
    tensor["dtype"] = "BF16".into();
    let first = tensor["data_offsets"][0].as_u64().unwrap() as usize;
    let mut payloads = bytes[start..].to_vec();
    // 2^16
    payloads[first..first + 2].copy_from_slice(&0x4780_u16.to_le_bytes());
    let header = header.to_string();
    let len = (header.len() as u64).to_le_bytes();
    fs::write(path, [&len[..], header.as_bytes(), &payloads].concat()).unwrap();
}

#[test]
fn weights_of_checkpoints_are_read_only_when_they_are_needed_and_may_not_become_infinite() {
    let folder = tempfile::tempdir().unwrap();
    let (checkpoint, output) = (folder.path().join("model"), folder.path().join("f16.gguf"));
    fs::create_dir(&checkpoint).unwrap();
    write_large_weight(&checkpoint);
    let run = |command: &str| Run::inferno().args([command]).args([&checkpoint]);
    run("inspect").success();
    Run::inferno().args(["tokenize", "-m"]).args([&checkpoint]).args(["a"]).success();
    let message = "tensor \"blk.0.ffn_down.weight\" has the value 65536.0, which is too large for F16; \
                   convert to BF16 or F32 instead";
    let rank = Run::inferno().args(["embed", "-m"]).args([&checkpoint]).args(["--query", "a", "b"]);
    let conversion = || run("convert").args([&output]);
    for run in [rank, conversion(), conversion().args(["--type", "f16"])] {
        let stderr = run.failure(1).stderr;
        assert!(stderr.contains(message), "{stderr}");
    }
    assert!(!output.exists());
    conversion().args(["--type", "bf16"]).success();
}
