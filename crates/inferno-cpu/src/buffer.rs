//! Activations in memory.

use inferno_backend::BackendError;

use crate::memory::{AlignedArray, Arena};
use crate::threads::ThreadPool;

/// Values that are worth handing to another thread: a few microseconds of elementwise work.
pub(crate) const MIN_TASK_VALUES: usize = 16 * 1024;

/// A row-major matrix of `f32` on the CPU.
#[derive(Debug)]
pub struct CpuBuffer {
    rows: usize,
    cols: usize,
    values: AlignedArray,
}

impl CpuBuffer {
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn zeroed(rows: usize, cols: usize, arena: &Arena) -> Result<Self, BackendError> {
        let bytes = rows.saturating_mul(cols).saturating_mul(size_of::<f32>());
        Ok(Self { rows, cols, values: arena.zeroed(bytes, "activations")? })
    }

    pub(crate) fn num_rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// All values.
    pub(crate) fn values(&self) -> &[f32] {
        self.values.get()
    }

    /// All values, mutable.
    pub(crate) fn values_mut(&mut self) -> &mut [f32] {
        self.values.get_mut()
    }

    /// The first `rows` rows.
    pub(crate) fn rows(&self, rows: usize) -> &[f32] {
        &self.values()[..rows * self.cols]
    }

    /// Calls `work(first_row, values)` in parallel for runs of rows that make up the first `rows` rows.
    pub(crate) fn split_rows(
        &mut self,
        pool: &ThreadPool,
        rows: usize,
        work: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let cols = self.cols;
        let task_rows = (MIN_TASK_VALUES / cols.max(1)).max(1);
        let values = &mut self.values_mut()[..rows * cols];
        pool.run_chunks(values, (task_rows * cols).max(1), |task, values, _| {
            work(task * task_rows, values);
        });
    }
}

impl ThreadPool {
    /// Number of threads that share work on `num_values` values: one if that is faster.
    pub(crate) fn threads_for(&self, num_values: usize) -> usize {
        if num_values < MIN_TASK_VALUES { 1 } else { self.num_threads() }
    }

    /// Runs tasks over `num_values` values, on all threads if there are enough of them, else on this thread.
    pub(crate) fn run_if_large(
        &self,
        num_tasks: usize,
        num_values: usize,
        task: &(dyn Fn(usize) + Sync),
    ) {
        if self.threads_for(num_values) == 1 {
            (0..num_tasks).for_each(task);
        } else {
            self.run(num_tasks, &|number, _| task(number));
        }
    }
}
