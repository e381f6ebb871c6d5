//! `inferno imatrix`, and `inferno quantize --imatrix`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, expected, fixture, model};
use inferno::ImportanceMatrix;
use inferno_gguf::{GgmlType, Gguf, GgufWriter, Metadata};

/// Tokens of a chunk of the fixtures.
const CHUNK: &str = "64";

fn statistics(name: &str) -> PathBuf {
    fixture("imatrix").join(name)
}

fn open(path: &Path) -> ImportanceMatrix {
    ImportanceMatrix::open(path, 64).expect("an importance matrix")
}

/// Writes the calibration text of the fixtures.
fn text(folder: &Path) -> PathBuf {
    let path = folder.join("calibration.txt");
    fs::write(&path, expected()["text"].as_str().expect("a text")).expect("the folder is writable");
    path
}

/// A run that writes `imatrix.gguf` in the folder of the text.
fn imatrix(model: &Path, text: &Path) -> Run {
    let run = Run::inferno().args(["imatrix", "-c", CHUNK, "-f"]).args([text]);
    run.args(["-m"]).args([model]).current_dir(text.parent().expect("a folder"))
}

/// Asserts equal counts, and means that differ by at most `bound` of the largest one of the tensor.
fn assert_close(found: &ImportanceMatrix, expected: &ImportanceMatrix, bound: f32) {
    let names = |matrix: &ImportanceMatrix| {
        matrix.entries().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(found), names(expected));
    for (name, expected) in expected.entries() {
        let entry = found.entry(name).expect("the names are equal");
        assert_eq!(entry.counts(), expected.counts(), "{name}");
        let (found, expected) = (entry.mean_squares(), expected.mean_squares());
        let largest = expected.iter().copied().fold(0.0, f32::max);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() <= bound * largest, "{name}: {found} {expected}");
        }
    }
}

#[test]
fn the_statistics_are_those_of_transformers() {
    for (model, expected) in
        [(model(), "qwen3.gguf"), (statistics("qwen3moe-model.gguf"), "qwen3moe.gguf")]
    {
        let folder = tempfile::tempdir().unwrap();
        let run = imatrix(&model, &text(folder.path()));
        run.args(["--backend", "reference", "--kv-dtype", "f32"]).success();
        let exact = open(&folder.path().join("imatrix.gguf"));
        assert_close(&exact, &open(&statistics(expected)), 1e-5);
        assert_eq!(exact.chunk_size(), 64);
        assert_eq!(exact.num_chunks(), 5);

        // The default backend rounds keys, values and activations.
        let run = imatrix(&model, &text(folder.path()));
        let outcome = run.args(["--force"]).success();
        assert_close(&open(&folder.path().join("imatrix.gguf")), &exact, 2e-3);
        assert!(outcome.stderr.contains("5 chunks of 64 tokens"), "{}", outcome.stderr);
    }
}

#[test]
fn files_of_llama_cpp_are_read_in_both_formats() {
    let expected = open(&statistics("qwen3.gguf"));
    for name in ["llama-cpp.gguf", "llama-cpp.dat", "qwen3.dat"] {
        let found = open(&statistics(name));
        assert_close(&found, &expected, 1e-3);
        assert_eq!(found.datasets(), ["calibration.txt"], "{name}");
        assert_eq!(found.num_chunks(), 5, "{name}");
    }
}

