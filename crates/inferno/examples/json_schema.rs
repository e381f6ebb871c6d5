//! Output that is constrained to a JSON schema.
//!
//! Run it with `cargo run --release --example json_schema [MODEL.gguf]`.

use std::error::Error;

use inferno::{
    ChatRequest, ChatTemplate, EncodeOptions, GenerationParams, Model, OutputFormat, Prompt,
    SamplingParams, StopParams,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded()?,
    };
    let model = model.load()?;
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "age": {"type": "integer", "minimum": 1, "maximum": 99},
        },
        "required": ["name", "age"],
        "additionalProperties": false,
    });
    let constraint = model.constraint(&OutputFormat::JsonSchema(schema))?;
    let constraint = constraint.ok_or("the format is unconstrained")?;

    let template = ChatTemplate::from_metadata(model.checkpoint().metadata())?;
    let template = template.ok_or("the model has no chat template")?;
    let message = json!({"role": "user", "content": "Invent a person, as JSON."});
    let prompt = template.render(&ChatRequest::new([message]))?;
    let options = EncodeOptions { add_special: false, parse_special: true };
    let tokens = model.tokenizer().encode(&prompt, options);

    let params = GenerationParams {
        sampling: SamplingParams { temperature: 0.8, seed: Some(7), ..SamplingParams::default() },
        stop: StopParams { max_tokens: Some(100), ..StopParams::default() },
        ..GenerationParams::default()
    };
    let mut session = model.session()?;
    let prompt = Prompt::Tokens(&tokens);
    let answer = session.generate_constrained(prompt, &params, constraint)?.complete()?;
    let person: Value = serde_json::from_str(&answer.text)?;
    println!("{} is {} years old.", person["name"], person["age"]);
    Ok(())
}
