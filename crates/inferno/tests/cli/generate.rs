//! `inferno generate` and `model-generate`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, expected, model, oracle};

const PROMPT: &str = "Once upon a time";

/// A greedy run on the fixture, with an exact KV cache.
fn greedy(num_tokens: &str) -> Run {
    Run::inferno()
        .args(["generate", "--greedy", "--kv-dtype", "f32", "--max-tokens", num_tokens, "-m"])
        .args([model()])
}

fn golden() -> String {
    expected()["greedy_text"].as_str().unwrap().to_owned()
}

#[test]
fn the_greedy_text_matches_transformers_on_every_backend() {
    for flags in [
        &["--backend", "scalar"][..],
        &["--backend", "simd"],
        &["--backend", "parallel"],
        &["--backend", "reference"],
        &["--threads", "3"],
        &["--isa", "scalar"],
        &["--no-kv"],
        &["--speculate", "8"],
    ] {
        let outcome = greedy("48").args(flags).args([PROMPT]).success();
        assert_eq!(outcome.stdout, golden() + "\n", "{flags:?}");
        assert_eq!(outcome.stderr, "", "{flags:?}");
    }
}

#[test]
fn a_trained_model_reproduces_the_published_story() {
    let (Some(model), Some(story)) =
        (oracle("models/stories260K.gguf"), oracle("models/stories260K.greedy-200.txt"))
    else {
        return;
    };
    let run =
        Run::inferno().args(["generate", "--greedy", "--max-tokens", "200", "-m"]).args([model]);
    let outcome = run.args([""]).success();
    assert_eq!(outcome.stdout.trim(), fs::read_to_string(story).unwrap().trim());
}

#[test]
fn the_prompt_is_read_from_a_file_or_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prompt.txt");
    fs::write(&file, PROMPT).unwrap();
    let text = golden() + "\n";
    assert_eq!(greedy("48").args(["--prompt-file"]).args([&file]).success().stdout, text);
    assert_eq!(greedy("48").stdin(PROMPT).success().stdout, text);
    assert_eq!(greedy("48").args(["-"]).stdin(PROMPT).success().stdout, text);
    // The line break that echo and editors add is not part of it.
    for line_break in ["\n", "\r\n"] {
        let line = PROMPT.to_owned() + line_break;
        fs::write(&file, &line).unwrap();
        assert_eq!(greedy("48").args(["--prompt-file"]).args([&file]).success().stdout, text);
        assert_eq!(greedy("48").stdin(line.as_str()).success().stdout, text);
        assert_eq!(greedy("48").args(["-"]).stdin(line.as_str()).success().stdout, text);
    }
}

#[test]
fn escape_sequences_are_replaced_wherever_the_prompt_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prompt.txt");
    let escaped = r"One\nTwo";
    fs::write(&file, escaped).unwrap();
    let text = greedy("8").args(["One\nTwo"]).success().stdout;
    assert_eq!(greedy("8").args(["-e", escaped]).success().stdout, text);
    assert_eq!(greedy("8").args(["-e"]).stdin(escaped).success().stdout, text);
    assert_eq!(greedy("8").args(["-e", "-"]).stdin(escaped).success().stdout, text);
    assert_eq!(greedy("8").args(["-e", "--prompt-file"]).args([&file]).success().stdout, text);
}

#[test]
fn a_note_says_that_a_format_is_incomplete() {
    let schema =
        r#"{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}"#;
    let cut = greedy("3").args(["--json-schema", schema, "A person:"]).success();
    assert!(cut.stderr.contains("may be incomplete"), "{}", cut.stderr);
    let plain = greedy("3").args(["A person:"]).success();
    assert!(!plain.stderr.contains("format"), "{}", plain.stderr);
}

#[test]
fn text_stops_before_a_stop_string() {
    let stop = &golden()[20..23];
    let outcome = greedy("48").args(["--stop", stop, PROMPT]).success();
    let end = golden().find(stop).unwrap();
    assert_eq!(outcome.stdout, golden()[..end].to_owned() + "\n");
}

