//! `inferno pull` with a local server that imitates the hub.

use std::fs;
use std::path::Path;

use crate::support::hub_server::{HubServer, sha256};
use crate::support::{Outcome, Run};

const REPO: &str = "owner/tiny-GGUF";

/// Returns bytes without repetitions, so that a misplaced part is detected.
fn content(seed: u32, len: u32) -> Vec<u8> {
    (0..len).flat_map(|i| (i.wrapping_mul(2_654_435_761) ^ seed).to_le_bytes()).collect()
}

fn pull(server: &HubServer, cache: &Path, model: &str) -> Run {
    Run::inferno()
        .args(["pull", model])
        .env("HF_ENDPOINT", server.endpoint())
        .env("HF_HUB_CACHE", cache)
}

fn pulled(outcome: &Outcome) -> Vec<u8> {
    fs::read(outcome.stdout.trim_end()).expect("the printed path is a file")
}

#[test]
fn a_model_is_downloaded_once() {
    let (q4, q8) = (content(4, 5_000), content(8, 9_000));
    let files = [("m-Q4_K_M.gguf", &q4[..]), ("m-Q8_0.gguf", &q8), ("README.md", b"#")];
    let server = HubServer::start(REPO, &files);
    let cache = tempfile::tempdir().unwrap();

    let outcome = pull(&server, cache.path(), "hf:owner/tiny-GGUF:q8_0").success();
    assert_eq!(outcome.stderr, "");
    assert_eq!(pulled(&outcome), q8);
    assert_eq!(server.downloads(), ["/cdn/m-Q8_0.gguf bytes=0-"]);

    let again = pull(&server, cache.path(), "hf:owner/tiny-GGUF:q8_0").success();
    assert_eq!(again.stdout, outcome.stdout);
    assert_eq!(server.downloads(), [""; 0]);

    assert_eq!(pulled(&pull(&server, cache.path(), "hf:owner/tiny-GGUF").success()), q4);
}

#[test]
fn a_name_may_contain_spaces() {
    let bytes = content(3, 1_000);
    let server = HubServer::start(REPO, &[("my model.gguf", &bytes)]);
    let cache = tempfile::tempdir().unwrap();
    let outcome = pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();
    assert_eq!(pulled(&outcome), bytes);
}

#[test]
fn an_interrupted_download_is_resumed() {
    let bytes = content(1, 100_000);
    let server = HubServer::start(REPO, &[("m.gguf", &bytes)]);
    let cache = tempfile::tempdir().unwrap();
    server.break_off(1);

    let outcome = pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();
    assert_eq!(pulled(&outcome), bytes);
    assert_eq!(server.downloads(), ["/cdn/m.gguf bytes=0-", "/cdn/m.gguf bytes=200000-"]);
}

#[test]
fn a_partial_file_of_an_earlier_run_is_resumed() {
    let bytes = content(2, 50_000);
    let server = HubServer::start(REPO, &[("m.gguf", &bytes)]);
    let cache = tempfile::tempdir().unwrap();
    // The state after an interrupted run: the first part, under the name that the client uses.
    pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();
    let blobs = cache.path().join("models--owner--tiny-GGUF/blobs");
    let blob = fs::read_dir(&blobs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_none())
        .unwrap();
    fs::write(blob.with_extension("part"), &bytes[..120_001]).unwrap();
    fs::remove_file(&blob).unwrap();
    fs::remove_dir_all(cache.path().join("models--owner--tiny-GGUF/snapshots")).unwrap();
    server.requests();

    let outcome = pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();
    assert_eq!(pulled(&outcome), bytes);
    assert_eq!(server.downloads(), ["/cdn/m.gguf bytes=120001-"]);

    // A server may ignore the range and send the whole file.
    fs::write(blob.with_extension("part"), &bytes[..120_001]).unwrap();
    fs::remove_file(&blob).unwrap();
    server.ignore_ranges();
    let outcome = pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();
    assert_eq!(pulled(&outcome), bytes);
    assert_eq!(server.downloads(), ["/cdn/m.gguf bytes=120001-"]);
    assert_eq!(fs::read(&blob).unwrap(), bytes);
}

#[test]
fn a_corrupted_download_is_rejected_and_deleted() {
    let bytes = content(3, 1_000);
    let server = HubServer::start(REPO, &[("m.gguf", &bytes)]);
    let cache = tempfile::tempdir().unwrap();
    server.corrupt(true);
    let outcome = pull(&server, cache.path(), "hf:owner/tiny-GGUF").failure(1);
    assert!(outcome.stderr.contains("m.gguf is corrupted: SHA-256 is"), "{}", outcome.stderr);

    server.corrupt(false);
    assert_eq!(pulled(&pull(&server, cache.path(), "hf:owner/tiny-GGUF").success()), bytes);
}

#[test]
fn all_shards_are_downloaded() {
    let (one, two) = (content(5, 700), content(6, 800));
    let files = [("q8_0/m-00001-of-00002.gguf", &one[..]), ("q8_0/m-00002-of-00002.gguf", &two)];
    let server = HubServer::start(REPO, &files);
    let cache = tempfile::tempdir().unwrap();
    let outcome = pull(&server, cache.path(), "hf:owner/tiny-GGUF:Q8_0").success();
    assert_eq!(pulled(&outcome), one);
    let second = outcome.stdout.trim_end().replace("00001-of", "00002-of");
    assert_eq!(fs::read(second).unwrap(), two);
}