#[test]
fn the_keys_and_tensors_of_the_file_are_those_of_llama_cpp() {
    let folder = tempfile::tempdir().unwrap();
    let text = text(folder.path());
    let run = Run::inferno().args(["imatrix", "-c", CHUNK, "-f", "calibration.txt", "-m"]);
    run.args([model()]).current_dir(text.parent().unwrap()).success();
    let [found, expected] = [folder.path().join("imatrix.gguf"), statistics("llama-cpp.gguf")]
        .map(|path| Gguf::open(path).expect("a GGUF file"));
    let entries = |gguf: &Gguf| {
        let entries = gguf.metadata().iter();
        let mut entries: Vec<_> = entries.map(|(key, value)| format!("{key} {value:?}")).collect();
        entries.sort();
        entries
    };
    assert_eq!(entries(&found), entries(&expected));
    let tensors = |gguf: &Gguf| {
        let tensors = gguf.tensors().iter();
        tensors.map(|info| (info.name().to_owned(), info.dims().to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(tensors(&found), tensors(&expected));
}

#[test]
fn the_former_format_of_llama_cpp_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::inferno().args(["imatrix", "-c", CHUNK, "--output-format", "dat", "--in-file"]);
    run.args([statistics("llama-cpp.gguf")]).current_dir(folder.path()).success();
    let [found, expected] = [folder.path().join("imatrix.dat"), statistics("llama-cpp.dat")]
        .map(|path| fs::read(path).expect("a file"));
    assert_eq!(found.len(), expected.len());
    // All but the values are equal, and those are within the rounding of a division.
    for (found, expected) in found.as_chunks::<4>().0.iter().zip(expected.as_chunks::<4>().0) {
        let [found, expected] = [found, expected].map(|bytes| i32::from_le_bytes(*bytes));
        assert!((found - expected).abs() <= 2, "{found:x} {expected:x}");
    }

    // Experts without inputs get ones.
    let run = Run::inferno().args(["imatrix", "-c", CHUNK, "--output-format", "dat", "--in-file"]);
    run.args([statistics("qwen3moe.gguf")]).args(["--force"]).current_dir(folder.path()).success();
    let [found, expected] =
        [folder.path().join("imatrix.dat"), statistics("qwen3moe.gguf")].map(|path| open(&path));
    for (name, entry) in expected.entries() {
        let (found, expected) = (found.entry(name).unwrap().mean_squares(), entry.mean_squares());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-6 * expected, "{name}: {found} {expected}");
        }
    }
}

/// The cells of each row of tables that begins with a number, without units.
fn cells(table: &str, separator: char) -> Vec<Vec<String>> {
    let rows = table.lines().map(|line| {
        let cells = line.trim_matches('|').split(separator);
        cells.map(|cell| cell.trim().trim_end_matches('%').to_owned()).collect::<Vec<_>>()
    });
    rows.filter(|cells| cells.len() > 1 && cells[0].parse::<u32>().is_ok()).collect()
}

#[test]
fn the_statistics_shown_are_those_of_llama_cpp() {
    for model in ["llama-cpp", "qwen3moe"] {
        let expected =
            fs::read_to_string(statistics(&format!("{model}-statistics.txt"))).expect("a fixture");
        let run = Run::inferno().args(["imatrix", "--show-statistics", "--in-file"]);
        let outcome = run.args([statistics(&format!("{model}.gguf"))]).success();
        let (found, expected) = (cells(&outcome.stdout, '|'), cells(&expected, '\t'));
        assert!(expected.len() > 15);
        assert_eq!(found.len(), expected.len(), "{}", outcome.stdout);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
            for (found, expected) in found.iter().zip(expected) {
                let Ok(number) = expected.parse::<f64>() else {
                    assert_eq!(found, expected);
                    continue;
                };
                // Both are rounded, the expected ones of single-precision sums.
                let decimals = expected.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                let step = 0.1f64.powi(decimals as i32);
                let difference = (found.parse::<f64>().expect("a number") - number).abs();
                assert!(difference < 1.5 * step + 1e-5 * number, "{found} {expected}");
            }
        }
    }
    let run = Run::inferno().args(["imatrix", "--show-statistics"]).failure(2);
    assert!(run.stderr.contains("--in-file"), "{}", run.stderr);
}

#[test]
fn matrices_are_combined() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("both.gguf");
    let run = Run::inferno().args(["imatrix", "-c", CHUNK, "-o"]).args([&output]);
    let files = [statistics("qwen3.gguf"), statistics("qwen3.dat")];
    run.args(files.iter().flat_map(|file| [Path::new("--in-file"), file])).success();
    let (both, one) = (open(&output), open(&statistics("qwen3.gguf")));
    assert_eq!(both.num_chunks(), 10);
    for (name, entry) in one.entries() {
        let found = both.entry(name).expect("every tensor");
        assert_eq!(found.counts(), [2 * entry.counts()[0]]);
        for (found, expected) in found.mean_squares().iter().zip(entry.mean_squares()) {
            assert!((found - expected).abs() <= 1e-5 * expected, "{name}: {found} {expected}");
        }
    }

    // A text is added to them.
    let text = text(folder.path());
    imatrix(&model(), &text).args(["--in-file"]).args([&output]).success();
    assert_eq!(open(&folder.path().join("imatrix.gguf")).num_chunks(), 15);
}

