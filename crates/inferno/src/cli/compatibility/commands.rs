//! Subcommands of other programs.

/// Advice for a command line without a subcommand.
pub(super) const MISSING: &str = "options follow a command, for example inferno generate -m model.gguf -p \"Hello\" or inferno chat -m model.gguf";

/// Names of commands, and what to use instead.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["version", "-v"], "inferno --version prints the version"),
    (&["--list-devices"], "inferno devices lists the devices"),
    (&["ps"], "GET /v1/models of a running server names its models, GET /api/ps those in memory"),
    (
        &["stop", "unload"],
        "press Ctrl-C in the terminal of the server, or send it SIGTERM; with --on-demand, a request with keep_alive 0 unloads a model",
    ),
    (
        &["create", "cp", "copy"],
        "GGUF files are used directly: pass -m FILE, --system and --chat-template to each command",
    ),
    (
        &["push", "signin", "signout", "login", "logout", "keys", "auth"],
        "private models on the Hugging Face Hub can be accessed by setting HF_TOKEN",
    ),
    (
        &["prompt", "ask", "query", "cli", "plain", "gguf"],
        "use inferno run MODEL PROMPT, or inferno generate --chat -m MODEL PROMPT",
    ),
    (&["interactive", "i", "repl"], "use inferno chat -m MODEL"),
    (
        &["embedding", "embeddings", "embed-multi"],
        "use inferno embed -m MODEL TEXT, or /v1/embeddings of inferno serve",
    ),
    (
        &["rerank", "reranking", "score"],
        "use inferno embed -m MODEL --query QUERY DOCUMENT, or /v1/rerank of inferno serve",
    ),
    (
        &["convert-lora", "export-lora"],
        "adapters are not supported; merge them into the checkpoint, then convert it",
    ),
    (
        &["search", "find"],
        "search for GGUF repositories on huggingface.co, then use -m hf:OWNER/REPO",
    ),
    (&["logs", "history"], "conversations are saved with /save in inferno chat"),
    (
        &["start", "web", "ui", "webui", "api-server", "openai", "launch"],
        "use inferno serve, which serves the API and a chat page at http://127.0.0.1:8080",
    ),
    (
        &["templates", "fragments", "schemas"],
        "use the options of inferno generate; see inferno help generate",
    ),
    (&["plugins", "install", "uninstall", "tools"], "there are no plugins; see inferno help"),
    (&["get", "fetch"], "use inferno pull MODEL"),
    (&["detokenize", "decode"], "use inferno tokenize -m MODEL --decode"),
    (&["load"], "models are loaded by the command that uses them, for example inferno run MODEL"),
    (&["update", "upgrade"], "run cargo install --path crates/inferno in an updated clone"),
    (
        &["throughput", "latency"],
        "use inferno bench for a model, or inferno bench serve for a server",
    ),
    (&["gguf-dump", "dump"], "use inferno inspect FILE"),
    (
        &["doctor", "tune"],
        "use inferno devices, inferno bench, or inferno generate --dry-run for the memory needed",
    ),
];

/// Returns what to use instead of an unknown subcommand, or of an option at its place.
pub(super) fn advice(name: &str) -> Option<&'static str> {
    let known = COMMANDS.iter().find(|(names, _)| names.contains(&name));
    match known {
        Some((_, advice)) => Some(advice),
        None if name.contains(char::is_whitespace) => {
            Some("to send a prompt, use inferno run MODEL PROMPT or inferno generate PROMPT")
        }
        None if names_model(name) => Some(
            "a model follows a command, for example inferno run MODEL or inferno chat -m MODEL",
        ),
        None => None,
    }
}

/// Returns whether a word is a GGUF file or the name of a model.
pub(super) fn names_model(word: &str) -> bool {
    word.ends_with(".gguf") || matches!(word.parse(), Ok(crate::ModelSource::Hub(_)))
}
