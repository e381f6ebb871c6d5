//! `inferno bench` with the built-in model and a tiny one.

use crate::support::{Outcome, Run, fixture, model};
use serde_json::Value;

/// Returns a measurement of the tiny model, which has a context of 256 tokens, as JSON.
fn measured(flags: &[&str]) -> Value {
    let run = Run::inferno().args(["bench", "-o", "json", "-m"]).args([model()]).args(flags);
    let outcome = run.success();
    assert_eq!(outcome.stderr, "");
    assert_eq!(outcome.stdout.lines().count(), 1);
    serde_json::from_str(&outcome.stdout).expect("one object")
}

fn positive(value: &Value) -> f64 {
    let number = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!(number > 0.0 && number.is_finite(), "{number}");
    number
}

#[test]
fn every_requested_phase_is_measured() {
    let flags = ["-p", "40", "-n", "5", "-d", "20", "--batch", "1,3", "-r", "4", "--threads", "2"];
    let report = measured(&flags);
    for (key, expected) in [
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("model", Value::from("qwen3.gguf")),
        ("backend", Value::from("parallel")),
        ("threads", Value::from(2)),
        ("prompt_tokens", Value::from(40)),
        ("decode_tokens", Value::from(5)),
        ("depth", Value::from(20)),
        ("repetitions", Value::from(4)),
    ] {
        assert_eq!(report[key], expected, "{key}");
    }
    for key in ["time_to_first_token_seconds", "prefill_tps", "decode_tps"] {
        let (median, spread) = (positive(&report[key]), &report["spread"][key]);
        assert_eq!(spread["median"], report[key]);
        assert!((positive(&spread["min"])..=positive(&spread["max"])).contains(&median), "{key}");
    }
    let sizes: Vec<&String> = report["batch"].as_object().unwrap().keys().collect();
    assert_eq!(sizes, ["1", "3"]);
    positive(&report["batch"]["3"]);

    let passes = &report["passes"];
    assert_eq!(passes["prefill"]["count"], 4);
    assert_eq!(passes["prefill"]["num_tokens"], 4 * 40);
    assert_eq!(passes["decode"]["count"], 4 * 5);
    assert_eq!(passes["batch"]["3"]["num_tokens"], 4 * 5 * 3);
    assert!(passes["decode"]["p50_seconds"].as_f64() <= passes["decode"]["max_seconds"].as_f64());
}

#[test]
fn the_prompt_is_split_into_passes() {
    let report = measured(&["-p", "40", "-n", "0", "-r", "1", "--batch-tokens", "16"]);
    assert_eq!(report["passes"]["prefill"]["count"], 3);
    assert_eq!(report["pass_tokens"], 16);
    assert_eq!(report["decode_tps"], Value::Null);
    let report = measured(&["-p", "0", "-n", "2", "-r", "1"]);
    assert_eq!(report["prefill_tps"], Value::Null);
    assert_eq!(report["time_to_first_token_seconds"], Value::Null);
}

#[test]
fn speculative_decoding_is_measured_on_text() {
    let draft = model().display().to_string();
    let flags = ["-p", "0", "-n", "24", "-r", "2", "--draft-model", &draft, "--draft-min", "4"];
    let report = measured(&flags)["speculation"].take();
    for key in ["plain_tps", "tps", "speedup"] {
        positive(&report[key]);
    }
    // A model accepts all of its own drafts.
    assert_eq!(report["acceptance_rate"], 1.0);
    assert_eq!(report["drafted_tokens"], report["accepted_tokens"]);
    assert!(positive(&report["tokens_per_pass"]) > 2.0, "{report}");
    assert_eq!(measured(&["-p", "0", "-n", "2", "-r", "1"])["speculation"], Value::Null);

    let run = Run::inferno().args(["bench", "-p", "0", "-n", "8", "-r", "1", "--speculate", "4"]);
    let table = run.args(["-m"]).args([model()]).success().stdout;
    assert!(table.contains("| 8 tokens of text | tokens/s | min | max |"), "{table}");
    assert!(table.contains("drafted tokens were accepted"), "{table}");
    let run = Run::inferno().args(["bench", "--ladder", "--speculate", "4", "-m"]);
    let refused = run.args([model()]).failure(2).stderr;
    assert!(refused.contains("cannot be used with"), "{refused}");
}

