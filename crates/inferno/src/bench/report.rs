//! Results of a benchmark, compared with the limits of the machine.

use std::ops::Range;
use std::time::Duration;

use inferno_backend::KvDType;
use inferno_cpu::Isa;
use inferno_engine::Passes;
use inferno_model::{Requantize, TokenCost};

use super::limits::ProductOps;
use super::{
    DeviceRoofs, GpuPhase, PhaseProfile, ProductProfile, SpeculationReport, Spread, Workload,
};
use crate::BackendChoice;

/// The speed of a model in one configuration.
///
/// [`json`](Self::json) is for programs, and [`Display`](std::fmt::Display) writes Markdown tables.
#[derive(Debug, Clone)]
pub struct BenchReport {
    /// File name of the model.
    pub model: String,
    /// Size of the file or of all its shards, in bytes.
    pub model_bytes: u64,
    /// Name of the processor, if the operating system reports it.
    pub processor: Option<String>,
    /// The backend.
    pub backend: BackendChoice,
    /// Description of the devices, if one of them is a GPU.
    pub gpu: Option<String>,
    /// The instruction set, if the backend has several.
    pub isa: Option<Isa>,
    /// Number of threads.
    pub num_threads: usize,
    /// Number format of the KV cache.
    pub kv_dtype: KvDType,
    /// The format that floating-point weights were quantized to.
    pub requantize: Option<Requantize>,
    /// Maximum number of prompt tokens per forward pass.
    pub pass_tokens: usize,
    /// The workload.
    pub workload: Workload,
    /// Time to load the weights.
    pub load_time: Duration,
    /// Reading the prompt.
    pub prefill: Option<PrefillReport>,
    /// Generating tokens in one sequence.
    pub decode: Option<PhaseReport>,
    /// Generating tokens in several sequences at once, by number of sequences.
    pub batches: Vec<(usize, PhaseReport)>,
    /// Generating text with and without drafts, if tokens are drafted.
    pub speculation: Option<SpeculationReport>,
    /// The limits of the machine and the share of them reached; `None` if they do not apply to the backend.
    pub roof: Option<RoofReport>,
    /// Products on their own, if the workload requests a profile.
    pub products: Option<ProductProfile>,
}

/// The speed of one kind of forward pass.
#[derive(Debug, Clone)]
pub struct PhaseReport {
    /// Tokens per second over all sequences, by run.
    pub tokens_per_second: Spread,
    /// All forward passes of all runs.
    pub passes: Passes,
    /// What the GPU did, for decode on one.
    pub gpu: Option<GpuPhase>,
    /// Its operations, if the workload requests a profile.
    pub profile: Option<PhaseProfile>,
}

/// The speed of reading the prompt.
#[derive(Debug, Clone)]
pub struct PrefillReport {
    /// The forward passes.
    pub phase: PhaseReport,
    /// Time from the prompt tokens to the first generated token, by run.
    ///
    /// **Units**: seconds.
    pub time_to_first_token: Spread,
}

/// The limits of the machine and the share of them reached.
#[derive(Debug, Clone)]
pub struct RoofReport {
    /// The measured limits.
    pub roofs: DeviceRoofs,
    /// Decode, limited by memory bandwidth.
    pub decode: Option<DecodeReached>,
    /// Decode of several sequences at once, by number of sequences.
    pub batches: Vec<(usize, DecodeReached)>,
    /// Whether the weights of batches are those of an expected number of experts.
    pub are_experts_expected: bool,
    /// Prefill, limited by arithmetic.
    pub prefill: Option<PrefillReached>,
}

/// Memory reads of decode, per step of one token for each sequence.
#[derive(Debug, Clone, Copy)]
pub struct DecodeReached {
    /// Bytes of weights. Several sequences read each matrix once; of experts, the
    /// [expected number](inferno_model::ExpertCost::expected_num_used) counts.
    pub weight_bytes: u64,
    /// Bytes of keys and values, averaged over the run.
    pub kv_bytes: u64,
    /// Bytes of recurrent state, read and written.
    pub state_bytes: u64,
    /// Bytes read per second.
    pub bytes_per_second: f64,
    /// Share of the memory bandwidth; above 1 if the data fits in the caches.
    pub share: f64,
}

