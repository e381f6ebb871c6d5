//! `inferno embed`, and the server's embeddings and scores, with encoders and rerankers: compared with transformers.

use std::path::{Path, PathBuf};

use inferno::{
    EngineOptions, KvDType, LoadOptions, LocalRequest, LocalServer, Model, ResponsePart,
    ServerOptions,
};
use inferno_gguf::{Gguf, GgufWriter};
use serde_json::{Value, json};

use crate::support::Run;

/// A fixture of `inferno-model`.
pub fn encoder(name: &str) -> PathBuf {
    let fixtures =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures");
    fixtures.join("encoders").join(name)
}

fn answers(name: &str) -> Value {
    let text = std::fs::read_to_string(encoder(name)).expect("a fixture");
    serde_json::from_str(&text).expect("it is JSON")
}

pub fn embed(model: &str, args: &[&str]) -> Run {
    Run::inferno().args(["embed", "-m"]).args([encoder(model)]).args(args)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn numbers(list: &Value) -> Vec<f64> {
    serde_json::from_value(list.clone()).expect("numbers")
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-4, "{found} instead of {expected}");
    }
}

#[test]
fn scores_are_those_of_transformers_and_do_not_depend_on_neighbors() {
    let expected = answers("xlm-roberta-reranker.json");
    let pairs = expected["pairs"].as_array().expect("pairs");
    let query = pairs[0]["query"].as_str().expect("a query");
    let documents: Vec<_> =
        pairs[..2].iter().map(|pair| pair["document"].as_str().expect("a document")).collect();
    let scores: Vec<f64> = expected["cases"].as_array().expect("cases")[..2]
        .iter()
        .map(|case| numbers(&case["scores"])[0])
        .collect();
    let ask = |documents: &[&str]| {
        let run = embed("xlm-roberta-reranker.gguf", &["--query", query]).args(documents);
        lines(&run.success().stdout)
    };
    let found = ask(&documents);
    assert_eq!(found.len(), 2);
    let mut previous = f64::INFINITY;
    for line in &found {
        let index = line["index"].as_u64().expect("an index") as usize;
        let score = line["relevance_score"].as_f64().expect("a score");
        assert_close(&[score], &[scores[index]]);
        assert_eq!(line["document"], documents[index]);
        assert!(score <= previous);
        previous = score;
        assert_eq!(ask(&[documents[index]])[0]["relevance_score"], line["relevance_score"]);
    }
}

#[test]
fn embeddings_of_pooled_and_of_all_states_are_printed() {
    let first = |args: &[&str]| lines(&embed("bert.gguf", args).success().stdout)[0].clone();
    let tokens = first(&["--pooling", "none", "a cat swims"])["embedding"].clone();
    let tokens: Vec<Vec<f64>> = serde_json::from_value(tokens).expect("rows");
    // [CLS], three words, [SEP].
    assert_eq!(tokens.len(), 5);
    let pooled = numbers(&first(&["--no-normalize", "a cat swims"])["embedding"]);
    assert_close(&pooled, &tokens[0]);
    let length = pooled[..8].iter().map(|x| x * x).sum::<f64>().sqrt();
    let shortened = numbers(&first(&["--dimensions", "8", "a cat swims"])["embedding"]);
    assert_close(&shortened, &pooled[..8].iter().map(|x| x / length).collect::<Vec<_>>());
    let plain = embed("bert.gguf", &["--format", "plain"]).stdin("a cat swims\nthe dog\n");
    assert_eq!(plain.success().stdout.lines().count(), 2);
}

#[test]
fn longer_texts_are_an_error_or_truncated() {
    let long = "cat ".repeat(100);
    let error = embed("bert.gguf", &[&long]).failure(1).stderr;
    assert!(error.contains("64"), "{error}");
    embed("bert.gguf", &["--truncate", &long]).success();
}

#[test]
fn encoders_and_rerankers_generate_no_text() {
    for (model, expected) in
        [("bert.gguf", "embeddings"), ("qwen3-reranker.gguf", "relevance scores")]
    {
        let run = Run::inferno().args(["generate", "a cat", "-m"]).args([encoder(model)]);
        let error = run.failure(1).stderr;
        assert!(error.contains(expected), "{error}");
    }
    // The first reason is that it is an encoder, not that it has no chat template.
    for command in [&["chat"][..], &["generate", "--chat"]] {
        let run = Run::inferno().args(command).args(["a cat", "-m"]).args([encoder("bert.gguf")]);
        let error = run.failure(1).stderr;
        assert!(error.contains("this model computes embeddings"), "{error}");
    }
    let error = embed("bert.gguf", &["--query", "a", "b"]).failure(1).stderr;
    assert!(error.contains("no classifier"), "{error}");
}

