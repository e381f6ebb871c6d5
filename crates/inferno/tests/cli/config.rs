//! The precedence of options, the environment and `inferno.toml`.

use std::fs;
use std::path::Path;

use crate::support::{Run, fixture};

/// Returns a folder with an `inferno.toml`.
fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("inferno.toml"), config).unwrap();
    folder
}

/// Returns the path of the fixture, whose vocabulary has no BOS.
fn model() -> String {
    fixture("qwen3.gguf").display().to_string()
}

fn tokenize(folder: &Path) -> Run {
    Run::inferno().args(["tokenize"]).current_dir(folder).stdin("hi")
}

#[test]
fn tables_and_top_level_keys_set_options() {
    let config = folder(&format!("model = {:?}\n[tokenize]\ndecode = true", model()));
    assert_eq!(tokenize(config.path()).stdin("[104, 105]").success().stdout, "hi");
}

#[test]
fn options_override_the_environment_which_overrides_the_file() {
    let config = folder("model = \"from-file.gguf\"");
    let from_file = tokenize(config.path()).failure(1);
    assert!(from_file.stderr.contains("from-file.gguf"), "{}", from_file.stderr);
    let from_environment = tokenize(config.path()).env("INFERNO_MODEL", "from-env.gguf").failure(1);
    assert!(from_environment.stderr.contains("from-env.gguf"), "{}", from_environment.stderr);
    let from_flag = tokenize(config.path())
        .env("INFERNO_MODEL", "from-env.gguf")
        .args(["-m", "from-flag.gguf"]);
    let from_flag = from_flag.failure(1);
    assert!(from_flag.stderr.contains("from-flag.gguf"), "{}", from_flag.stderr);
}

#[test]
fn the_table_of_a_command_overrides_top_level_keys() {
    let config = folder("model = \"shared.gguf\"\n[tokenize]\nmodel = \"own.gguf\"");
    let outcome = tokenize(config.path()).failure(1);
    assert!(outcome.stderr.contains("own.gguf"), "{}", outcome.stderr);
}

#[test]
fn the_file_can_be_set_by_option_or_environment() {
    let config = folder("model = \"default.gguf\"");
    let other = config.path().join("other.toml");
    fs::write(&other, "model = \"other.gguf\"").unwrap();
    let by_flag = tokenize(config.path()).args(["--config", "other.toml"]).failure(1);
    assert!(by_flag.stderr.contains("other.gguf"), "{}", by_flag.stderr);
    let by_environment = tokenize(config.path()).env("INFERNO_CONFIG", &other).failure(1);
    assert!(by_environment.stderr.contains("other.gguf"), "{}", by_environment.stderr);
    let missing = tokenize(config.path()).args(["--config", "missing.toml"]).failure(2);
    assert!(missing.stderr.contains("missing.toml: cannot be read"), "{}", missing.stderr);
}

