//! Options of other programs, with the commands of inferno that understand them.

use Meaning::{Advice, HubRepository, NoEffect, SameAs};

/// What an option of another program means.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// The same as this option.
    SameAs(&'static str),
    /// A repository on the hub.
    HubRepository,
    /// Nothing that affects the result.
    NoEffect { reason: &'static str, has_value: bool },
    /// Something that has no equivalent; what to do instead.
    Advice(&'static str),
}

/// Names of an option, the commands with this meaning (none for all of them) and the meaning.
type Entry = (&'static [&'static str], &'static [&'static str], Meaning);

const GENERATING: &[&str] = &["generate", "chat", "run"];
const SERVE: &[&str] = &["serve"];
const NO_GPU: &str = "there is no GPU backend; the model runs on the CPU";
const MAPPED: &str = "model files are always memory-mapped";
const NO_WRAP: &str = "text is never wrapped";
const AUTOMATIC: &str = "inferno does this automatically";
const ALWAYS: &str = "it is always enabled";

const OPTIONS: &[Entry] = &[
    // llama.cpp
    (
        &["-ngl", "--n-gpu-layers", "--gpu-layers", "--num-gpu"],
        &[],
        NoEffect { reason: NO_GPU, has_value: true },
    ),
    (
        &["-dev", "--device", "-sm", "--split-mode", "-ts", "--tensor-split", "-mg", "--main-gpu"],
        &[],
        NoEffect { reason: NO_GPU, has_value: true },
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
        &["-b", "--batch-size", "-ub", "--ubatch-size", "--max-num-tokens"],
        SERVE,
        SameAs("--max-num-batched-tokens"),
    ),
    (&["--mlock", "--no-mmap"], &[], NoEffect { reason: MAPPED, has_value: false }),
    (
        &[
            "--jinja",
            "--color",
            "-co",
            "-cb",
            "--cont-batching",
            "--no-warmup",
            "--log-disable",
            "--no-display-prompt",
            "-no-cnv",
            "--no-conversation",
            "-kvu",
            "-nkvo",
            "--no-kv-offload",
            "-st",
            "--single-turn",
            "--simple-io",
        ],
        &[],
        NoEffect { reason: AUTOMATIC, has_value: false },
    ),
    (
        &["--metrics", "--props", "--slots", "--embedding", "--embeddings", "--cache-prompt"],
        SERVE,
        NoEffect { reason: ALWAYS, has_value: false },
    ),
    (&["--n-predict", "--predict", "--num-predict"], GENERATING, SameAs("--max-tokens")),
    (
        &[
            "--ctx-size",
            "--ctx",
            "--num-ctx",
            "--max-model-len",
            "--max-seq-len",
            "--context-length",
        ],
        &[],
        SameAs("--context"),
    ),
    (&["-f", "--file"], &["generate"], SameAs("--prompt-file")),
    (&["-sys", "--system-prompt"], GENERATING, SameAs("--system")),
    (&["-s"], GENERATING, Advice("use --seed N, or --system TEXT")),
    (&["--repeat-penalty"], GENERATING, SameAs("--repetition-penalty")),
    (&["--typical"], GENERATING, SameAs("--typical-p")),
    (&["-l"], GENERATING, SameAs("--logit-bias")),
    (&["--grammar-file"], &["generate"], SameAs("--grammar")),
    (&["-j", "--json-schema-file", "-jf", "--schema"], &["generate"], SameAs("--json-schema")),
    (&["--chat-template-file"], &[], SameAs("--chat-template")),
    (
        &["-ctk", "--cache-type-k", "-ctv", "--cache-type-v", "--kv-cache-dtype"],
        &[],
        Advice("use --kv-dtype, which applies to keys and values"),
    ),
    (&["-hf", "-hfr", "--hf-repo"], &[], HubRepository),
    (&["-md", "--model-draft"], &[], Advice("use --speculate N, which needs no draft model")),
    (
        &["--draft", "--draft-max", "--draft-n", "--num-speculative-tokens"],
        &[],
        SameAs("--speculate"),
    ),
    (
        &["-cnv", "--conversation", "-i", "--interactive"],
        &["generate"],
        Advice("use inferno chat for conversations"),
    ),
    (
        &["-e", "--escape", "--no-escape"],
        GENERATING,
        Advice("use $'...' in the shell for escape sequences"),
    ),
    (&["-rea"], GENERATING, Advice("use --no-think to disable reasoning")),
    (&["-rea"], SERVE, SameAs("--reasoning")),
    (&["-np", "--parallel"], SERVE, SameAs("--max-num-seqs")),
    (&["-a", "--alias"], SERVE, SameAs("--served-model-name")),
    (&["--ssl-key-file", "--ssl-keyfile"], SERVE, SameAs("--tls-key")),
    (&["--ssl-cert-file", "--ssl-certfile"], SERVE, SameAs("--tls-cert")),
    (&["-to", "--timeout"], SERVE, SameAs("--request-timeout")),
    (&["--lora", "--mmproj", "-mm"], &[], Advice("adapters and images are not supported")),
    // Ollama
    (&["--verbose"], &["generate"], SameAs("--stats")),
    (
        &["--verbose"],
        &["run", "chat"],
        Advice("type /stats after a reply, or use inferno generate --stats"),
    ),
    (&["--think=false", "--hidethinking"], GENERATING, SameAs("--no-think")),
    (
        &["--think"],
        GENERATING,
        Advice("reasoning follows the chat template; --no-think disables it"),
    ),
    (&["--format"], &["generate"], Advice("use --json-schema SCHEMA; '{}' allows any JSON object")),
    (&["--format"], &["run", "chat"], Advice("use inferno generate --chat --json-schema SCHEMA")),
    (
        &["--keepalive"],
        GENERATING,
        NoEffect { reason: "the model is loaded for each command", has_value: true },
    ),
    (&["--nowordwrap"], GENERATING, NoEffect { reason: NO_WRAP, has_value: false }),
    (
        &["-m", "--model"],
        &["run"],
        Advice("the model is the first argument: inferno run MODEL PROMPT"),
    ),
    // llm
    (
        &["-o", "--option"],
        GENERATING,
        Advice("use the option itself, for example --temperature 0.7"),
    ),
    (
        &["--schema-multi", "-T", "--tool", "--functions"],
        GENERATING,
        Advice("use generate --chat --input FILE with tools, or inferno serve"),
    ),
    (
        &["-a", "--attachment"],
        GENERATING,
        Advice("attachments are not supported; pass text on standard input"),
    ),
    (
        &["--continue", "--cid", "--conversation-id"],
        GENERATING,
        Advice("use /save and /load in inferno chat"),
    ),
    (&["--no-stream"], GENERATING, NoEffect { reason: "the output is the same", has_value: false }),
    // vLLM
    (
        &[
            "--gpu-memory-utilization",
            "-tp",
            "--tensor-parallel-size",
            "-pp",
            "--pipeline-parallel-size",
            "-dp",
            "--data-parallel-size",
        ],
        &[],
        NoEffect { reason: NO_GPU, has_value: true },
    ),
    (
        &["--tool-call-parser", "--reasoning-parser"],
        SERVE,
        NoEffect { reason: AUTOMATIC, has_value: true },
    ),
    (
        &[
            "--enable-auto-tool-choice",
            "--enable-prefix-caching",
            "--enable-chunked-prefill",
            "--trust-remote-code",
            "--enable-reasoning",
        ],
        SERVE,
        NoEffect { reason: AUTOMATIC, has_value: false },
    ),
    (&["--no-enable-prefix-caching"], SERVE, SameAs("--no-prefix-cache")),
    (
        &["--dtype", "--quantization", "-q"],
        &[],
        Advice("the file determines the number formats; --requantize changes float weights"),
    ),
    // Common mistakes
    (&["--max-new-tokens", "--max-length", "--length"], GENERATING, SameAs("--max-tokens")),
    (&["--num-threads", "--n-threads"], &[], SameAs("--threads")),
    (&["-v", "-V"], &[], Advice("inferno --version prints the version; --stats prints timings")),
    (&["--gpu", "--cuda", "--metal"], &[], NoEffect { reason: NO_GPU, has_value: false }),
    (
        &["-tb", "--threads-batch"],
        &[],
        Advice("use --threads, which applies to prompts and output"),
    ),
    (&["-n", "--max-tokens"], SERVE, Advice("clients set max_tokens in their requests")),
];

