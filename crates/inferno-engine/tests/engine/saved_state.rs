//! Saved sessions: loading restores the saved state, and any other file is rejected.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use inferno_engine::{EngineError, Session, SessionOptions};

use crate::cores::core;
use crate::fake_runner::FakeRunner;
use crate::session::{greedy, session, tokens_of};

fn fresh() -> Session {
    session(FakeRunner::new(64, 8))
}

/// A session with a prompt and generated tokens, saved to `path`.
fn saved_to(path: &Path) -> Session {
    let mut session = fresh();
    tokens_of(&mut session, &[5, 6, 7, 8, 9], &greedy(4));
    session.save(path).expect("it can be written");
    session
}

/// Loads `path` into a session with other contents, which must survive the error.
fn refusal(path: &Path, runner: FakeRunner) -> EngineError {
    let mut session = session(runner);
    session.extend(&[3, 4]).expect("it fits");
    let error = session.load(path).expect_err("it must be refused");
    assert_eq!(session.tokens(), [3, 4]);
    error
}

#[test]
fn a_loaded_conversation_continues_without_prefill() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    let mut original = saved_to(&path);

    let runner = FakeRunner::new(64, 8);
    let passes = runner.passes();
    let mut loaded = session(runner);
    loaded.extend(&[3; 30]).expect("it fits");
    passes.lock().expect("no panic").clear();
    loaded.load(&path).expect("it can be read");
    assert_eq!(loaded.tokens(), original.tokens());
    let said = tokens_of(&mut loaded, &[10], &greedy(6));
    assert_eq!(said, tokens_of(&mut original, &[10], &greedy(6)));
    assert_eq!(*passes.lock().expect("no panic"), [2, 1, 1, 1, 1, 1]);
}

#[test]
fn a_session_can_be_saved_while_others_take_its_blocks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    let shared = core(FakeRunner::new(64, 8));
    let open = || Session::new(shared.clone(), SessionOptions::default()).expect("room for it");
    let (mut original, mut other) = (open(), open());
    tokens_of(&mut original, &[5; 30], &greedy(4));
    let expected = tokens_of(&mut fresh(), original.tokens(), &greedy(6));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                other.reset();
                tokens_of(&mut other, &[6; 50], &greedy(4));
            }
        });
        for _ in 0..20 {
            original.save(&path).expect("it can be written");
            let mut loaded = fresh();
            loaded.load(&path).expect("it can be read");
            assert_eq!(loaded.tokens(), original.tokens());
            assert_eq!(tokens_of(&mut loaded, &[], &greedy(6)), expected);
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn an_empty_session_can_be_saved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    fresh().save(&path).expect("it can be written");
    let mut session = fresh();
    session.extend(&[3]).expect("it fits");
    session.load(&path).expect("it can be read");
    assert_eq!(session.tokens(), [0u32; 0]);
}

#[test]
fn a_session_loads_into_a_larger_context_but_not_a_smaller_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    let original = saved_to(&path);
    let mut larger = session(FakeRunner::new(200, 8));
    larger.load(&path).expect("it can be read");
    assert_eq!(larger.tokens(), original.tokens());

    let error = refusal(&path, FakeRunner::new(8, 8));
    assert!(
        matches!(error, EngineError::StateTooLong { num_tokens: 9, context_length: 8, .. }),
        "{error}"
    );
}

#[test]
fn a_file_of_another_model_is_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    saved_to(&path);
    let error = refusal(&path, FakeRunner::new(64, 8).with_fingerprint(2));
    assert!(
        matches!(error, EngineError::StateOfAnotherModel { expected: 2, found: 1, .. }),
        "{error}"
    );
}

#[test]
fn every_truncation_is_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    saved_to(&path);
    let whole = fs::read(&path).expect("it was written");
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).expect("it can be written");
        let error = refusal(&path, FakeRunner::new(64, 8));
        assert!(
            matches!(error, EngineError::StateTruncated { found, .. } if found == len as u64),
            "{error}"
        );
    }
}

#[test]
fn every_flipped_bit_is_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    saved_to(&path);
    let whole = fs::read(&path).expect("it was written");
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, changed).expect("it can be written");
            let error = refusal(&path, FakeRunner::new(64, 8));
            let typed = match at {
                0..8 => matches!(error, EngineError::StateUnknown { .. }),
                8..12 => matches!(error, EngineError::StateVersion { known: 2, .. }),
                16..24 => matches!(error, EngineError::StateOfAnotherModel { .. }),
                24..32 => matches!(
                    error,
                    EngineError::StateTooLong { .. } | EngineError::StateDamaged { .. }
                ),
                48..56 => matches!(
                    error,
                    EngineError::StateTruncated { .. } | EngineError::StateDamaged { .. }
                ),
                _ => matches!(error, EngineError::StateDamaged { .. }),
            };
            assert!(typed, "byte {at}, bit {bit}: {error}");
        }
    }
}

#[test]
fn trailing_bytes_are_rejected() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    saved_to(&path);
    let mut longer = fs::read(&path).expect("it was written");
    longer.push(0);
    fs::write(&path, longer).expect("it can be written");
    let error = refusal(&path, FakeRunner::new(64, 8));
    assert!(matches!(error, EngineError::StateDamaged { .. }), "{error}");
}

#[test]
fn errors_name_inaccessible_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("missing").join("state");
    let error = refusal(&path, FakeRunner::new(64, 8));
    assert!(matches!(error, EngineError::StateIo { action: "read", .. }), "{error}");
    let error = fresh().save(&path).expect_err("there is no such folder");
    assert!(matches!(error, EngineError::StateIo { action: "write", .. }), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn control_characters_in_file_names_are_escaped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a\u{1b}[31mb");
    fs::write(&path, [0; 100]).expect("it can be written");
    let shown = refusal(&path, FakeRunner::new(64, 8)).to_string();
    assert!(shown.contains(r"a\u{1b}[31mb"), "{shown:?}");
}

#[test]
#[cfg(unix)]
fn a_saved_conversation_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    saved_to(&path);
    let mode = fs::metadata(&path).expect("it was written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn saving_replaces_an_older_file_and_leaves_no_temporary_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("state");
    saved_to(&path);
    let mut session = fresh();
    session.extend(&[3, 4, 5]).expect("it fits");
    session.save(&path).expect("it can be written");
    let mut loaded = fresh();
    loaded.load(&path).expect("it can be read");
    assert_eq!(loaded.tokens(), [3, 4, 5]);
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 1);
}