/// A server with a fixture, whose keys and values are exact.
pub fn server(model: &str) -> LocalServer {
    let options = LoadOptions { kv_dtype: Some(KvDType::F32), ..LoadOptions::default() };
    let model = Model::open(encoder(model)).map(|model| model.with_options(options));
    let model = model.and_then(|model| model.load()).expect("a model");
    let info = model.info(vec!["m".to_owned()]).expect("valid metadata");
    let served = model.served(EngineOptions::default(), info).expect("an engine");
    LocalServer::start(ServerOptions::default(), served).expect("a server")
}

/// The status and the body of the answer.
pub fn post(server: &LocalServer, path: &str, body: &Value) -> (u16, Value) {
    let header = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
    let request = LocalRequest {
        method: "POST".to_owned(),
        target: path.to_owned(),
        headers: vec![header("host", b"localhost"), header("content-type", b"application/json")],
        body: body.to_string().into_bytes(),
    };
    let mut response = server.send(request).expect("it is accepted");
    let (mut found, mut bytes) = (0, Vec::new());
    while let Some(part) = response.blocking_next() {
        match part {
            ResponsePart::Head { status, .. } => found = status,
            ResponsePart::Body(part) => bytes.extend_from_slice(&part),
        }
    }
    (found, serde_json::from_slice(&bytes).expect("the answer is JSON"))
}

/// The names of the fixtures whose answers have `key`.
fn fixtures_with(key: &str) -> Vec<String> {
    let folder = std::fs::read_dir(encoder("")).expect("the folder of fixtures");
    let names = folder.map(|entry| entry.expect("an entry").file_name().into_string());
    let names = names.map(|name| name.expect("a name in UTF-8"));
    let mut names: Vec<_> =
        names.filter_map(|name| Some(name.strip_suffix(".json")?.to_owned())).collect();
    names.retain(|name| answers(&format!("{name}.json"))[key].is_array());
    names
}

/// Scales a vector to length 1.
fn normalized(values: &[f64]) -> Vec<f64> {
    let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    values.iter().map(|x| x / length).collect()
}

#[test]
fn texts_have_the_embeddings_of_transformers() {
    let names = fixtures_with("texts");
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        let server = server(&format!("{name}.gguf"));
        let expected = answers(&format!("{name}.json"));
        let texts = expected["texts"].as_array().expect("texts");
        let all = |key: &str| texts.iter().map(|text| text[key].clone()).collect::<Vec<_>>();
        let tokenize = |text: &Value| {
            let request = json!({"content": text, "add_special": true});
            post(&server, "/tokenize", &request).1["tokens"].clone()
        };
        let found: Vec<_> = all("text").iter().map(tokenize).collect();
        assert_eq!(found, all("tokens"), "{name}");
        for input in [all("text"), all("tokens")] {
            let (status, answer) = post(&server, "/v1/embeddings", &json!({"input": input}));
            assert_eq!(status, 200, "{name}: {answer}");
            for (index, pooled) in all("pooled").iter().enumerate() {
                let found = numbers(&answer["data"][index]["embedding"]);
                assert_close(&found, &normalized(&numbers(pooled)));
            }
            let num_tokens: usize =
                all("tokens").iter().map(|it| it.as_array().expect("tokens").len()).sum();
            assert_eq!(answer["usage"]["prompt_tokens"], num_tokens, "{name}");
        }
    }
}

#[test]
fn pairs_have_the_scores_of_transformers() {
    let mut names = fixtures_with("pairs");
    names.retain(|name| answers(&format!("{name}.json"))["pooling"] == "rank");
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let expected = answers(&format!("{name}.json"));
        let server = server(&format!("{name}.gguf"));
        let pairs = expected["pairs"].as_array().expect("pairs");
        let all = |key: &str| pairs.iter().map(|pair| pair[key].clone()).collect::<Vec<_>>();
        let request = json!({"text_1": all("query"), "text_2": all("document")});
        let (status, answer) = post(&server, "/v1/score", &request);
        assert_eq!(status, 200, "{name}: {answer}");
        let num_tokens: usize =
            pairs.iter().map(|pair| pair["tokens"].as_array().expect("tokens").len()).sum();
        assert_eq!(answer["usage"]["prompt_tokens"], num_tokens, "{name}");
        for (index, case) in (0..pairs.len()).map(|index| (index, &expected["cases"][index])) {
            let found = answer["data"][index]["score"].as_f64().expect("a score");
            assert_close(&[found], &numbers(&case["scores"])[..1]);
        }
    }
}

