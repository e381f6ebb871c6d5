//! `inferno list`, `inferno show` and `inferno rm`.

use std::fs;
use std::path::Path;

use crate::support::hub_server::HubServer;
use crate::support::{Outcome, Run, model};
use serde_json::Value;

const REPO: &str = "owner/tiny-GGUF";

fn inferno(cache: &Path, args: &[&str]) -> Run {
    Run::inferno().args(args).env("HF_HUB_CACHE", cache).env("HF_ENDPOINT", "http://127.0.0.1:9")
}

/// Returns a cache into which these quantizations of the fixture were downloaded.
fn cache(quants: &[&str]) -> tempfile::TempDir {
    let bytes = fs::read(model()).unwrap();
    let other = [&bytes[..], b"\0"].concat();
    let files = [("m-Q4_K_M.gguf", &bytes[..]), ("m-Q8_0.gguf", &other)];
    let server = HubServer::start(REPO, &files);
    let cache = tempfile::tempdir().unwrap();
    for quant in quants {
        let pull = inferno(cache.path(), &["pull", &format!("hf:{REPO}:{quant}")]);
        pull.env("HF_ENDPOINT", server.endpoint()).success();
    }
    cache
}

fn listed(cache: &Path) -> Vec<String> {
    let json = inferno(cache, &["list", "--json"]).success().stdout;
    let list: Value = serde_json::from_str(&json).unwrap();
    let names = list.as_array().unwrap().iter().map(|model| &model["model"]);
    names.map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn num_files(folder: &Path) -> usize {
    let count = |path: &Path| if path.is_dir() { num_files(path) } else { 1 };
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| count(&entry.unwrap().path())).sum(),
        Err(_) => 0,
    }
}

#[test]
fn downloaded_models_are_listed_with_size_and_age() {
    let cache = cache(&["Q4_K_M", "Q8_0"]);
    let outcome = inferno(cache.path(), &["ls"]).success();
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines[0].starts_with("MODEL"), "{}", outcome.stdout);
    assert!(lines[1].starts_with("hf:owner/tiny-GGUF:Q4_K_M"), "{}", outcome.stdout);
    assert!(lines[2].starts_with("hf:owner/tiny-GGUF:Q8_0"), "{}", outcome.stdout);
    assert!(lines[1].contains(" kB") && lines[1].ends_with("just now"), "{}", outcome.stdout);
    assert_eq!(listed(cache.path()), ["hf:owner/tiny-GGUF:Q4_K_M", "hf:owner/tiny-GGUF:Q8_0"]);
}

#[test]
fn an_empty_cache_is_listed_with_a_hint() {
    let cache = tempfile::tempdir().unwrap();
    let outcome = inferno(&cache.path().join("missing"), &["list"]).success();
    assert!(outcome.stderr.contains("inferno pull qwen3:0.6b"), "{}", outcome.stderr);
    assert_eq!(listed(cache.path()), [""; 0]);
}

#[test]
fn a_downloaded_model_is_shown() {
    let cache = cache(&["Q4_K_M"]);
    for name in ["hf:owner/tiny-GGUF", "hf:owner/tiny-GGUF:q4_k_m"] {
        let shown = inferno(cache.path(), &["show", name]).success().stdout;
        for part in ["model              hf:owner/tiny-GGUF:Q4_K_M\n", "architecture       qwen3\n"]
        {
            assert!(shown.contains(part), "{shown}");
        }
    }
    for name in ["hf:owner/other", "qwen3:0.6b", "hf:owner/tiny-GGUF:Q8_0"] {
        let missing = inferno(cache.path(), &["show", name]).failure(1);
        assert!(missing.stderr.contains("is not in the cache; inferno list"), "{}", missing.stderr);
    }
}

#[test]
fn a_model_is_deleted_with_its_contents() {
    let cache = cache(&["Q4_K_M", "Q8_0"]);
    let outside = cache.path().join("notes.txt");
    fs::write(&outside, "precious").unwrap();
    let remove = |args: &[&str]| inferno(cache.path(), &[&["rm"], args].concat());

    let asked = remove(&["hf:owner/tiny-GGUF:Q4_K_M"]).failure(2);
    assert!(asked.stderr.contains("pass --yes"), "{}", asked.stderr);
    assert_eq!(listed(cache.path()).len(), 2);

    let before = num_files(cache.path());
    let outcome: Outcome = remove(&["-y", "hf:owner/tiny-GGUF:Q4_K_M"]).success();
    assert!(outcome.stderr.starts_with("deleted hf:owner/tiny-GGUF:Q4_K_M"), "{}", outcome.stderr);
    assert_eq!(listed(cache.path()), ["hf:owner/tiny-GGUF:Q8_0"]);
    assert_eq!(num_files(cache.path()), before - 2, "the link and its content");
    remove(&["--yes", "hf:owner/tiny-GGUF:Q4_K_M"]).failure(1);

    remove(&["--yes", "hf:owner/tiny-GGUF"]).success();
    assert_eq!(listed(cache.path()), [""; 0]);
    assert!(!cache.path().join("models--owner--tiny-GGUF").exists());
    assert_eq!(fs::read_to_string(outside).unwrap(), "precious");
}

