//! Generation of text with speculative decoding, compared with generation without it.

use serde_json::{Value, json};

use super::{BenchProgress, Spread, Workload};
use crate::{Error, GenerationParams, LoadOptions, Model, SamplingParams, StopParams};

/// The texts that are continued, one per run: how many drafts are accepted depends on the text.
const TEXTS: [&str; 3] = [
    "Once upon a time, there was a",
    "The history of the city begins with",
    "To bake bread at home, first",
];

/// Room for the tokens of a text.
const MAX_TEXT_TOKENS: usize = 64;

/// The speed of generating text greedily, with and without drafts.
#[derive(Debug, Clone)]
pub struct SpeculationReport {
    /// Tokens per second without drafts, by run.
    pub plain_tokens_per_second: Spread,
    /// Tokens per second with drafts, by run.
    pub tokens_per_second: Spread,
    /// Tokens that were drafted, in all runs.
    pub drafted_tokens: usize,
    /// Drafted tokens that were accepted.
    pub accepted_tokens: usize,
    /// Tokens per forward pass of the model.
    pub tokens_per_pass: f64,
}

impl SpeculationReport {
    /// Returns how much faster generation is with drafts.
    pub fn speedup(&self) -> f64 {
        self.tokens_per_second.median / self.plain_tokens_per_second.median
    }

    /// Returns the share of drafted tokens that were accepted; 0 if none were drafted.
    pub fn acceptance_rate(&self) -> f64 {
        self.accepted_tokens as f64 / self.drafted_tokens.max(1) as f64
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "plain_tps": self.plain_tokens_per_second.median,
            "tps": self.tokens_per_second.median,
            "speedup": self.speedup(),
            "drafted_tokens": self.drafted_tokens,
            "accepted_tokens": self.accepted_tokens,
            "acceptance_rate": self.acceptance_rate(),
            "tokens_per_pass": self.tokens_per_pass,
            "spread": { "plain_tps": self.plain_tokens_per_second, "tps": self.tokens_per_second },
        })
    }
}

/// Measures text of `workload.decode_tokens` tokens; `None` if that is fewer than two, or if nothing drafts tokens. The
/// batches of `options` hold a sequence with its drafts.
///
/// **Errors**: as [`Model::load`]; a pass that fails.
pub(super) fn measure(
    model: &Model,
    options: LoadOptions,
    workload: &Workload,
    on_progress: &mut dyn FnMut(BenchProgress<'_>),
) -> Result<Option<SpeculationReport>, Error> {
    let num_lookup_drafts = workload.lookup_drafts;
    let is_speculative = model.drafting().is_some() || num_lookup_drafts > 0;
    if !is_speculative || workload.decode_tokens < 2 {
        return Ok(None);
    }
    let limit = model.spec()?.context_length;
    let context_length = workload.decode_tokens.saturating_add(MAX_TEXT_TOKENS).min(limit);
    let options = LoadOptions { context_length: Some(context_length), ..options };
    let options = LoadOptions { cache_tokens: None, ..options.for_one_sequence() };
    let plain_options = LoadOptions { prediction_head: false, speculation: false, ..options };
    let plain = model.reopened(plain_options, false);
    let drafting = model.reopened(LoadOptions { speculation: true, ..options }, true);
    let plain = Generated::by(&plain, 0, workload, on_progress)?;
    let drafted = Generated::by(&drafting, num_lookup_drafts, workload, on_progress)?;
    Ok(Spread::of(plain.rates).zip(Spread::of(drafted.rates)).map(
        |(plain_tokens_per_second, tokens_per_second)| SpeculationReport {
            plain_tokens_per_second,
            tokens_per_second,
            drafted_tokens: drafted.drafted_tokens,
            accepted_tokens: drafted.accepted_tokens,
            tokens_per_pass: drafted.num_tokens as f64 / drafted.num_passes.max(1) as f64,
        },
    ))
}

/// The text of all runs of a model.
#[derive(Default)]
struct Generated {
    /// Tokens per second of each run.
    rates: Vec<f64>,
    num_tokens: usize,
    num_passes: usize,
    drafted_tokens: usize,
    accepted_tokens: usize,
}

impl Generated {
    /// Loads `model` and generates text.
    fn by(
        model: &Model,
        num_lookup_drafts: usize,
        workload: &Workload,
        on_progress: &mut dyn FnMut(BenchProgress<'_>),
    ) -> Result<Self, Error> {
        let mut load = |progress| on_progress(BenchProgress::Loading(progress));
        let mut session = model.load_with(&mut load)?.session()?;
        let params = GenerationParams {
            sampling: SamplingParams::greedy(),
            stop: StopParams {
                max_tokens: Some(workload.decode_tokens),
                ignore_eos: true,
                ..StopParams::default()
            },
            num_speculative_tokens: num_lookup_drafts,
            ..GenerationParams::default()
        };
        let mut all = Self::default();
        for run in 0..workload.repetitions {
            session.reset();
            session.generate(TEXTS[run % TEXTS.len()], &params)?.complete()?;
            let metrics = session.metrics();
            all.rates.extend(metrics.decode_tokens_per_second());
            // The first token is that of the prompt's pass.
            all.num_tokens += metrics.generated_tokens.saturating_sub(1);
            all.num_passes += metrics.decode_passes.durations().len();
            all.drafted_tokens += metrics.drafted_tokens;
            all.accepted_tokens += metrics.accepted_tokens;
            on_progress(BenchProgress::Running { done: run + 1, total: workload.repetitions });
        }
        Ok(all)
    }
}
