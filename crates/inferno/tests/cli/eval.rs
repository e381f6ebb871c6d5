//! `inferno eval` compared with lm-evaluation-harness, whose `hf` model computes in float32.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Outcome, Run, fixture, model, oracle};

const TASKS: [&str; 6] = ["questions", "texts", "hellaswag", "arc", "piqa", "winogrande"];

fn data(name: &str) -> PathBuf {
    fixture("evaluation").join(name)
}

fn ember() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/ember.gguf")
}

/// Results and samples.
fn evaluate(model: &Path, flags: &[&str], tasks: &[&str]) -> (Value, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("samples.jsonl");
    let run = Run::inferno().args(["eval", "-o", "json", "-m"]).args([model]);
    let run = run.args(["--samples"]).args([&samples]).args(flags);
    let run = run.args(tasks.iter().map(|task| data(&format!("{task}.jsonl"))));
    let results: Value = serde_json::from_str(&run.success().stdout).unwrap();
    let lines = fs::read_to_string(&samples).unwrap();
    let samples = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (results["results"].clone(), samples)
}

fn close(name: &str, found: &Value, expected: &Value, bound: f64) {
    let (number, expected) = (found.as_f64(), expected.as_f64());
    let is_close =
        number.zip(expected).is_some_and(|(a, b)| (a - b).abs() <= bound * (1.0 + b.abs()));
    assert!(is_close, "{name}: {found}, expected {expected:?}");
}

fn check(results: &Value, samples: &[Value], expected: &Value, tasks: &[&str]) {
    for &task in tasks {
        let metrics = expected[task]["metrics"].as_object().unwrap();
        assert!(!metrics.is_empty());
        for (name, value) in metrics {
            close(&format!("{task}: {name}"), &results[task][name], value, 1e-4);
        }
        let found: Vec<_> = samples.iter().filter(|sample| sample["task"] == task).collect();
        let expected = expected[task]["samples"].as_array().unwrap();
        assert_eq!(
            (found.len(), &results[task]["samples"]),
            (expected.len(), &expected.len().into())
        );
        for (found, expected) in found.iter().zip(expected) {
            if task == "texts" {
                close(task, &found["log_likelihood"], &expected["log_likelihood"], 1e-4);
                continue;
            }
            let scores = expected["log_likelihoods"].as_array().unwrap();
            for (found, expected) in found["log_likelihoods"].as_array().unwrap().iter().zip(scores)
            {
                close(task, found, expected, 1e-4);
            }
            assert_eq!(found["is_greedy"], expected["is_greedy"], "{task}");
        }
    }
}

/// The reference backend computes as exactly as the harness.
const EXACT: [&str; 4] = ["--backend", "reference", "--kv-dtype", "f32"];
const FEW_SHOT: [&str; 3] = ["--few-shot", "2", "--few-shot-file"];