#[test]
fn the_server_ranks_documents_and_scores_pairs() {
    let server = server("xlm-roberta-reranker.gguf");
    let expected = answers("xlm-roberta-reranker.json");
    let pairs = &expected["pairs"];
    let scores: Vec<f64> = (0..3).map(|i| numbers(&expected["cases"][i]["scores"])[0]).collect();
    let documents = json!([pairs[0]["document"], { "text": pairs[1]["document"] }]);
    let request = json!({"query": pairs[0]["query"], "documents": documents, "top_n": 1,
        "return_documents": true});
    let best = if scores[0] >= scores[1] { 0 } else { 1 };
    for path in ["/v1/rerank", "/v2/rerank", "/rerank", "/v1/reranking"] {
        let (status, answer) = post(&server, path, &request);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["results"].as_array().expect("results").len(), 1);
        let result = &answer["results"][0];
        assert_eq!(result["index"], best);
        assert_eq!(result["document"]["text"], pairs[best]["document"]);
        assert_close(&[result["relevance_score"].as_f64().expect("a score")], &[scores[best]]);
    }
    let all = |key: &str| (0..3).map(|i| pairs[i][key].clone()).collect::<Vec<_>>();
    let request = json!({"text_1": all("query"), "text_2": all("document")});
    let (status, answer) = post(&server, "/v1/score", &request);
    assert_eq!(status, 200, "{answer}");
    let score = |i: usize, answer: &Value| answer["data"][i]["score"].as_f64().expect("a score");
    let num_tokens: usize =
        (0..3).map(|i| pairs[i]["tokens"].as_array().expect("tokens").len()).sum();
    assert_eq!(answer["usage"]["prompt_tokens"], num_tokens);
    assert_close(&(0..3).map(|i| score(i, &answer)).collect::<Vec<_>>(), &scores);
    let request = json!({"text_1": "who", "text_2": ["a", "b", "c"], "use_activation": true});
    let (_, answer) = post(&server, "/v1/score", &request);
    assert!((0..3).all(|i| (0.0..1.0).contains(&score(i, &answer))));

    for (path, request) in [
        ("/v1/rerank", json!({"query": "a", "documents": []})),
        ("/v1/rerank", json!({"query": "a", "documents": ["b"], "top_n": 0})),
        ("/v2/rerank", json!({"query": "a", "documents": ["b"], "max_tokens_per_doc": 0})),
        ("/v1/score", json!({"text_1": ["a", "b"], "text_2": ["c"]})),
        ("/v1/rerank", json!({"query": "a", "documents": ["cat ".repeat(100)]})),
    ] {
        assert_eq!(post(&server, path, &request).0, 400, "{request}");
    }
    let rank = |more: (&str, i64)| {
        let request = json!({"query": "a", "documents": ["cat ".repeat(100)], more.0: more.1});
        let (status, answer) = post(&server, "/v1/rerank", &request);
        assert_eq!(status, 200, "{answer}");
        answer["usage"]["prompt_tokens"].as_u64().expect("a number")
    };
    assert_eq!(rank(("truncate_prompt_tokens", -1)), 64);
    assert_eq!(rank(("truncate_prompt_tokens", 20)), 20);
    assert_eq!(rank(("max_tokens_per_doc", 4096)), 64);
    // <s> a </s></s> and </s>.
    let num_special = rank(("max_tokens_per_doc", 5)) - 5;
    assert_eq!(rank(("max_tokens_per_doc", 9)), num_special + 9);
}

#[test]
fn documents_in_a_template_are_truncated() {
    let server = server("qwen3-judge.gguf");
    let ask = |more: Value| {
        let mut request = json!({"query": "a", "documents": ["ä cat ".repeat(300)]});
        request.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap());
        post(&server, "/v1/rerank", &request)
    };
    assert_eq!(ask(json!({})).0, 400);
    let num_tokens = |more: Value| {
        let (status, answer) = ask(more);
        assert_eq!(status, 200, "{answer}");
        answer["usage"]["prompt_tokens"].as_u64().expect("a number")
    };
    let whole = num_tokens(json!({"truncate_prompt_tokens": -1}));
    assert!((1000..=1024).contains(&whole), "{whole}");
    assert!(num_tokens(json!({"max_tokens_per_doc": 30})) < whole - 300);
}