#[test]
fn chunks_are_limited_skipped_and_saved_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let run = imatrix(&model(), &text(folder.path()));
    run.args(["--from-chunk", "1", "--chunks", "3", "--save-frequency", "2"]).success();
    assert_eq!(open(&folder.path().join("imatrix.gguf")).num_chunks(), 3);
    assert_eq!(open(&folder.path().join("imatrix.gguf.at_2")).num_chunks(), 2);
    fs::remove_file(folder.path().join("imatrix.gguf")).unwrap();
    let run = imatrix(&model(), &text(folder.path())).args(["--save-frequency", "1"]);
    let stderr = run.failure(1).stderr;
    assert!(stderr.contains("imatrix.gguf.at_2 exists"), "{stderr}");
    let run = imatrix(&model(), &text(folder.path())).args(["--force", "--chunks", "-1"]);
    run.args(["--chunk", "2"]).success();
    assert_eq!(open(&folder.path().join("imatrix.gguf")).num_chunks(), 3);
}

#[test]
fn the_output_head_is_collected_on_request() {
    let folder = tempfile::tempdir().unwrap();
    imatrix(&model(), &text(folder.path())).args(["--process-output"]).success();
    let matrix = open(&folder.path().join("imatrix.gguf"));
    assert_eq!(matrix.entry("output.weight").expect("the head").counts(), [320]);
    assert_eq!(matrix.entries().len(), 15);
    let tied = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/ember.gguf");
    let run = imatrix(&tied, &text(folder.path())).args(["--process-output", "--force"]);
    let stderr = run.args(["--chunks", "1"]).success().stderr;
    assert!(stderr.contains("--process-output has no effect"), "{stderr}");
}

#[test]
fn foreign_and_damaged_files_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged");
    let fails_with = |path: &Path, expected: &str| {
        let output = folder.path().join("out.gguf");
        let run = Run::inferno().args(["imatrix", "-o"]).args([&output]).args(["--in-file"]);
        let stderr = run.args([path]).failure(1).stderr;
        assert!(stderr.contains(expected), "{stderr}");
        assert!(stderr.contains(path.to_str().unwrap()), "{stderr}");
        assert!(!output.exists());
    };
    fails_with(&model(), "not an importance matrix: a GGUF file of type");
    fails_with(folder.path(), "is not a regular file");
    fails_with(&folder.path().join("missing"), "No such file");
    for (bytes, expected) in [
        (&b"Once upon a time there was a text."[..], "neither GGUF nor an importance matrix"),
        (&[][..], "it ends before the number of entries"),
        (&[0; 4][..], "it has no entries"),
        (&[255; 64][..], "the number of entries is -1"),
    ] {
        fs::write(&damaged, bytes).unwrap();
        fails_with(&damaged, expected);
    }
    let legacy = fs::read(statistics("qwen3.dat")).unwrap();
    fs::write(&damaged, &legacy[..legacy.len() / 2]).unwrap();
    fails_with(&damaged, "it ends before");
    let gguf = fs::read(statistics("qwen3.gguf")).unwrap();
    fs::write(&damaged, &gguf[..gguf.len() - 100]).unwrap();
    fails_with(&damaged, "damaged");
    // The sign of the last number, which is a count.
    let mut negative = gguf.clone();
    let last = negative.iter().rposition(|&byte| byte != 0).unwrap();
    negative[last] |= 0x80;
    fs::write(&damaged, negative).unwrap();
    fails_with(&damaged, "invalid value -");
    let name = b"ffn_up.weight.counts";
    let at = gguf.windows(name.len()).position(|window| window == name).unwrap();
    let mut unpaired = gguf;
    unpaired[at] = b'x';
    fs::write(&damaged, unpaired).unwrap();
    fails_with(&damaged, "is missing");
}

