//! `inferno batch`: answers in the order of the requests, errors of lines, and continued outputs.
#![cfg(feature = "embedded-model")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Outcome, Run, model};

/// A request for a completion of `num_tokens` tokens.
fn completion(custom_id: &str, prompt: &str, num_tokens: usize) -> Value {
    let body = json!({
        "model": "gpt-4o-mini", "prompt": prompt, "max_tokens": num_tokens, "temperature": 0, "ignore_eos": true,
    });
    request(custom_id, "/v1/completions", body)
}

fn request(custom_id: &str, url: &str, body: Value) -> Value {
    json!({"custom_id": custom_id, "method": "POST", "url": url, "body": body})
}

fn lines(requests: &[Value]) -> String {
    requests.iter().map(|request| format!("{request}\n")).collect()
}

/// A folder with this input.
fn folder(input: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.jsonl"), input).unwrap();
    folder
}

fn batch(folder: &Path, arguments: &[&str]) -> Run {
    Run::inferno().args(["batch", "--threads", "1"]).args(arguments).current_dir(folder)
}

fn run(folder: &Path) -> Outcome {
    batch(folder, &["in.jsonl", "out.jsonl"]).outcome()
}

fn output(folder: &Path) -> String {
    fs::read_to_string(folder.join("out.jsonl")).unwrap()
}

