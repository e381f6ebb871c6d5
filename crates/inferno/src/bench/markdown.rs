//! The report as Markdown tables.

use std::fmt;

use inferno_engine::Passes;

use super::{BenchReport, DecodeReached, DeviceRoofs, PhaseReport, RoofReport, Workload};
use crate::plural::count;

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_setting(f)?;
        self.write_speeds(f)?;
        self.write_passes(f)?;
        self.write_gpu_work(f)?;
        self.write_speculation(f)?;
        if let Some(roof) = &self.roof {
            roof.write(f, &self.workload)?;
        }
        self.write_profiles(f)
    }
}

impl BenchReport {
    fn write_setting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, num_threads, kv_dtype, .. } = self;
        let megabytes = self.model_bytes as f64 / 1e6;
        write!(f, "inferno {}: {model}, {megabytes:.0} MB", env!("CARGO_PKG_VERSION"))?;
        if let Some(format) = self.requantize {
            write!(f, ", floating-point weights quantized to {format}")?;
        }
        if let Some(gpu) = &self.gpu {
            write!(f, "; {gpu}")?;
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
                "\nTime to first token: {:.3} s ({:.3} to {:.3} s) with {} prompt tokens.",
                seconds.median, seconds.min, seconds.max, self.workload.prompt_tokens
            )?;
        }
        Ok(())
    }

    /// Returns the name and the result of every measurement.
    fn phases(&self) -> Vec<(String, &PhaseReport)> {
        let workload = &self.workload;
        let mut phases = Vec::new();
        if let Some(prefill) = &self.prefill {
            phases.push((workload.prefill_name(), &prefill.phase));
        }
        if let Some(decode) = &self.decode {
            phases.push((workload.decode_name(), decode));
        }
        for (size, batch) in &self.batches {
            phases.push((workload.batch_name(*size), batch));
        }
        phases
    }

    fn write_speeds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n| median of {} | tokens/s | min | max |",
            count(self.workload.repetitions, "run")
        )?;
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

impl BenchReport {
    /// Writes the speed of generating text with and without drafts.
    fn write_speculation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(speculation) = &self.speculation else { return Ok(()) };
        let tokens = count(self.workload.decode_tokens, "token");
        writeln!(f, "\n| {tokens} of text | tokens/s | min | max |")?;
        writeln!(f, "|---|---:|---:|---:|")?;
        for (name, rate) in [
            ("without drafts", speculation.plain_tokens_per_second),
            ("with drafts", speculation.tokens_per_second),
        ] {
            writeln!(f, "| {name} | {:.2} | {:.2} | {:.2} |", rate.median, rate.min, rate.max)?;
        }
        writeln!(
            f,
            "\nGeneration with drafts is {:.2} times as fast: {} of {} drafted tokens were accepted ({:.1} %), {:.2} tokens \
             per pass.",
            speculation.speedup(),
            speculation.accepted_tokens,
            speculation.drafted_tokens,
            100.0 * speculation.acceptance_rate(),
            speculation.tokens_per_pass
        )
    }

    /// Writes where the time of passes goes.
    fn write_profiles(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(roofs) = self.roof.as_ref().map(|roof| &roof.roofs) else {
            return Ok(());
        };
        for (name, phase) in self.phases() {
            if let Some(profile) = &phase.profile {
                profile.write(f, &name, roofs)?;
            }
        }
        match &self.products {
            Some(products) => products.write(f),
            None => Ok(()),
        }
    }

    /// Writes what the GPU does for a decoded token.
    fn write_gpu_work(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(gpu) = self.decode.as_ref().and_then(|decode| decode.gpu) else { return Ok(()) };
        write!(
            f,
            "\nOne decoded token starts {:.0} kernels on the GPU in {:.1} submissions, which read {:.2} MB of weights.",
            gpu.dispatches,
            gpu.submissions,
            gpu.weight_bytes / 1e6
        )?;
        // With a profile, the host waits for each submission while it records it.
        match self.workload.profile {
            true => writeln!(f),
            false => writeln!(f, " The GPU idles for {:.1}% of the time.", 100.0 * gpu.idle_share),
        }
    }
}

