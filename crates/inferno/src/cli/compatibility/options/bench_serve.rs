//! Options of load generators: vLLM's `bench serve`, SGLang's `bench_serving` and guidellm.

use super::Entry;
use super::Meaning::{Advice, AdviceUnless, NoEffect, SameAs};

const BENCH_SERVE: &[&str] = &["bench serve"];

pub(super) const OPTIONS: &[Entry] = &[
    (&["--base-url", "--target"], BENCH_SERVE, SameAs("--url")),
    (&["--host", "--port"], BENCH_SERVE, Advice("use --url http://HOST:PORT")),
    (&["--model", "-m", "--served-model-name"], BENCH_SERVE, SameAs("--model-name")),
    (&["--num-prompts", "--num-requests", "--max-requests"], BENCH_SERVE, SameAs("--requests")),
    (&["--max-concurrency"], BENCH_SERVE, SameAs("--concurrency")),
    (&["--request-rate"], BENCH_SERVE, SameAs("--rate")),
    (
        &["--burstiness"],
        BENCH_SERVE,
        AdviceUnless(&["1", "1.0"], "requests of --rate arrive as a Poisson process"),
    ),
    (
        &["--random-input-len", "--random-input", "--input-len"],
        BENCH_SERVE,
        SameAs("--prompt-tokens"),
    ),
    (
        &["--random-output-len", "--random-output", "--output-len"],
        BENCH_SERVE,
        SameAs("--max-tokens"),
    ),
    (
        &["--random-prefix-len"],
        BENCH_SERVE,
        Advice("use --shared-prefix P and --prompt-tokens N; the prefix is a part of the prompt"),
    ),
    (
        &["--dataset-name", "--dataset-path", "--data"],
        BENCH_SERVE,
        AdviceUnless(&["random"], "prompts are random words; --prompt-tokens N sets their length"),
    ),
    (
        &["--backend"],
        BENCH_SERVE,
        AdviceUnless(
            &["vllm", "openai"],
            "select the API with --endpoint completions or --endpoint chat",
        ),
    ),
    (
        &["--save-result", "--result-dir", "--result-filename", "--output-file", "--output-path"],
        BENCH_SERVE,
        Advice("use -o json, and redirect standard output to a file"),
    ),
    (
        &["--percentile-metrics", "--metric-percentiles"],
        BENCH_SERVE,
        NoEffect { reason: "all percentiles are reported", has_value: true },
    ),
    (&["--ignore-eos"], BENCH_SERVE, NoEffect { reason: "it is the default", has_value: false }),
    (
        &["--tokenizer", "--processor"],
        BENCH_SERVE,
        NoEffect { reason: "the server counts the tokens", has_value: true },
    ),
    (
        &["--disable-tqdm"],
        BENCH_SERVE,
        NoEffect { reason: "progress is only shown on a terminal", has_value: false },
    ),
];
