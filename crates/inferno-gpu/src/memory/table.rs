//! Tables for row lookups, which remain in the memory of the host.
//!
//! A pass reads a few rows of a table, decodes them and copies them to the device: a token's row has a few thousand values,
//! whereas a table has as many bytes as several layers.

use inferno_backend::{BackendError, WeightPart};

/// A table for row lookups.
#[derive(Debug)]
pub struct GpuTable {
    pub(crate) part: WeightPart,
}

impl GpuTable {
    /// Decodes the rows `selected`, each of `width` values. Many rows are shared among all processors.
    ///
    /// **Errors**: [`BackendError::WeightShape`] if rows have another width.
    pub(crate) fn rows(&self, selected: &[u32], width: usize) -> Result<Vec<f32>, BackendError> {
        /// Below this, starting a thread takes longer than the work.
        const MIN_THREAD_VALUES: usize = 1 << 18;
        let mut values = vec![0.0; selected.len() * width];
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let min_rows = MIN_THREAD_VALUES.div_ceil(width.max(1));
        let share = selected.len().div_ceil(threads).max(min_rows);
        let mut shares = selected.chunks(share).zip(values.chunks_mut((share * width).max(1)));
        let decode = |(selected, values): (&[u32], &mut [f32])| {
            let mut rows = selected.iter().zip(values.chunks_exact_mut(width.max(1)));
            rows.try_for_each(|(&row, values)| self.part.decode_row(0, row as usize, values))
        };
        std::thread::scope(|scope| {
            let first = shares.next();
            let decode = &decode;
            let others: Vec<_> = shares.map(|share| scope.spawn(move || decode(share))).collect();
            first.map_or(Ok(()), decode)?;
            let mut others = others.into_iter();
            others.try_for_each(|thread| thread.join().expect("decoding does not panic"))
        })?;
        Ok(values)
    }
}
