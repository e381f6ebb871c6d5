//! `inferno logits` and `inferno perplexity`.

use std::fs;
use std::path::Path;

use crate::support::{Run, expected, model, oracle};

fn logits(model: &Path, tokens: &str, flags: &[&str]) -> Vec<Vec<f64>> {
    let run = Run::inferno()
        .args(["logits", "--kv-dtype", "f32", "--tokens", tokens, "-m"])
        .args([model]);
    let outcome = run.args(flags).success();
    outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is an array"))
        .collect()
}

fn joined(tokens: &serde_json::Value) -> String {
    tokens.as_array().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn argmax(row: &[f64]) -> usize {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap()
}

/// The norm of the difference over the norm of the expected rows.
fn relative_error(found: &[Vec<f64>], expected: &[Vec<f64>]) -> f64 {
    let square =
        |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
    let pairs = found.iter().flatten().zip(expected.iter().flatten());
    let difference = square(&mut pairs.map(|(a, b)| a - b));
    (difference / square(&mut expected.iter().flatten().copied())).sqrt()
}

#[test]
fn every_position_matches_transformers() {
    let expected = expected();
    let rows = logits(&model(), &joined(&expected["prompt_tokens"]), &[]);
    let best: Vec<usize> = rows.iter().map(|row| argmax(row)).collect();
    assert_eq!(serde_json::json!(best), expected["argmax"]);
    let last: Vec<f64> = serde_json::from_value(expected["last_logits"].clone()).unwrap();
    let error = relative_error(&rows[rows.len() - 1..], &[last]);
    assert!(error < 1e-4, "{error}");
}

#[test]
fn logits_do_not_depend_on_the_batch_size() {
    let tokens = joined(&expected()["prompt_tokens"]);
    let whole = logits(&model(), &tokens, &[]);
    for batch_tokens in ["1", "5"] {
        assert_eq!(logits(&model(), &tokens, &["--batch-tokens", batch_tokens]), whole);
    }
}

#[test]
fn other_architectures_match_transformers() {
    for name in ["llama", "llama3-rope", "llama-linear-rope", "qwen2", "qwen3"] {
        let (Some(model), Some(answer)) =
            (oracle(&format!("logits/{name}.gguf")), oracle(&format!("logits/{name}.json")))
        else {
            return;
        };
        let answer: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(answer).unwrap()).unwrap();
        let expected: Vec<Vec<f64>> = serde_json::from_value(answer["logits"].clone()).unwrap();
        let rows = logits(&model, &joined(&answer["tokens"]), &[]);
        let error = relative_error(&rows, &expected);
        assert!(error < 1e-4, "{name}: {error}");
        assert!(rows.iter().zip(&expected).all(|(a, b)| argmax(a) == argmax(b)), "{name}");
    }
}

#[test]
fn a_file_without_a_tokenizer_has_logits() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures");
    let answer = fs::read_to_string(fixtures.join("qwen3moe.json")).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let expected: Vec<Vec<f64>> = serde_json::from_value(answer["logits"].clone()).unwrap();
    let rows = logits(&fixtures.join("qwen3moe.gguf"), &joined(&answer["tokens"]), &[]);
    let error = relative_error(&rows, &expected);
    assert!(error < 1e-4, "{error}");
}

#[test]
fn tokens_may_be_a_json_array() {
    assert_eq!(logits(&model(), "[104, 105]", &[]), logits(&model(), "104,105", &[]));
}

#[test]
fn invalid_tokens_are_rejected() {
    let run =
        |tokens: &str| Run::inferno().args(["logits", "--tokens", tokens, "-m"]).args([model()]);
    let unknown = run("1,260").failure(2);
    assert!(
        unknown.stderr.contains("--tokens names token 260, but the vocabulary has 260 tokens"),
        "{}",
        unknown.stderr
    );
    for text in ["1,,2", "", "a", "-1", "[1"] {
        let refused = run(text).failure(2).stderr;
        assert!(refused.contains("expected token ids such as 1,2,3 or [1, 2, 3]"), "{refused}");
    }
    let long = run(&vec!["1"; 257].join(",")).failure(2);
    assert!(long.stderr.contains("the context length is 257"), "{}", long.stderr);
}

