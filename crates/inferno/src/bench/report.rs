//! What was measured, and what it means beside the roofs.

use std::ops::Range;
use std::time::Duration;

use inferno_backend::KvDType;
use inferno_cpu::{Isa, Roofs};
use inferno_engine::Passes;
use inferno_model::{Requantize, TokenCost};

use super::{Spread, Workload};
use crate::BackendChoice;

/// The speed of one model in one configuration.
///
/// [`json`](Self::json) is for programs, [`Display`](std::fmt::Display) writes tables in Markdown.
#[derive(Debug, Clone)]
pub struct Report {
    /// The model's file.
    pub model: String,
    /// Bytes of the file, or of all its shards.
    pub model_bytes: u64,
    /// The processor's name, where the system tells it.
    pub processor: Option<String>,
    /// What computed.
    pub backend: BackendChoice,
    /// The instruction set, where the backend has a choice.
    pub isa: Option<Isa>,
    /// Threads that computed.
    pub num_threads: usize,
    /// Format of the KV cache.
    pub kv_dtype: KvDType,
    /// The format that float weights were turned into.
    pub requantize: Option<Requantize>,
    /// Tokens of a prompt in one forward pass.
    pub pass_tokens: usize,
    /// What was to be measured.
    pub workload: Workload,
    /// What loading the weights took.
    pub load_time: Duration,
    /// The prompt.
    pub prefill: Option<PrefillReport>,
    /// The tokens that were written by one sequence.
    pub decode: Option<PhaseReport>,
    /// The tokens that were written by several sequences side by side, with their number.
    pub batches: Vec<(usize, PhaseReport)>,
    /// The machine's roofs, and how near the model came; `None` where the backend does not aim at them.
    pub roof: Option<RoofReport>,
}

/// The speed of forward passes of one kind.
#[derive(Debug, Clone)]
pub struct PhaseReport {
    /// Tokens a second, by run; over all sequences.
    pub tokens_per_second: Spread,
    /// Each forward pass of all runs.
    pub passes: Passes,
}

/// The speed of reading the prompt.
#[derive(Debug, Clone)]
pub struct PrefillReport {
    /// The forward passes.
    pub phase: PhaseReport,
    /// From the prompt's tokens to the first token that follows, by run.
    ///
    /// **Units**: seconds.
    pub time_to_first_token: Spread,
}

/// What the machine could do at most, and what was reached of it.
#[derive(Debug, Clone, Copy)]
pub struct RoofReport {
    /// The marks.
    pub roofs: Roofs,
    /// Decode, which is bound by what it reads.
    pub decode: Option<DecodeReached>,
    /// Prefill, which is bound by what it computes.
    pub prefill: Option<PrefillReached>,
}

/// What one token that is written takes, and at which rate it was had.
#[derive(Debug, Clone, Copy)]
pub struct DecodeReached {
    /// Bytes of weights read for a token.
    pub weight_bytes: u64,
    /// Bytes of keys and values read for a token, on average over the run.
    pub kv_bytes: u64,
    /// Bytes read a second.
    pub bytes_per_second: f64,
    /// Share of the machine's rate of reads; above 1 where the caches hold what is read.
    pub share: f64,
}

/// What one token of the prompt takes, and at which rate it was had.
#[derive(Debug, Clone, Copy)]
pub struct PrefillReached {
    /// Operations with 8-bit integers for a token, on average over the prompt.
    pub int8_ops: u64,
    /// Operations in single precision for a token, on average over the prompt.
    pub f32_ops: u64,
    /// Operations of both kinds a second.
    pub ops_per_second: f64,
    /// The time that both kinds would take at their roofs, of the time that was taken.
    pub share: f64,
}

impl RoofReport {
    pub(super) fn new(
        roofs: Roofs,
        cost: &TokenCost,
        workload: &Workload,
        prefill: Option<&PrefillReport>,
        decode: Option<&PhaseReport>,
    ) -> Self {
        let decode = decode.map(|decode| {
            let positions = workload.depth..workload.depth + workload.decode_tokens;
            DecodeReached::new(roofs, cost, positions, decode.tokens_per_second.median)
        });
        let prefill = prefill.map(|prefill| {
            let tokens_per_second = prefill.phase.tokens_per_second.median;
            PrefillReached::new(roofs, cost, workload.prompt_tokens, tokens_per_second)
        });
        Self { roofs, decode, prefill }
    }
}