#[test]
fn the_token_of_the_environment_is_sent() {
    let bytes = content(7, 100);
    let server = HubServer::start(REPO, &[("m.gguf", &bytes)]);
    server.require_token("hf_secret");
    let cache = tempfile::tempdir().unwrap();
    let refused = pull(&server, cache.path(), "hf:owner/tiny-GGUF").failure(1);
    assert!(refused.stderr.contains("returned status 401"), "{}", refused.stderr);
    assert!(refused.stderr.contains("set HF_TOKEN"), "{}", refused.stderr);
    let outcome =
        pull(&server, cache.path(), "hf:owner/tiny-GGUF").env("HF_TOKEN", "hf_secret").success();
    assert_eq!(pulled(&outcome), bytes);
}

#[test]
fn a_cached_model_works_without_a_connection() {
    let bytes = content(8, 100);
    let server = HubServer::start(REPO, &[("m-Q8_0.gguf", &bytes)]);
    let cache = tempfile::tempdir().unwrap();
    pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();

    let offline = |args: [&str; 2]| {
        Run::inferno()
            .args(args)
            .env("HF_HUB_CACHE", cache.path())
            .env("HF_ENDPOINT", "http://127.0.0.1:9")
    };
    let outcome = offline(["pull", "hf:owner/tiny-GGUF"]).success();
    assert_eq!(pulled(&outcome), bytes);
    assert!(
        outcome.stderr.starts_with("warning: could not reach the Hugging Face Hub"),
        "{}",
        outcome.stderr
    );
    let forbidden =
        offline(["pull", "hf:owner/tiny-GGUF:Q8_0"]).env("HF_HUB_OFFLINE", "1").success();
    assert_eq!(pulled(&forbidden), bytes);

    let missing = offline(["pull", "hf:owner/other"]).failure(1);
    assert!(
        missing.stderr.contains("failed to request hf:owner/other from http://127.0.0.1:9"),
        "{}",
        missing.stderr
    );
}

#[test]
fn missing_models_are_reported_with_the_available_ones() {
    let files: [(&str, &[u8]); 2] = [("m-Q2_K.gguf", b"2"), ("m-Q3_K_S.gguf", b"3")];
    let server = HubServer::start(REPO, &files);
    let cache = tempfile::tempdir().unwrap();
    for model in ["hf:owner/tiny-GGUF", "hf:owner/tiny-GGUF:Q8_0"] {
        let outcome = pull(&server, cache.path(), model).failure(1);
        assert!(outcome.stderr.contains("\n  m-Q2_K.gguf\n  m-Q3_K_S.gguf"), "{}", outcome.stderr);
    }
    let outcome = pull(&server, cache.path(), "hf:owner/unknown").failure(1);
    assert!(
        outcome.stderr.contains("returned status 404 for hf:owner/unknown"),
        "{}",
        outcome.stderr
    );
    pull(&server, cache.path(), "owner/tiny-GGUF").failure(2);
}

#[test]
fn an_etag_never_escapes_the_cache() {
    let bytes = content(9, 500);
    let server = HubServer::start(REPO, &[("m.gguf", &bytes)]);
    let outer = tempfile::tempdir().unwrap();
    let cache = outer.path().join("hub");

    server.give_etags(&["../../../evil"]);
    let refused = pull(&server, &cache, "hf:owner/tiny-GGUF").failure(1);
    let expected = "the hub returned \"../../../evil\" as the etag of a file";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);

    // A valid etag first, and an invalid one when the file is downloaded.
    let checksum = sha256(&bytes);
    server.give_etags(&[&checksum, "../../../evil", "../../../evil"]);
    let outcome = pull(&server, &cache, "hf:owner/tiny-GGUF").success();
    assert_eq!(pulled(&outcome), bytes);
    let names: Vec<_> =
        fs::read_dir(outer.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["hub"]);
}

#[test]
fn a_corrupted_cache_entry_is_replaced() {
    let bytes = content(10, 300);
    let server = HubServer::start(REPO, &[("m.gguf", &bytes)]);
    let cache = tempfile::tempdir().unwrap();
    let first = pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();
    let pointer = first.stdout.trim_end();
    fs::remove_file(pointer).unwrap();
    fs::write(pointer, b"cut sho").unwrap();

    let again = pull(&server, cache.path(), "hf:owner/tiny-GGUF").success();
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(pulled(&again), bytes);
}

#[test]
fn incomplete_shards_do_not_affect_other_cached_models() {
    let (one, two, whole) = (content(11, 300), content(12, 300), content(13, 300));
    let files = [
        ("m-F16-00001-of-00002.gguf", &one[..]),
        ("m-F16-00002-of-00002.gguf", &two),
        ("m-Q8_0.gguf", &whole),
    ];
    let server = HubServer::start(REPO, &files);
    let cache = tempfile::tempdir().unwrap();
    let f16 = pull(&server, cache.path(), "hf:owner/tiny-GGUF:F16").success();
    pull(&server, cache.path(), "hf:owner/tiny-GGUF:Q8_0").success();
    fs::remove_file(f16.stdout.trim_end().replace("00001-of", "00002-of")).unwrap();

    let offline = |model| pull(&server, cache.path(), model).env("HF_HUB_OFFLINE", "1");
    let found = offline("hf:owner/tiny-GGUF:Q8_0").success();
    assert_eq!(pulled(&found), whole);
    let broken = offline("hf:owner/tiny-GGUF:F16").failure(1);
    let expected = "shard m-F16-00002-of-00002.gguf is missing";
    assert!(broken.stderr.contains(expected), "{}", broken.stderr);
}
