//! Options of Ollama.

use super::Meaning::{Advice, NoEffect, SameAs};
use super::{Entry, GENERATING};

pub(super) const OPTIONS: &[Entry] = &[
    (&["--verbose"], GENERATING, SameAs("--stats")),
    (&["--think=false"], GENERATING, SameAs("--no-think")),
    (
        &["--hidethinking"],
        GENERATING,
        Advice("reasoning is printed as a part of the answer; --no-think disables it"),
    ),
    (&["--think=true"], GENERATING, SameAs("--think")),
    (
        &["--think=low", "--think=medium", "--think=high"],
        GENERATING,
        Advice("use --think or --no-think, or --reasoning-budget N to limit reasoning"),
    ),
    (
        &["--format", "--json"],
        GENERATING,
        Advice(
            "use --json-schema SCHEMA; --json-schema '{\"type\": \"object\"}' allows any JSON object",
        ),
    ),
    (
        &["--keepalive"],
        GENERATING,
        NoEffect { reason: "the model is loaded for each command", has_value: true },
    ),
    (&["--nowordwrap"], GENERATING, NoEffect { reason: "text is never wrapped", has_value: false }),
    (
        &["--insecure"],
        &["run", "pull"],
        NoEffect { reason: "downloads use HTTPS", has_value: false },
    ),
    (
        &["-m", "--model"],
        &["run"],
        Advice("the model is the first argument: inferno run MODEL PROMPT"),
    ),
    (
        &["--modelfile", "--parameters", "--license", "--system"],
        &["show"],
        Advice("use inferno inspect MODEL to print the metadata of the model file"),
    ),
    (
        &["--template"],
        &["show"],
        Advice("use inferno inspect MODEL --metadata tokenizer.chat_template"),
    ),
    (&["-v", "--verbose"], &["show"], Advice("use inferno inspect MODEL --tensors")),
];
