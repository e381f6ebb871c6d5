//! Command lines that users of llama.cpp, Ollama, llm and vLLM type.

use std::process::{Command, Stdio};

use crate::support::{Outcome, Run, model};

/// Runs a command line in which MODEL is the fixture.
fn typed(line: &[&str]) -> Run {
    let model = model();
    Run::inferno().args(line.iter().map(|word| match *word {
        "MODEL" => model.clone().into_os_string(),
        word => word.into(),
    }))
}

fn generated(line: &[&str]) -> String {
    typed(line).success().stdout
}

#[test]
fn equivalent_options_have_the_same_effect() {
    let expected = generated(&["generate", "--greedy", "-n", "8", "-m", "MODEL", "Once"]);
    for line in [
        &["generate", "--temp", "0", "-n", "8", "-m", "MODEL", "-p", "Once"][..],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--prompt", "Once"],
        &["generate", "--greedy", "--n-predict", "8", "-m", "MODEL", "Once"],
        &["generate", "--greedy", "--n-predict=8", "--model", "MODEL", "-t", "1", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "-c", "64", "--seed", "-1", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--ctx-size", "0", "Once"],
        &["complete", "--greedy", "--max-new-tokens", "8", "-m", "MODEL", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--repeat-penalty", "1", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "-s", "42", "Once"],
        &[
            "generate", "--greedy", "-n", "2", "-m", "MODEL", "-s", "4", "-n", "8", "-s", "42",
            "Once",
        ],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--rng-seed=42", "-r", "END", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "-t", "1", "-tb", "1", "Once"],
        &["generate", "--greedy", "--max_tokens", "8", "-m", "MODEL", "Once"],
        &["generate", "-temp", "0", "-max-tokens=8", "-m", "MODEL", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--backend", "cpu", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--mirostat", "0", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--dtype", "auto", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--max-model-len", "auto", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "--top-k", "-1", "Once"],
        &["generate", "--greedy", "-n", "8", "-m", "MODEL", "-e", "Once"],
    ] {
        let outcome = typed(line).success();
        assert_eq!((outcome.stdout, outcome.stderr), (expected.clone(), String::new()), "{line:?}");
    }
}

#[test]
fn options_without_an_effect_are_ignored_with_a_warning() {
    let expected = generated(&["generate", "--greedy", "-n", "8", "-m", "MODEL", "Once"]);
    for (options, warning) in [
        (&["-fa", "on"][..], "warning: -fa has no effect"),
        (&["-sm", "layer"], "warning: -sm has no effect: a model runs on one GPU"),
        (&["-ngl", "99", "-dev", "cpu"], "warning: --device cpu overrides"),
        (&["-fa"], "warning: -fa has no effect"),
        (&["-dev", "none", "-cmoe", "-ngl", "1"], "warning: --device cpu overrides"),
        (&["-dev", "cpu", "-ncmoe", "2", "-ngl", "1"], "warning: --device cpu overrides"),
        (&["--mlock", "-b", "2048", "-ub", "512"], "warning: -b has no effect"),
        (&["-t", "1", "-tb", "2"], "warning: -tb has no effect: --threads is 1 already"),
        (
            &["-ctk", "f16", "-ctv", "q8_0"],
            "warning: -ctv has no effect: --kv-dtype is f16 already",
        ),
        (&["-no-cnv", "--jinja"], "warning: --jinja has no effect: chat templates are always"),
        (&["--repeat-last-n", "64"], "warning: --repeat-last-n has no effect: penalties cover"),
        (&["--numa", "distribute"], "warning: --numa has no effect"),
    ] {
        let line = [&["generate", "--greedy", "-n", "8", "-m", "MODEL"], options, &["-p", "Once"]];
        let outcome = typed(&line.concat()).success();
        assert_eq!(outcome.stdout, expected, "{options:?}");
        assert!(outcome.stderr.contains(warning), "{options:?}: {}", outcome.stderr);
    }
}

#[test]
fn options_with_an_equivalent_in_another_form_are_accepted() {
    for line in [
        &["run", "MODEL", "--dry-run"][..],
        &["run", "MODEL", "--dry-run", "two", "words"],
        &["chat", "--dry-run", "-m", "MODEL", "hello", "there"],
        &["run", "MODEL", "--dry-run", "--think=false", "hi"],
        &["run", "MODEL", "--dry-run", "--think=true", "hi"],
        &["chat", "--dry-run", "-m", "MODEL", "-p", "hello", "--stop", "END", "-sys", "Be brief."],
        &["generate", "--dry-run", "-m", "MODEL", "-n", "-1", "--stop", "-s", "hi"],
        &["serve", "MODEL", "--dry-run", "--max-model-len", "64", "--alias", "tiny", "-np", "4"],
        &[
            "serve",
            "--dry-run",
            "-m",
            "MODEL",
            "--enable-auto-tool-choice",
            "--tool-call-parser",
            "hermes",
        ],
        &["server", "--dry-run", "-m", "MODEL", "-c", "0", "-ngl", "99", "--metrics"],
        &["serve", "MODEL", "--dry-run", "-p", "8000", "-s", "1", "--load-format", "gguf"],
        &["serve", "--dry-run", "-m", "MODEL", "--tokenizer", "x", "--kv-cache-dtype", "auto"],
        &["generate", "--dry-run", "-m", "MODEL", "-ctk", "f16", "--cache-type-v", "f16"],
        &["generate", "--dry-run", "-m", "MODEL", "-r", "-ngl", "--chat", "-s", "Be brief."],
        &["run", "MODEL", "--dry-run", "--verbose", "--schema", "{}"],
        &["show", "MODEL"],
        &[
            "generate",
            "--dry-run",
            "--model-path",
            "MODEL",
            "--n_ctx",
            "64",
            "--stop-sequence",
            "x",
        ],
        &["serve", "MODEL", "--dry-run", "--cors-allow-origins", "*", "--workers", "1"],
        &["perplexity", "-m", "MODEL", "--dry-run", "-c", "16", "-f", "text"],
        &["inspect", "-m", "MODEL"],
        &["inspect", "MODEL"],
        &["info", "MODEL"],
    ] {
        typed(line).success();
    }
    assert_eq!(generated(&["tokenize", "-m", "MODEL", "hi"]), "[104,105]\n");
    assert_eq!(generated(&["tokenize", "-m", "MODEL", "-p", "hi"]), "[104,105]\n");
    assert_eq!(generated(&["tokenize", "-m", "MODEL", "--decode", "[104, 105]"]), "hi");
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(model(), folder.path().join("d")).unwrap();
    typed(&["generate", "-md", "-n", "1", "hi"]).current_dir(folder.path()).success();
    typed(&["quantize", "MODEL", "out.gguf", "Q8_0"]).current_dir(folder.path()).success();
    assert!(folder.path().join("out.gguf").is_file());
}

#[test]
fn other_options_are_rejected_with_advice() {
    for (line, advice) in [
        (&["generate", "-cnv", "hi"][..], "unexpected argument '-cnv' found tip: use inferno chat"),
        (&["generate", "-ctk", "q5_1", "hi"], "invalid value 'q5_1' for '--kv-dtype <FORMAT>'"),
        (&["generate", "--mirostat", "2", "hi"], "this sampler is not supported"),
        (&["generate", "--backend", "cuda", "hi"], "are used through Vulkan or DX12: use gpu"),
        (&["generate", "--list-devices"], "inferno devices lists the devices"),
        (&["--list-devices"], "inferno devices lists the devices"),
        (&["generate", "-p", "hi", "extra"], "both a prompt and --prompt were specified"),
        (&["generate", "tell", "me", "a", "story"], "put a prompt of several words in quotes"),
        (&["tokenize", "two", "words"], "put a text of several words in quotes"),
        (
            &["tokenize", "MODEL", "Hello"],
            "is a model, but is used as the text; pass the model with -m",
        ),
        (&["generate", "model.gguf", "hi"], "pass the model with -m model.gguf"),
        (&["generate", "--reranking", "hi"], "inferno help generate lists all options"),
        (&["generate", "--max-tokns", "8", "hi"], "a similar argument exists: '--max-tokens'"),
        (&["serve", "--dry-run", "-m", "MODEL", "--api-key", "a", "b"], "repeat an option"),
        (&["serve", "--dtype", "bfloat16"], "--requantize changes float weights"),
        (&["quantize", "in.gguf", "q4_k_m"], "no output specified; expected IN OUT TYPE"),
        (&["quantize", "in.gguf", "out.gguf", "q8_0", "4"], "use --threads N"),
        (&["perplexity", "-p", "text"], "pass a file, or - to read the text"),
        (&["perplexity", "-f", "text", "--hellaswag"], "use inferno eval FILE.jsonl"),
        (
            &["eval", "--tasks", "arc_easy"],
            "pass the data set in JSON lines: inferno eval FILE.jsonl",
        ),
        (&["eval", "text.jsonl", "--log_samples"], "use --samples FILE"),
        (&["eval", "text.jsonl", "--output_path", "out"], "use -o json > FILE"),
        (&["serve", "--override-pooler-config", "{}"], "use --pooling TYPE"),
        (&["embed", "text", "--output-file", "out"], "use > FILE"),
        (&["perplexity", "--multiple-choice-tasks", "9"], "use inferno eval --limit N"),
        (&["get", "x"], "use inferno pull MODEL"),
        (&["detokenize", "1"], "use inferno tokenize -m MODEL --decode"),
        (&["serve", "--verbose"], "RUST_LOG=debug for a longer log"),
        (&["generate", "-hff", "file.gguf", "hi"], "use -m hf:OWNER/REPO:FILE"),
        (&["run", "x", "--reasoning", "on"], "use --think or --no-think"),
        (&["pull", "hf:owner/repo", "file.gguf"], "hf:OWNER/REPO:FILE"),
        (&["pull", "owner/repo"], "expected hf:OWNER/REPO"),
        (&["bench", "serve", "--unknown"], "inferno help bench serve lists all options"),
        (&["bench", "serve", "--port", "8000"], "use --url http://HOST:PORT"),
        (&["bench", "serve", "--dataset-name", "sharegpt"], "prompts are random words"),
        (&["run", "x", "--think=high"], "--reasoning-budget N to limit reasoning"),
        (&["bench", "throughput"], "use inferno bench for a model"),
        (&["bench", "-p", "8,16"], "expected a number of at least 0"),
        (
            &["run", "--format", "json", "x"],
            "--json-schema '{\"type\": \"object\"}' allows any JSON object",
        ),
        (&["-hf", "owner/repo"], "options follow a command"),
        (&["qwen3:0.6b"], "a model follows a command"),
        (&["version"], "inferno --version prints the version"),
        (&["generate", "-m", "owner/repo", "hi"], "here hf:owner/repo"),
        (&["generate", "-m", "https://example.com/m.gguf", "hi"], "download the file first"),
        (&["generate", "--stop", "-n", "3", "hi"], "--stop requires a value; -n after it was read"),
        (&["serve", "--host", "0.0.0.0:8123"], "use --host 0.0.0.0 --port 8123"),
        (&["help", "generat"], "a similar subcommand exists: 'generate'"),
        (&["genrate"], "a similar subcommand exists: 'generate'"),
        (&["generate", "--format", "json", "hi"], "use --json-schema"),
        (&["run", "-m", "x", "hi"], "the model is the first argument"),
        (&["chat", "-o", "temperature", "0.7"], "for example --temperature 0.7"),
        (&["serve", "-n", "64"], "clients set max_tokens"),
        (&["ps"], "GET /api/ps those in memory"),
        (&["stop", "qwen3"], "press Ctrl-C"),
        (&["create", "x"], "GGUF files are used directly"),
        (&["prompt", "hi"], "use inferno run MODEL PROMPT"),
        (&["Why is the sky blue?"], "to send a prompt, use inferno run MODEL PROMPT"),
        (&["model.gguf"], "a model follows a command"),
        (&["-m", "model.gguf", "-p", "hi"], "options follow a command"),
        (&["generate", "hf:owner/repo"], "pass the model with -m hf:owner/repo"),
        (&["chat", "hf:owner/repo"], "pass the model with -m hf:owner/repo"),
    ] {
        let outcome: Outcome = typed(line).outcome();
        assert_ne!(outcome.code, Some(0), "{line:?}");
        let stderr = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains(advice), "{line:?}: {}", outcome.stderr);
    }
}

#[test]
fn escape_sequences_are_replaced_on_request() {
    let greedy = ["generate", "--greedy", "-n", "8", "-m", "MODEL"];
    let expected = generated(&[&greedy[..], &["a\n\t\\b\\x"]].concat());
    let escaped = [&greedy[..], &["-e", "-p", "a\\n\\t\\\\b\\x"]].concat();
    assert_eq!(generated(&escaped), expected);
    let plain = [&greedy[..], &["a\\n"]].concat();
    assert_ne!(generated(&plain), generated(&[&plain[..], &["-e"]].concat()));
}

#[test]
fn a_grammar_may_be_inline() {
    let line = |grammar| ["generate", "--greedy", "-m", "MODEL", "--grammar", grammar, "Once"];
    assert_eq!(generated(&line("root ::= \"yes\"")), "yes\n");
    assert_eq!(generated(&line("start: \"no\"")), "no\n");
    let missing = typed(&line("missing.gbnf")).failure(1).stderr;
    assert!(missing.contains("missing.gbnf: No such file"), "{missing}");
}

#[test]
fn variables_of_other_programs_are_noted_where_they_matter() {
    let variables = |run: Run| run.env("OLLAMA_HOST", "0.0.0.0").env("OLLAMA_MODELS", "/models");
    let served = variables(typed(&["serve", "--dry-run", "-m", "MODEL"])).success().stderr;
    assert!(served.contains("note: OLLAMA_HOST is not read; use --host and --port"), "{served}");
    assert!(!served.contains("OLLAMA_MODELS"), "{served}");
    let listed = variables(typed(&["list"])).success().stderr;
    assert!(listed.contains("note: OLLAMA_MODELS is not read; models are stored"), "{listed}");
    assert!(!listed.contains("OLLAMA_HOST"), "{listed}");
}

#[test]
fn standard_input_follows_the_prompt() {
    let greedy = ["generate", "--greedy", "-n", "8", "-m", "MODEL"];
    let expected = generated(&[&greedy[..], &["Summarize:\n\nsome text"]].concat());
    let combined = typed(&[&greedy[..], &["Summarize:"]].concat()).stdin("some text\n").success();
    assert_eq!(combined.stdout, expected);
    assert_eq!(
        combined.stderr,
        "note: standard input (9 bytes) follows the prompt. < /dev/null omits it.\n"
    );
    let option = typed(&[&greedy[..], &["-p", "Summarize:"]].concat()).stdin("some text\r\n");
    assert_eq!(option.success().stdout, expected);
    let only = generated(&[&greedy[..], &["some text"]].concat());
    assert_eq!(typed(&[&greedy[..], &[""]].concat()).stdin("some text").success().stdout, only);
}

#[test]
fn silent_standard_input_is_omitted_with_a_note() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_inferno"))
        .args(["generate", "--greedy", "-n", "1", "-m"])
        .arg(model())
        .arg("Once")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let open = child.stdin.take();
    let output = child.wait_with_output().expect("the program ends");
    drop(open);
    assert!(output.status.success());
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.starts_with("note: standard input is open but sent nothing"), "{notes}");
}

#[cfg(feature = "embedded-model")]
mod chats {
    use super::*;

    const QUESTION: &str = "What is the capital of France?";

    #[test]
    fn a_message_may_follow_chat() {
        let outcome =
            typed(&["chat", "--greedy", "--no-think", "What is the capital", "of France?"]);
        assert!(outcome.success().stdout.contains("Paris"));
    }

    #[test]
    fn run_answers_a_prompt_and_standard_input() {
        let ember = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ember.gguf");
        let run =
            |line: &[&str]| typed(&[&["run", ember, "--greedy", "--no-think"], line].concat());
        assert!(run(&[QUESTION]).success().stdout.contains("Paris"));
        assert!(run(&[]).stdin(QUESTION).success().stdout.contains("Paris"));
        let verbose = run(&["--verbose", QUESTION]).success();
        assert!(verbose.stdout.contains("Paris"));
        assert!(verbose.stderr.contains("tokens/s"), "{}", verbose.stderr);
        let schema = run(&["--json-schema", "{\"enum\": [7]}", QUESTION]).success().stdout;
        assert!(schema.ends_with("7\n"), "{schema}");
    }
}