#[test]
fn a_saved_session_continues_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.bin");
    let first = greedy("20").args(["--save-session"]).args([&file]).args([PROMPT]).success();
    let second = greedy("28").args(["--load-session"]).args([&file]).args([""]).success();
    assert_eq!(first.stdout.trim_end_matches('\n').to_owned() + &second.stdout, golden() + "\n");

    let other =
        Run::inferno().args(["generate", "--kv-dtype", "f16", "--load-session"]).args([&file]);
    let refused = other.args(["-m"]).args([model()]).args([""]).failure(1);
    assert!(
        refused.stderr.contains("has a KV cache in f32, but the model was loaded with one in f16"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_same_seed_gives_the_same_text() {
    let sample = |seed: &str| {
        let run =
            Run::inferno().args(["generate", "--seed", seed, "-n", "32", "--temperature", "1.5"]);
        run.args(["-m"]).args([model()]).args([PROMPT]).success().stdout
    };
    assert_eq!(sample("1"), sample("1"));
    assert_ne!(sample("1"), sample("2"));
}

#[test]
fn a_bias_bans_a_token() {
    let best = expected()["greedy_tokens"][0].as_u64().unwrap();
    let outcome = greedy("1").args(["--logit-bias", &format!("{best}=-100"), PROMPT]).success();
    assert_ne!(outcome.stdout.as_bytes()[0] as u64, best);
}

#[test]
fn statistics_go_to_standard_error_and_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    let outcome =
        greedy("5").args(["--stats", "--stats-json"]).args([&file]).args([PROMPT]).success();
    assert_eq!(outcome.stdout, golden()[..5].to_owned() + "\n");
    assert!(outcome.stderr.contains("generated    5 tokens"), "{}", outcome.stderr);
    let stats: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((&stats["prompt_tokens"], &stats["generated_tokens"]), (&16.into(), &5.into()));
    assert_eq!(stats["finish_reason"], "length");
    assert!(outcome.stderr.contains("finished     length"), "{}", outcome.stderr);
}

#[test]
fn a_draft_model_changes_no_text() {
    let run = |options: &[&str]| greedy("48").args(["-md"]).args([model()]).args(options);
    for options in [&[][..], &["--draft-max", "4", "--draft-min", "4"], &["--speculate", "3"]] {
        let outcome = run(options).args([PROMPT]).success();
        assert_eq!(outcome.stdout, golden() + "\n", "{options:?}");
    }
    let drafted = run(&["--draft-min", "4", "--stats", PROMPT]).success().stderr;
    assert!(drafted.contains("accepted"), "{drafted}");
    let planned = run(&["--dry-run", PROMPT]).success().stdout;
    assert!(planned.contains("draft model"), "{planned}");
    let refused = greedy("2").args(["--draft-max", "4", PROMPT]).failure(2);
    assert!(refused.stderr.contains("--draft-model"), "{}", refused.stderr);
    let refused = greedy("2").args(["--draft-head", PROMPT]).failure(1);
    assert!(refused.stderr.contains("no prediction head"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: pass a draft model"), "{}", refused.stderr);
    let other = greedy("2").args(["--draft-model", "ember", PROMPT]).outcome();
    if cfg!(feature = "embedded-model") {
        assert!(other.stderr.contains("another vocabulary: token "), "{}", other.stderr);
    }
}

#[test]
fn accepted_drafts_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    // A bias that leaves one token: the text repeats it.
    let flags = ["--logit-bias", "97=100", "--speculate", "6", "--stats", "--stats-json"];
    let outcome = greedy("40").args(flags).args([&file]).args([PROMPT]).success();
    assert_eq!(outcome.stdout, "a".repeat(40) + "\n");
    let stats: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let count = |name: &str| stats[name].as_u64().unwrap();
    let (drafted, accepted) = (count("drafted_tokens"), count("accepted_tokens"));
    assert!(accepted > 20 && accepted <= drafted, "{accepted} of {drafted}");
    assert_eq!(count("generated_tokens"), 40);
    assert_eq!(stats["decode_passes"]["count"].as_u64().unwrap() + accepted, 39);
    let line = format!("drafted      {drafted} tokens, {accepted} accepted");
    assert!(outcome.stderr.contains(&line), "{}", outcome.stderr);
}

#[test]
fn speculation_requires_the_kv_cache_and_has_a_limit() {
    let refused = greedy("2").args(["--no-kv", "--speculate", "4", PROMPT]).failure(1);
    assert!(
        refused.stderr.contains("speculative decoding requires the KV cache"),
        "{}",
        refused.stderr
    );
    let refused = greedy("2").args(["--speculate", "65", PROMPT]).failure(2);
    assert!(refused.stderr.contains("a number from 0 to 64"), "{}", refused.stderr);
}

#[test]
fn a_full_context_is_reported() {
    let flags = ["--ignore-eos", "--context", "20", "--stats", PROMPT];
    let outcome = greedy("48").args(flags).success();
    assert_eq!(outcome.stdout, golden()[..4].to_owned() + "\n");
    for line in
        ["note: stopped because the context of 20 tokens is full", "finished     context_full"]
    {
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    }
}

#[test]
fn a_stop_string_is_reported_as_the_finish_reason() {
    let stop = &golden()[20..23];
    let outcome = greedy("48").args(["--stats", "--stop", stop, PROMPT]).success();
    assert!(outcome.stderr.contains("finished     stop\n"), "{}", outcome.stderr);
}

#[test]
fn outputs_never_overwrite_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.gguf");
    fs::copy(model(), &own).unwrap();
    let detour = folder.path().join(".").join("own.gguf");
    for flag in ["--save-session", "--stats-json"] {
        let run = Run::inferno().args(["generate", "-n", "2", "-m"]).args([&own]);
        let refused = run.args([flag]).args([&detour]).args([PROMPT]).failure(2);
        assert!(refused.stderr.contains("is the model file itself"), "{}", refused.stderr);
        assert_eq!(fs::read(&own).unwrap(), fs::read(model()).unwrap(), "{flag}");
    }
}

#[test]
fn outputs_that_cannot_be_written_are_rejected_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing/out");
    for flag in ["--save-session", "--stats-json"] {
        let refused = greedy("4").args([flag]).args([&missing]).args([PROMPT]).failure(1);
        let path = missing.display();
        let message = format!("error: cannot write {path}: the directory ");
        assert!(refused.stderr.starts_with(&message), "{}", refused.stderr);
    }
    let refused = greedy("4").args(["--stats-json"]).args([folder.path()]).args([PROMPT]);
    refused.failure(1);
}

