//! Layers with a sliding window: memory for the window alone, and the same tokens.

use inferno_engine::{GenerationParams, Session, SessionOptions};

use crate::cores::core;
use crate::fake_runner::FakeRunner;
use crate::session::{greedy, session, tokens_of};

const CONTEXT_LENGTH: usize = 4000;

/// A runner that checks every position within the window, with blocks of four tokens.
fn runner() -> FakeRunner {
    FakeRunner::new(CONTEXT_LENGTH, 16).with_num_logit_rows(1)
}

fn prompt(len: u32) -> Vec<u32> {
    (0..len).map(|i| 2 + i * i % 29).collect()
}

fn params(num_tokens: usize) -> GenerationParams {
    greedy(num_tokens)
}

#[test]
fn a_long_context_needs_the_memory_of_its_window() {
    let windowed = runner().with_window(20);
    let max_blocks = windowed.max_window_blocks();
    let found = tokens_of(&mut session(windowed), &prompt(3000), &params(200));
    assert_eq!(found, tokens_of(&mut session(runner()), &prompt(3000), &params(200)));
    // Two sequences of (20 / 4 + 3) blocks, and a chunk of 16 tokens; the context has 1000 blocks.
    let max_blocks = *max_blocks.lock().expect("no pass panicked");
    assert!((8..=20).contains(&max_blocks), "{max_blocks}");
}

#[test]
fn a_conversation_computes_only_new_tokens() {
    let runner = runner().with_window(20);
    let passes = runner.passes();
    let mut session = session(runner);
    let mut expected = 0;
    for turn in 0..10 {
        tokens_of(&mut session, &prompt(30 + turn), &params(20));
        // The last token of a turn is computed with the next one.
        expected += 30 + turn as usize + 20 - usize::from(turn == 0);
    }
    assert_eq!(passes.lock().expect("no pass panicked").iter().sum::<usize>(), expected);
}

#[test]
fn a_prefix_is_shared_while_the_window_before_its_end_exists() {
    let runner = runner().with_window(20);
    let passes = runner.passes();
    let core = core(runner);
    let open = || Session::new(core.clone(), SessionOptions::default()).expect("a sound core");
    let computed = || std::mem::take(&mut *passes.lock().expect("no pass panicked")).iter().sum();
    let first = tokens_of(&mut open(), &prompt(400), &params(4));
    let _: usize = computed();

    // The end of the prompt is within the window still.
    assert_eq!(tokens_of(&mut open(), &prompt(400), &params(4)), first);
    let num_tokens: usize = computed();
    assert!(num_tokens <= 12, "{num_tokens}");

    // Its beginning is not: a prompt that ends there is computed again, and leaves its window.
    let short = tokens_of(&mut open(), &prompt(200), &params(4));
    let num_tokens: usize = computed();
    assert!(num_tokens >= 200, "{num_tokens}");
    assert_eq!(tokens_of(&mut open(), &prompt(200), &params(4)), short);
    let num_tokens: usize = computed();
    assert!(num_tokens <= 12, "{num_tokens}");
}

#[test]
fn blocks_that_replaced_others_are_saved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (state, prefixes) = (folder.path().join("state"), folder.path().join("prefixes"));
    let core = core(runner().with_window(20));
    let open = || Session::new(core.clone(), SessionOptions::default()).expect("a sound core");
    tokens_of(&mut open(), &prompt(400), &params(4));
    // The window of the cached beginning is released, so that the last step computes its blocks again.
    let mut session = open();
    tokens_of(&mut session, &prompt(200), &params(1));
    core.save_prefixes(&prefixes).expect("it can be written");
    session.save(&state).expect("it can be written");
    let mut loaded = open();
    loaded.load(&state).expect("it can be read");
    assert_eq!(tokens_of(&mut loaded, &[7], &params(5)), tokens_of(&mut session, &[7], &params(5)));
}

#[test]
fn saved_state_has_the_window_and_no_more() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (state, prefixes) = (folder.path().join("state"), folder.path().join("prefixes"));
    let saving = core(runner().with_window(20));
    let mut session = Session::new(saving.clone(), SessionOptions::default()).expect("sound");
    tokens_of(&mut session, &prompt(500), &params(3));
    session.save(&state).expect("it can be written");
    saving.save_prefixes(&prefixes).expect("it can be written");
    // 503 positions of 8 bytes; 6 blocks of 4 positions within the window, or some more.
    let num_bytes = std::fs::metadata(&state).expect("a file").len();
    assert!((4 * 503 + 8 * 503..15 * 503).contains(&num_bytes), "{num_bytes}");

    let expected = tokens_of(&mut session, &[7], &params(5));
    for loads_prefixes in [false, true] {
        let runner = runner().with_window(20);
        let passes = runner.passes();
        let core = core(runner);
        let mut loaded = Session::new(core.clone(), SessionOptions::default()).expect("sound");
        if loads_prefixes {
            core.load_prefixes(&prefixes).expect("it can be read");
            let tokens = [session.tokens()[..503].to_vec(), vec![7]].concat();
            assert_eq!(tokens_of(&mut loaded, &tokens, &params(5)), expected);
        } else {
            loaded.load(&state).expect("it can be read");
            assert_eq!(tokens_of(&mut loaded, &[7], &params(5)), expected);
        }
        let num_tokens: usize = passes.lock().expect("no pass panicked").iter().sum();
        assert!(num_tokens <= 16, "{num_tokens}");
    }
}
