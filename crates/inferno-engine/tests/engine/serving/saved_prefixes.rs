//! The prefix cache in a file: loading restores it, and any other file is rejected.

use std::fs;
use std::path::Path;

use inferno_engine::{CoreOptions, Engine, EngineError, EngineHandle};
use inferno_gguf::Gguf;
use proptest::prelude::*;

use super::same_bits::model_runner;
use super::{alone, at_rest, engine, only, options, runner, submit};
use crate::cores::{core, core_with};
use crate::fake_runner::FakeRunner;
use crate::models::small_models;
use crate::session::greedy;

/// Sizes in bytes of the header and of a block of four tokens with its parent and contents.
const HEADER_BYTES: usize = 56;
const BLOCK_BYTES: usize = 4 + 4 * 4 + 8 * 4;

/// Saves the cache of an engine that has computed these prompts.
fn saved(prompts: &[Vec<u32>], path: &Path) -> usize {
    let engine = engine(runner(60));
    for prompt in prompts {
        only(submit(&engine, prompt, &greedy(2)));
    }
    let num_blocks = engine.handle().save_prefixes(path).expect("it can be written");
    assert_eq!(num_blocks, at_rest(&engine).blocks.num_cached);
    num_blocks
}

fn prompt(start: u32, len: u32) -> Vec<u32> {
    (0..len).map(|at| 2 + (start + at * at) % 30).collect()
}

/// Loads `path` into a new engine, which must be empty and usable after the error.
fn refusal(path: &Path, runner: FakeRunner) -> EngineError {
    let engine = engine(runner);
    let error = engine.handle().load_prefixes(path).expect_err("it must be refused");
    assert_eq!(at_rest(&engine).blocks.num_cached, 0);
    let (said, end) = only(submit(&engine, &prompt(1, 9), &greedy(2)));
    assert_eq!((said, end.cached_tokens), (alone(&prompt(1, 9), &greedy(2)), 0));
    error
}

#[test]
fn prompts_computed_before_a_restart_are_reused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    let prompts: Vec<_> = (0..4).map(|start| prompt(start, 20)).collect();
    let num_blocks = saved(&prompts, &path);
    assert_eq!(
        fs::metadata(&path).expect("it was written").len(),
        (HEADER_BYTES + num_blocks * BLOCK_BYTES + 4) as u64
    );
    let engine = engine(runner(60));
    assert_eq!(engine.handle().load_prefixes(&path).expect("it can be read"), num_blocks);
    assert_eq!(at_rest(&engine).blocks.num_cached, num_blocks);
    for prompt in &prompts {
        let (said, end) = only(submit(&engine, prompt, &greedy(6)));
        assert_eq!((said, end.cached_tokens), (alone(prompt, &greedy(6)), 16));
    }
}

#[test]
fn the_most_recently_used_blocks_are_loaded_into_a_smaller_cache() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    let prompts: Vec<_> = (0..4).map(|start| prompt(start, 21)).collect();
    assert!(saved(&prompts, &path) >= 20);
    let small = engine(runner(10));
    assert_eq!(small.handle().load_prefixes(&path).expect("it can be read"), 10);
    let cached = |prompt: &[u32]| {
        let (said, end) = only(submit(&small, prompt, &greedy(2)));
        assert_eq!(said, alone(prompt, &greedy(2)));
        end.cached_tokens
    };
    // Each answer needs a block of its own, evicted from the least recently used.
    assert_eq!((cached(&prompts[3]), cached(&prompts[2])), (20, 16));
    assert_eq!(cached(&prompts[0]), 0);
}

#[test]
fn loading_adds_blocks_that_are_not_cached_yet() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    let prompts = [prompt(0, 20), prompt(1, 20)];
    let num_blocks = saved(&prompts, &path);
    let engine = engine(runner(60));
    only(submit(&engine, &prompts[0], &greedy(2)));
    for _ in 0..2 {
        assert_eq!(engine.handle().load_prefixes(&path).expect("it can be read"), num_blocks);
        assert_eq!(at_rest(&engine).blocks.num_cached, num_blocks);
    }
    assert_eq!(only(submit(&engine, &prompts[1], &greedy(2))).1.cached_tokens, 16);
}

