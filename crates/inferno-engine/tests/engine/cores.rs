//! Cores on the runners of these tests.

use inferno_engine::{CoreOptions, GenerationCore, Runner};

use crate::vocabulary::tokenizer;

/// A core with the tokenizer of these tests and as many sequences as the runner's batches hold.
pub fn core(runner: impl Runner + 'static) -> GenerationCore {
    core_with(runner, CoreOptions::default())
}

pub fn core_with(runner: impl Runner + 'static, options: CoreOptions) -> GenerationCore {
    GenerationCore::new(Box::new(runner), tokenizer(), options).expect("a sound runner")
}