#[test]
fn mistakes_are_reported_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let text = text(folder.path());
    let nothing = Run::inferno().args(["imatrix", "-m"]).args([model()]).failure(2);
    assert!(nothing.stderr.contains("no calibration text specified"), "{}", nothing.stderr);
    let short = Run::inferno().args(["imatrix", "-c", "256", "--from-chunk", "1", "-f"]);
    let short = short.args([&text]).args(["-m"]).args([model()]).current_dir(folder.path());
    let stderr = short.failure(1).stderr;
    assert!(stderr.contains("fewer than one chunk of 256"), "{stderr}");
    fs::write(folder.path().join("imatrix.gguf"), "precious").unwrap();
    let stderr = imatrix(&model(), &text).failure(1).stderr;
    assert!(stderr.contains("imatrix.gguf exists"), "{stderr}");
    // The statistics of another model.
    let run = imatrix(&statistics("qwen3moe-model.gguf"), &text).args(["--force", "--in-file"]);
    let stderr = run.args([statistics("qwen3.gguf")]).failure(1).stderr;
    assert!(stderr.contains("both must be of the same model"), "{stderr}");
}

#[test]
fn inputs_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let text = text(folder.path());
    let copy = folder.path().join("copy.gguf");
    fs::copy(model(), &copy).unwrap();
    let (model_bytes, text_bytes) = (fs::read(&copy).unwrap(), fs::read(&text).unwrap());
    for (output, message) in [
        (copy.as_path(), "is the model file itself"),
        (&text, "is also an input of this command"),
        (Path::new("-"), "cannot be written to standard output"),
    ] {
        let run = imatrix(&copy, &text).args(["--force", "-o"]).args([output]);
        let stderr = run.failure(2).stderr;
        assert!(stderr.contains(message), "{stderr}");
    }
    assert!(fs::read(&copy).unwrap() == model_bytes && fs::read(&text).unwrap() == text_bytes);
    assert!(!folder.path().join("-").exists());
}

fn quantize(input: &Path, output: &Path, recipe: &str) -> Run {
    Run::inferno().args(["quantize", "--force"]).args([input, output]).args([recipe])
}

#[test]
fn formats_below_three_bits_need_an_importance_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.gguf");
    for recipe in ["iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m"] {
        let stderr = quantize(&model(), &output, recipe).failure(2).stderr;
        assert!(stderr.contains("needs an importance matrix"), "{stderr}");
        assert!(stderr.contains("create one with inferno imatrix"), "{stderr}");
        assert!(!output.exists());
        let run = quantize(&model(), &output, recipe).args(["--imatrix"]);
        run.args([statistics("llama-cpp.gguf")]).success();
        let gguf = Gguf::open(&output).unwrap();
        let number = |key: &str| gguf.metadata().required::<u32>(key).unwrap();
        assert_eq!(number("quantize.imatrix.entries_count"), 14);
        assert_eq!(number("quantize.imatrix.chunks_count"), 5);
        let dataset: &str = gguf.metadata().required("quantize.imatrix.dataset").unwrap();
        assert_eq!(dataset, "calibration.txt");
        // The only rows of 256 values.
        let down = gguf.tensor("blk.1.ffn_down.weight").unwrap().ggml_type();
        let expected = match recipe {
            "iq1_s" => GgmlType::IQ1_S,
            "iq1_m" => GgmlType::IQ1_M,
            "iq2_xxs" => GgmlType::IQ2_XXS,
            "iq2_m" => GgmlType::IQ2_S,
            _ => GgmlType::IQ2_XS,
        };
        assert_eq!(down, expected, "{recipe}");
        std::fs::remove_file(&output).unwrap();
    }
}