#[test]
fn the_limits_of_the_machine_are_measured() {
    // 2 layers, 2 key/value heads of 16: see make_fixtures.py.
    let roof =
        measured(&["-p", "4", "-n", "3", "-d", "10", "-r", "1", "--kv-dtype", "f32"])["roof"]
            .take();
    let reads = positive(&roof["read_bytes_per_second"]);
    positive(&roof["int8_ops_per_second"]);
    positive(&roof["f32_ops_per_second"]);
    positive(&roof["step_seconds"]);
    let share = roof["decode"]["bytes_per_second"].as_f64().unwrap() / reads;
    assert!((share - roof["decode"]["share"].as_f64().unwrap()).abs() < 1e-9);
    assert!(roof["sweep_bytes"].as_u64().unwrap() >= 1 << 20);
    positive(&roof["prefill"]["share"]);
}

#[test]
fn the_context_may_be_filled_but_not_exceeded() {
    measured(&["-p", "256", "-n", "2", "-d", "254", "-r", "1"]);
    for flags in [["-p", "257", "-n", "2"], ["-d", "255", "-n", "2"]] {
        let run = Run::inferno().args(["bench", "-m"]).args([model()]).args(flags);
        let stderr = run.failure(2).stderr;
        assert!(stderr.contains("exceeds the model's context of 256 tokens"), "{stderr}");
    }
}

#[test]
fn invalid_workloads_are_rejected() {
    let refused = |flags: &[&str]| {
        Run::inferno().args(["bench", "-m"]).args([model()]).args(flags).failure(2).stderr
    };
    // The option of another backend is reported before the context.
    let stderr = refused(&["--backend", "scalar", "--gpu-layers", "2", "-p", "100000"]);
    assert!(stderr.contains("does not support --gpu-layers"), "{stderr}");
    for flags in [&["-p", "0", "-n", "0"][..], &["-n", "0", "--batch", "2"], &["-r", "0"]] {
        refused(flags);
    }
    let run = Run::inferno().args(["bench", "-m"]).args([model()]).args(["-p", "0"]);
    let stderr = run.args(["--batch", "1000000000000"]).failure(1).stderr;
    assert!(stderr.contains("is free; reduce"), "{stderr}");
}

#[test]
fn the_tables_list_all_measurements() {
    let flags = ["-p", "16", "-n", "2", "-d", "4", "--batch", "2", "-r", "1", "--isa", "scalar"];
    let run = Run::inferno().args(["bench", "-m"]).args([model()]).args(flags);
    let Outcome { stdout: table, stderr, .. } = run.success();
    let measured: Vec<&str> =
        stderr.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(measured, ["prefill 16", "decode 2 at depth 4", "decode 2 x 2 at depth 4"]);
    for part in [
        ": qwen3.gguf, 0 MB",
        ", scalar; KV cache i16; loaded in ",
        " with 16 prompt tokens.",
        "| median of 1 run | tokens/s | min | max |\n|---|---:|---:|---:|\n| prefill 16 | ",
        "\n| decode 2 at depth 4 | ",
        "\n| decode 2 x 2 at depth 4 | ",
        "| forward passes, ms | count | p50 | p90 | p99 | max |\n|---|---:|---:|---:|---:|---:|\n",
        "| limit | machine | reached | share |\n",
        "\n| memory bandwidth (decode) | ",
        "\n| memory bandwidth (decode 2 x 2 at depth 4) | ",
        " MB of keys and values. The bandwidth was measured over ",
        "\nA step of 2 sequences reads ",
    ] {
        assert!(table.contains(part), "{part}\n\n{table}");
    }
}

#[test]
fn recurrent_state_is_counted_apart_from_keys_and_values() {
    let flags = ["-p", "0", "-n", "2", "--batch", "2", "-r", "1"];
    let bench = || Run::inferno().args(["bench", "-m"]).args([fixture("hybrid.gguf")]).args(flags);
    let table = bench().success().stdout;
    assert!(table.contains(" MB of recurrent state (including writes)"), "{table}");
    let report = bench().args(["-o", "json"]).success().stdout;
    let roof = serde_json::from_str::<Value>(&report).expect("one object")["roof"].take();
    let state = positive(&roof["decode"]["state_bytes_per_token"]);
    assert_eq!(positive(&roof["batch"]["2"]["state_bytes_per_step"]), 2.0 * state);
    positive(&roof["batch"]["2"]["share"]);
}

/// The operations of a measurement by name, and its seconds.
fn operations(profile: &Value) -> (Vec<(&str, &Value)>, f64) {
    let operations = profile["operations"].as_array().expect("a profile");
    let named = operations.iter().map(|it| (it["name"].as_str().expect("a name"), it));
    (named.collect(), positive(&profile["seconds"]))
}

