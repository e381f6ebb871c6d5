//! Other spellings of options, and options that no program has.

use super::Meaning::{Advice, NoEffect, SameAs};
use super::{Entry, GENERATING, NO_GPU, TEXT};

pub(super) const OPTIONS: &[Entry] = &[
    (&["--max-new-tokens", "--max-length", "--length"], GENERATING, SameAs("--max-tokens")),
    (&["--num-threads", "--n-threads"], &[], SameAs("--threads")),
    (&["--rng-seed", "--random-seed"], TEXT, SameAs("--seed")),
    (
        &["-v", "-V"],
        &["generate", "chat", "run", "serve", "bench", "perplexity", "logits"],
        Advice("use inferno --version for the version, or --stats for timings"),
    ),
    (&["--gpu", "--cuda", "--metal"], &[], NoEffect { reason: NO_GPU, has_value: false }),
];
