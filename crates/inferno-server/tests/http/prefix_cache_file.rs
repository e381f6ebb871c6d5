//! A prefix cache that persists across restarts.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::post;
use crate::fixtures::stories;
use crate::server::start_keeping;

/// Continues the first story on a new server with its cache in `path`.
fn answer(path: &Path) -> Value {
    let server = start_keeping(path.to_owned());
    let story = &stories()[0];
    let asked = json!({
        "prompt": story["prompt"], "max_tokens": 12, "temperature": 1, "seed": 5, "logprobs": 3,
    });
    let answer = post(server.address, "/v1/completions", &asked).ok();
    server.stop();
    server.join();
    answer
}

fn cached_tokens(answer: &Value) -> u64 {
    answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().expect("it is told")
}

#[test]
fn a_restarted_server_reuses_the_cache_bit_identically() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    let (first, second) = (answer(&path), answer(&path));
    assert_eq!(cached_tokens(&first), 0);
    assert!(cached_tokens(&second) > 0);
    assert_eq!(first["choices"], second["choices"]);
}

#[test]
fn a_damaged_file_is_ignored_and_replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    answer(&path);
    let mut bytes = fs::read(&path).expect("it was written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("it can be written");
    assert_eq!(cached_tokens(&answer(&path)), 0);
    assert!(cached_tokens(&answer(&path)) > 0);
}