#[test]
fn a_profile_accounts_for_all_time_and_for_the_tensors_of_the_file() {
    let flags = ["-p", "40", "-n", "5", "--batch", "3", "-r", "2", "--threads", "2", "--profile"];
    let report = measured(&flags);
    let checkpoint = inferno_gguf::Gguf::open(model()).expect("the fixture");
    let file_bytes = |names: &str| -> u64 {
        let of_layers = (0..2).flat_map(|layer| {
            names.split(", ").map(move |name| format!("blk.{layer}.{name}.weight"))
        });
        let tensors = of_layers.map(|name| checkpoint.tensor(&name).expect("a tensor"));
        tensors.map(|tensor| tensor.num_bytes() as u64).sum()
    };
    let profile = &report["profile"];
    for (phase, passes, kind) in [
        (&profile["prefill"], 2, "prefill"),
        (&profile["decode"], 10, "decode"),
        (&profile["batch"]["3"], 10, "batch"),
    ] {
        assert_eq!(phase["passes"], passes, "{kind}");
        let (operations, total) = operations(phase);
        let in_operations: f64 = operations.iter().map(|(_, it)| positive(&it["seconds"])).sum();
        let outside = phase["outside_seconds"].as_f64().expect("a number");
        assert!((in_operations + outside - total).abs() < 1e-6 * total, "{phase}");
        // No time is counted twice, and little is missing, even of passes that take a fraction of a millisecond.
        assert!(in_operations > 0.3 * total, "{phase}");
        let find = |name: &str| {
            let found = operations.iter().find(|(found, _)| *found == name);
            found.unwrap_or_else(|| panic!("{name} in {phase}")).1
        };
        for name in ["attn_q, attn_k, attn_v", "attn_output", "ffn_gate, ffn_up", "ffn_down"] {
            assert_eq!(find(name)["calls"], 2 * passes, "{name}");
            assert_eq!(find(name)["bytes"], passes * file_bytes(name), "{name}");
        }
        // The head is packed in panels of 16 rows: 272 instead of 260.
        assert_eq!(find("output")["bytes"], passes * 272 * 64 * 2);
        positive(&find("attention")["int16_ops"]);
        assert_eq!(find("inputs of products (norm, quantization)")["bytes"], Value::Null);
        for (name, operation) in operations {
            let idle = operation["idle_share"].as_f64().expect("a share");
            assert!((0.0..=1.0).contains(&idle), "{name}");
        }
    }
    // 40 tokens attend to 1 to 40 positions, with 2 query heads of 32 in keys and in values, in 2 layers and 2 runs.
    let (prefill, _) = operations(&profile["prefill"]);
    let attention = prefill.iter().find(|(name, _)| *name == "attention").expect("attention").1;
    assert_eq!(attention["int16_ops"], 2 * 2 * (40 * 41 / 2) * 2 * 2 * (32 + 32));
    // Rows of 32 16-bit integers with a scale, for 40 positions, one head, keys and values.
    assert_eq!(attention["bytes"], 2 * 2 * 40 * 2 * (32 * 2 + 4));
    let products = profile["products"].as_array().expect("products");
    assert_eq!(products.len(), 7);
    for product in products {
        assert_eq!(product["format"], "F16");
        for rate in ["cached_ops_per_second", "streamed_bytes_per_second", "overlap"] {
            positive(&product[rate]);
        }
    }
}

#[test]
fn nothing_is_profiled_unless_requested() {
    let flags = ["-p", "8", "-n", "2", "-r", "1", "--threads", "2"];
    assert_eq!(measured(&flags)["profile"], Value::Null);
    let bench = || Run::inferno().args(["bench", "-m"]).args([model()]).args(flags);
    let table = bench().success().stdout;
    assert!(!table.contains("calls per pass"), "{table}");
    let table = bench().args(["--profile"]).success().stdout;
    for part in [
        "| prefill 8 | calls per pass |",
        "| decode 2 | calls per pass |",
        "\n| ffn_gate, ffn_up | 2 |",
        "\n| outside of operations | | ",
        "\n| F16 | 64 | ",
    ] {
        assert!(table.contains(part), "{part}\n\n{table}");
    }
    let run = Run::inferno().args([
        "bench",
        "-p",
        "4",
        "-n",
        "2",
        "--profile",
        "--backend",
        "reference",
        "-m",
    ]);
    let stderr = run.args([model()]).failure(2).stderr;
    assert!(stderr.contains("the reference backend does not support --profile"), "{stderr}");
}

#[test]
fn the_reference_backend_is_not_compared_with_limits() {
    let report = measured(&["--backend", "reference", "-p", "4", "-n", "2", "-r", "1"]);
    positive(&report["decode_tps"]);
    assert_eq!(report["isa"], Value::Null);
    assert_eq!(report["roof"], Value::Null);
}

