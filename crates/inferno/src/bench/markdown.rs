//! The report for people: tables in Markdown.

use std::fmt;

use inferno_engine::Passes;

use super::{PhaseReport, Report, RoofReport};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_setting(f)?;
        self.write_speeds(f)?;
        self.write_passes(f)?;
        match &self.roof {
            Some(roof) => roof.write(f),
            None => Ok(()),
        }
    }
}

impl Report {
    fn write_setting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, num_threads, kv_dtype, .. } = self;
        let megabytes = self.model_bytes as f64 / 1e6;
        write!(f, "inferno {}: {model}, {megabytes:.0} MB", env!("CARGO_PKG_VERSION"))?;
        if let Some(format) = self.requantize {
            write!(f, ", floats requantized to {format}")?;
        }
        write!(f, "; {}", self.processor.as_deref().unwrap_or("unknown processor"))?;
        let plural = if *num_threads == 1 { "" } else { "s" };
        write!(f, ", {num_threads} thread{plural}")?;
        if let Some(isa) = self.isa {
            write!(f, ", {isa}")?;
        }
        writeln!(f, "; KV cache {kv_dtype}; loaded in {:.2} s", self.load_time.as_secs_f64())?;
        if let Some(prefill) = &self.prefill {
            let seconds = prefill.time_to_first_token;
            writeln!(
                f,
                "\nFirst token after {:.3} s ({:.3} to {:.3} s) for a prompt of {} tokens.",
                seconds.median, seconds.min, seconds.max, self.workload.prompt_tokens
            )?;
        }
        Ok(())
    }

    /// What was measured, by name.
    fn phases(&self) -> Vec<(String, &PhaseReport)> {
        let workload = &self.workload;
        let depth = match workload.depth {
            0 => String::new(),
            depth => format!(" at depth {depth}"),
        };
        let decode_tokens = workload.decode_tokens;
        let mut phases = Vec::new();
        if let Some(prefill) = &self.prefill {
            phases.push((format!("prefill {}", workload.prompt_tokens), &prefill.phase));
        }
        if let Some(decode) = &self.decode {
            phases.push((format!("decode {decode_tokens}{depth}"), decode));
        }
        for (size, batch) in &self.batches {
            phases.push((format!("decode {size} x {decode_tokens}{depth}"), batch));
        }
        phases
    }

    fn write_speeds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n| median of {} runs | tokens/s | min | max |", self.workload.repetitions)?;
        writeln!(f, "|---|---:|---:|---:|")?;
        for (name, phase) in self.phases() {
            let rate = phase.tokens_per_second;
            writeln!(f, "| {name} | {:.2} | {:.2} | {:.2} |", rate.median, rate.min, rate.max)?;
        }
        Ok(())
    }

    fn write_passes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n| forward passes, ms | count |")?;
        for (name, _) in Passes::PERCENTILES {
            write!(f, " {name} |")?;
        }
        writeln!(f, "\n|---|---:|{}", "---:|".repeat(Passes::PERCENTILES.len()))?;
        for (name, phase) in self.phases() {
            write!(f, "| {name} | {} |", phase.passes.durations().len())?;
            for (_, percent) in Passes::PERCENTILES {
                let time = phase.passes.percentile(percent).unwrap_or_default();
                write!(f, " {:.3} |", time.as_secs_f64() * 1e3)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl RoofReport {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { roofs, decode, prefill } = self;
        writeln!(f, "\n| roof | machine | reached | share |")?;
        writeln!(f, "|---|---:|---:|---:|")?;
        let reads = roofs.read_bytes_per_second / 1e9;
        match decode {
            Some(decode) => writeln!(
                f,
                "| reads, by decode | {reads:.1} GB/s | {:.1} GB/s | {:.1} % |",
                decode.bytes_per_second / 1e9,
                100.0 * decode.share
            )?,
            None => writeln!(f, "| reads | {reads:.1} GB/s | | |")?,
        }
        let int8 = roofs.int8_ops_per_second / 1e9;
        let f32 = roofs.f32_ops_per_second / 1e9;
        match prefill {
            Some(prefill) => writeln!(
                f,
                "| int8 and f32 arithmetic, by prefill | {int8:.0} and {f32:.0} G op/s | {:.1} G op/s | {:.1} % |",
                prefill.ops_per_second / 1e9,
                100.0 * prefill.share
            )?,
            None => {
                writeln!(f, "| int8 and f32 arithmetic | {int8:.0} and {f32:.0} G op/s | | |")?;
            }
        }
        if let Some(decode) = decode {
            writeln!(
                f,
                "\nA token reads {:.2} MB of weights and {:.2} MB of keys and values; the sweep read {:.0} MB.",
                decode.weight_bytes as f64 / 1e6,
                decode.kv_bytes as f64 / 1e6,
                roofs.sweep_bytes as f64 / 1e6
            )?;
            if decode.share > 1.0 {
                writeln!(f, "That is more than memory gives: the model stays in the caches.")?;
            }
        }
        if let Some(prefill) = prefill {
            writeln!(
                f,
                "A token of the prompt takes {:.3} G op in int8 and {:.3} in f32.",
                prefill.int8_ops as f64 / 1e9,
                prefill.f32_ops as f64 / 1e9
            )?;
        }
        let microseconds = roofs.step_seconds * 1e6;
        writeln!(
            f,
            "\nThat all threads begin a step and wait for the last costs {microseconds:.2} µs."
        )?;
        Ok(())
    }
}
