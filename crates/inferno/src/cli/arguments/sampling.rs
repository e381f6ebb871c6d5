//! Options that choose how tokens are sampled.

use inferno_engine::{EngineError, SamplingParams};
use inferno_gguf::Metadata;

use crate::Error;
use crate::cli::arguments::dry::DryArgs;
use crate::cli::arguments::values::{OrDefault, finite, or_default, whole, whole_or_off};
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable;

/// Sampling parameters: of the output, or the defaults of requests to a server. The recommendations of the model file are
/// the defaults.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// Always choose the most probable token; same as --temperature 0
    #[arg(long)]
    greedy: bool,
    /// Sampling temperature; higher values are more random [default: from the model, else 1]
    #[arg(long, visible_alias = "temp", value_name = "T", allow_negative_numbers = true, value_parser = finite)]
    temperature: Option<f32>,
    /// Sample from the K most probable tokens; 0 or -1 disables the limit [default: from the model, else 0]
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole_or_off)]
    top_k: Option<usize>,
    /// Sample from the most probable tokens whose probabilities add up to P [default: from the model, else 1]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = finite)]
    top_p: Option<f32>,
    /// Exclude tokens less probable than P times the most probable one [default: from the model, else 0]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = finite)]
    min_p: Option<f32>,
    /// Sample from the locally typical tokens whose probabilities add up to P; 1 disables it
    #[arg(long, value_name = "P", default_value_t = SamplingParams::default().typical_p, allow_negative_numbers = true, value_parser = finite)]
    typical_p: f32,
    /// Penalty factor for tokens already in the prompt or the output; 1 disables it [default: from the model, else 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = finite)]
    repetition_penalty: Option<f32>,
    /// Subtract X from the logit of a token for each time it was generated
    #[arg(long, value_name = "X", default_value_t = SamplingParams::default().frequency_penalty)]
    #[arg(allow_negative_numbers = true, value_parser = finite)]
    frequency_penalty: f32,
    /// Subtract X from the logit of every token that was generated
    #[arg(long, value_name = "X", default_value_t = SamplingParams::default().presence_penalty)]
    #[arg(allow_negative_numbers = true, value_parser = finite)]
    presence_penalty: f32,
    #[command(flatten)]
    dry: DryArgs,
    /// Add BIAS to the logit of token ID; can be repeated
    #[arg(long, value_name = "ID=BIAS", value_parser = logit_bias)]
    logit_bias: Vec<(u32, f32)>,
    /// Random seed; the same seed reproduces the same output [default: -1, a random one]
    #[arg(long, value_name = "N", value_parser = or_default(whole::<u64>))]
    seed: Option<OrDefault<u64>>,
}

impl SamplingArgs {
    /// Returns these options with greedy decoding as the default: a temperature still enables sampling.
    pub(crate) fn or_greedy(self) -> Self {
        Self { greedy: self.greedy || self.temperature.is_none(), ..self }
    }

    /// Checks the options before a model is opened.
    ///
    /// **Errors**: `--greedy` together with a temperature; a number out of range.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.greedy && self.temperature.is_some_and(|temperature| temperature != 0.0) {
            return Err(Failure::Usage(
                "--greedy and --temperature cannot be used together; remove one of them".to_owned(),
            ));
        }
        self.merge(SamplingParams::default()).validate().map_err(with_option)
    }

    /// Returns the sampling parameters: these options, then the recommendations of the model file. Greedy decoding
    /// ignores the recommendations.
    ///
    /// **Errors**: see [`SamplingParams::recommended`].
    pub(crate) fn params(&self, metadata: &Metadata) -> Result<SamplingParams, Error> {
        if self.greedy || self.temperature == Some(0.0) {
            return Ok(self.merge(SamplingParams::greedy()));
        }
        let unknown: Vec<_> = SamplingParams::unknown_recommendations(metadata).collect();
        if !unknown.is_empty() {
            print_note(&format!(
                "note: ignoring sampling recommendations of the model file that are not supported: {}",
                printable(&unknown.join(", "))
            ));
        }
        Ok(self.merge(SamplingParams::recommended(metadata)?))
    }

    /// Returns `base` with the given options replaced.
    fn merge(&self, base: SamplingParams) -> SamplingParams {
        SamplingParams {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_k: self.top_k.unwrap_or(base.top_k),
            top_p: self.top_p.unwrap_or(base.top_p),
            min_p: self.min_p.unwrap_or(base.min_p),
            typical_p: self.typical_p,
            repetition_penalty: self.repetition_penalty.unwrap_or(base.repetition_penalty),
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            dry: self.dry.merge(base.dry),
            logit_bias: self.logit_bias.clone(),
            seed: OrDefault::value_of(self.seed),
            logprobs: base.logprobs,
        }
    }
}

/// Names the option instead of the parameter.
fn with_option(error: EngineError) -> Failure {
    match error {
        EngineError::ParamOutOfRange { field, range, value } => {
            let option = field.replace('_', "-");
            Failure::Usage(format!("--{option} must be {range}, but is {value}"))
        }
        error => error.into(),
    }
}

/// Parses `ID=BIAS`.
fn logit_bias(text: &str) -> Result<(u32, f32), String> {
    let parts = text.split_once('=');
    let parsed =
        parts.and_then(|(id, bias)| Some((id.trim().parse().ok()?, bias.trim().parse().ok()?)));
    parsed.ok_or_else(|| "expected TOKEN_ID=BIAS, such as 42=-1.5".to_owned())
}