#[test]
fn saving_overwrites_only_saved_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let (notes, session) = (folder.path().join("notes.txt"), folder.path().join("session.bin"));
    fs::write(&notes, "precious").unwrap();
    let save = |path: &PathBuf| greedy("2").args(["--save-session"]).args([path]).args([PROMPT]);
    for path in [&notes, &folder.path().to_owned()] {
        let refused = save(path).failure(1);
        assert!(refused.stderr.contains("is not a saved session"), "{}", refused.stderr);
    }
    assert_eq!(fs::read_to_string(&notes).unwrap(), "precious");

    fs::write(&session, "").unwrap();
    save(&session).success();
    let first = fs::read(&session).unwrap();
    greedy("3").args(["--save-session"]).args([&session]).args([PROMPT]).success();
    assert!(fs::read(&session).unwrap().len() > first.len());
}

#[test]
fn floating_point_weights_can_be_quantized_while_loading() {
    for format in ["int8", "q8_0"] {
        let outcome = greedy("4").args(["--requantize", format, PROMPT]).success();
        assert_eq!(outcome.stdout, golden()[..4].to_owned() + "\n", "{format}");
    }
    for format in ["q4_0", "q4_k"] {
        greedy("4").args(["--requantize", format, PROMPT]).success();
    }
}

