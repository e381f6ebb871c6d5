//! Requests to an engine: submitted at once, computed together, streamed as their tokens arrive.
//!
//! Run it with `cargo run --release --example streaming [MODEL.gguf]`.

use std::error::Error;
use std::io::{Write, stdout};

use inferno::{
    EncodeOptions, EngineOptions, Event, GenerationParams, Model, Request, SamplingParams,
    StopParams,
};

fn main() -> Result<(), Box<dyn Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded()?,
    };
    let model = model.load()?;
    let engine = model.engine(EngineOptions::default())?;
    let params = GenerationParams {
        sampling: SamplingParams { temperature: 0.8, seed: Some(7), ..SamplingParams::default() },
        stop: StopParams { max_tokens: Some(40), ..StopParams::default() },
        ..GenerationParams::default()
    };
    let submit = |prompt: &str| {
        let options = EncodeOptions { add_special: true, parse_special: false };
        let tokens = model.tokenizer().encode_prompt(prompt, options);
        engine.handle().submit(Request::new(tokens, params.clone()))
    };
    let first = submit("Once upon a time")?;
    let second = submit("The little dog")?;
    // Dropping the events of a request cancels it.
    drop(submit("Nobody reads this")?);
    for (prompt, mut events) in [("Once upon a time", first), ("The little dog", second)] {
        print!("{prompt}");
        while let Some(event) = events.blocking_next() {
            match event {
                Event::Token(token) => print!("{}", token.text),
                Event::Finished(end) => {
                    let (tokens, reason) = (end.generated_tokens, end.reason.name());
                    println!("{}\n[{tokens} tokens, {reason}]\n", end.text);
                }
                Event::Failed(error) => return Err(error.into()),
                Event::Progress(_) | Event::Prompt(_) | Event::Embedding(_) | Event::Logits(_) => {}
            }
            stdout().flush()?;
        }
    }
    Ok(())
}