impl DecodeReached {
    fn new(
        roofs: Roofs,
        cost: &TokenCost,
        positions: Range<usize>,
        tokens_per_second: f64,
    ) -> Self {
        let num_tokens = positions.len() as u64;
        let weight_bytes = (cost.layers.weight_bytes + cost.head.weight_bytes) as u64;
        let kv_bytes = cost.position_bytes as u64 * attended(cost, positions) / num_tokens;
        let bytes_per_second = (weight_bytes + kv_bytes) as f64 * tokens_per_second;
        let share = bytes_per_second / roofs.read_bytes_per_second;
        Self { weight_bytes, kv_bytes, bytes_per_second, share }
    }
}

impl PrefillReached {
    fn new(roofs: Roofs, cost: &TokenCost, num_tokens: usize, tokens_per_second: f64) -> Self {
        // The head runs for the last token alone.
        let tokens = num_tokens as f64;
        let int8_ops = cost.layers.int8_ops as f64 + cost.head.int8_ops as f64 / tokens;
        let attention_ops = cost.position_ops as f64 * attended(cost, 0..num_tokens) as f64;
        let f32_ops =
            cost.layers.f32_ops as f64 + (cost.head.f32_ops as f64 + attention_ops) / tokens;
        let seconds_at_roof =
            int8_ops / roofs.int8_ops_per_second + f32_ops / roofs.f32_ops_per_second;
        Self {
            int8_ops: int8_ops as u64,
            f32_ops: f32_ops as u64,
            ops_per_second: (int8_ops + f32_ops) * tokens_per_second,
            share: seconds_at_roof * tokens_per_second,
        }
    }
}

/// The positions that the tokens at `positions` attend to, all together; each attends to itself as well.
fn attended(cost: &TokenCost, positions: Range<usize>) -> u64 {
    let window = cost.window.unwrap_or(usize::MAX);
    positions.map(|position| (position + 1).min(window) as u64).sum()
}

#[cfg(test)]
mod tests {
    use inferno_model::ProductCost;

    use super::*;

    const ROOFS: Roofs = Roofs {
        sweep_bytes: 1,
        read_bytes_per_second: 2000.0,
        int8_ops_per_second: 8000.0,
        f32_ops_per_second: 1000.0,
        step_seconds: 1e-6,
    };

    fn cost(window: Option<usize>) -> TokenCost {
        TokenCost {
            layers: ProductCost { weight_bytes: 70, int8_ops: 100, f32_ops: 0 },
            head: ProductCost { weight_bytes: 30, int8_ops: 0, f32_ops: 20 },
            position_bytes: 10,
            position_ops: 4,
            window,
        }
    }

    #[test]
    fn decode_reads_all_weights_and_the_positions_before() {
        // Positions 4 and 5 attend to 5 and 6 positions.
        let reached = DecodeReached::new(ROOFS, &cost(None), 4..6, 10.0);
        assert_eq!((reached.weight_bytes, reached.kv_bytes), (100, 55));
        assert_eq!((reached.bytes_per_second, reached.share), (1550.0, 0.775));
        let reached = DecodeReached::new(ROOFS, &cost(Some(3)), 4..6, 10.0);
        assert_eq!(reached.kv_bytes, 30);
    }

    #[test]
    fn prefill_runs_the_head_once() {
        // 4 tokens attend to 1 + 2 + 3 + 4 positions: 40 operations, and 20 of the head.
        let reached = PrefillReached::new(ROOFS, &cost(None), 4, 20.0);
        assert_eq!((reached.int8_ops, reached.f32_ops), (100, 15));
        assert_eq!(reached.ops_per_second, 2300.0);
        // 12.5 ms at the one roof and 15 ms at the other, of 50 ms.
        assert!((reached.share - 0.55).abs() < 1e-12, "{}", reached.share);
    }
}