/// Arithmetic of prefill.
#[derive(Debug, Clone, Copy)]
pub struct PrefillReached {
    /// 8-bit integer operations per token, averaged over the prompt.
    pub int8_ops: u64,
    /// Operations with weights of F16 and BF16 per token, averaged over the prompt.
    pub f16_ops: u64,
    /// Other single-precision operations per token, averaged over the prompt.
    pub f32_ops: u64,
    /// Operations of all kinds per second.
    pub ops_per_second: f64,
    /// Time that all kinds would take at the limits of the machine, divided by the actual time.
    pub share: f64,
}

impl RoofReport {
    pub(super) fn new(
        roofs: DeviceRoofs,
        cost: &TokenCost,
        workload: &Workload,
        prefill: Option<&PrefillReport>,
        decode: Option<&PhaseReport>,
        batches: &[(usize, PhaseReport)],
    ) -> Self {
        let decode_of = |num_sequences: usize, decode: &PhaseReport| {
            let positions = workload.depth..workload.depth + workload.decode_tokens;
            let steps_per_second = decode.tokens_per_second.median / num_sequences as f64;
            DecodeReached::new(roofs, cost, positions, num_sequences, steps_per_second)
        };
        let prefill = prefill.map(|prefill| {
            let tokens_per_second = prefill.phase.tokens_per_second.median;
            PrefillReached::new(roofs, cost, workload.prompt_tokens, tokens_per_second)
        });
        Self {
            roofs,
            decode: decode.map(|decode| decode_of(1, decode)),
            batches: batches.iter().map(|(size, batch)| (*size, decode_of(*size, batch))).collect(),
            are_experts_expected: !cost.experts.is_empty(),
            prefill,
        }
    }
}

impl DecodeReached {
    /// The reads of steps of `num_sequences` sequences at `positions`.
    fn new(
        roofs: DeviceRoofs,
        cost: &TokenCost,
        positions: Range<usize>,
        num_sequences: usize,
        steps_per_second: f64,
    ) -> Self {
        let num_tokens = positions.len() as u64;
        let weight_bytes = cost.step_weight_bytes(num_sequences);
        let kv_bytes = positions.map(|position| cost.kv_bytes(position)).sum::<u64>() / num_tokens;
        let kv_bytes = kv_bytes * num_sequences as u64;
        let state_bytes = cost.state_bytes as u64 * num_sequences as u64;
        let bytes_per_second = (weight_bytes + kv_bytes + state_bytes) as f64 * steps_per_second;
        let share = bytes_per_second / roofs.read_bytes_per_second();
        Self { weight_bytes, kv_bytes, state_bytes, bytes_per_second, share }
    }
}

impl PrefillReached {
    fn new(
        roofs: DeviceRoofs,
        cost: &TokenCost,
        num_tokens: usize,
        tokens_per_second: f64,
    ) -> Self {
        // The head runs for the last token alone.
        let tokens = num_tokens as f64;
        let int8_ops = cost.layers.int8_ops as f64 + cost.head.int8_ops as f64 / tokens;
        let attention_ops =
            (0..num_tokens).map(|position| cost.attention_ops(position)).sum::<u64>();
        let f16_ops = cost.layers.f16_ops as f64 + cost.head.f16_ops as f64 / tokens;
        let f32_product_ops = cost.layers.f32_ops as f64 + cost.head.f32_ops as f64 / tokens;
        let other_ops = cost.state_ops as f64 + attention_ops as f64 / tokens;
        let f32_ops = f32_product_ops + other_ops;
        let products = ProductOps { int8: int8_ops, f16: f16_ops, f32: f32_product_ops };
        let seconds_at_roof = roofs.seconds(products, other_ops);
        Self {
            int8_ops: int8_ops as u64,
            f16_ops: f16_ops as u64,
            f32_ops: f32_ops as u64,
            ops_per_second: (int8_ops + f16_ops + f32_ops) * tokens_per_second,
            share: seconds_at_roof * tokens_per_second,
        }
    }
}

