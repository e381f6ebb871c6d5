//! Options of llama-cli, llama-server, llama-bench and the other programs of llama.cpp.

use super::Meaning::{Advice, AdviceUnless, Argument, ByValue, HubRepository, NoEffect, SameAs};
use super::{ALWAYS, AUTOMATIC, Entry, GENERATING, NO_SPLIT, SERVE, SERVING, TEXT};

const MAPPED: &str = "model files are always memory-mapped";
const PLACEMENT: &str = "the operating system places threads; use taskset or numactl";
const NO_LOG: &str = "only serve writes a log; RUST_LOG filters it";
const NO_SAMPLER: &str = "this sampler is not supported; use --min-p, --top-p or --top-k";
const NO_ROPE: &str = "the model file determines the RoPE scaling";

/// Options that start a conversation.
const CONVERSATION: &[&str] = &[
    "-cnv",
    "--conversation",
    "-i",
    "--interactive",
    "-if",
    "--interactive-first",
    "-ins",
    "--instruct",
];

pub(super) const OPTIONS: &[Entry] = &[
    // Devices and memory
    (&["-ngl", "--ngl", "--num-gpu"], &[], SameAs("--gpu-layers")),
    (&["-dev", "-mg", "--main-gpu"], &[], SameAs("--device")),
    (&["-cmoe"], &[], SameAs("--cpu-experts")),
    (&["-ncmoe"], &[], SameAs("--cpu-expert-layers")),
    (&["--list-devices"], &[], Advice("inferno devices lists the devices")),
    (
        &[
            "-sm",
            "--split-mode",
            "-ts",
            "--tensor-split",
            "-fit",
            "--fit",
            "-fitt",
            "--fit-target",
            "-fitc",
            "--fit-ctx",
        ],
        &[],
        NoEffect { reason: NO_SPLIT, has_value: true },
    ),
    (
        &["-ot", "--override-tensor"],
        &[],
        Advice(
            "use --cpu-experts or --cpu-expert-layers N for experts, and --gpu-layers N for layers",
        ),
    ),
    (
        &["-nkvo", "--no-kv-offload", "-kvo", "--kv-offload"],
        &[],
        NoEffect { reason: NO_SPLIT, has_value: false },
    ),
    (
        &["-fa", "--flash-attn", "--flash-attention"],
        &[],
        NoEffect { reason: AUTOMATIC, has_value: false },
    ),
    (
        &["-b", "--batch-size", "-ub", "--ubatch-size"],
        GENERATING,
        NoEffect { reason: AUTOMATIC, has_value: true },
    ),
    (
        &["-b", "--batch-size"],
        SERVING,
        NoEffect {
            reason: "--max-num-batched-tokens limits the tokens of a pass",
            has_value: true,
        },
    ),
    (&["-ub", "--ubatch-size", "--max-num-tokens"], SERVING, SameAs("--max-num-batched-tokens")),
    (&["--mlock", "--no-mmap", "--mmap"], &[], NoEffect { reason: MAPPED, has_value: false }),
    (
        &["-C", "--cpu-mask", "-Cr", "--cpu-range", "--cpu-strict", "--prio", "--poll", "--numa"],
        &[],
        NoEffect { reason: PLACEMENT, has_value: true },
    ),
    (&["-tb", "--threads-batch"], &[], SameAs("--threads")),
    (&["-ctk", "--cache-type-k", "-ctv", "--cache-type-v"], &[], SameAs("--kv-dtype")),
    (&["--swa-full"], &[], NoEffect { reason: AUTOMATIC, has_value: false }),
    (&["-cram", "--cache-ram"], SERVING, Advice("use --kv-cache-tokens")),
    (&["--cache-reuse"], SERVING, NoEffect { reason: AUTOMATIC, has_value: true }),
    // Models
    (&["-hf", "-hfr", "--hf-repo"], &[], HubRepository),
    (
        &["-hff", "--hf-file", "-mu", "--model-url"],
        &[],
        Advice("use -m hf:OWNER/REPO:FILE for a file on the Hugging Face Hub"),
    ),
    (&["-hft", "--hf-token"], &[], Advice("set the environment variable HF_TOKEN")),
    (&["--offline"], &[], Advice("set the environment variable HF_HUB_OFFLINE=1")),
    (&["-md", "--model-draft"], &[], SameAs("--draft-model")),
    (
        &["-hfd", "-hfrd", "--hf-repo-draft"],
        &[],
        Advice("use --draft-model hf:OWNER/REPO[:QUANTIZATION]"),
    ),
    (&["--draft", "--draft-n"], &[], SameAs("--draft-max")),
    (&["--draft-n-min"], &[], SameAs("--draft-min")),
    (
        &[
            "-ngld",
            "--gpu-layers-draft",
            "--n-gpu-layers-draft",
            "-devd",
            "--device-draft",
            "-td",
            "--threads-draft",
        ],
        &[],
        NoEffect { reason: "the draft model runs on the device of the model", has_value: true },
    ),
    (
        &["-cd", "--ctx-size-draft"],
        &[],
        NoEffect { reason: "the draft model has the context of the model", has_value: true },
    ),
    (
        &["--lora", "--lora-scaled", "--control-vector", "--mmproj", "-mm", "--image"],
        &[],
        Advice("adapters and images are not supported"),
    ),
    (
        &[
            "--rope-scaling",
            "--rope-scale",
            "--rope-freq-base",
            "--rope-freq-scale",
            "--yarn-orig-ctx",
            "--yarn-ext-factor",
            "--yarn-attn-factor",
            "--yarn-beta-slow",
            "--yarn-beta-fast",
        ],
        &[],
        Advice(NO_ROPE),
    ),
    (&["--override-kv"], &[], Advice("the metadata of the model file cannot be overridden")),
    // Context and prompts
    (&["--ctx-size", "--ctx", "--num-ctx", "--context-length"], &[], SameAs("--context")),
    (
        &["--no-context-shift"],
        &[],
        NoEffect { reason: "generation always stops when the context is full", has_value: false },
    ),
    (
        &["--context-shift"],
        &[],
        Advice("generation stops when the context is full; use a larger --context"),
    ),
    (&["--keep"], TEXT, NoEffect { reason: "the context is never shifted", has_value: true }),
    (&["-f", "--file", "-bf", "--binary-file"], &["generate"], SameAs("--prompt-file")),
    (&["-f", "--file"], &["chat", "run"], Advice("redirect the file to standard input: < FILE")),
    (&["-f", "--file"], &["perplexity"], Argument),
    (
        &["-p", "--prompt"],
        &["perplexity"],
        Advice("pass a file, or - to read the text from standard input"),
    ),
    (&["-p", "--prompt"], &["tokenize"], Argument),
    (&["-f", "--file"], &["tokenize"], Advice("redirect the file to standard input: < FILE")),
    (
        &["--ids"],
        &["tokenize"],
        NoEffect { reason: "token IDs are always printed", has_value: false },
    ),
    (
        &["--stdin"],
        &["tokenize"],
        NoEffect { reason: "standard input is read if there is no text", has_value: false },
    ),
    (&["-sys", "--system-prompt"], GENERATING, SameAs("--system")),
    (&["-sysf", "--system-prompt-file"], GENERATING, Advice("use --system \"$(cat FILE)\"")),
    (&["-e", "--escape"], &["chat", "run"], Advice("use $'...' in the shell for escape sequences")),
    (
        &["--no-escape"],
        GENERATING,
        NoEffect { reason: "escape sequences are not processed by default", has_value: false },
    ),
    (&["-r", "--reverse-prompt"], GENERATING, SameAs("--stop")),
    (
        &["--in-prefix", "--in-suffix", "--in-prefix-bos", "--prefix", "--suffix"],
        GENERATING,
        Advice("the chat template formats messages; use inferno chat or generate --chat"),
    ),
    (
        &["--prompt-cache", "--prompt-cache-all", "--prompt-cache-ro"],
        GENERATING,
        Advice("use generate --save-session FILE and --load-session FILE"),
    ),
    (&["--chat-template-file"], &[], SameAs("--chat-template")),
    (
        &["--chat-template-kwargs"],
        GENERATING,
        Advice("use --no-think, or template variables in generate --chat --input FILE"),
    ),
    (
        &["--chat-template-kwargs"],
        SERVING,
        Advice("clients set chat_template_kwargs in their requests"),
    ),
    (CONVERSATION, &["generate"], Advice("use inferno chat for conversations")),
    (CONVERSATION, &["chat", "run"], NoEffect { reason: "it is the default", has_value: false }),
    (
        &[
            "-co",
            "-cb",
            "--cont-batching",
            "--no-warmup",
            "--log-disable",
            "--no-display-prompt",
            "-no-cnv",
            "--no-conversation",
            "-kvu",
            "-st",
            "--single-turn",
            "--simple-io",
            "-mli",
            "--multiline-input",
            "--no-perf",
            "--repack",
        ],
        &[],
        NoEffect { reason: AUTOMATIC, has_value: false },
    ),
    (
        &["--jinja"],
        &[],
        NoEffect { reason: "chat templates are always rendered with Jinja", has_value: false },
    ),
    (&["--color"], &[], NoEffect { reason: AUTOMATIC, has_value: false }),
    (&["--perf"], GENERATING, Advice("use --stats")),
    (
        &["--verbose-prompt"],
        GENERATING,
        Advice("use inferno tokenize to print the tokens of a prompt"),
    ),
    (&["-sp", "--special"], GENERATING, Advice("special tokens are not printed")),
    (
        &["-lv", "--verbosity", "--log-verbosity", "--log-file", "--log-colors"],
        &[],
        NoEffect { reason: NO_LOG, has_value: true },
    ),
    (&["--log-prefix", "--log-timestamps"], &[], NoEffect { reason: NO_LOG, has_value: false }),
    // Output and sampling
    (&["--n-predict", "--predict", "--num-predict"], GENERATING, SameAs("--max-tokens")),
    (
        &["-n", "--n-predict", "--predict", "--num-predict", "--max-tokens"],
        SERVING,
        Advice("clients set max_tokens in their requests"),
    ),
    (&["-s"], GENERATING, ByValue { number: "--seed", text: "--system" }),
    (&["-s"], SERVING, SameAs("--seed")),
    (&["--repeat-penalty"], TEXT, SameAs("--repetition-penalty")),
    (
        &["--repeat-last-n"],
        TEXT,
        NoEffect { reason: "penalties cover the whole prompt and output", has_value: true },
    ),
    (&["--typical"], TEXT, SameAs("--typical-p")),
    (&["-l"], GENERATING, SameAs("--logit-bias")),
    (
        &["--mirostat", "--xtc-probability", "--dynatemp-range", "--adaptive-target"],
        TEXT,
        AdviceUnless(&["0", "0.0", "-1"], NO_SAMPLER),
    ),
    (
        &["--tfs", "--top-n-sigma", "--top-nsigma", "--xtc-threshold"],
        TEXT,
        AdviceUnless(&["1", "1.0", "-1", "-1.0"], NO_SAMPLER),
    ),
    (
        &["--mirostat-lr", "--mirostat-ent", "--mirostat-eta", "--mirostat-tau", "--dynatemp-exp"],
        TEXT,
        Advice(NO_SAMPLER),
    ),
    (
        &["--samplers", "--sampling-seq", "--sampler-seq"],
        TEXT,
        NoEffect { reason: "samplers run in llama.cpp's default order", has_value: true },
    ),
    (
        &["--no-penalize-nl", "--penalize-nl"],
        GENERATING,
        NoEffect { reason: "penalties cover every token", has_value: false },
    ),
    (&["--grammar-file"], GENERATING, SameAs("--grammar")),
    (&["-j", "--json-schema-file", "-jf"], GENERATING, SameAs("--json-schema")),
    (
        &["--reasoning-format"],
        TEXT,
        AdviceUnless(&["deepseek"], "responses contain reasoning in reasoning_content"),
    ),
    (&["-rea", "--reasoning"], GENERATING, Advice("use --think or --no-think")),
    (&["-rea"], SERVING, SameAs("--reasoning")),
    // llama-server
    (
        &["--metrics", "--props", "--slots", "--embedding", "--embeddings", "--cache-prompt"],
        SERVE,
        NoEffect { reason: ALWAYS, has_value: false },
    ),
    (&["-np", "--parallel"], SERVING, SameAs("--max-num-seqs")),
    (&["-a", "--alias"], SERVING, SameAs("--served-model-name")),
    (&["--ssl-key-file"], SERVE, SameAs("--tls-key")),
    (&["--ssl-cert-file"], SERVE, SameAs("--tls-cert")),
    (&["-to", "--timeout"], SERVE, SameAs("--write-timeout")),
    (&["--threads-http"], SERVE, NoEffect { reason: AUTOMATIC, has_value: true }),
    (
        &["--no-webui", "--no-ui", "--webui", "--ui", "--no-slots"],
        SERVE,
        NoEffect { reason: "the chat page and all endpoints are always served", has_value: false },
    ),
    (&["--path"], SERVE, Advice("other files cannot be served; use a separate web server")),
    (&["--api-prefix"], SERVE, Advice("use a reverse proxy to serve other paths")),
    (&["--slot-save-path"], SERVE, Advice("use --prefix-cache-file FILE")),
    (
        &["--rerank", "--reranking"],
        SERVE,
        NoEffect { reason: "/v1/rerank is served for every reranker", has_value: false },
    ),
    // llama-embedding
    (&["-p", "--prompt"], &["embed"], Argument),
    (&["--output"], &["embed"], SameAs("--format")),
    (&["--output-file"], &["embed"], Advice("use > FILE to write the result to a file")),
    (
        &["--embd-normalize"],
        &["embed"],
        AdviceUnless(
            &["2"],
            "embeddings are scaled to an L2 norm of 1; use --no-normalize to print them as they are",
        ),
    ),
    (
        &["--embd-output-format"],
        &["embed"],
        Advice("use --format json for one JSON object per text, or --format plain for numbers"),
    ),
    (
        &["--embd-separator"],
        &["embed"],
        Advice("pass each text as an argument, or one per line with --file"),
    ),
    (
        &["--models-preset"],
        SERVE,
        Advice("the options of inferno serve apply to all models of --on-demand and --models-dir"),
    ),
    // llama-bench, llama-perplexity and llama-quantize
    (
        &["-b", "--batch-size"],
        &["bench"],
        NoEffect { reason: "--batch-tokens limits the tokens of a pass", has_value: true },
    ),
    (&["-ub", "--ubatch-size"], &["bench"], SameAs("--batch-tokens")),
    (
        &["-b", "--batch-size", "-ub", "--ubatch-size"],
        &["perplexity", "imatrix"],
        NoEffect { reason: AUTOMATIC, has_value: true },
    ),
    (&["--ppl-stride"], &["perplexity"], SameAs("--stride")),
    (
        &["--hellaswag", "--winogrande", "--multiple-choice"],
        &["perplexity"],
        Advice(
            "use inferno eval FILE.jsonl with the data set in JSON lines; see inferno help eval",
        ),
    ),
    (
        &["--hellaswag-tasks", "--winogrande-tasks", "--multiple-choice-tasks"],
        &["perplexity"],
        Advice("use inferno eval --limit N"),
    ),
    (
        &["-pg", "-npp", "-ntg", "-npl"],
        &["bench"],
        Advice("use -p N, -n N and --batch B,B,…; one length per run"),
    ),
    (
        &[
            "--leave-output-tensor",
            "--output-tensor-type",
            "--token-embedding-type",
            "--tensor-type",
        ],
        &["quantize"],
        Advice("the format of each tensor follows from TYPE; --pure uses TYPE for all weights"),
    ),
    (&["-ofreq"], &["imatrix"], SameAs("--output-frequency")),
    (&["--chunk"], &["imatrix"], SameAs("--from-chunk")),
    (
        &["--no-ppl", "--ppl"],
        &["imatrix"],
        NoEffect { reason: "inferno perplexity computes the perplexity", has_value: false },
    ),
    (
        &["-p", "--prompt"],
        &["imatrix"],
        Advice("pass a text with --file, or - to read standard input"),
    ),
    // convert_hf_to_gguf.py
    (
        &["--use-temp-file", "--no-lazy", "--verbose"],
        &["convert"],
        NoEffect {
            reason: "tensors are converted one after the other, in constant memory",
            has_value: false,
        },
    ),
    (&["--vocab-only"], &["convert"], Advice("use inferno tokenize -m DIR")),
    (
        &["--remote"],
        &["convert"],
        Advice("download the repository first: hf download OWNER/REPO --local-dir DIR"),
    ),
    (&["--bigendian"], &["convert"], Advice("only little-endian files are supported")),
    (
        &["--split-max-tensors", "--split-max-size", "--no-tensor-first-split"],
        &["convert"],
        Advice("the output is a single file"),
    ),
    (
        &["--model-name", "--metadata"],
        &["convert"],
        Advice("the name in the output is that of the folder"),
    ),
];
