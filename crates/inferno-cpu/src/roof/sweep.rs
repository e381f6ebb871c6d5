//! Read bandwidth of memory.

use inferno_backend::BackendError;

use super::fastest;
use crate::backend::CpuBackend;
use crate::isa::Level;
use crate::lanes::{Kernel, Lanes, VECTOR_BYTES};
use crate::memory::AlignedArray;
use crate::prefetch::Prefetch;

/// Vectors that are read at a time, so that results do not depend on the ones before them.
const STREAMS: usize = 4;

/// Bytes that one task reads: enough that the overhead of starting it is negligible.
const TASK_BYTES: usize = 4 << 20;

impl CpuBackend {
    /// Bytes read per second, by all threads together.
    pub(super) fn read_rate(&self, bytes: usize) -> Result<f64, BackendError> {
        let level = Level::choose(None)?;
        let mut lines = AlignedArray::zeroed(bytes, "a sweep over memory")?;
        // Pages are allocated when they are first written.
        let written: &mut [u8] = lines.get_mut();
        self.executor().pool.run_chunks(written, TASK_BYTES, |_, bytes, _| bytes.fill(1));
        let written: &[u8] = lines.get();
        let tasks: Vec<&[u8]> = written.chunks(TASK_BYTES).collect();
        let prefetch = Prefetch::of(level, 1);
        let seconds = fastest(|| {
            self.executor().pool.run(tasks.len(), &|task, _| {
                let mut seen = [0; VECTOR_BYTES];
                level.run(Sweep { bytes: tasks[task], prefetch, seen: &mut seen });
                std::hint::black_box(seen);
            });
        });
        Ok(bytes as f64 / seconds)
    }
}

/// Reads `bytes`, except for a remainder of less than [`STREAMS`] vectors; `seen` collects the bits that occur.
struct Sweep<'a> {
    bytes: &'a [u8],
    /// As products of one row prefetch weights.
    prefetch: Prefetch,
    seen: &'a mut [u8; VECTOR_BYTES],
}

impl Kernel for Sweep<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let mut seen = [lanes.load_bytes(self.seen); STREAMS];
        for lines in self.bytes.chunks_exact(STREAMS * VECTOR_BYTES) {
            for (seen, line) in seen.iter_mut().zip(lines.chunks_exact(VECTOR_BYTES)) {
                self.prefetch.ahead_of(lanes, line);
                let line = line.first_chunk().expect("a whole vector");
                *seen = lanes.join(*seen, lanes.load_bytes(line), 0);
            }
        }
        let [first, rest @ ..] = seen;
        let all = rest.into_iter().fold(first, |all, seen| lanes.join(all, seen, 0));
        lanes.store_bytes(all, self.seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    #[test]
    fn no_byte_is_passed_over() {
        let mut bytes = vec![0; 3 * STREAMS * VECTOR_BYTES];
        for isa in Isa::available() {
            let level = Level::choose(Some(isa)).expect("it is available");
            for at in 0..bytes.len() {
                bytes[at] = 5;
                let mut seen = [0; VECTOR_BYTES];
                let prefetch = Prefetch::of(level, 1);
                level.run(Sweep { bytes: &bytes, prefetch, seen: &mut seen });
                bytes[at] = 0;
                let mut expected = [0; VECTOR_BYTES];
                expected[at % VECTOR_BYTES] = 5;
                assert_eq!(seen, expected, "{isa}, byte {at}");
            }
        }
    }
}
