//! Options of vLLM, SGLang and mistral.rs.

use super::Meaning::{Advice, AdviceUnless, NoEffect, SameAs};
use super::{AUTOMATIC, Entry, NO_SPLIT, SERVE, SERVING};

const IN_FILE: &str = "the model file contains it";
const NO_MEDIA: &str = "only text is supported";

pub(super) const OPTIONS: &[Entry] = &[
    (
        &[
            "--gpu-memory-utilization",
            "-tp",
            "--tensor-parallel-size",
            "-pp",
            "--pipeline-parallel-size",
            "-dp",
            "--data-parallel-size",
            "--cpu-offload-gb",
            "--mem-fraction-static",
            "--tp",
            "--dp",
        ],
        &[],
        NoEffect { reason: NO_SPLIT, has_value: true },
    ),
    (
        &["--enable-expert-parallel", "--disable-custom-all-reduce"],
        &[],
        NoEffect { reason: NO_SPLIT, has_value: false },
    ),
    (&["--enforce-eager"], &[], NoEffect { reason: AUTOMATIC, has_value: false }),
    (
        &["--swap-space", "--attention-backend"],
        &[],
        NoEffect { reason: AUTOMATIC, has_value: true },
    ),
    (&["--trust-remote-code"], &[], NoEffect { reason: IN_FILE, has_value: false }),
    (
        &[
            "--tool-call-parser",
            "--reasoning-parser",
            "--structured-outputs-config",
            "--guided-decoding-backend",
            "--chat-template-content-format",
            "--tokenizer-mode",
            "--block-size",
            "--scheduling-policy",
        ],
        SERVING,
        NoEffect { reason: AUTOMATIC, has_value: true },
    ),
    (
        &[
            "--enable-auto-tool-choice",
            "--enable-prefix-caching",
            "--enable-chunked-prefill",
            "--enable-reasoning",
            "--disable-log-requests",
            "--enable-log-requests",
            "--disable-log-stats",
            "--async-scheduling",
        ],
        SERVING,
        NoEffect { reason: AUTOMATIC, has_value: false },
    ),
    (
        &["--task", "--runner", "--convert"],
        SERVING,
        NoEffect { reason: "the model file determines what a server computes", has_value: true },
    ),
    (
        &["--uvicorn-log-level", "--log-level"],
        SERVE,
        Advice("set RUST_LOG, for example RUST_LOG=warn"),
    ),
    (&["--no-enable-prefix-caching"], SERVING, SameAs("--no-prefix-cache")),
    (&["--max-model-len", "--max-seq-len"], &[], SameAs("--context")),
    (&["--kv-cache-dtype"], &[], SameAs("--kv-dtype")),
    (
        &["--dtype", "--quantization", "-q", "--load-format"],
        &[],
        AdviceUnless(
            &["gguf"],
            "the model file determines the number formats; --requantize changes float weights",
        ),
    ),
    (&["--isq"], &[], Advice("use --requantize, for example --requantize q4_k")),
    (
        &["--tokenizer", "--hf-config-path", "--tok-model-id"],
        &[],
        NoEffect { reason: IN_FILE, has_value: true },
    ),
    (
        &["--limit-mm-per-prompt", "--mm-processor-kwargs", "--allowed-local-media-path"],
        SERVING,
        NoEffect { reason: NO_MEDIA, has_value: true },
    ),
    (
        &["--generation-config", "--override-generation-config"],
        SERVING,
        Advice("use the sampling options, for example --temperature 0.7"),
    ),
    (&["--num-speculative-tokens"], &[], SameAs("--speculate")),
    (&["--speculative-model"], &[], SameAs("--draft-model")),
    (&["--override-pooler-config", "--pooler-config"], SERVING, Advice("use --pooling TYPE")),
    (
        &["--speculative-config"],
        SERVING,
        Advice(
            "use --draft-model MODEL, --draft-head for the prediction head (MTP) in the file, or --speculate N to \
             draft from earlier text",
        ),
    ),
    (&["--allowed-origins"], SERVE, Advice("use --cors-origin ORIGIN")),
    (&["--root-path"], SERVE, Advice("use a reverse proxy to serve other paths")),
    (&["--ssl-keyfile"], SERVE, SameAs("--tls-key")),
    (&["--ssl-certfile"], SERVE, SameAs("--tls-cert")),
    (&["--enable-lora", "--lora-modules"], SERVING, Advice("adapters are not supported")),
    (
        &["--download-dir"],
        &[],
        Advice("set the environment variable HF_HUB_CACHE to the directory"),
    ),
    (&["--revision"], &[], Advice("the main branch of a repository is used")),
    (&["-p"], SERVE, SameAs("--port")),
    (
        &["--output-tmp-dir"],
        &["batch"],
        NoEffect { reason: "the output is written in place", has_value: true },
    ),
    (
        &["--enable-metrics", "--host", "--port", "--url"],
        &["batch"],
        Advice("a batch has no metrics endpoint; use inferno serve for requests over HTTP"),
    ),
];
