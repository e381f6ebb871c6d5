//! The ladder in tables and in JSON.

use std::fmt;

use serde_json::{Value, json};

use super::{Ladder, Rung};

impl fmt::Display for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, options, .. } = self;
        writeln!(
            f,
            "inferno {}: {model}; {}; a prompt of {} tokens and {} after it",
            env!("CARGO_PKG_VERSION"),
            self.processor.as_deref().unwrap_or("unknown processor"),
            options.prompt_tokens,
            options.decode_tokens
        )?;
        writeln!(f, "\n| rung | prefill tokens/s | decode tokens/s | gain | in all |")?;
        writeln!(f, "|---|---:|---:|---:|---:|")?;
        let mut before = None;
        for rung in &self.rungs {
            let Rung { name, prefill_tps, decode_tps, .. } = rung;
            let first = self.rungs[0].decode_tps;
            let gain = decode_tps / before.replace(*decode_tps).unwrap_or(*decode_tps);
            writeln!(
                f,
                "| {name} | {prefill_tps:.1} | {decode_tps:.1} | {gain:.1} x | {:.1} x |",
                decode_tps / first
            )?;
        }
        if let Some(first) = self.formats.first() {
            writeln!(
                f,
                "\n| weights | MB a token | prefill tokens/s | decode tokens/s | over {} |",
                first.name
            )?;
            writeln!(f, "|---|---:|---:|---:|---:|")?;
            for rung in &self.formats {
                let Rung { name, prefill_tps, decode_tps, .. } = rung;
                let megabytes = rung.weight_bytes as f64 / 1e6;
                let gain = decode_tps / first.decode_tps;
                writeln!(
                    f,
                    "| {name} | {megabytes:.1} | {prefill_tps:.1} | {decode_tps:.1} | {gain:.1} x |"
                )?;
            }
        }
        if !self.notes.is_empty() {
            writeln!(f, "\nLeft out:\n")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "- {note}"))
    }
}

impl Ladder {
    /// Everything, for programs.
    ///
    /// **Units**: bytes, and tokens a second (`_tps`).
    pub fn json(&self) -> Value {
        let rungs = |rungs: &[Rung]| rungs.iter().map(Rung::json).collect::<Value>();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "model": self.model,
            "processor": self.processor,
            "prompt_tokens": self.options.prompt_tokens,
            "decode_tokens": self.options.decode_tokens,
            "ladder": rungs(&self.rungs),
            "formats": rungs(&self.formats),
            "left_out": self.notes,
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
            "prefill_tps": self.prefill_tps,
            "decode_tps": self.decode_tps,
        })
    }
}
