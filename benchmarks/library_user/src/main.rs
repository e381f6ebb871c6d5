//! Times prefill and decode of a model: `library-user MODEL.gguf [PROMPT_TOKENS [DECODE_TOKENS [RUNS]]]`.
//!
//! Prints the best tokens per second of all runs, first of prefill, then of decode.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use inferno_backend::LogitRows;
use inferno_cpu::{CpuBackend, CpuOptions};
use inferno_engine::{Fingerprint, ModelRunner, RunnerOptions, SequenceRunner};
use inferno_gguf::Gguf;
use inferno_model::Model;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("expected a model")?;
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse::<usize>());
    let (prompt_tokens, decode_tokens, runs) = (number(512)?, number(32)?, number(3)?);

    let checkpoint = Gguf::open(path)?;
    let backend = Arc::new(CpuBackend::new(CpuOptions::default())?);
    let model = Model::load(&checkpoint, backend, None, &mut |_| ())?;
    let context_length = Some(prompt_tokens + decode_tokens + 1);
    let options = RunnerOptions { context_length, ..RunnerOptions::default() };
    let mut runner = ModelRunner::new(model, Fingerprint::of_model(&checkpoint, None), options)?;
    let mut forward = SequenceRunner::new(&mut runner);
    let mut sequence = [forward.sequence()];
    let max_num_tokens = RunnerOptions::default().limits.max_num_tokens;
    let prompt: Vec<u32> = (0..prompt_tokens as u32).map(|token| token % 100 + 3).collect();
    let (mut prefill, mut decode) = (0f64, 0f64);
    for _ in 0..runs {
        forward.truncate(&mut sequence[0], 0);
        sequence[0].extend(&prompt);
        let started = Instant::now();
        while forward.run_next(&mut sequence, max_num_tokens, LogitRows::Last)?.is_some() {}
        prefill = prefill.max(prompt_tokens as f64 / started.elapsed().as_secs_f64());
        let started = Instant::now();
        for token in 0..decode_tokens as u32 {
            sequence[0].extend(&[token % 100 + 3]);
            forward.run_next(&mut sequence, 1, LogitRows::Last)?;
        }
        decode = decode.max(decode_tokens as f64 / started.elapsed().as_secs_f64());
    }
    println!("{prefill:.2} {decode:.2}");
    Ok(())
}
