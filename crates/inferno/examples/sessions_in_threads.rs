//! Several conversations with one model, each in a separate thread.
//!
//! The sessions share the weights, the KV cache and the prefix cache, and are computed in common batches.
//! Run it with `cargo run --release --example sessions_in_threads [MODEL.gguf]`.

use std::thread;

use inferno::{GenerationParams, Model, SamplingParams, StopParams};

fn main() -> Result<(), inferno::Error> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded()?,
    };
    let model = model.load()?;
    let prompts = ["Once upon a time", "The little dog", "In the garden", "One rainy day"];
    thread::scope(|scope| {
        let threads: Vec<_> = prompts
            .into_iter()
            .map(|prompt| {
                let model = &model;
                scope.spawn(move || -> Result<String, inferno::Error> {
                    let params = GenerationParams {
                        sampling: SamplingParams::greedy(),
                        stop: StopParams { max_tokens: Some(30), ..StopParams::default() },
                        ..GenerationParams::default()
                    };
                    let mut session = model.session()?;
                    Ok(session.generate(prompt, &params)?.complete()?.text)
                })
            })
            .collect();
        for (prompt, thread) in prompts.into_iter().zip(threads) {
            let text = thread.join().expect("no thread panics")?;
            println!("{prompt}{text}\n");
        }
        Ok(())
    })
}
