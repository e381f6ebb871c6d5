//! Stages that answer with an error when they are opened again, or that stop because of their file.

use std::time::Duration;

use inferno_gguf::Gguf;

use super::remote::{Source, addresses, check, prompts, start, submit_all};
use crate::cores::core;
use crate::models::small_models;
use crate::serving::{failure, submit};
use crate::session::greedy;

#[test]
fn requests_wait_while_a_stage_that_returned_rejects_its_head() {
    let (source, other) = (Source::small("qwen3"), Source::small("mistral-window"));
    let mut servers = source.serve_all(2);
    let addresses = addresses(&servers);
    let cores = [0, 1].map(|_| core(source.runner(&addresses).expect("stages that work")));
    let engine = start(&cores);
    let layers = servers[1].layers();
    servers.pop();
    let streams = submit_all(&engine);
    // Another model, and other layers.
    for wrong in [other.serve(layers.clone()), source.serve(0..1)] {
        addresses.set(1, wrong.address().to_string());
        std::thread::sleep(Duration::from_millis(700));
    }
    let replacement = source.serve(layers);
    addresses.set(1, replacement.address().to_string());
    check(&source, streams);
    engine.shut_down();
}

#[test]
fn requests_fail_with_the_error_of_a_stage_that_rejects_its_head_for_too_long() {
    let (source, other) = (Source::small("qwen3"), Source::small("mistral-window"));
    let mut servers = source.serve_all(2);
    let addresses = addresses(&servers).with_recovery_timeout(Duration::from_millis(200));
    let runner = source.runner(&addresses).expect("stages that work");
    let engine = start(&[core(runner)]);
    let wrong = other.serve(servers[1].layers());
    servers.pop();
    addresses.set(1, wrong.address().to_string());
    let message = failure(submit(&engine, &prompts()[0], &greedy(24)));
    assert!(message.contains("another model"), "{message}");
}

#[test]
fn a_stage_whose_file_is_overwritten_stops() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.gguf");
    std::fs::copy(small_models().join("qwen3.gguf"), &path).expect("room for a copy");
    let source = Source::small("qwen3");
    let watch = Gguf::open(&path).expect("a sound file").watch();
    let mut servers = vec![source.serve(0..1), source.serve_watched(1..2, watch)];
    let addresses = addresses(&servers);
    let runner = source.runner(&addresses).expect("stages that work");
    let engine = start(&[core(runner)]);
    std::fs::write(&path, b"another model").expect("a writable file");
    let streams = submit_all(&engine);
    while !servers[1].has_stopped() {
        std::thread::yield_now();
    }
    servers[1] = source.serve(1..2);
    addresses.set(1, servers[1].address().to_string());
    check(&source, streams);
    engine.shut_down();
}