#[test]
fn the_importance_changes_what_is_written_and_threads_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let written = |threads: &str, matrix: Option<&str>| {
        let output = folder.path().join("out.gguf");
        let mut run = quantize(&model(), &output, "q4_k_m").args(["--threads", threads]);
        if let Some(matrix) = matrix {
            run = run.args(["--imatrix"]).args([statistics(matrix)]);
        }
        run.success();
        let gguf = Gguf::open(&output).unwrap();
        gguf.tensors().iter().map(|info| gguf.data(info).to_vec()).collect::<Vec<_>>()
    };
    let one = written("1", Some("qwen3.gguf"));
    assert!(one == written("3", Some("qwen3.gguf")));
    assert!(one != written("1", None));
}

/// Writes the statistics of the model with other beginnings of the names of tensors.
fn write_renamed(path: &Path, names: &[(&[u8; 6], &[u8; 6])]) {
    let mut bytes = fs::read(statistics("qwen3.gguf")).unwrap();
    for (from, to) in names {
        while let Some(at) = bytes.windows(6).position(|window| window == &from[..]) {
            bytes[at..at + 6].copy_from_slice(&to[..]);
        }
    }
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_matrix_without_any_weight_of_the_model_is_rejected_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let [output, foreign] = ["out.gguf", "foreign.gguf"].map(|name| folder.path().join(name));
    write_renamed(&foreign, &[(b"blk.0.", b"enc.0."), (b"blk.1.", b"enc.1.")]);
    let run = quantize(&model(), &output, "q4_k_m").args(["--imatrix"]).args([&foreign]);
    let stderr = run.failure(1).stderr;
    assert!(stderr.contains("foreign.gguf: the importance matrix has no entry"), "{stderr}");
    assert!(!output.exists());
}

#[test]
fn formats_without_a_choice_of_scales_ignore_a_matrix_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let [output, plain] = ["out.gguf", "plain.gguf"].map(|name| folder.path().join(name));
    let checkpoint =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-convert/tests/fixtures/qwen3moe");
    let matrix = statistics("qwen3moe.gguf");
    for recipe in ["f16", "q8_0"] {
        let convert = |output: &Path| {
            let run = Run::inferno().args(["convert", "--force", "--type", recipe]);
            run.args([checkpoint.as_path(), output])
        };
        convert(&plain).success();
        let stderr = convert(&output).args(["--imatrix"]).args([&matrix]).success().stderr;
        assert!(stderr.contains(&format!("--imatrix has no effect, as {recipe} has")), "{stderr}");
        assert!(fs::read(&output).unwrap() == fs::read(&plain).unwrap(), "{recipe}");
    }
    fs::remove_file(&output).unwrap();
    let run = quantize(&model(), &output, "int8").args(["--imatrix"]);
    assert!(run.args([statistics("qwen3.gguf")]).success().stderr.contains("has no effect"));
}

#[test]
fn importance_matrices_and_standard_output_are_not_quantized() {
    let folder = tempfile::tempdir().unwrap();
    let run = |input: &Path, output: &str, code: i32| {
        let run = Run::inferno().args(["quantize"]).args([input]).args([output, "q8_0"]);
        let stderr = run.current_dir(folder.path()).failure(code).stderr;
        assert!(!folder.path().join(output).exists());
        stderr
    };
    let stderr = run(&statistics("qwen3.gguf"), "out.gguf", 1);
    assert!(stderr.contains("is an importance matrix, not a model"), "{stderr}");
    assert!(run(&model(), "-", 2).contains("name of a file instead of -"));
    let matrix = folder.path().join("matrix.gguf");
    fs::copy(statistics("qwen3.gguf"), &matrix).unwrap();
    let run = quantize(&model(), &matrix, "q4_k_m").args(["--force", "--imatrix"]);
    let stderr = run.args([&matrix]).failure(2).stderr;
    assert!(stderr.contains("is also an input of this command"), "{stderr}");
    assert!(fs::read(&matrix).unwrap() == fs::read(statistics("qwen3.gguf")).unwrap());
}

