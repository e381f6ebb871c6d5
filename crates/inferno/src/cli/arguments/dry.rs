//! Options of the DRY penalty.

use std::convert::Infallible;

use inferno_engine::DryParams;

use crate::cli::arguments::values::{OrDefault, finite, or_default, unescape, whole};

/// The value of `--dry-sequence-breaker` for no sequence breakers.
const NONE: &str = "none";

/// Parameters of DRY, with llama.cpp's names. The recommendations of the model file are the defaults.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct DryArgs {
    /// Penalize tokens that would continue a repetition (DRY) by X, times the base for each further repeated token; 0
    /// disables it [default: from the model, else 0]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = finite)]
    dry_multiplier: Option<f32>,
    /// Base of the DRY penalty, at least 1 [default: from the model, else 1.75]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = finite)]
    dry_base: Option<f32>,
    /// Length from which on DRY penalizes repetitions, in tokens [default: from the model, else 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    dry_allowed_length: Option<usize>,
    /// Number of last tokens in which DRY searches repetitions; -1 for all, 0 disables it [default: from the model, else -1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = or_default(whole::<usize>))]
    dry_penalty_last_n: Option<OrDefault<usize>>,
    /// A string that ends repetitions for DRY, with escape sequences such as \n; can be repeated; "none" for no such
    /// strings [default: \n : " *]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = unescaped)]
    dry_sequence_breaker: Vec<String>,
}

impl DryArgs {
    /// Returns `base` with the given options replaced.
    pub(super) fn merge(&self, base: DryParams) -> DryParams {
        let breakers = &self.dry_sequence_breaker;
        DryParams {
            multiplier: self.dry_multiplier.unwrap_or(base.multiplier),
            base: self.dry_base.unwrap_or(base.base),
            allowed_length: self.dry_allowed_length.unwrap_or(base.allowed_length),
            penalty_last_n: match self.dry_penalty_last_n {
                Some(OrDefault(count)) => count,
                None => base.penalty_last_n,
            },
            sequence_breakers: match breakers.is_empty() {
                true => base.sequence_breakers,
                false => breakers.iter().filter(|breaker| *breaker != NONE).cloned().collect(),
            },
        }
    }
}

fn unescaped(text: &str) -> Result<String, Infallible> {
    Ok(unescape(text))
}