#[test]
fn models_of_earlier_snapshots_are_kept() {
    let cache = cache(&["Q4_K_M", "Q8_0"]);
    let repo = cache.path().join("models--owner--tiny-GGUF");
    let old = fs::read_dir(repo.join("snapshots")).unwrap().next().unwrap().unwrap().path();
    // As if the repository had been updated between both downloads.
    let new = repo.join("snapshots/newer");
    fs::create_dir(&new).unwrap();
    fs::rename(old.join("m-Q8_0.gguf"), new.join("m-Q8_0.gguf")).unwrap();
    fs::write(repo.join("refs/main"), "newer").unwrap();
    let models = ["hf:owner/tiny-GGUF:Q4_K_M", "hf:owner/tiny-GGUF:Q8_0"];
    assert_eq!(listed(cache.path()), models);
    inferno(cache.path(), &["show", models[0]]).success();
    inferno(cache.path(), &["generate", "-m", models[0], "-n", "1", "a"]).success();

    // An earlier version of a model is not listed, and deleted with it.
    fs::copy(model(), old.join("m-Q8_0.gguf")).unwrap();
    assert_eq!(listed(cache.path()), models);
    inferno(cache.path(), &["rm", "-y", models[1]]).success();
    assert_eq!(listed(cache.path()), [models[0]]);
    assert!(!old.join("m-Q8_0.gguf").exists());
    inferno(cache.path(), &["rm", "-y", models[0]]).success();
    assert!(!repo.exists());
}

#[cfg(unix)]
#[test]
fn links_that_leave_the_cache_are_removed_but_not_followed() {
    let cache = cache(&["Q4_K_M"]);
    let outer = tempfile::tempdir().unwrap();
    let precious = outer.path().join("m-Q8_0.gguf");
    fs::copy(model(), &precious).unwrap();
    let snapshots = cache.path().join("models--owner--tiny-GGUF/snapshots");
    let snapshot = fs::read_dir(&snapshots).unwrap().next().unwrap().unwrap().path();
    std::os::unix::fs::symlink(&precious, snapshot.join("m-Q8_0.gguf")).unwrap();
    inferno(cache.path(), &["rm", "-y", "hf:owner/tiny-GGUF:Q8_0"]).success();
    assert!(precious.exists());
    assert_eq!(listed(cache.path()), ["hf:owner/tiny-GGUF:Q4_K_M"]);
}

#[test]
fn short_names_are_accepted_wherever_a_model_is() {
    let cache = tempfile::tempdir().unwrap();
    let offline =
        |args: &[&str]| inferno(cache.path(), args).env("HF_HUB_OFFLINE", "1").failure(1).stderr;
    for args in [
        &["pull", "qwen3:0.6b"][..],
        &["generate", "-m", "qwen3:0.6b", "hi"],
        &["run", "qwen3:0.6b", "hi"],
        &["inspect", "Qwen3:0.6B"],
        &["run", "hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0", "hi"],
        &["pull", "https://huggingface.co/Qwen/Qwen3-0.6B-GGUF:Q8_0"],
    ] {
        let stderr = offline(args);
        assert!(stderr.contains("hf:Qwen/Qwen3-0.6B-GGUF:Q8_0 is not in the cache"), "{stderr}");
    }
    let unknown = inferno(cache.path(), &["pull", "qwen3:5b"]).failure(2).stderr;
    assert!(unknown.contains("similar short names:\n  qwen3:0.6b\n"), "{unknown}");
    let unknown = inferno(cache.path(), &["generate", "-m", "nothing:1b", "hi"]).failure(2).stderr;
    assert!(unknown.contains("inferno list --catalog shows all short names"), "{unknown}");
    let file = inferno(cache.path(), &["pull", "model.gguf"]).failure(2).stderr;
    assert!(file.contains("model.gguf is not a model on the Hugging Face Hub"), "{file}");
}

#[cfg(feature = "embedded-model")]
#[test]
fn the_built_in_model_is_listed_and_named_in_any_case() {
    let cache = tempfile::tempdir().unwrap();
    let listed = inferno(cache.path(), &["list", "--catalog"]).success().stdout;
    assert!(listed.lines().any(|line| line.starts_with("ember ")), "{listed}");
    let shown = |name: &str| inferno(cache.path(), &["inspect", name]).success().stdout;
    assert_eq!(shown("EMBER"), shown("ember"));
    for command in [&["pull", "ember"][..], &["rm", "Ember"]] {
        let stderr = inferno(cache.path(), command).failure(2).stderr;
        assert!(stderr.contains("is built into this program"), "{stderr}");
    }
    let quantized = inferno(cache.path(), &["quantize", "ember", "out.gguf", "q4_0"]).failure(2);
    assert!(quantized.stderr.contains("is built into this program"), "{}", quantized.stderr);
}

#[test]
fn a_family_is_its_plain_model() {
    let cache = tempfile::tempdir().unwrap();
    let run = inferno(cache.path(), &["run", "QWEN3", "hi"]).env("HF_HUB_OFFLINE", "1");
    let stderr = run.failure(1).stderr;
    assert!(stderr.contains("hf:Qwen/Qwen3-4B-GGUF:Q4_K_M is not in the cache"), "{stderr}");
}

#[test]
fn a_file_takes_precedence_over_a_short_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(model(), folder.path().join("qwen3")).unwrap();
    Run::inferno().args(["inspect", "qwen3"]).current_dir(folder.path()).success();
}

#[test]
fn the_catalog_is_listed() {
    let cache = tempfile::tempdir().unwrap();
    let listed = inferno(cache.path(), &["list", "--catalog"]).success().stdout;
    let line = listed.lines().find(|line| line.starts_with("qwen3:0.6b ")).unwrap();
    assert!(line.contains("0.64 GB  hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"), "{line}");
}