#[test]
fn a_dry_run_prints_the_memory_needed() {
    let outcome = greedy("4")
        .args(["--dry-run", "--context", "128", "--backend", "scalar", PROMPT])
        .success();
    // 2 layers, keys and values, 1 head of 32 values of 4 bytes: 512 bytes a token.
    assert!(
        outcome.stdout.contains("KV cache         64.00 KiB  for 128 tokens in f32\n"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("cpu (scalar, 1 thread"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("the model fits"), "{}", outcome.stdout);
}

#[test]
fn invalid_options_exit_with_2_and_a_hint() {
    for (flags, expected) in [
        (&["--max-tokens", "0"][..], "expected a number of at least 1"),
        (&["--max-tokens", "-2"], "expected a number of at least 1"),
        (&["--temperature", "-1"], "temperature must be 0 or more, but is -1"),
        (&["--top-p", "1.5"], "--top-p must be above 0 and at most 1, but is 1.5"),
        (&["--temperature", "inf"], "expected a finite number"),
        (&["--min-p", "x"], "expected a finite number"),
        (&["--top-k", "-2"], "expected a number of at least 0, or -1 to disable it"),
        (
            &["--greedy", "--temperature", "0.5"],
            "--greedy and --temperature cannot be used together",
        ),
        (&["--device", "no such card"], "expected cpu"),
        (&["--device", ""], "expected cpu"),
        (&["--gpu-layers", "few"], "expected auto, all or a number of layers"),
        (
            &["--backend", "scalar", "--gpu-layers", "2"],
            "the scalar backend does not support --gpu-layers",
        ),
        (
            &["--backend", "reference", "--threads", "2"],
            "the reference backend does not support --threads",
        ),
        (&["--isa", "mmx"], "invalid value 'mmx' for '--isa <ISA>'"),
        (
            &["--context", "100000", "--strict-context"],
            "the context length is 100000, but this model supports 1 to 256 tokens",
        ),
        (&["--stop", ""], "stop string 0 is empty"),
        (&["--logit-bias", "x"], "expected TOKEN_ID=BIAS, such as 42=-1.5"),
        (&["--logit-bias", "70000=1"], "logit_bias names token 70000"),
        (&["--unknown"], "unexpected argument '--unknown'"),
    ] {
        let run = Run::inferno().args(["generate", "-m"]).args([model()]);
        let outcome = run.args(flags).args([PROMPT]).failure(2);
        assert!(outcome.stderr.contains(expected), "{flags:?}: {}", outcome.stderr);
    }
}

#[test]
fn a_context_above_the_maximum_of_the_model_is_reduced_with_a_warning() {
    let outcome = greedy("4").args(["--context", "100000", "--dry-run", PROMPT]).success();
    assert!(outcome.stdout.contains("for 256 tokens"), "{}", outcome.stdout);
    let warning = "warning: the model supports a context of 256 tokens; --context 100000 was";
    assert!(outcome.stderr.starts_with(warning), "{}", outcome.stderr);
}

#[test]
fn an_endless_input_is_rejected() {
    let refused = greedy("4").args(["--prompt-file", "/dev/zero"]).failure(1);
    assert!(refused.stderr.contains("/dev/zero has more than 256.00 MiB"), "{}", refused.stderr);
}

#[test]
fn a_missing_prefix_of_a_hub_reference_is_suggested() {
    let hint = "use hf:OWNER/REPO";
    let missing =
        |name: &str| Run::inferno().args(["generate", "-m", name, PROMPT]).failure(1).stderr;
    assert!(missing("Qwen/Qwen3-0.6B-GGUF:Q8_0").contains(hint));
    for file in ["models/missing.gguf", "./missing", "/models/missing"] {
        assert!(!missing(file).contains(hint), "{file}");
    }
}

#[cfg(not(feature = "embedded-model"))]
#[test]
fn a_missing_model_is_reported_with_a_hint() {
    let outcome = Run::inferno().args(["generate", PROMPT]).failure(2);
    assert_eq!(
        outcome.stderr,
        "error: no model specified\nhint: pass -m FILE or -m hf:OWNER/REPO\n"
    );
}

#[test]
fn a_folder_without_a_checkpoint_is_reported_with_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let message = || {
        Run::inferno()
            .args(["generate", "-m"])
            .args([folder.path()])
            .args([PROMPT])
            .failure(1)
            .stderr
    };
    let expected =
        "config.json not found; expected a GGUF file, or a folder with a Hugging Face checkpoint";
    assert!(message().contains(expected), "{}", message());
    fs::write(folder.path().join("q8_0.gguf"), "").unwrap();
    let expected = "config.json not found; pass the GGUF file in the folder instead: q8_0.gguf";
    assert!(message().contains(expected), "{}", message());
}

#[test]
fn an_empty_prompt_generates_text() {
    let any = greedy("4").args([""]).success();
    assert!(!any.stdout.trim().is_empty());
}

#[test]
fn invalid_prompts_are_rejected() {
    let long = greedy("4").stdin("x".repeat(300)).failure(1);
    for part in ["300 tokens", "256", "use a model with a longer context"] {
        assert!(long.stderr.contains(part), "{}", long.stderr);
    }
    let context = greedy("4").args(["--context", "64"]).stdin("x".repeat(100)).failure(1);
    assert!(context.stderr.contains("\nhint: increase --context"), "{}", context.stderr);
    let single = greedy("4").args(["--context", "1", "x"]).failure(1).stderr;
    assert!(single.contains("the prompt has 1 token, but the context holds 1,"), "{single}");
    assert_eq!(single.matches("shorten").count(), 1, "{single}");
    let twice = greedy("4").args(["--prompt-file", "x", PROMPT]).failure(2);
    assert!(
        twice.stderr.contains("both a prompt and --prompt-file were specified"),
        "{}",
        twice.stderr
    );
}

#[test]
fn an_incompatible_cache_format_is_rejected_with_a_hint() {
    let Some(model) = oracle("models/stories260K.gguf") else {
        return;
    };
    let flags = ["--kv-dtype", "q8_0", PROMPT];
    let run = Run::inferno().args(["generate", "-m"]).args([model]);
    let refused = run.args(flags).failure(1);
    for part in ["found 8", "\nhint: choose another KV cache format with --kv-dtype"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}

#[test]
fn an_option_overrides_a_conflicting_environment_variable() {
    let sampled = greedy("48").env("INFERNO_TEMPERATURE", "2").args([PROMPT]).success();
    assert_eq!(sampled.stdout, golden() + "\n");
    let run = Run::inferno().env("INFERNO_GREEDY", "1").args([
        "generate",
        "--temperature",
        "5",
        "--seed",
        "1",
    ]);
    let sampled = run.args(["-n", "48", "-m"]).args([model()]).args([PROMPT]).success();
    assert_ne!(sampled.stdout, golden() + "\n");
}

#[test]
fn model_generate_is_greedy_with_and_without_a_cache() {
    for flags in [&["--backend", "scalar"][..], &["--kv", "--backend", "simd"], &["--kv"]] {
        // Greedy decoding is the default.
        let run = Run::program(env!("CARGO_BIN_EXE_model-generate")).args(["--kv-dtype", "f32"]);
        let outcome =
            run.args(["-n", "16", "-m"]).args([model()]).args(flags).args([PROMPT]).success();
        assert_eq!(outcome.stdout, golden()[..16].to_owned() + "\n");
    }
}

#[test]
fn model_generate_samples_if_a_temperature_is_set() {
    let generate = |program: &str, command: &[&str]| {
        let run = Run::program(program).args(command).args(["--temperature", "5", "--seed", "1"]);
        run.args(["-n", "16", "-m"]).args([model()]).args([PROMPT]).success().stdout
    };
    let sampled = generate(env!("CARGO_BIN_EXE_model-generate"), &[]);
    assert_eq!(sampled, generate(env!("CARGO_BIN_EXE_inferno"), &["generate"]));
    assert!(!golden().starts_with(sampled.trim_end()), "{sampled}");
}

#[cfg(unix)]
mod unix {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    /// A generation that takes long enough to be disturbed.
    fn slow() -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inferno"));
        command
            .args([
                "generate",
                "--greedy",
                "--ignore-eos",
                "--no-kv",
                "--backend",
                "reference",
                "-m",
            ])
            .args::<_, PathBuf>([model()])
            .arg(PROMPT)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    #[test]
    fn ctrl_c_terminates_the_line_and_exits_with_130() {
        let mut child = slow().spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut text = vec![0];
        stdout.read_exact(&mut text).unwrap();
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        stdout.read_to_end(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let text = String::from_utf8(text).unwrap();
        let told = text.strip_suffix('\n').expect("the line is ended");
        assert!(told.len() < 240, "it was not interrupted");
    }

    #[test]
    fn a_hard_link_to_the_model_is_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let (own, link) = (folder.path().join("own.gguf"), folder.path().join("stats.json"));
        fs::copy(model(), &own).unwrap();
        fs::hard_link(&own, &link).unwrap();
        let run = Run::inferno().args(["generate", "-n", "2", "-m"]).args([&own]);
        let refused = run.args(["--stats-json"]).args([&link]).args([PROMPT]).failure(2);
        assert!(refused.stderr.contains("is the model file itself"), "{}", refused.stderr);
        assert_eq!(fs::read(&own).unwrap(), fs::read(model()).unwrap());
    }

    #[test]
    fn links_are_followed_and_special_files_are_rejected() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [session, link, to_model, nowhere, pipe] =
            ["session.bin", "link", "model", "nowhere", "pipe"]
                .map(|name| folder.path().join(name));
        let save =
            |path: &PathBuf| greedy("2").args(["--save-session"]).args([path]).args([PROMPT]);
        fs::write(&session, "").unwrap();
        symlink(&session, &link).unwrap();
        save(&link).success();
        assert!(link.is_symlink());
        assert!(fs::read(&session).unwrap().starts_with(b"INFERNOS"));

        symlink(folder.path().join("missing"), &nowhere).unwrap();
        save(&nowhere).failure(1);
        assert!(nowhere.is_symlink());

        symlink(model(), &to_model).unwrap();
        greedy("2").args(["--stats-json"]).args([&to_model]).args([PROMPT]).failure(2);
        let prompt = folder.path().join("prompt.txt");
        fs::write(&prompt, PROMPT).unwrap();
        greedy("2")
            .args(["--prompt-file"])
            .args([&prompt, Path::new("--stats-json"), &prompt])
            .failure(2);
        assert_eq!(fs::read_to_string(&prompt).unwrap(), PROMPT);

        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = save(&pipe).failure(1);
        assert!(refused.stderr.contains("is not a saved session"), "{}", refused.stderr);
        assert!(!pipe.is_file());
        greedy("2").args(["--stats-json", "/dev/null", PROMPT]).success();
    }

    #[test]
    fn a_closed_pipe_exits_successfully() {
        let mut child = slow().spawn().unwrap();
        let mut first = [0];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    }
}
