//! Generation cores over the test runners.

use inferno_engine::{CoreOptions, GenerationCore, Runner};

use crate::vocabulary::tokenizer;

/// A core with the test tokenizer and one sequence per logit row of the runner's batches.
pub fn core(runner: impl Runner + 'static) -> GenerationCore {
    core_with(runner, CoreOptions::default())
}

pub fn core_with(runner: impl Runner + 'static, options: CoreOptions) -> GenerationCore {
    GenerationCore::new(Box::new(runner), tokenizer(), options).expect("a sound runner")
}
