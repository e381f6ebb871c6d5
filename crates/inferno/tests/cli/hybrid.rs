//! A hybrid of recurrent layers and attention, through the program and the library.

use std::path::PathBuf;

use crate::support::{Run, fixture};
use inferno::{
    Engine, EngineOptions, Event, GenerationParams, LoadOptions, Model, Request, SamplingParams,
    StopParams,
};
use inferno_engine::SampledToken;

const PROMPT: &str = "Once upon a time there was a river";

fn hybrid() -> PathBuf {
    fixture("hybrid.gguf")
}

/// A greedy run with an exact KV cache.
fn greedy(num_tokens: &str) -> Run {
    Run::inferno()
        .args(["generate", "--greedy", "--ignore-eos", "--kv-dtype", "f32", "-n", num_tokens, "-m"])
        .args([hybrid()])
}

fn text() -> String {
    greedy("48").args(["--backend", "reference", PROMPT]).success().stdout
}

#[test]
fn the_greedy_text_is_that_of_the_reference_backend() {
    let expected = text();
    assert_eq!(expected.trim_end_matches('\n').len(), 48, "{expected:?}");
    for flags in [
        &["--backend", "scalar"][..],
        &["--backend", "simd"],
        &["--backend", "parallel"],
        &["--threads", "3"],
        &["--no-kv"],
    ] {
        let outcome = greedy("48").args(flags).args([PROMPT]).success();
        assert_eq!(outcome.stdout, expected, "{flags:?}");
        assert_eq!(outcome.stderr, "", "{flags:?}");
    }
}

#[test]
fn speculation_does_not_change_the_text() {
    // Mostly two tokens, about equally often, so that drafts are often accepted, and often in part.
    let run = |flags: &[&str]| {
        let sampling =
            ["--temperature", "10", "--logit-bias", "101=100", "--logit-bias", "102=100"];
        let limits = ["--seed", "1", "--ignore-eos", "-n", "120", "--stats", "-m"];
        let run = Run::inferno().args(["generate"]).args(sampling).args(limits).args([hybrid()]);
        run.args(flags).args([PROMPT]).success()
    };
    let expected = run(&["--backend", "reference"]).stdout;
    for flags in [&["--backend", "reference"][..], &["--backend", "scalar"], &["--threads", "3"]] {
        let outcome = run(&[flags, &["--speculate", "8"]].concat());
        assert_eq!(outcome.stdout, expected, "{flags:?}");
        let line = outcome.stderr.lines().find(|line| line.starts_with("drafted"));
        let line = line.expect("statistics of drafts");
        assert!(!line.ends_with(", 0 accepted"), "{line}");
    }
}

#[test]
fn a_saved_session_continues_the_text() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("session.bin");
    let first = greedy("20").args(["--save-session"]).args([&file]).args([PROMPT]).success();
    let second = greedy("28").args(["--load-session"]).args([&file]).args([""]).success();
    assert_eq!(first.stdout.trim_end_matches('\n').to_owned() + &second.stdout, text());
}

#[test]
fn a_dry_run_lists_the_states_of_sequences_and_checkpoints() {
    let state = |args: &[&str]| {
        let outcome = Run::inferno().args(args).args(["--dry-run", "-m"]).args([hybrid()]);
        let stdout = outcome.success().stdout;
        let line = stdout.lines().find(|line| line.starts_with("state"));
        line.unwrap_or_else(|| panic!("no state in {stdout}")).to_owned()
    };
    assert!(state(&["generate"]).ends_with("  of 1 sequence"));
    let drafting = state(&["generate", "--speculate", "8"]);
    assert!(drafting.ends_with("  of 1 sequence; 1 more for speculation"), "{drafting}");
    assert!(state(&["bench", "-p", "16", "-n", "8", "--batch", "4"]).ends_with("  of 4 sequences"));
    // A context of 256 tokens has 16 blocks, and a server four contexts; each checkpoint belongs to a block.
    assert!(state(&["chat"]).ends_with("  of 1 sequence and 16 checkpoints"));
    let served = state(&["serve", "--max-num-seqs", "3"]);
    assert!(served.ends_with("  of 3 sequences and 64 checkpoints"), "{served}");
    let served = state(&["serve", "--max-num-seqs", "30", "--speculate", "8"]);
    assert!(served.ends_with("  of 30 sequences and 64 checkpoints; 8 more for speculation"));
    let served = state(&["serve", "--max-num-seqs", "3", "--no-prefix-cache"]);
    assert!(served.ends_with("  of 3 sequences"), "{served}");
}

fn engine(model: &Model) -> Engine {
    let loaded = model.load().expect("it loads");
    loaded.engine(EngineOptions::default()).expect("it starts")
}

fn model() -> Model {
    let options = LoadOptions { cache_tokens: Some(1024), ..LoadOptions::default() };
    Model::open(hybrid()).expect("a sound file").with_options(options)
}

fn submit(engine: &Engine, prompt: &[u32]) -> impl FnOnce() -> (Vec<SampledToken>, usize) + use<> {
    let sampling = SamplingParams { logprobs: Some(2), ..SamplingParams::greedy() };
    let stop = StopParams { max_tokens: Some(12), ignore_eos: true, ..StopParams::default() };
    let params = GenerationParams { sampling, stop, ..GenerationParams::default() };
    let request = Request::new(prompt.to_vec(), params);
    let mut stream = engine.handle().submit(request).expect("a sound request");
    move || {
        let mut tokens = Vec::new();
        loop {
            match stream.blocking_next() {
                Some(Event::Token(token)) => tokens.push(token.token),
                Some(Event::Finished(finished)) => return (tokens, finished.cached_tokens),
                Some(Event::Failed(error)) => panic!("the request failed: {error}"),
                Some(_) => {}
                None => panic!("the stream ended early"),
            }
        }
    }
}

#[test]
fn concurrent_requests_have_the_bits_of_solo_runs() {
    let model = model();
    let prompts: Vec<Vec<u32>> = (0..5u32)
        .map(|which| (0..20 + which * 7).map(|at| 40 + (which + at) % 50).collect())
        .collect();
    let shared = engine(&model);
    let streams: Vec<_> = prompts.iter().map(|prompt| submit(&shared, prompt)).collect();
    for (prompt, finish) in prompts.iter().zip(streams) {
        assert_eq!(finish().0, submit(&engine(&model), prompt)().0, "{} tokens", prompt.len());
    }
}

#[test]
fn the_turns_of_a_conversation_compute_only_new_tokens() {
    let model = model();
    let engine_of_all = engine(&model);
    let mut conversation: Vec<u32> = Vec::new();
    for turn in 0..6u32 {
        let num_before = conversation.len().saturating_sub(1);
        conversation.extend((0..9 + turn).map(|at| 40 + (turn * 7 + at) % 50));
        let (answer, num_cached) = submit(&engine_of_all, &conversation)();
        assert_eq!(num_cached, num_before - num_before % 16, "turn {turn}");
        let (cold, _) = submit(&engine(&model), &conversation)();
        assert_eq!(answer, cold, "turn {turn}");
        conversation.extend(answer.iter().map(|token| token.id));
    }
}
