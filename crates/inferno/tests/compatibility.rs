//! Command lines that users of llama.cpp, Ollama, llm and vLLM type.

mod support;

use std::process::{Command, Stdio};

use support::{Outcome, Run, model};

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
    ] {
        let outcome = typed(line).success();
        assert_eq!((outcome.stdout, outcome.stderr), (expected.clone(), String::new()), "{line:?}");
    }
}

#[test]
fn options_without_an_effect_are_ignored_with_a_warning() {
    let expected = generated(&["generate", "--greedy", "-n", "8", "-m", "MODEL", "Once"]);
    for (options, warning) in [
        (&["-ngl", "99"][..], "warning: -ngl has no effect: there is no GPU backend"),
        (&["--n-gpu-layers=-1"], "warning: --n-gpu-layers has no effect"),
        (&["-fa", "on"], "warning: -fa has no effect"),
        (&["-fa"], "warning: -fa has no effect"),
        (&["--mlock", "-b", "512"], "warning: -b has no effect"),
        (&["-no-cnv", "--jinja"], "warning: --jinja has no effect"),
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
        &["inspect", "-m", "MODEL"],
        &["inspect", "MODEL"],
        &["info", "MODEL"],
    ] {
        typed(line).success();
    }
    assert_eq!(generated(&["tokenize", "-m", "MODEL", "hi"]), "[104,105]\n");
    assert_eq!(generated(&["tokenize", "-m", "MODEL", "--decode", "[104, 105]"]), "hi");
    let folder = tempfile::tempdir().unwrap();
    typed(&["quantize", "MODEL", "out.gguf", "Q8_0"]).current_dir(folder.path()).success();
    assert!(folder.path().join("out.gguf").is_file());
}

#[test]
fn other_options_are_rejected_with_advice() {
    for (line, advice) in [
        (&["generate", "-s", "7", "hi"][..], "use --seed N, or --system TEXT"),
        (&["generate", "-cnv", "hi"], "use inferno chat"),
        (&["generate", "-ctk", "q8_0", "hi"], "use --kv-dtype"),
        (&["generate", "-md", "draft.gguf", "hi"], "use --speculate N, which needs no draft model"),
        (&["generate", "--format", "json", "hi"], "use --json-schema"),
        (&["run", "-m", "x", "hi"], "the model is the first argument"),
        (&["chat", "-o", "temperature", "0.7"], "for example --temperature 0.7"),
        (&["serve", "-n", "64"], "clients set max_tokens"),
        (&["ps"], "one program runs one model"),
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
fn standard_input_follows_the_prompt() {
    let greedy = ["generate", "--greedy", "-n", "8", "-m", "MODEL"];
    let expected = generated(&[&greedy[..], &["Summarize:\n\nsome text"]].concat());
    let combined = typed(&[&greedy[..], &["Summarize:"]].concat()).stdin("some text\n").success();
    assert_eq!(combined.stdout, expected);
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
    }
}