/// Returns the meaning of an option for a command.
pub(super) fn meaning(command: &str, option: &str) -> Option<Meaning> {
    let applies = |commands: &[&str]| commands.is_empty() || commands.contains(&command);
    let entry =
        OPTIONS.iter().find(|(names, commands, _)| names.contains(&option) && applies(commands));
    entry.map(|(_, _, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Inferno;

    #[test]
    fn every_translation_leads_to_an_option() {
        let inferno = Inferno::command();
        for (names, commands, meaning) in OPTIONS {
            let SameAs(option) = meaning else { continue };
            let has_option = |command: &&clap::Command| {
                let is_named = |long: &str| option.strip_prefix("--") == Some(long);
                command.get_arguments().filter_map(clap::Arg::get_long).any(is_named)
            };
            for name in *commands {
                let command = inferno.find_subcommand(name).unwrap();
                assert!(has_option(&command), "{names:?}: {name} has no {option}");
            }
            assert!(inferno.get_subcommands().any(|command| has_option(&command)), "{option}");
        }
    }

    #[test]
    fn no_option_has_two_meanings_for_a_command() {
        let mut seen = HashSet::new();
        for (names, commands, _) in OPTIONS {
            for name in *names {
                for command in *commands {
                    assert!(seen.insert((name, command)), "{name} of {command}");
                }
            }
        }
    }
}
