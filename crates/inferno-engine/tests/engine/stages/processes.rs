//! Stages in processes of their own, one of which is killed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::remote::{Source, addresses_of, check, start, submit_all};
use crate::cores::core;
use crate::models::small_models;

/// The name of the only test here; its process starts others that run it as a stage.
const TEST: &str = "stages::processes::a_killed_stage_is_replaced";
/// Names the model in the environment of a stage's process.
const MODEL: &str = "INFERNO_TEST_STAGE_MODEL";
/// The index of the stage.
const INDEX: &str = "INFERNO_TEST_STAGE_INDEX";
/// What precedes the address in the output of a stage's process.
const ADDRESS: &str = "stage at ";

fn source(model: &str) -> Source {
    Source::open(&small_models().join(model).with_extension("gguf"))
}

/// A stage in a process of its own, which is killed at the end.
struct StageProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl StageProcess {
    fn start(model: &str, index: usize) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args([TEST, "--exact", "--nocapture"])
            .env(MODEL, model)
            .env(INDEX, index.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, output }
    }

    fn address(&mut self) -> String {
        for line in self.output.by_ref().lines() {
            let line = line.expect("text");
            if let Some((_, address)) = line.split_once(ADDRESS) {
                return address.to_owned();
            }
        }
        panic!("the stage has no address");
    }
}

impl Drop for StageProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves a stage until the process that started this one ends.
fn serve(model: &str) {
    let index: usize = std::env::var(INDEX).expect("an index").parse().expect("a number");
    let source = source(model);
    let layers = source.division(2)[index].clone();
    let server = source.serve(layers);
    println!("\n{ADDRESS}{}", server.address());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("an open pipe");
}

#[test]
fn a_killed_stage_is_replaced() {
    if let Ok(model) = std::env::var(MODEL) {
        return serve(&model);
    }
    for model in ["qwen3", "nemotron-h-latent"] {
        let source = source(model);
        let mut processes = [0, 1].map(|index| StageProcess::start(model, index));
        let addresses = addresses_of(processes.iter_mut().map(StageProcess::address));
        let cores = [0, 1].map(|_| core(source.runner(&addresses).expect("stages that work")));
        let engine = start(&cores);
        let streams = submit_all(&engine);
        while engine.handle().snapshot().generation_tokens <= 40 {
            std::thread::yield_now();
        }
        processes[1].child.kill().expect("a running process");
        processes[1] = StageProcess::start(model, 1);
        addresses.set(1, processes[1].address());
        check(&source, streams);
        // On a busy machine, the first requests may have ended before the loss.
        check(&source, submit_all(&engine));
        assert!(engine.handle().snapshot().failed_steps > 0, "{model}");
        engine.shut_down();
    }
}