#[test]
fn the_server_embeds_with_an_encoder_and_refuses_to_generate() {
    let server = server("bert.gguf");
    let expected = answers("bert.json");
    let case = &expected["cases"][1];
    let (status, answer) = post(&server, "/v1/embeddings", &json!({"input": [case["tokens"]]}));
    assert_eq!(status, 200, "{answer}");
    let state = numbers(&case["embeddings"][0]);
    let length = state.iter().map(|x| x * x).sum::<f64>().sqrt();
    let state: Vec<_> = state.iter().map(|x| x / length).collect();
    assert_close(&numbers(&answer["data"][0]["embedding"]), &state);
    let (_, answer) = post(&server, "/api/embed", &json!({"input": "a cat", "model": "m"}));
    assert_eq!(numbers(&answer["embeddings"][0]).len(), 32);
    let embedding = |request| post(&server, "/embedding", &request).1[0]["embedding"][0].clone();
    let vector = embedding(json!({"content": "a cat"}));
    assert_eq!(numbers(&vector).len(), 32);
    assert_eq!(embedding(json!({"input": "a cat"})), vector);
    assert_eq!(embedding(json!({"input": "a cat", "content": "a dog"})), vector);
    let (status, answer) = post(&server, "/embedding", &json!({}));
    assert_eq!(status, 400, "{answer}");

    for (path, request) in [
        ("/v1/completions", json!({"prompt": "a"})),
        ("/completion", json!({"prompt": "a"})),
        ("/v1/rerank", json!({"query": "a", "documents": ["b"]})),
    ] {
        let (status, answer) = post(&server, path, &request);
        assert_eq!(status, 400, "{path}: {answer}");
    }
    let request = json!({"messages": [{"role": "user", "content": "a"}]});
    let (status, answer) = post(&server, "/v1/chat/completions", &request);
    assert_eq!(status, 400, "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("this model computes embeddings"), "{message}");
}

/// A copy of a reranker whose classifier has three outputs.
fn with_three_outputs(path: &Path) {
    let gguf = Gguf::open(encoder("xlm-roberta-reranker.gguf")).expect("a fixture");
    let factor = |name: &str| if name.starts_with("cls.output.") { 3 } else { 1 };
    let mut writer = GgufWriter::new(gguf.metadata()).expect("valid metadata");
    for info in gguf.tensors() {
        let mut dims = info.dims().to_vec();
        if let Some(rows) = dims.last_mut() {
            *rows *= factor(info.name());
        }
        writer.add_tensor(info.name(), &dims, info.ggml_type()).expect("a valid tensor");
    }
    let mut payloads = writer.create(path).expect("the folder is writable");
    for info in gguf.tensors() {
        let payload = gguf.data(info).repeat(factor(info.name()));
        payloads.append(info.name(), &payload).expect("the size fits");
    }
    payloads.finish().expect("all tensors are written");
}

#[test]
fn a_classifier_of_several_outputs_ranks_no_documents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.gguf");
    with_three_outputs(&path);
    let path = path.to_str().expect("a path in UTF-8");
    let error = embed(path, &["--query", "a", "b"]).failure(1).stderr;
    assert!(error.contains("3 outputs instead of one score"), "{error}");
    let outputs = lines(&embed(path, &["a"]).success().stdout)[0]["embedding"].clone();
    assert_eq!(numbers(&outputs).len(), 3);
    let (status, answer) =
        post(&server(path), "/v1/rerank", &json!({"query": "a", "documents": ["b"]}));
    assert_eq!(status, 400, "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("3 outputs instead of one score"), "{message}");
}

#[test]
fn checkpoints_of_rerankers_have_the_scores_of_transformers() {
    let checkpoint = |name: &str| {
        let fixtures =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../inferno-convert/tests/fixtures");
        fixtures.join(name)
    };
    let judge = answers("qwen3-judge.json");
    let judged =
        judge["cases"].as_array().expect("cases").iter().map(|case| numbers(&case["scores"])[0]);
    let reference = std::fs::read_to_string(checkpoint("qwen3-classifier").join("reference.json"));
    let classifier: Value =
        serde_json::from_str(&reference.expect("a fixture")).expect("it is JSON");
    let classified = classifier["pairs"].as_array().expect("pairs").iter();
    let classified = classified.map(|pair| pair["score"].as_f64().expect("a score"));
    for (name, answers, scores) in [
        ("qwen3-judge", &judge, judged.collect::<Vec<_>>()),
        ("qwen3-classifier", &classifier, classified.collect()),
    ] {
        let pairs = answers["pairs"].as_array().expect("pairs");
        for (pair, score) in pairs.iter().zip(scores) {
            let [query, document] =
                ["query", "document"].map(|key| pair[key].as_str().expect("a text"));
            let run =
                Run::inferno().args(["embed", "--kv-dtype", "f32", "-m"]).args([checkpoint(name)]);
            let output = run.args(["--query", query, document]).success().stdout;
            assert_close(
                &[lines(&output)[0]["relevance_score"].as_f64().expect("a score")],
                &[score],
            );
        }
    }
}