#[cfg(test)]
mod tests {
    use inferno_cpu::Roofs;
    use inferno_model::{AttentionCost, ExpertCost, ProductCost};

    use super::*;

    const ROOFS: DeviceRoofs = DeviceRoofs::Cpu(Roofs {
        sweep_bytes: 1,
        read_bytes_per_second: 2000.0,
        int8_ops_per_second: 8000.0,
        f16_ops_per_second: 2000.0,
        f32_ops_per_second: 1000.0,
        int16_ops_per_second: 4000.0,
        cycles_per_second: None,
        step_seconds: 1e-6,
    });

    fn cost(window: Option<usize>) -> TokenCost {
        TokenCost {
            layers: ProductCost { weight_bytes: 70, int8_ops: 100, ..ProductCost::default() },
            head: ProductCost { weight_bytes: 30, f32_ops: 20, ..ProductCost::default() },
            experts: Vec::new(),
            attention: vec![AttentionCost { position_bytes: 10, position_ops: 4, window }],
            state_bytes: 0,
            state_ops: 0,
        }
    }

    #[test]
    fn decode_reads_all_weights_and_earlier_positions() {
        // Positions 4 and 5 attend to 5 and 6 positions.
        let reached = DecodeReached::new(ROOFS, &cost(None), 4..6, 1, 10.0);
        assert_eq!((reached.weight_bytes, reached.kv_bytes), (100, 55));
        assert_eq!((reached.bytes_per_second, reached.share), (1550.0, 0.775));
        let reached = DecodeReached::new(ROOFS, &cost(Some(3)), 4..6, 1, 10.0);
        assert_eq!(reached.kv_bytes, 30);
        let recurrent = TokenCost { state_bytes: 8, ..cost(None) };
        let reached = DecodeReached::new(ROOFS, &recurrent, 4..6, 1, 10.0);
        assert_eq!(reached.kv_bytes + reached.state_bytes, 63);
        assert_eq!(reached.state_bytes, 8);
    }

    #[test]
    fn a_batch_reads_weights_once_and_the_experts_that_its_tokens_use() {
        let reached = DecodeReached::new(ROOFS, &cost(None), 4..6, 3, 10.0);
        assert_eq!((reached.weight_bytes, reached.kv_bytes), (100, 3 * 55));
        assert_eq!((reached.bytes_per_second, reached.share), (2650.0, 1.325));
        // Of four experts of 8 bytes, of which a token uses two, three tokens use 3.5 on average.
        let experts = vec![ExpertCost { num_experts: 4, num_experts_used: 2, expert_bytes: 8 }];
        let experts = TokenCost { experts, ..cost(None) };
        assert_eq!(DecodeReached::new(ROOFS, &experts, 4..6, 1, 10.0).weight_bytes, 100);
        assert_eq!(DecodeReached::new(ROOFS, &experts, 4..6, 3, 10.0).weight_bytes, 112);
    }

    #[test]
    fn prefill_runs_the_head_once() {
        // 4 tokens attend to 1 + 2 + 3 + 4 positions: 40 operations, and 20 of the head.
        let reached = PrefillReached::new(ROOFS, &cost(None), 4, 20.0);
        assert_eq!((reached.int8_ops, reached.f32_ops), (100, 15));
        assert_eq!(reached.ops_per_second, 2300.0);
        // 12.5 ms at the one roof and 15 ms at the other, of 50 ms.
        assert!((reached.share - 0.55).abs() < 1e-12, "{}", reached.share);
        // 8 operations a token of a head in F16 take 4 ms, those of attention 10 ms.
        let head = ProductCost { weight_bytes: 30, f16_ops: 32, ..ProductCost::default() };
        let reached = PrefillReached::new(ROOFS, &TokenCost { head, ..cost(None) }, 4, 20.0);
        assert_eq!((reached.int8_ops, reached.f16_ops, reached.f32_ops), (100, 8, 10));
        assert!((reached.share - 0.53).abs() < 1e-12, "{}", reached.share);
    }
}