#[test]
fn models_continue_from_a_file_bit_identically() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    let checkpoint = Gguf::open(small_models().join("qwen3.gguf")).expect("a sound file");
    let start = || {
        let runner = model_runner(&checkpoint, None);
        Engine::start(&core(runner), options()).expect("a sound runner")
    };
    let prompt: Vec<u32> = (0..40).map(|at| 2 + at % 29).collect();
    let mut params = greedy(12);
    params.sampling.logprobs = Some(3);
    let first = start();
    let expected = only(submit(&first, &prompt, &params)).0;
    first.handle().save_prefixes(&path).expect("it can be written");
    let second = start();
    second.handle().load_prefixes(&path).expect("it can be read");
    let (said, end) = only(submit(&second, &prompt, &params));
    assert_eq!(said, expected);
    assert!(end.cached_tokens > 0);
}

#[test]
fn a_file_of_another_model_or_block_size_is_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    saved(&[prompt(0, 20)], &path);
    let error = refusal(&path, runner(60).with_fingerprint(2));
    assert!(
        matches!(error, EngineError::StateOfAnotherModel { expected: 2, found: 1, .. }),
        "{error}"
    );

    // A forged file can have the same fingerprint.
    let mut changed = fs::read(&path).expect("it was written");
    changed[32] += 1;
    fs::write(&path, with_checksum(changed)).expect("it can be written");
    let error = refusal(&path, runner(60));
    assert!(matches!(error, EngineError::StateDamaged { .. }), "{error}");
}

/// Corrects the checksum at the end.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn every_truncation_is_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    saved(&[prompt(0, 9)], &path);
    let whole = fs::read(&path).expect("it was written");
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).expect("it can be written");
        let error = refusal(&path, runner(16));
        assert!(
            matches!(error, EngineError::StateTruncated { found, .. } if found == len as u64),
            "{error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_change_is_rejected(at in any::<prop::sample::Index>(), bit in 0..8) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("prefixes");
        saved(&[prompt(0, 9), prompt(1, 9)], &path);
        let mut changed = fs::read(&path).expect("it was written");
        let at = at.index(changed.len());
        changed[at] ^= 1_u8 << bit;
        fs::write(&path, changed).expect("it can be written");
        refusal(&path, runner(16));
    }

    #[test]
    fn forged_numbers_are_rejected_or_harmless(
        at in any::<prop::sample::Index>(),
        number in prop_oneof![Just(u32::MAX), Just(1 << 31), 0u32..40],
    ) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("prefixes");
        saved(&[prompt(0, 13), prompt(1, 13)], &path);
        let mut changed = fs::read(&path).expect("it was written");
        // Anywhere after magic and version.
        let place = 16 + 4 * at.index((changed.len() - 20) / 4);
        changed[place..place + 4].copy_from_slice(&number.to_le_bytes());
        fs::write(&path, with_checksum(changed)).expect("it can be written");
        let engine = engine(runner(16));
        let taken_in = engine.handle().load_prefixes(&path).unwrap_or(0);
        let blocks = at_rest(&engine).blocks;
        prop_assert!(blocks.num_cached <= taken_in);
        prop_assert_eq!(blocks.num_free + blocks.num_cached, 16);
    }
}

#[test]
fn an_unrelated_file_is_neither_read_nor_replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("notes");
    fs::write(&path, "Buy milk. ".repeat(10)).expect("it can be written");
    let error = refusal(&path, runner(16));
    assert!(matches!(error, EngineError::StateUnknown { .. }), "{error}");
    let error = EngineHandle::check_save_prefixes(&path).expect_err("it is something else");
    assert!(error.to_string().contains("is not a saved prefix cache"), "{error}");
    engine(runner(16)).handle().save_prefixes(&path).expect_err("it is something else");
    assert!(fs::read_to_string(&path).expect("it is there").starts_with("Buy milk."));
}

#[test]
fn an_unwritable_path_is_reported_at_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    EngineHandle::check_save_prefixes(folder.path().join("prefixes")).expect("it can be written");
    assert!(fs::read_dir(&folder).expect("it is there").next().is_none(), "nothing is left of it");
    let error = EngineHandle::check_save_prefixes(folder.path().join("none/prefixes"));
    assert!(matches!(error, Err(EngineError::StateIo { .. })), "{error:?}");
}

#[test]
fn an_engine_without_a_prefix_cache_loads_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("prefixes");
    saved(&[prompt(0, 9)], &path);
    let core_options = CoreOptions { prefix_cache: false, ..CoreOptions::default() };
    let engine = Engine::start(&core_with(runner(16), core_options), options()).expect("sound");
    assert_eq!(engine.handle().load_prefixes(&path).expect("it can be read"), 0);
    assert_eq!(at_rest(&engine).blocks.num_free, 16);
}
