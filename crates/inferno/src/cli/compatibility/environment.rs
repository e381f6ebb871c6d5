//! Environment variables of other programs.

use crate::cli::terminal::note::print_note;

/// Commands that read or write the cache of downloaded models.
const CACHE: &[&str] = &["list", "pull", "show", "rm"];
const SERVE: &[&str] = &["serve"];

/// Names, the commands for which the variable would matter, and what to use instead.
const VARIABLES: &[(&[&str], &[&str], &str)] = &[
    (
        &["OLLAMA_HOST", "LLAMA_ARG_HOST", "LLAMA_ARG_PORT", "VLLM_PORT"],
        SERVE,
        "use --host and --port, or INFERNO_HOST and INFERNO_PORT",
    ),
    (
        &["OLLAMA_MODELS", "LLAMA_CACHE"],
        CACHE,
        "models are stored in the Hugging Face cache; set HF_HOME or HF_HUB_CACHE to move it",
    ),
    (&["OLLAMA_CONTEXT_LENGTH", "LLAMA_ARG_CTX_SIZE"], SERVE, "use --context"),
    (&["OLLAMA_NUM_PARALLEL", "LLAMA_ARG_N_PARALLEL"], SERVE, "use --max-num-seqs"),
    (&["OLLAMA_MAX_QUEUE"], SERVE, "use --max-num-waiting"),
    (&["OLLAMA_KV_CACHE_TYPE"], SERVE, "use --kv-dtype"),
    (&["OLLAMA_ORIGINS"], SERVE, "use --cors-origin"),
    (&["VLLM_API_KEY", "LLAMA_API_KEY"], SERVE, "use --api-key, or INFERNO_API_KEY"),
    (&["LLAMA_ARG_MODEL"], SERVE, "use -m, or INFERNO_MODEL"),
];

/// Prints a note for each variable of another program that the user may expect a command to read.
pub(in crate::cli) fn note_variables(command: &str) {
    let relevant = VARIABLES.iter().filter(|(_, commands, _)| commands.contains(&command));
    for (names, _, advice) in relevant {
        for name in *names {
            if std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
                print_note(&format!("note: {name} is not read; {advice}"));
            }
        }
    }
}
