//! The ladder as a Markdown table and as JSON.

use std::fmt;

use serde_json::{Value, json};

use super::{Ladder, Rung};
use crate::bench::Spread;

impl fmt::Display for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, options, .. } = self;
        writeln!(
            f,
            "inferno {}: {model}; {}; {} prompt tokens, {} generated tokens",
            env!("CARGO_PKG_VERSION"),
            self.processor.as_deref().unwrap_or("unknown processor"),
            options.prompt_tokens,
            options.decode_tokens
        )?;
        writeln!(
            f,
            "\nMedian of up to {} runs (minimum to maximum). Gain and total compare decode with the rung before and with \
             the first rung.\n",
            options.repetitions
        )?;
        writeln!(
            f,
            "| rung | MB/token | prefill tokens/s | ms/token | decode tokens/s | ms/token | gain | total |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        let mut before = None;
        for rung in &self.rungs {
            let decode = rung.decode.median;
            let gain = decode / before.replace(decode).unwrap_or(decode);
            let total = decode / self.rungs[0].decode.median;
            writeln!(
                f,
                "| {} | {:.1} | {} | {} | {} | {} | {gain:.1}× | {total:.1}× |",
                rung.name,
                rung.weight_bytes as f64 / 1e6,
                range(&rung.prefill),
                significant(milliseconds(rung.prefill.median)),
                range(&rung.decode),
                significant(milliseconds(decode)),
            )?;
        }
        if !self.skipped.is_empty() {
            writeln!(f, "\nNot measured:\n")?;
        }
        self.skipped.iter().try_for_each(|reason| writeln!(f, "- {reason}"))
    }
}

/// The median of a speed, with minimum and maximum.
fn range(speed: &Spread) -> String {
    let [median, min, max] = [speed.median, speed.min, speed.max].map(significant);
    format!("{median} ({min} to {max})")
}

/// Milliseconds per token at a speed in tokens per second.
pub(super) fn milliseconds(tokens_per_second: f64) -> f64 {
    1e3 / tokens_per_second
}

/// A positive number with at least three significant digits.
pub(super) fn significant(value: f64) -> String {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

impl Ladder {
    /// Returns everything as JSON.
    ///
    /// **Units**: bytes, tokens per second (`_tps`) and milliseconds per token (`_ms_per_token`).
    pub fn json(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "model": self.model,
            "processor": self.processor,
            "prompt_tokens": self.options.prompt_tokens,
            "decode_tokens": self.options.decode_tokens,
            "repetitions": self.options.repetitions,
            "rungs": self.rungs.iter().map(Rung::json).collect::<Value>(),
            "skipped": self.skipped,
        })
    }
}

impl Rung {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "kv_cache": self.kv_cache,
            "backend": self.backend.name(),
            "isa": self.isa.map(|isa| isa.name()),
            "threads": self.num_threads,
            "weight_bytes_per_token": self.weight_bytes,
            "prefill_tps": self.prefill.median,
            "prefill_ms_per_token": milliseconds(self.prefill.median),
            "decode_tps": self.decode.median,
            "decode_ms_per_token": milliseconds(self.decode.median),
            "spread": { "prefill_tps": self.prefill, "decode_tps": self.decode },
        })
    }
}
