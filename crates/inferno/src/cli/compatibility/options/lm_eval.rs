//! Options of lm-evaluation-harness.

use super::Meaning::{Advice, NoEffect, SameAs};
use super::{AUTOMATIC, Entry};

const EVAL: &[&str] = &["eval"];

pub(super) const OPTIONS: &[Entry] = &[
    (
        &["--tasks", "--include_path"],
        EVAL,
        Advice(
            "pass the data set in JSON lines: inferno eval FILE.jsonl; inferno help eval describes them",
        ),
    ),
    (&["--num_fewshot"], EVAL, SameAs("--few-shot")),
    (
        &["--model_args", "--hf_hub_log_args"],
        EVAL,
        Advice("pass the model with -m FILE or -m hf:OWNER/REPO"),
    ),
    (
        &["--batch_size", "--batch-size", "--max_batch_size"],
        EVAL,
        NoEffect { reason: AUTOMATIC, has_value: true },
    ),
    (
        &["--log_samples", "--log-samples"],
        EVAL,
        Advice("use --samples FILE to write the scores of each sample"),
    ),
    (
        &["--output_path", "--output-path", "--output-file"],
        EVAL,
        Advice(
            "use -o json > FILE for the results, or --samples FILE for the scores of each sample",
        ),
    ),
    (
        &["--apply_chat_template", "--fewshot_as_multiturn", "--system_instruction"],
        EVAL,
        Advice(
            "samples are scored as they are; inferno template prints the text of a conversation",
        ),
    ),
];
