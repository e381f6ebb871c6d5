//! Flags that choose how tokens are sampled.

use inferno_engine::SamplingParams;

use crate::cli::failure::Failure;

/// How tokens are chosen.
#[derive(clap::Args)]
pub(super) struct SamplingArgs {
    /// Always take the most probable token; the same as --temperature 0.
    #[arg(long)]
    greedy: bool,
    /// Flatter choices above 1, sharper below [default: 1].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    temperature: Option<f32>,
    /// Keep this many of the most probable tokens; 0 for all.
    #[arg(long, value_name = "K", default_value_t = SamplingParams::default().top_k)]
    top_k: usize,
    /// Keep the most probable tokens that together reach this probability.
    #[arg(long, value_name = "P", default_value_t = SamplingParams::default().top_p, allow_negative_numbers = true)]
    top_p: f32,
    /// Drop tokens less probable than this share of the most probable one.
    #[arg(long, value_name = "P", default_value_t = SamplingParams::default().min_p, allow_negative_numbers = true)]
    min_p: f32,
    /// Keep the tokens whose surprise is nearest to the expected one, up to this probability.
    #[arg(long, value_name = "P", default_value_t = SamplingParams::default().typical_p, allow_negative_numbers = true)]
    typical_p: f32,
    /// Makes tokens of the prompt and the text less likely; 1 is neutral.
    #[arg(long, value_name = "X", default_value_t = SamplingParams::default().repetition_penalty)]
    #[arg(allow_negative_numbers = true)]
    repetition_penalty: f32,
    /// Taken from a token's logit for each time that it was generated.
    #[arg(long, value_name = "X", default_value_t = SamplingParams::default().frequency_penalty)]
    #[arg(allow_negative_numbers = true)]
    frequency_penalty: f32,
    /// Taken from a token's logit if it was generated at all.
    #[arg(long, value_name = "X", default_value_t = SamplingParams::default().presence_penalty)]
    #[arg(allow_negative_numbers = true)]
    presence_penalty: f32,
    /// Added to the logit of one token; may be repeated.
    #[arg(long, value_name = "ID=BIAS", value_parser = logit_bias)]
    logit_bias: Vec<(u32, f32)>,
    /// The same seed gives the same text [default: another one each time].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl SamplingArgs {
    /// The parameters that were asked for.
    ///
    /// **Errors**: `--greedy` beside a temperature; a number out of range.
    pub(super) fn params(&self) -> Result<SamplingParams, Failure> {
        let temperature = match (self.greedy, self.temperature) {
            (true, Some(temperature)) if temperature != 0.0 => {
                return Err(Failure::Usage(
                    "--greedy and --temperature exclude each other; leave one out".to_owned(),
                ));
            }
            (true, _) => 0.0,
            (false, temperature) => temperature.unwrap_or(SamplingParams::default().temperature),
        };
        let params = SamplingParams {
            temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            typical_p: self.typical_p,
            repetition_penalty: self.repetition_penalty,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            logit_bias: self.logit_bias.clone(),
            seed: self.seed,
            logprobs: None,
        };
        params.validate()?;
        Ok(params)
    }
}

/// Reads `ID=BIAS`.
fn logit_bias(text: &str) -> Result<(u32, f32), String> {
    let parts = text.split_once('=');
    let parsed =
        parts.and_then(|(id, bias)| Some((id.trim().parse().ok()?, bias.trim().parse().ok()?)));
    parsed.ok_or_else(|| "expected a token id and a number, such as 42=-1.5".to_owned())
}
