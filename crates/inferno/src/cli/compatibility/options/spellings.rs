//! Other spellings of options, and options that no program has.

use super::Meaning::{Advice, NoEffect, SameAs};
use super::{Entry, GENERATING, SERVE, TEXT};

pub(super) const OPTIONS: &[Entry] = &[
    (&["--model-path", "--model-file", "--gguf"], &[], SameAs("--model")),
    (&["--max-new-tokens", "--max-length", "--length"], GENERATING, SameAs("--max-tokens")),
    (&["--num-threads", "--n-threads", "--num-thread"], &[], SameAs("--threads")),
    (&["--n-ctx", "--context-size"], &[], SameAs("--context")),
    (&["--rng-seed", "--random-seed"], TEXT, SameAs("--seed")),
    (&["--stop-sequence", "--stop-word", "--stop-words"], GENERATING, SameAs("--stop")),
    (
        &["--stream"],
        GENERATING,
        NoEffect { reason: "text is printed as it is generated", has_value: false },
    ),
    (
        &["--quiet", "--silent"],
        GENERATING,
        NoEffect { reason: "standard output contains only the text", has_value: false },
    ),
    (&["--chat"], &["chat", "run"], NoEffect { reason: "it is the default", has_value: false }),
    (&["--no-color", "--nocolor"], GENERATING, Advice("set the environment variable NO_COLOR=1")),
    (&["-f", "--force"], &["rm"], SameAs("--yes")),
    (
        &["-v", "-V"],
        GENERATING,
        Advice("use inferno --version for the version, or --stats for timings"),
    ),
    (
        &["-v", "-V", "--verbose"],
        SERVE,
        Advice("use inferno --version for the version, or RUST_LOG=debug for a longer log"),
    ),
    (
        &["-v", "-V"],
        &["bench", "perplexity", "logits"],
        Advice("use inferno --version for the version"),
    ),
    (
        &["--gpu", "--cuda", "--metal"],
        &[],
        Advice("use --backend gpu, or --device with a device that inferno devices lists"),
    ),
    (
        &["--cors", "--cors-origins", "--cors-allow-origins", "--allow-origins"],
        SERVE,
        SameAs("--cors-origin"),
    ),
    (
        &["--workers"],
        SERVE,
        NoEffect { reason: "one process serves all requests", has_value: true },
    ),
];