fn check_model(name: &str, model: &Path) {
    let expected = fs::read_to_string(data("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for (context, expected) in expected[name].as_object().unwrap() {
        let mut flags = EXACT.to_vec();
        flags.extend(["--context", context]);
        let (results, samples) = evaluate(model, &flags, &TASKS);
        check(&results, &samples, expected, &TASKS);
        let examples = data("mmlu_dev.jsonl");
        flags.extend(FEW_SHOT);
        flags.push(examples.to_str().unwrap());
        let (results, samples) = evaluate(model, &flags, &["mmlu"]);
        check(&results, &samples, expected, &["mmlu"]);
    }
}

#[test]
fn results_match_lm_evaluation_harness() {
    check_model("ember", &ember());
}

#[test]
fn results_with_bos_and_sentencepiece_match_lm_evaluation_harness() {
    let Some(model) = oracle("models/stories260K.gguf") else { return };
    check_model("stories260K", &model);
}

#[test]
fn results_do_not_depend_on_threads_and_batches() {
    let results = |flags: &[&str]| evaluate(&ember(), flags, &TASKS);
    let one = results(&["--threads", "1", "--max-num-seqs", "1", "--context", "64"]);
    assert_eq!(results(&["--threads", "2", "--context", "64"]), one);
}

#[test]
fn the_table_has_a_row_for_each_metric() {
    let run = Run::inferno().args(["eval", "--limit", "2", "-m"]).args([model()]);
    let outcome = run.args([data("questions.jsonl"), data("texts.jsonl")]).success();
    let cells: Vec<Vec<&str>> = outcome
        .stdout
        .lines()
        .map(|line| line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    let names: Vec<_> = cells.iter().skip(2).filter_map(|row| row.iter().rev().nth(3)).collect();
    let expected =
        ["acc", "acc_norm", "acc_bytes", "word_perplexity", "byte_perplexity", "bits_per_byte"];
    assert_eq!(names, expected.iter().collect::<Vec<_>>());
    assert_eq!(&cells[2][..2], ["questions", "2"]);
}

#[test]
fn a_long_context_loses_its_beginning_with_a_warning() {
    let run = Run::inferno().args(["eval", "--context", "48", "-m"]).args([model()]);
    let outcome = run.args([data("questions.jsonl")]).success();
    assert!(outcome.stderr.contains("exceed the context length"), "{}", outcome.stderr);
}

fn eval_lines(lines: &str, flags: &[&str]) -> Outcome {
    let run = Run::inferno().args(["eval", "-m"]).args([model()]).args(flags);
    run.args(["-"]).stdin(lines).failure(1)
}

#[test]
fn invalid_samples_are_reported_with_their_lines() {
    let question = r#"{"context": "a", "choices": ["b", "c"], "answer": 0}"#;
    for (line, reason) in [
        ("[1]", "it is not a JSON object"),
        (r#"{"a": 1, "b": 2}"#, "found the keys a, b"),
        (r#"{"context": "a", "choices": ["b"], "answer": 0}"#, "it has 1 choices"),
        (r#"{"context": "a", "choices": ["b", "c"], "answer": 2}"#, "its answer is 2"),
        (r#"{"context": "a", "choices": ["b", "c"], "answer": "d"}"#, "its answer is neither"),
        (
            r#"{"context": 1, "choices": ["b", "c"], "answer": 0}"#,
            "not a valid record of a question",
        ),
        (r#"{"text": "a"}"#, "another kind"),
        (r#"{"goal": "a", "sol1": "b", "sol2": "c", "label": -1}"#, "not a valid record of PIQA"),
        (r#"{"sentence": "a", "option1": "b", "option2": "c", "answer": "1"}"#, "has no _"),
        (
            r#"{"question": "a", "choices": {"text": ["b", "c"], "label": ["A", "B"]}, "answerKey": "C"}"#,
            "its answerKey is",
        ),
        (
            r#"{"activity_label": "a", "ctx_a": "b", "ctx_b": "", "endings": ["c", "d"], "label": ""}"#,
            "it has no label",
        ),
    ] {
        let found = eval_lines(&format!("{question}\n\n{line}\n"), &[]).stderr;
        assert!(found.contains("line 3 of - is not a valid sample"), "{found}");
        assert!(found.contains(reason), "{found}");
    }
    assert!(eval_lines("\n", &[]).stderr.contains("has no samples"));
    let long =
        format!(r#"{{"context": "a", "choices": ["b", "{}"], "answer": 0}}"#, "c".repeat(40));
    let found = eval_lines(&long, &["--context", "32"]).stderr;
    assert!(found.contains("sample 1 of - cannot be scored: a choice has 41 tokens"), "{found}");
}

#[test]
fn few_shot_examples_must_suffice() {
    let run = Run::inferno().args(["eval", "--few-shot", "3", "--few-shot-file"]);
    let run = run.args([data("mmlu_dev.jsonl")]).args(["-m"]).args([model()]);
    let found = run.args([data("mmlu.jsonl")]).failure(1).stderr;
    assert!(found.contains("mmlu_dev.jsonl has only 2 of 3 examples for line 1 of "), "{found}");
    assert!(found.contains("mmlu.jsonl, which must be of its subject"), "{found}");
}

#[test]
fn samples_do_not_replace_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str, source: &Path| {
        let path = folder.path().join(name);
        fs::copy(source, &path).unwrap();
        path
    };
    let gguf = copy("model.gguf", &model());
    let questions = copy("questions.jsonl", &data("questions.jsonl"));
    let examples = copy("examples.jsonl", &data("questions.jsonl"));
    let other = copy("other.jsonl", &data("texts.jsonl"));
    let eval = |samples: &Path| {
        let run = Run::inferno().args(["eval", "--few-shot", "1", "--few-shot-file"]);
        let run = run.args([&examples]).args(["-m"]).args([&gguf]).args(["--samples"]);
        run.args([samples]).args([&questions])
    };
    for (samples, is_forced, code, message) in [
        (&gguf, true, 2, "is the model file itself"),
        (&questions, true, 2, "is also an input of this command"),
        (&examples, true, 2, "is also an input of this command"),
        (&other, false, 1, "exists; choose another name, or pass --force"),
    ] {
        let before = fs::read(samples).unwrap();
        let run = if is_forced { eval(samples).args(["--force"]) } else { eval(samples) };
        let stderr = run.failure(code).stderr;
        assert!(stderr.contains(message), "{stderr}");
        assert!(fs::read(samples).unwrap() == before, "{}", samples.display());
    }
    eval(&other).args(["--force"]).success();
    let written = fs::read_to_string(&other).unwrap();
    assert!(written.contains("log_likelihoods"), "{written}");

    // Standard output is for the samples alone.
    let printed = eval(Path::new("-")).current_dir(folder.path()).success();
    assert_eq!(printed.stdout, written);
    assert!(printed.stderr.contains("| acc |"), "{}", printed.stderr);
    assert!(!folder.path().join("-").exists());
}
