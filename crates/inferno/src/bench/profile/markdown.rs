//! Profiles as Markdown tables.

use std::fmt::{self, Formatter};
use std::time::Duration;

use super::{PhaseProfile, ProductProfile};
use crate::bench::DeviceRoofs;

impl PhaseProfile {
    /// Writes a table of the operations.
    pub(in crate::bench) fn write(
        &self,
        f: &mut Formatter<'_>,
        name: &str,
        roofs: &DeviceRoofs,
    ) -> fmt::Result {
        let passes = self.num_passes.max(1) as f64;
        let tokens = self.num_tokens.max(1) as f64;
        let total = self.total.as_secs_f64();
        let time = |time: Duration| {
            let seconds = time.as_secs_f64();
            let share = 100.0 * seconds / total.max(1e-12);
            let (milliseconds, microseconds) = (seconds * 1e3 / passes, seconds * 1e6 / tokens);
            format!("{milliseconds:.3} | {microseconds:.1} | {share:.1}%")
        };
        writeln!(
            f,
            "\n| {name} | calls per pass | ms per pass | µs per token | share | GB/s | of reads | Gop/s | of arithmetic | \
             limited by | idle threads |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|"
        )?;
        for operation in &self.operations {
            let calls = operation.num_calls as f64 / passes;
            write!(f, "| {} | {calls:.0} | {} |", operation.name, time(operation.time))?;
            match operation.work {
                Some(work) => {
                    let reached = work.reached(roofs, operation.time);
                    write!(
                        f,
                        " {:.1} | {:.1}% | {:.1} | {:.1}% | {} |",
                        reached.bytes_per_second / 1e9,
                        100.0 * reached.read_share,
                        reached.ops_per_second / 1e9,
                        100.0 * reached.arithmetic_share,
                        reached.limit
                    )?;
                }
                None => write!(f, " | | | | |")?,
            }
            writeln!(f, " {:.1}% |", 100.0 * operation.idle_share(self.num_threads))?;
        }
        writeln!(f, "| outside of operations | | {} | | | | | | |", time(self.outside()))?;
        writeln!(f, "| total | | {} | | | | | | |", time(self.total))
    }
}

impl ProductProfile {
    /// Writes a table of the products.
    pub(in crate::bench) fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n| products | rows | cached: GB/s | Gop/s | cycles per tile | at peak | from memory: GB/s | Gop/s | of roof | \
             overlap |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
        )?;
        let cycles = |cycles: Option<f64>| cycles.map_or(String::new(), |it| format!("{it:.1}"));
        for speed in &self.speeds {
            writeln!(
                f,
                "| {} | {} | {:.1} | {:.0} | {} | {} | {:.1} | {:.0} | {:.1}% | {:.1}% |",
                speed.dtype.name(),
                speed.num_rows,
                speed.cached_bytes_per_second / 1e9,
                speed.cached_ops_per_second / 1e9,
                cycles(speed.cycles_per_tile),
                cycles(speed.least_cycles_per_tile),
                speed.streamed_bytes_per_second / 1e9,
                speed.streamed_ops_per_second / 1e9,
                100.0 * speed.share,
                100.0 * speed.overlap
            )?;
        }
        Ok(())
    }
}