impl RoofReport {
    fn write(&self, f: &mut fmt::Formatter<'_>, workload: &Workload) -> fmt::Result {
        let Self { roofs, prefill, .. } = self;
        writeln!(f, "\n| limit | machine | reached | share |")?;
        writeln!(f, "|---|---:|---:|---:|")?;
        self.write_bandwidth(f, workload)?;
        let (arithmetic, rates) = roofs.arithmetic();
        match prefill {
            Some(prefill) => writeln!(
                f,
                "| {arithmetic} (prefill) | {rates} Gop/s | {:.1} Gop/s | {:.1}% |",
                prefill.ops_per_second / 1e9,
                100.0 * prefill.share
            )?,
            None => writeln!(f, "| {arithmetic} | {rates} Gop/s | | |")?,
        }
        self.write_reads(f)?;
        if let Some(prefill) = prefill {
            let ops = [prefill.int8_ops, prefill.f16_ops, prefill.f32_ops];
            let [int8, f16, f32] = ops.map(|ops| ops as f64 / 1e9);
            match roofs {
                DeviceRoofs::Cpu(_) => writeln!(
                    f,
                    "One prompt token requires {int8:.3} Gop in INT8, {f16:.3} Gop with weights of F16 or BF16, \
                     and {f32:.3} Gop in FP32."
                )?,
                #[cfg(feature = "gpu")]
                DeviceRoofs::Gpu(_) => {
                    writeln!(f, "One prompt token requires {:.3} Gop.", int8 + f16 + f32)?;
                }
            }
        }
        writeln!(f, "\n{}", roofs.step())
    }

    /// Writes the rows of the table that compare decode with the memory bandwidth.
    fn write_bandwidth(&self, f: &mut fmt::Formatter<'_>, workload: &Workload) -> fmt::Result {
        let reads = self.roofs.read_bytes_per_second() / 1e9;
        let one = self.decode.iter().map(|decode| ("decode".to_owned(), decode));
        let batches =
            self.batches.iter().map(|(size, decode)| (workload.batch_name(*size), decode));
        let mut phases = one.chain(batches).peekable();
        if phases.peek().is_none() {
            writeln!(f, "| memory bandwidth | {reads:.1} GB/s | | |")?;
        }
        for (name, decode) in phases {
            writeln!(
                f,
                "| memory bandwidth ({name}) | {reads:.1} GB/s | {:.1} GB/s | {:.1}% |",
                decode.bytes_per_second / 1e9,
                100.0 * decode.share
            )?;
        }
        Ok(())
    }

    /// Writes what decode reads.
    fn write_reads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(decode) = &self.decode {
            let megabytes = self.roofs.sweep_bytes() as f64 / 1e6;
            let reads = reads(decode);
            writeln!(
                f,
                "\nOne decoded token reads {reads}. The bandwidth was measured over {megabytes:.0} MB."
            )?;
            if decode.share > 1.0 {
                writeln!(
                    f,
                    "Decode exceeds the memory bandwidth because the model fits in the caches."
                )?;
            }
        }
        for (size, decode) in &self.batches {
            let sequences = count(*size, "sequence");
            writeln!(f, "A step of {sequences} reads {}.", reads(decode))?;
        }
        if self.are_experts_expected && !self.batches.is_empty() {
            writeln!(
                f,
                "The weights of such a step are those of the experts that its tokens use on average if each expert is \
                 equally likely."
            )?;
        }
        Ok(())
    }
}

/// Returns what a step reads, by kind.
fn reads(decode: &DecodeReached) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let weights = format!("{:.2} MB of weights", megabytes(decode.weight_bytes));
    let cache = format!("{:.2} MB of keys and values", megabytes(decode.kv_bytes));
    match decode.state_bytes {
        0 => format!("{weights} and {cache}"),
        state => {
            let state = megabytes(state);
            format!("{weights}, {cache} and {state:.2} MB of recurrent state (including writes)")
        }
    }
}