#[cfg(feature = "embedded-model")]
#[test]
fn the_built_in_model_is_the_default() {
    let outcome = Run::inferno().args(["bench", "-o", "json", "-p", "32", "-n", "2"]).success();
    let report: Value = serde_json::from_str(&outcome.stdout).expect("one object");
    assert_eq!(report["model"], "Ember (built-in)");
    positive(&report["prefill_tps"]);
}

/// Runs the ladder of the tiny model.
fn climbed(flags: &[&str]) -> Run {
    Run::inferno()
        .args(["bench", "--ladder", "-p", "8", "-n", "2", "-r", "1", "-m"])
        .args([model()])
        .args(flags)
}

#[test]
fn the_ladder_climbs_from_fp32_without_a_cache_to_threads_and_smaller_weights() {
    let outcome = climbed(&["-o", "json", "--threads", "2"]).success();
    assert_eq!(outcome.stderr, "");
    let ladder: Value = serde_json::from_str(&outcome.stdout).expect("one object");
    let rungs = ladder["rungs"].as_array().unwrap();
    let ways: Vec<_> = rungs
        .iter()
        .map(|rung| (rung["kv_cache"].as_bool().unwrap(), rung["backend"].as_str().unwrap()))
        .collect();
    let (steps, formats) = ways.split_at(ways.len() - 3);
    let expected = [(false, "scalar"), (true, "scalar"), (true, "simd"), (true, "parallel")];
    match rungs.iter().any(|rung| rung["backend"] == "simd") {
        true => assert_eq!(steps, expected),
        false => assert_eq!(steps, [expected[0], expected[1], expected[3]]),
    }
    assert_eq!(formats, [(true, "parallel"); 3]);
    let names: Vec<_> = rungs.iter().map(|rung| rung["name"].as_str().unwrap()).collect();
    assert!(names[0].starts_with("FP32"), "{names:?}");
    assert_eq!(names[steps.len()..], ["Q8_0 weights", "Q4_K weights", "INT8 weights"]);

    let bytes: Vec<_> =
        rungs.iter().map(|rung| positive(&rung["weight_bytes_per_token"])).collect();
    let (f32_bytes, smaller) = bytes.split_at(steps.len());
    // The fixture has rows of 64 values, which Q4_K does not divide: those weights are Q4_0.
    assert!(f32_bytes.iter().all(|&bytes| bytes == f32_bytes[0]), "{bytes:?}");
    assert!(f32_bytes[0] > 3.0 * smaller[0] && smaller[0] > smaller[1], "{bytes:?}");
    for rung in rungs {
        for phase in ["prefill", "decode"] {
            let speed = positive(&rung[format!("{phase}_tps")]);
            let time = positive(&rung[format!("{phase}_ms_per_token")]);
            assert!((speed * time / 1e3 - 1.0).abs() < 1e-9, "{rung}");
            let spread = &rung["spread"][format!("{phase}_tps")];
            assert!((positive(&spread["min"])..=positive(&spread["max"])).contains(&speed));
        }
    }
    let skipped = ladder["skipped"].as_array().unwrap();
    assert!(skipped.iter().any(|reason| reason.as_str().unwrap().starts_with("GPU: ")));
}

#[test]
fn rungs_that_cannot_be_measured_are_listed_with_the_reason() {
    let table = climbed(&["--threads", "1", "--isa", "scalar"]).success().stdout;
    assert!(table.contains("| FP32, scalar, no KV cache | "), "{table}");
    assert!(table.contains("\n| + KV cache | "), "{table}");
    assert!(!table.contains("| + SIMD"), "{table}");
    for reason in ["- SIMD: ", "- threads: ", "- GPU: "] {
        assert!(table.contains(reason), "{reason}\n{table}");
    }
    assert!(table.contains("\n| INT8 weights | "), "{table}");
}

#[test]
fn the_ladder_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("ladder.svg");
    let flags = ["--threads", "1", "--svg", picture.to_str().unwrap()];
    climbed(&flags).success();
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
    assert!(svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains(">+ KV cache</text>"), "{svg}");
    assert!(svg.contains("prefers-color-scheme: dark"), "{svg}");
}

#[test]
fn the_ladder_rejects_options_that_it_sets_itself() {
    for flags in [
        &["--backend", "simd"][..],
        &["--requantize", "q8_0"],
        &["--depth", "4"],
        &["--batch", "2"],
        &["-p", "0"],
        &["--svg", model().to_str().unwrap()],
    ] {
        let run = Run::inferno().args(["bench", "--ladder", "-m"]).args([model()]).args(flags);
        run.failure(2);
    }
    let run = Run::inferno().args(["bench", "--svg", "ladder.svg", "-m"]).args([model()]);
    run.failure(2);
}
