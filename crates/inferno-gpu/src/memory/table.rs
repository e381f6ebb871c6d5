//! Tables for row lookups, which remain in the memory of the host.
//!
//! A pass reads a few rows of a table, decodes them and copies them to the device: a token's row has a few thousand values,
//! whereas a table has as many bytes as several layers.

use std::sync::{Mutex, PoisonError};

use inferno_backend::{BackendError, WeightPart};

use crate::parallel;

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
        let share = MIN_THREAD_VALUES.div_ceil(width.max(1));
        let shares = selected.chunks(share).zip(values.chunks_mut((share * width).max(1)));
        let failure = Mutex::new(None);
        parallel::for_each(shares.collect(), |(selected, values)| {
            let mut rows = selected.iter().zip(values.chunks_exact_mut(width.max(1)));
            let decoded =
                rows.try_for_each(|(&row, values)| self.part.decode_row(0, row as usize, values));
            if let Err(error) = decoded {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(values),
        }
    }
}