fn parsed(output: &str) -> Vec<Value> {
    output.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// The ids and texts of completions, which do not change from run to run.
fn texts(output: &str) -> Vec<(Value, Value, Value)> {
    let text = |answer: &Value| answer["response"]["body"]["choices"][0]["text"].clone();
    let answers = parsed(output).into_iter();
    answers.map(|it| (it["id"].clone(), it["custom_id"].clone(), text(&it))).collect()
}

#[test]
fn answers_are_in_the_order_of_the_requests() {
    let chat = json!({"messages": [{"role": "user", "content": "Name three animals."}], "max_tokens": 8, "mood": "happy"});
    let requests = [
        completion("long", "Once upon a time", 200),
        completion("short", "Once", 1),
        request("chat", "/v1/chat/completions", chat.clone()),
        request("vector", "/v1/embeddings", json!({"input": ["a", "b"]})),
        request("response", "/v1/responses", json!({"input": "Hi", "max_output_tokens": 4})),
        request("message", "/v1/messages", chat),
    ];
    let folder = folder(&lines(&requests));
    let outcome = run(folder.path());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
    assert!(outcome.stderr.contains("6 requests: 6 succeeded, 0 failed\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("tokens/s"), "{}", outcome.stderr);
    let ignored = "warning: fields of requests were ignored: mood\n";
    assert!(outcome.stderr.contains(ignored), "{}", outcome.stderr);

    let answers = parsed(&output(folder.path()));
    let ids: Vec<_> = answers.iter().map(|answer| answer["custom_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["long", "short", "chat", "vector", "response", "message"]);
    for answer in &answers {
        assert_eq!(
            (&answer["response"]["status_code"], &answer["error"]),
            (&json!(200), &Value::Null)
        );
        assert!(answer["id"].as_str().unwrap().starts_with("batch_req_"), "{answer}");
        assert!(answer["response"]["request_id"].as_str().unwrap().starts_with("req_"), "{answer}");
    }
    let body = |place: usize| &answers[place]["response"]["body"];
    assert_eq!(body(0)["usage"]["completion_tokens"], 200);
    assert_eq!(body(2)["object"], "chat.completion");
    assert_eq!(body(3)["data"].as_array().map(Vec::len), Some(2));
    assert_eq!((&body(4)["object"], &body(5)["type"]), (&json!("response"), &json!("message")));

    let generated = Run::inferno().args(["generate", "--greedy", "-n", "8", "Once upon a time"]);
    let expected = generated.success().stdout;
    assert!(body(0)["choices"][0]["text"].as_str().unwrap().starts_with(expected.trim_end()));
}

#[test]
fn requests_that_fail_are_reported_in_their_line() {
    let requests = [
        completion("a", "Once", 1),
        completion("a", "Once", 1),
        request("b", "/v1/files", json!({})),
        request("c", "/v1/chat/completions", json!({"stream": true, "messages": []})),
        request("d", "/v1/completions", json!({"prompt": "Once", "max_tokens": "many"})),
    ];
    let folder = folder(&format!("not JSON\n\n{}", lines(&requests)));
    let outcome = run(folder.path());
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("6 requests: 1 succeeded, 5 failed\n"), "{}", outcome.stderr);
    let answers = parsed(&output(folder.path()));
    let codes: Vec<_> = answers.iter().map(|answer| &answer["error"]["code"]).collect();
    let expected = [
        json!("invalid_json_line"),
        Value::Null,
        json!("duplicate_custom_id"),
        json!("invalid_url"),
        json!("unsupported_parameter"),
        Value::Null,
    ];
    assert_eq!(codes, expected.iter().collect::<Vec<_>>());
    assert_eq!((&answers[0]["custom_id"], &answers[0]["response"]), (&Value::Null, &Value::Null));
    assert_eq!(answers[5]["response"]["status_code"], 400);
    assert_eq!(answers[5]["response"]["body"]["error"]["param"], "max_tokens");
    let reasons = |outcome: &Outcome| -> Vec<String> {
        let lines = outcome.stderr.lines().filter(|line| line.contains("failed with"));
        lines.map(str::to_owned).collect()
    };
    let found = reasons(&outcome);
    assert!(
        found[0].starts_with("1 failed with invalid_json_line; request 1: this line is not"),
        "{found:?}"
    );
    assert!(found[4].starts_with("1 failed with invalid_type; request 6: max_tokens"), "{found:?}");
    assert_eq!(found.len(), 5);
    let hint = "hint: repeating the command does not retry failed requests";
    assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);

    let repeated = run(folder.path());
    assert_eq!(repeated.code, Some(1), "failures of earlier runs count: {}", repeated.stderr);
    assert!(
        repeated.stderr.contains("(6 in earlier runs): 1 succeeded, 5 failed"),
        "{}",
        repeated.stderr
    );
    assert_eq!(reasons(&repeated), found);
    assert_eq!(parsed(&output(folder.path())), answers);
}

#[test]
fn failures_with_the_same_code_are_counted_together() {
    let requests: Vec<_> =
        ["a", "b", "c"].map(|id| request(id, &format!("/{id}"), json!({}))).into();
    let folder = folder(&lines(&requests));
    let piped = batch(folder.path(), &["in.jsonl", "-"]).outcome();
    assert!(piped.stderr.contains("3 requests: 0 succeeded, 3 failed\n"), "{}", piped.stderr);
    let reason =
        "\n3 failed with invalid_url; the first is request 1: the url \"/a\" is not supported";
    assert!(piped.stderr.contains(reason), "{}", piped.stderr);
    assert!(!piped.stderr.contains("hint"), "nothing is recorded: {}", piped.stderr);
}

#[test]
fn answers_of_another_model_are_reported() {
    let requests = [completion("0", "Once", 1), completion("1", "Twice", 1)];
    let folder = folder(&lines(&requests[..1]));
    assert_eq!(run(folder.path()).code, Some(0));
    fs::write(folder.path().join("in.jsonl"), lines(&requests)).unwrap();
    let warning = "warning: out.jsonl contains 1 answer of the model ember instead of qwen3; delete it or choose another output";
    let other_model = model();
    // The second run has nothing to compute.
    for _ in 0..2 {
        let arguments = ["in.jsonl", "out.jsonl", "-m", other_model.to_str().unwrap()];
        let other = batch(folder.path(), &arguments).success();
        assert!(other.stderr.contains(warning), "{}", other.stderr);
    }
    let answers = parsed(&output(folder.path()));
    assert_eq!(answers[1]["response"]["body"]["model"], "qwen3");
}

#[test]
fn pairs_of_texts_are_scored() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures");
    let reranker = fixtures.join("encoders/xlm-roberta-reranker.gguf");
    let rank = json!({"query": "a cat", "documents": ["the cat", "a dog"]});
    let score = json!({"text_1": "a cat", "text_2": ["the cat", "a dog"]});
    let mut requests = Vec::new();
    for (index, url) in ["/v1/rerank", "/v2/rerank", "/rerank"].iter().enumerate() {
        requests.push(request(&format!("r{index}"), url, rank.clone()));
    }
    for (index, url) in ["/v1/score", "/score"].iter().enumerate() {
        requests.push(request(&format!("s{index}"), url, score.clone()));
    }
    let folder = folder(&lines(&requests));
    let arguments = ["in.jsonl", "out.jsonl", "-m", reranker.to_str().unwrap()];
    batch(folder.path(), &arguments).success();
    let answers = parsed(&output(folder.path()));
    let body = |index: usize| &answers[index]["response"]["body"];
    for rank in 0..3 {
        for result in body(rank)["results"].as_array().unwrap() {
            let index = result["index"].as_u64().unwrap() as usize;
            assert_eq!(result["relevance_score"], body(3)["data"][index]["score"]);
        }
    }
    assert_eq!(body(4)["data"], body(3)["data"]);
}

#[test]
fn an_interrupted_output_is_continued() {
    let requests: Vec<_> =
        (0..6).map(|index| completion(&format!("{index}"), &format!("Tale {index}:"), 4)).collect();
    let folder = folder(&lines(&requests));
    assert_eq!(run(folder.path()).code, Some(0));
    let complete = output(folder.path());
    let ends: Vec<_> = complete.match_indices('\n').map(|(place, _)| place + 1).collect();
    for (len, earlier) in [(ends[1] + 5, 2), (ends[3] + 40, 4), (ends[4], 5), (ends[5], 6), (3, 0)]
    {
        fs::write(folder.path().join("out.jsonl"), &complete[..len]).unwrap();
        let outcome = run(folder.path());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let before = match earlier {
            0 => String::new(),
            number => format!(" ({number} in earlier runs)"),
        };
        let summary = format!("6 requests{before}: 6 succeeded, 0 failed\n");
        assert!(outcome.stderr.contains(&summary), "{}", outcome.stderr);
        let continued = output(folder.path());
        let kept = if earlier == 0 { 0 } else { ends[earlier - 1] };
        assert!(continued.starts_with(&complete[..kept]));
        assert_eq!(texts(&continued), texts(&complete));
    }
}

#[test]
fn the_output_of_another_input_is_left_unchanged() {
    let requests = [completion("0", "Once", 1), completion("1", "Once", 1)];
    let folder = folder(&lines(&requests));
    assert_eq!(run(folder.path()).code, Some(0));
    let complete = output(folder.path());
    let other = [completion("0", "Once", 1), completion("1", "Twice", 1)];
    let (longer, text) = (format!("{complete}{complete}"), "notes without a line break".to_owned());
    for (input, found, line) in [
        (lines(&other), &complete, 2),
        (lines(&requests[..1]), &complete, 2),
        (lines(&requests), &longer, 3),
        (lines(&requests), &text, 1),
    ] {
        fs::write(folder.path().join("in.jsonl"), input).unwrap();
        fs::write(folder.path().join("out.jsonl"), found).unwrap();
        let failed = batch(folder.path(), &["in.jsonl", "out.jsonl"]).outcome();
        let expected =
            format!("error: line {line} of out.jsonl is not the answer to request {line}");
        assert!(failed.stderr.contains(&expected), "{}", failed.stderr);
        assert_eq!((failed.code, &output(folder.path())), (Some(1), found));
    }
    let failed = batch(folder.path(), &["in.jsonl", "in.jsonl"]).outcome();
    assert!(
        failed.stderr.contains("in.jsonl is also an input of this command"),
        "{}",
        failed.stderr
    );
}

#[test]
fn standard_streams_and_the_options_of_vllm_are_accepted() {
    let requests = lines(&[completion("0", "Once", 3), completion("1", "Twice", 2)]);
    let folder = folder(&requests);
    assert_eq!(run(folder.path()).code, Some(0));
    let expected = texts(&output(folder.path()));
    let piped = batch(folder.path(), &["-", "-"]).stdin(requests).success();
    assert_eq!(texts(&piped.stdout), expected);
    let vllm = [
        "run-batch",
        "-o",
        "other.jsonl",
        "-i",
        "in.jsonl",
        "--max-model-len",
        "64",
        "--model",
        "ember",
    ];
    Run::inferno()
        .args(vllm)
        .args(["--enable-prefix-caching"])
        .current_dir(folder.path())
        .success();
    let other = fs::read_to_string(folder.path().join("other.jsonl")).unwrap();
    assert_eq!(texts(&other), expected);
}

#[test]
fn mistakes_are_reported_before_the_model_is_loaded() {
    let folder = folder("");
    for (arguments, code, message) in [
        (&["in.jsonl"][..], 2, "expected an input and an output"),
        (&["nosuch.jsonl", "out.jsonl"], 1, "nosuch.jsonl: No such file"),
        (&["in.jsonl", "nosuch/out.jsonl"], 1, "the directory nosuch does not exist"),
        (&["in.jsonl", "."], 2, ". is not a regular file"),
        (
            &["in.jsonl", "out.jsonl", "--port", "8000"],
            2,
            "use inferno serve for requests over HTTP",
        ),
    ] {
        let failed = batch(folder.path(), arguments).outcome();
        assert_eq!(failed.code, Some(code), "{}", failed.stderr);
        assert!(failed.stderr.contains(message), "{arguments:?}: {}", failed.stderr);
    }
    let empty = run(folder.path());
    assert_eq!((empty.code, output(folder.path()).as_str()), (Some(0), ""), "{}", empty.stderr);
}

/// Waits until the first answer is written.
fn wait_for_answer(folder: &Path) {
    let (started, path) = (Instant::now(), folder.join("out.jsonl"));
    while fs::metadata(&path).map_or(0, |metadata| metadata.len()) == 0 {
        assert!(started.elapsed() < Duration::from_secs(120), "no answer");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_model_file_that_changes_stops_the_command() {
    use std::io::Write;

    let requests: Vec<_> =
        (0..2000).map(|index| completion(&format!("{index}"), "Once upon a time", 100)).collect();
    let folder = folder(&lines(&requests));
    let copy = folder.path().join("model.gguf");
    fs::copy(model(), &copy).unwrap();
    let arguments = ["-m", "model.gguf", "in.jsonl", "out.jsonl"];
    let mut process = batch(folder.path(), &arguments).start();
    wait_for_answer(folder.path());
    // With the same bytes.
    fs::OpenOptions::new().write(true).open(&copy).unwrap().write_all(b"GGUF").unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(1));
    let answers = parsed(&output(folder.path()));
    assert!((1..2000).contains(&answers.len()), "{}", answers.len());
    assert!(answers.iter().all(|answer| answer["response"]["status_code"] == 200));

    // The other requests are answered by the next run.
    fs::write(folder.path().join("in.jsonl"), lines(&requests[..=answers.len()])).unwrap();
    let outcome = batch(folder.path(), &arguments).outcome();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_complete_answers() {
    let requests: Vec<_> =
        (0..2000).map(|index| completion(&format!("{index}"), "Once upon a time", 100)).collect();
    let folder = folder(&lines(&requests));
    let mut process = batch(folder.path(), &["in.jsonl", "out.jsonl"]).start();
    wait_for_answer(folder.path());
    let second = batch(folder.path(), &["in.jsonl", "out.jsonl"]).outcome();
    assert!(second.stderr.contains("is being written by another process"), "{}", second.stderr);
    let id = process.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(130));
    let answered = output(folder.path());
    assert!(answered.ends_with('\n'));
    let num_answered = parsed(&answered).len();
    assert!((1..2000).contains(&num_answered), "{num_answered}");

    // The first answers, and one more request.
    fs::write(folder.path().join("in.jsonl"), lines(&requests[..=num_answered])).unwrap();
    let outcome = run(folder.path());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains(&format!("({num_answered} in earlier runs)")),
        "{}",
        outcome.stderr
    );
    assert_eq!(parsed(&output(folder.path())).len(), num_answered + 1);
}