#[test]
fn embeddings_without_an_entry_are_encoded_as_without_a_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.gguf");
    let written = |matrix: bool| {
        let mut run = quantize(&model(), &output, "q4_0").args(["--pure"]);
        if matrix {
            run = run.args(["--imatrix"]).args([statistics("qwen3.gguf")]);
        }
        run.success();
        let gguf = Gguf::open(&output).unwrap();
        ["token_embd.weight", "blk.0.attn_q.weight"].map(|name| {
            let info = gguf.tensor(name).unwrap();
            assert_eq!(info.ggml_type(), GgmlType::Q4_0);
            gguf.data(info).to_vec()
        })
    };
    let ([embeddings, query], [plain_embeddings, plain_query]) = (written(true), written(false));
    assert!(embeddings == plain_embeddings);
    assert!(query != plain_query);
}

#[test]
fn a_matrix_that_nothing_is_encoded_with_is_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first.gguf", "second.gguf"].map(|name| folder.path().join(name));
    let quantize = |input: &Path, output: &Path| {
        quantize(input, output, "q4_0")
            .args(["--pure"])
            .args(["--imatrix"])
            .args([statistics("qwen3.gguf")])
    };
    quantize(&model(), &first).success();
    // All weights have the format already.
    let stripped = folder.path().join("stripped.gguf");
    without_provenance(&first, &stripped);
    quantize(&stripped, &second).success();
    for (path, expected) in [(&first, true), (&second, false)] {
        let gguf = Gguf::open(path).unwrap();
        let keys = gguf.metadata().iter().filter(|(key, _)| key.starts_with("quantize.imatrix"));
        assert_eq!(keys.count() > 0, expected);
    }
}

/// Copies a file without the keys that describe its importance matrix.
fn without_provenance(path: &Path, copy: &Path) {
    let gguf = Gguf::open(path).unwrap();
    let mut metadata = Metadata::new();
    for (key, value) in gguf.metadata().iter().filter(|(key, _)| !key.starts_with("quantize.")) {
        metadata.insert(key, value.clone());
    }
    let mut writer = GgufWriter::new(&metadata).unwrap();
    for info in gguf.tensors() {
        writer.add_tensor(info.name(), info.dims(), info.ggml_type()).unwrap();
    }
    let mut payloads = writer.create(copy).unwrap();
    for info in gguf.tensors() {
        payloads.append(info.name(), &gguf.data(info)).unwrap();
    }
    payloads.finish().unwrap();
}

#[test]
fn matrices_that_do_not_match_the_model_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.gguf");
    let run = quantize(&model(), &output, "q4_k_m").args(["--imatrix"]);
    let stderr = run.args([statistics("qwen3moe.gguf")]).failure(1).stderr;
    assert!(stderr.contains("it is of another model"), "{stderr}");
    let run = quantize(&model(), &output, "q4_k_m").args(["--imatrix"]).args([model()]);
    assert!(run.failure(1).stderr.contains("not an importance matrix"));
    // Without an entry, other formats are encoded without the importance.
    let only_second = folder.path().join("second.gguf");
    write_renamed(&only_second, &[(b"blk.0.", b"blk.7.")]);
    let run = quantize(&model(), &output, "q4_k_m").args(["--imatrix"]).args([&only_second]);
    let stderr = run.success().stderr;
    assert!(stderr.contains("no entry for blk.0."), "{stderr}");
    assert!(stderr.contains("which is quantized without one"), "{stderr}");
    let run = quantize(&model(), &output, "iq2_xxs").args(["--imatrix"]).args([&only_second]);
    let stderr = run.failure(2).stderr;
    assert!(stderr.contains("the one specified has no entry for it"), "{stderr}");
}

#[test]
fn experts_have_their_own_importance() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.gguf");
    let mixture = statistics("qwen3moe-model.gguf");
    let written = |matrix: Option<&Path>| {
        let mut run = quantize(&mixture, &output, "iq4_nl");
        if let Some(matrix) = matrix {
            run = run.args(["--imatrix"]).args([matrix]);
        }
        run.success();
        let gguf = Gguf::open(&output).unwrap();
        let info = gguf.tensor("blk.0.ffn_up_exps.weight").unwrap();
        let data = gguf.data(info);
        data.chunks(data.len() / 6).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let weighted = written(Some(&statistics("qwen3moe.gguf")));
    let plain = written(None);
    for (expert, (weighted, plain)) in weighted.iter().zip(&plain).enumerate() {
        assert!(weighted != plain, "expert {expert}");
    }
}
