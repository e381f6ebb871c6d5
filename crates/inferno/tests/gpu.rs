//! The built-in model on a GPU, by the command line and by a server; skipped without a GPU.
#![cfg(all(feature = "embedded-model", feature = "gpu"))]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// Whether there is a GPU. Prints that the test is skipped if there is none.
///
/// **Panics** if there is none but `INFERNO_REQUIRE_GPU` is 1.
fn has_gpu() -> bool {
    let found = !inferno::gpus().is_empty();
    if !found {
        let required = std::env::var("INFERNO_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required, "no GPU driver was found");
        eprintln!("skipped: no GPU driver was found");
    }
    found
}

fn inferno(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inferno"));
    command.args(arguments).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn stdout(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = inferno(arguments).output().expect("it starts");
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("UTF-8")
}

/// Stories by transformers, see `fixtures/ember/make_fixtures.py`.
fn stories() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ember/greedy.json");
    let mut document: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("the fixture")).expect("JSON");
    serde_json::from_value(document["stories"].take()).expect("stories")
}

#[test]
fn the_greedy_text_matches_transformers_on_a_gpu_and_divided() {
    if !has_gpu() {
        return;
    }
    for story in stories().iter().take(2) {
        let prompt = story["prompt"].as_str().expect("a prompt");
        let text = story["text"].as_str().expect("a text").to_owned() + "\n";
        let max_tokens = story["max_tokens"].to_string();
        for layers in ["all", "3"] {
            let generate = ["generate", "--greedy", "--max-tokens", &max_tokens];
            let device = ["--backend", "gpu", "--device", "0", "--gpu-layers", layers, prompt];
            assert_eq!(
                stdout(&[&generate[..], &device].concat()),
                text,
                "{prompt}, {layers} layers"
            );
        }
    }
}

#[test]
fn bench_compares_with_the_limits_of_the_gpu() {
    if !has_gpu() {
        return;
    }
    let bench = |layers| {
        let workload = ["bench", "-p", "8", "-n", "3", "-r", "1", "-o", "json"];
        let device = ["--backend", "gpu", "--device", "0", "--gpu-layers", layers];
        let report = stdout(&[&workload[..], &device].concat());
        serde_json::from_str::<Value>(&report).expect("JSON")
    };
    let report = bench("all");
    let (roof, work) = (&report["roof"], &report["gpu_work"]);
    let positive = |value: &Value| value.as_f64().is_some_and(|value| value > 0.0);
    for name in ["read_bytes_per_second", "copy_bytes_per_second", "f32_ops_per_second"] {
        assert!(positive(&roof[name]), "{name}: {report}");
    }
    assert!(positive(&roof["decode"]["share"]) && positive(&roof["prefill"]["share"]), "{report}");
    assert!(positive(&work["dispatches_per_pass"]), "{report}");
    assert!(positive(&work["submissions_per_pass"]), "{report}");
    let idle_share = work["idle_share"].as_f64().expect("a number");
    assert!((0.0..=1.0).contains(&idle_share), "{report}");
    // Norms are not counted as weights of products.
    let read = work["weight_bytes_per_pass"].as_f64().expect("a number");
    let needed = roof["decode"]["weight_bytes_per_token"].as_f64().expect("a number");
    assert!((0.9 * needed..=needed).contains(&read), "{read} of {needed}");
    assert_eq!(bench("3")["roof"], Value::Null, "two devices");
}

#[test]
fn a_profile_lists_the_kernels_of_a_pass() {
    if !has_gpu() {
        return;
    }
    const PASSES: usize = 3;
    let workload = ["bench", "-p", "8", "-n", "3", "-r", "1", "--profile"];
    let device = ["--backend", "gpu", "--device", "0"];
    let json = [&workload[..], &device, &["-o", "json"]].concat();
    let report: Value = serde_json::from_str(&stdout(&json)).expect("JSON");
    let profile = &report["profile"]["decode"];
    assert_eq!(profile["passes"], PASSES);
    let kernels = profile["operations"].as_array().expect("kernels");
    let sum = |key: &str| kernels.iter().filter_map(|kernel| kernel[key].as_f64()).sum::<f64>();
    let read = report["gpu_work"]["weight_bytes_per_pass"].as_f64().expect("a number");
    assert_eq!(sum("bytes"), read * PASSES as f64, "{report}");
    // Without the kernel that counts a submission.
    let dispatches = report["gpu_work"]["dispatches_per_pass"].as_f64().expect("a number");
    let counting = report["gpu_work"]["submissions_per_pass"].as_f64().expect("a number");
    let calls = sum("calls") / PASSES as f64;
    assert!(calls <= dispatches - counting && calls > 0.7 * dispatches, "{report}");
    assert!(sum("seconds") > 0.0, "{report}");
    for name in ["ffn_gate, ffn_up", "attention", "store kv", "select candidates"] {
        let is_listed =
            |kernel: &Value| kernel["name"].as_str().is_some_and(|it| it.starts_with(name));
        assert!(kernels.iter().any(is_listed), "{name}: {report}");
    }
    let table = stdout(&[&workload[..], &device].concat());
    assert!(table.contains("| decode 3 | calls per pass |"), "{table}");

    let divided = inferno(&[&workload[..], &device, &["--gpu-layers", "3"]].concat());
    let Output { status, stderr, .. } = { divided }.output().expect("it starts");
    assert!(!status.success());
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    assert!(stderr.contains("--profile requires that one device"), "{stderr}");
}