#[test]
fn perplexity_matches_transformers() {
    let expected = expected();
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.txt");
    fs::write(&text, expected["text"].as_str().unwrap()).unwrap();
    let run = Run::inferno().args(["perplexity", "--kv-dtype", "f32", "-m"]).args([model()]);
    let window = expected["window"].to_string();
    let outcome = run.args(["--context", &window]).args([&text]).success();
    let found: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(found["tokens"], expected["num_scored"]);
    let (found, expected) =
        (found["perplexity"].as_f64().unwrap(), expected["perplexity"].as_f64().unwrap());
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
}

#[test]
fn a_model_instead_of_the_text_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let unnamed = folder.path().join("model");
    fs::copy(model(), &unnamed).expect("it can be copied");
    for path in [model(), unnamed] {
        let refused = Run::inferno().args(["perplexity"]).args([&path]).failure(2);
        let path = path.display();
        let expected = format!(
            "error: {path} is a model, but is used as the text; pass the model with -m {path}"
        );
        assert!(refused.stderr.starts_with(&expected), "{}", refused.stderr);
    }
}

#[test]
fn options_of_llama_perplexity_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.txt");
    let content = expected()["text"].as_str().unwrap().to_owned();
    fs::write(&text, &content).unwrap();
    let perplexity = |flags: &[&str], text: &std::path::Path| {
        let run = Run::inferno().args(["perplexity", "-m"]).args([model()]).args(flags);
        run.args([text]).success()
    };
    let whole = perplexity(&["-c", "32"], &text).stdout;
    for same in
        [&["--ppl-stride", "0"][..], &["--stride", "32"], &["--chunks", "-1"], &["--chunks", "999"]]
    {
        assert_eq!(perplexity(&[&["-c", "32"], same].concat(), &text).stdout, whole, "{same:?}");
    }
    // Two windows of 32 tokens: 15 are scored in each, and windows that overlap need fewer tokens.
    let run = Run::inferno().args(["tokenize", "--no-bos", "-m"]).args([model()]);
    let tokens: Vec<u32> = serde_json::from_str(&run.args([&content]).success().stdout).unwrap();
    for (stride, num_tokens) in [("0", 64), ("8", 40)] {
        let run = Run::inferno().args(["tokenize", "--decode", "-m"]).args([model()]);
        let start = run.args([format!("{:?}", &tokens[..num_tokens])]).success().stdout;
        let short = folder.path().join("short.txt");
        fs::write(&short, start).unwrap();
        let flags = ["-c", "32", "--ppl-stride", stride];
        let limited = perplexity(&[&flags[..], &["--chunks", "2"]].concat(), &text);
        assert_eq!(limited.stdout, perplexity(&flags, &short).stdout);
        assert!(limited.stderr.contains("2 windows of 32 tokens"), "{}", limited.stderr);
    }
}

#[test]
fn a_window_longer_than_the_context_of_the_model_is_reduced() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.txt");
    fs::write(&text, expected()["text"].as_str().unwrap().repeat(2)).unwrap();
    let perplexity = |flags: &[&str]| {
        let run = Run::inferno().args(["perplexity", "-m"]).args([model()]).args(flags);
        run.args([&text]).success()
    };
    let longest = perplexity(&["-c", "256"]);
    assert!(!longest.stderr.contains("warning"), "{}", longest.stderr);
    let reduced = perplexity(&["-c", "2048"]);
    assert_eq!(reduced.stdout, longest.stdout);
    let warning =
        "warning: the model supports a context of 256 tokens; --context 2048 was reduced to it";
    assert!(reduced.stderr.contains(warning), "{}", reduced.stderr);
    assert_eq!(perplexity(&["-c", "0"]).stdout, longest.stdout);
}