#[test]
fn the_user_configuration_is_the_fallback() {
    let (here, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(user.path().join("inferno")).unwrap();
    fs::write(user.path().join("inferno/inferno.toml"), "model = \"user.gguf\"").unwrap();
    let outcome = tokenize(here.path()).env("XDG_CONFIG_HOME", user.path()).failure(1);
    assert!(outcome.stderr.contains("user.gguf"), "{}", outcome.stderr);
}

#[test]
fn mistakes_are_rejected_with_line_and_reason() {
    for (config, expected) in [
        ("\nmodle = \"a\"", "inferno.toml, line 2: unknown key `modle`; did you mean `model`?"),
        ("ctx-size = 8", "inferno.toml, line 1: unknown key `ctx-size`; did you mean `context`?"),
        ("colour = true", "inferno.toml, line 1: unknown key `colour`; known keys: "),
        ("[generate]\ntemp = 0.5", "`generate` has no option `temp`; did you mean `temperature`?"),
        ("[generate]\nngl = 5", "`generate` has no option `ngl`; did you mean `gpu-layers`?"),
        ("[generate]\nn = 5", "`generate` has no option `n`; did you mean `max-tokens`?"),
        (
            "[tokenise]",
            "inferno.toml, line 1: unknown table `tokenise`, which is not a command; known tables: ",
        ),
        (
            "[tokenize]\n\nthreads = 1",
            "inferno.toml, line 3: `tokenize` has no option `threads`; known keys: ",
        ),
        ("decode = true", "inferno.toml, line 1: `decode` belongs in the table [tokenize]"),
        (
            "[tokenize]\ndecode = \"yes\"",
            "inferno.toml, line 2: `decode` expects true or false, found string",
        ),
        ("model = 7", "inferno.toml, line 1: `model` expects a string, found integer"),
        ("[quantize]\nthreads = 0", "inferno.toml, line 2: invalid value '0' for '--threads <N>'"),
        (
            "[quantize]\nthreads = \"2\"",
            "inferno.toml, line 2: `threads` expects an integer, found string",
        ),
        (
            "[serve]\nport = \"abc\"",
            "inferno.toml, line 2: `port` expects an integer, found string",
        ),
        ("a = ", "inferno.toml, line 1: not valid TOML"),
    ] {
        let outcome = tokenize(folder(config).path()).failure(2);
        assert!(outcome.stderr.contains(expected), "{config}: {}", outcome.stderr);
    }
}

#[test]
fn the_window_of_perplexity_is_not_the_context_of_other_commands() {
    let shared = folder("context = 16");
    let window = |folder: &Path, variable: &str| {
        let run = Run::inferno().args(["perplexity", "--dry-run", "-m", &model(), "text.txt"]);
        let stdout = run.current_dir(folder).env("INFERNO_CONTEXT", variable).success().stdout;
        let cache = stdout.lines().find(|line| line.starts_with("KV cache"));
        cache.unwrap_or_else(|| panic!("no KV cache in {stdout}")).to_string()
    };
    let default = window(tempfile::tempdir().unwrap().path(), "");
    assert!(default.contains("for 256 tokens"), "{default}");
    assert_eq!(window(shared.path(), "32"), default);
    let own = folder("[perplexity]\ncontext = 16");
    assert!(window(own.path(), "").contains("for 16 tokens"));
    let generated = Run::inferno().args(["generate", "--dry-run", "-m", &model(), "hi"]);
    let generated = generated.current_dir(shared.path()).success().stdout;
    assert!(generated.contains("for 16 tokens"), "{generated}");
}

#[test]
fn integers_may_have_any_radix_of_toml() {
    for (written, read) in [("0x1_0", 16), ("0o20", 16), ("0b1_0000", 16), ("1_6", 16)] {
        let config = folder(&format!("[generate]\ncontext = {written}\ndry_run = true"));
        let run = Run::inferno().args(["generate", "-m", &model()]);
        let stdout = run.current_dir(config.path()).success().stdout;
        assert!(stdout.contains(&format!("for {read} tokens")), "{stdout}");
    }
    let zero = tokenize(folder("[quantize]\nthreads = 0x0").path()).failure(2);
    let expected = "invalid value '0' for '--threads <N>'";
    assert!(zero.stderr.contains(expected), "{}", zero.stderr);
}

#[test]
fn switches_in_the_environment_are_true_or_false() {
    let config = folder(&format!("model = {:?}", model()));
    let decoded = tokenize(config.path()).env("INFERNO_DECODE", "1").stdin("[104]").success();
    assert_eq!(decoded.stdout, "h");
    let encoded = tokenize(config.path()).env("INFERNO_DECODE", "false").stdin("h").success();
    assert_eq!(encoded.stdout, "[104]\n");
    tokenize(config.path()).env("INFERNO_DECODE", "perhaps").failure(2);
}

#[test]
fn an_invalid_environment_variable_is_reported_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, value: &str| {
        let run = Run::inferno().args(["generate", "--dry-run", "-m", &model(), "hi"]);
        run.current_dir(folder.path()).env(name, value)
    };
    for (name, value, expected) in [
        (
            "INFERNO_MAX_TOKENS",
            "many",
            "environment variable INFERNO_MAX_TOKENS: invalid value 'many'",
        ),
        (
            "INFERNO_GREEDY",
            "perhaps",
            "environment variable INFERNO_GREEDY: invalid value 'perhaps'",
        ),
    ] {
        let refused = run(name, value).failure(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    assert_eq!(run("INFERNO_GREEDY", "").success().stderr, "");
    let serve = Run::inferno().args(["serve", "--dry-run", "-m", &model()]);
    let refused = serve.current_dir(folder.path()).env("INFERNO_API_KEY", "").failure(2);
    assert!(refused.stderr.contains("an API key is empty"), "{}", refused.stderr);
    run("INFERNO_MAX_TOKENS", "many").args(["-n", "3"]).success();
    for (name, advice) in [
        ("INFERNO_MAX_TOKEN", "; did you mean INFERNO_MAX_TOKENS?\n"),
        ("INFERNO_TEMPERATUR", "; did you mean INFERNO_TEMPERATURE?\n"),
        ("INFERNO_FLUX_CAPACITOR", "INFERNO_FLUX_CAPACITOR\n"),
    ] {
        let stderr = run(name, "1").success().stderr;
        let warning = format!("warning: unknown environment variable {name}");
        assert!(stderr.starts_with(&warning) && stderr.ends_with(advice), "{stderr}");
    }
}

#[test]
fn bench_serve_reads_the_environment() {
    let folder = folder("");
    let bench = |variables: &[(&str, &str)], args: &[&str]| {
        let run = Run::inferno().args(["bench", "serve"]).args(args).current_dir(folder.path());
        variables.iter().fold(run, |run, (name, value)| run.env(name, value))
    };
    // Nothing listens there.
    let url = ("INFERNO_URL", "http://127.0.0.1:1");
    let fails_with = |variables: &[(&str, &str)], args: &[&str], code: i32, expected: &str| {
        let stderr = bench(&[&[url], variables].concat(), args).failure(code).stderr;
        assert!(stderr.contains(expected), "{variables:?} {args:?}: {stderr}");
    };
    fails_with(&[], &[], 1, "http://127.0.0.1:1");
    fails_with(&[], &["--url", "http://127.0.0.1:2"], 1, "http://127.0.0.1:2");
    let many = [("INFERNO_MAX_TOKENS", "many")];
    fails_with(&many, &[], 2, "environment variable INFERNO_MAX_TOKENS: invalid value 'many'");
    let file = [("INFERNO_API_KEY_FILE", "none.txt")];
    fails_with(&file, &[], 1, "none.txt");
    fails_with(&file, &["--api-key", "key"], 1, "http://127.0.0.1:1");
    fails_with(&[("INFERNO_RATE", "2")], &["--concurrency", "1"], 1, "http://127.0.0.1:1");
    let keys = [("INFERNO_API_KEY", "key"), file[0]];
    fails_with(&keys, &[], 1, "http://127.0.0.1:1");
    fs::write(folder.path().join("comments.txt"), "# no key\n").unwrap();
    let comments = ["--api-key-file", "comments.txt"];
    fails_with(&[], &comments, 2, "comments.txt contains no API key");
    let both = ["--api-key", "key", "--api-key-file", "key.txt"];
    fails_with(&[], &both, 2, "--api-key and --api-key-file exclude each other");
    fails_with(&[], &["--rate", "1", "--concurrency", "1"], 2, "exclude each other");
}

#[test]
fn an_empty_variable_for_a_file_of_keys_does_not_open_a_server() {
    let serve = Run::inferno().args(["serve", "--dry-run", "-m", &model()]);
    let refused = serve.env("INFERNO_API_KEY_FILE", "").failure(2);
    assert!(refused.stderr.contains("INFERNO_API_KEY_FILE"), "{}", refused.stderr);
}

#[test]
fn help_names_the_options_that_are_not_set_in_the_environment() {
    let help = |args: &[&str]| Run::inferno().args(args).success().stdout;
    let imatrix = help(&["imatrix", "--help"]);
    let expected = "--context and --output can be set only on the command line or in the [imatrix]";
    assert!(imatrix.contains(expected), "{imatrix}");
    assert!(!help(&["generate", "--help"]).contains("only on the command line"));
    let bench = help(&["bench", "serve", "--help"]);
    assert!(bench.contains("INFERNO_<OPTION>") && !bench.contains("or in inferno.toml"));
    let all = help(&["--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains("INFERNO_CONFIG"));
    assert!(all.contains("perplexity --context, imatrix --context, imatrix --output"), "{all}");
}

#[test]
fn paths_in_the_file_are_relative_to_it() {
    let config = folder("model = \"tiny.gguf\"");
    fs::copy(model(), config.path().join("tiny.gguf")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = config.path().join("inferno.toml");
    let outcome = tokenize(elsewhere.path()).env("INFERNO_CONFIG", &file).success();
    assert_eq!(outcome.stdout, "[104,105]\n");

    fs::write(&file, "model = \"~/tiny.gguf\"").unwrap();
    let run = tokenize(elsewhere.path()).env("INFERNO_CONFIG", &file).env("HOME", config.path());
    assert_eq!(run.success().stdout, "[104,105]\n");
}

#[test]
fn a_directory_with_the_name_of_the_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inferno.toml")).unwrap();
    let refused = tokenize(folder.path()).args(["-m", &model()]).failure(2);
    assert!(refused.stderr.contains("inferno.toml: cannot be read"), "{}", refused.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn the_name_of_a_model_need_not_be_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"m\xff.gguf");
    fs::copy(model(), folder.path().join(name)).unwrap();
    let outcome = tokenize(folder.path()).args(["-m"]).args([name]).success();
    assert_eq!(outcome.stdout, "[104,105]\n");
}

#[test]
fn the_small_programs_read_the_table_of_their_command() {
    let config = folder(&format!(
        "model = {:?}\n[generate]\ngreedy = true\nno_kv = true\nmax_tokens = 3\n[inspect]\njson = true\ntensors = false",
        model()
    ));
    let generate = |program: &str, args: &[&str]| {
        let run = Run::program(program).args(args).args(["hi"]);
        run.current_dir(config.path()).success().stdout
    };
    let expected = generate(env!("CARGO_BIN_EXE_inferno"), &["generate"]);
    let program = env!("CARGO_BIN_EXE_model-generate");
    assert_eq!(generate(program, &[]), expected);
    assert_eq!(generate(program, &["--kv"]), expected);
    assert_ne!(generate(program, &["--max-tokens", "4"]), expected);

    let inspected = Run::program(env!("CARGO_BIN_EXE_gguf-inspect")).args([model()]);
    let inspected = inspected.current_dir(config.path()).success().stdout;
    let document: serde_json::Value = serde_json::from_str(&inspected).unwrap();
    assert!(document["tensors"].is_array());

    let wrong = folder("[generate]\nmax_token = 3");
    let refused = Run::program(program).args(["hi"]).current_dir(wrong.path());
    let refused = refused.failure(2);
    assert!(
        refused
            .stderr
            .contains("line 2: `generate` has no option `max_token`; did you mean `max-tokens`?"),
        "{}",
        refused.stderr
    );
}