#[test]
fn devices_are_listed_and_selected() {
    if !has_gpu() {
        return;
    }
    let listed: Value = serde_json::from_str(&stdout(&["devices", "--json"])).expect("JSON");
    assert_eq!(listed[0]["device"], "cpu");
    assert_eq!(listed[1]["device"], 0);
    let name = listed[1]["name"].as_str().expect("a name");
    assert!(stdout(&["devices"]).contains(name));

    let plan = stdout(&[
        "generate",
        "--dry-run",
        "--device",
        name,
        "--gpu-layers",
        "2",
        "--backend",
        "gpu",
    ]);
    assert!(plan.contains("the last 2 layers; the processor runs the first"), "{plan}");
    assert!(plan.contains("  weights ") && plan.contains("  workspace "), "{plan}");
    let plan = stdout(&["generate", "--dry-run", "--device", "cpu"]);
    assert!(plan.contains("cpu (") && !plan.contains("GPU"), "{plan}");

    let numbered = format!("{}0", listed[1]["api"].as_str().expect("an interface"));
    let plan = stdout(&["generate", "--dry-run", "-dev", &numbered, "-ngl", "all"]);
    assert!(plan.contains("GPU  ") && plan.contains("all layers"), "{plan}");

    let missing = inferno(&["generate", "--device", "99", ""]).output().expect("it starts");
    assert_eq!(missing.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(stderr.contains("expected cpu or one of the GPUs: 0 ("), "{stderr}");
}

/// A mixture of experts, the only model of the tests whose experts can be on another device.
fn mixture() -> String {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inferno-model/tests/fixtures");
    models.join("qwen3moe.gguf").to_str().expect("UTF-8").to_owned()
}

#[test]
fn the_experts_of_a_mixture_can_stay_on_the_processor() {
    if !has_gpu() {
        return;
    }
    let model = mixture();
    let bench = ["bench", "-m", &model, "-p", "8", "-n", "2", "-r", "1", "--device", "0"];
    for (option, experts) in [
        ("--cpu-experts", "the processor runs the experts"),
        ("--cpu-moe", "the processor runs the experts"),
        ("--n-cpu-moe=1", "the processor runs the experts of the first 1"),
        ("-cmoe", "the processor runs the experts"),
    ] {
        let plan = stdout(&[&bench[..], &["--dry-run", option]].concat());
        assert!(plan.contains(experts) && plan.contains("for experts"), "{option}: {plan}");
    }
    stdout(&[&bench[..], &["--cpu-experts"]].concat());
}

/// A server, which ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let arguments = ["serve", "--port", "0", "--backend", "gpu", "--device", "0"];
        let mut process = inferno(&arguments).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(process.stderr.take().expect("a pipe")).lines();
        let address = lines
            .by_ref()
            .map(|line| line.expect("UTF-8"))
            .find_map(|line| {
                let (_, rest) = line.split_once("http://")?;
                Some(rest.split(['/', ' ']).next()?.to_owned())
            })
            .expect("the address is printed");
        // The server must not wait for a reader of its log.
        std::thread::spawn(move || lines.for_each(drop));
        let server = Self { process, address };
        while !server.respond("GET", "/health", "").0.starts_with("HTTP/1.1 200") {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        server
    }

    /// The body of the successful response to a request.
    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let (head, body) = self.respond(method, path, body);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body
    }

    /// The head and the body of the response to a request.
    fn respond(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it answers");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_server_answers_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let server = Server::start();
    let story = &stories()[0];
    let body = json!({
        "prompt": story["prompt"], "max_tokens": 12, "temperature": 0, "stream": false,
    });
    let answer = server.request("POST", "/v1/completions", &body.to_string());
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let text = answer["choices"][0]["text"].as_str().expect("a text");
    let expected = story["text"].as_str().expect("a text");
    assert!(!text.is_empty() && expected.starts_with(text), "{text}");
    let metrics = server.request("GET", "/metrics", "");
    assert!(metrics.contains("gpu ("), "{metrics}");
    let running: Value = serde_json::from_str(&server.request("GET", "/api/ps", "")).expect("JSON");
    let size = running["models"][0]["size_vram"].as_u64().expect("a size");
    assert!(size > 1 << 20, "{running}");
}
