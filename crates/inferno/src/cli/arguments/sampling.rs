//! Flags that choose how tokens are sampled.

use inferno_engine::SamplingParams;
use inferno_gguf::Metadata;

use crate::Error;
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::printable::printable;

/// How tokens are chosen. What is not given is what the model's file recommends.
#[derive(clap::Args)]
pub(crate) struct SamplingArgs {
    /// Always take the most probable token; the same as --temperature 0.
    #[arg(long)]
    greedy: bool,
    /// Flatter choices above 1, sharper below [default: the model's own, else 1].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    temperature: Option<f32>,
    /// Keep this many of the most probable tokens; 0 for all [default: the model's own, else 0].
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Keep the most probable tokens that together reach this probability [default: the model's own, else 1].
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    top_p: Option<f32>,
    /// Drop tokens less probable than this share of the most probable one [default: the model's own, else 0].
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    min_p: Option<f32>,
    /// Keep the tokens whose surprise is nearest to the expected one, up to this probability.
    #[arg(long, value_name = "P", default_value_t = SamplingParams::default().typical_p, allow_negative_numbers = true)]
    typical_p: f32,
    /// Makes tokens of the prompt and the text less likely; 1 is neutral [default: the model's own, else 1].
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    repetition_penalty: Option<f32>,
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
    /// Refuses mistakes in the flags before a model is opened.
    ///
    /// **Errors**: `--greedy` beside a temperature; a number out of range.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.greedy && self.temperature.is_some_and(|temperature| temperature != 0.0) {
            return Err(Failure::Usage(
                "--greedy and --temperature exclude each other; leave one out".to_owned(),
            ));
        }
        Ok(self.over(SamplingParams::default()).validate()?)
    }

    /// The parameters that were asked for, over what the model's file recommends. Who asks for the most probable token
    /// gets it: nothing is recommended then.
    ///
    /// **Errors**: as [`SamplingParams::recommended`].
    pub(crate) fn params(&self, metadata: &Metadata) -> Result<SamplingParams, Error> {
        if self.greedy || self.temperature == Some(0.0) {
            return Ok(self.over(SamplingParams::greedy()));
        }
        let unknown: Vec<_> = SamplingParams::unknown_recommendations(metadata).collect();
        if !unknown.is_empty() {
            print_note(&format!(
                "note: the model's file recommends what the sampler does not have: {}",
                printable(&unknown.join(", "))
            ));
        }
        Ok(self.over(SamplingParams::recommended(metadata)?))
    }

    /// `base`, with the flags that were given.
    fn over(&self, base: SamplingParams) -> SamplingParams {
        SamplingParams {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_k: self.top_k.unwrap_or(base.top_k),
            top_p: self.top_p.unwrap_or(base.top_p),
            min_p: self.min_p.unwrap_or(base.min_p),
            typical_p: self.typical_p,
            repetition_penalty: self.repetition_penalty.unwrap_or(base.repetition_penalty),
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            logit_bias: self.logit_bias.clone(),
            seed: self.seed,
            logprobs: base.logprobs,
        }
    }
}

/// Reads `ID=BIAS`.
fn logit_bias(text: &str) -> Result<(u32, f32), String> {
    let parts = text.split_once('=');
    let parsed =
        parts.and_then(|(id, bias)| Some((id.trim().parse().ok()?, bias.trim().parse().ok()?)));
    parsed.ok_or_else(|| "expected a token id and a number, such as 42=-1.5".to_owned())
}
