//! What products keep from one call to the next.

use inferno_backend::{BackendError, LinearInput, ProductShape};

use crate::buffer::CpuBuffer;
use crate::executor::Executor;
use crate::isa::Level;
use crate::ops::activation_rows::{ActivationRows, Floats, InputForm, max_padded_rows};
use crate::ops::activations::Activations;
use crate::ops::bf16_pairs::Bf16Pairs;
use crate::ops::input::{InputRows, normalize_lines};
use crate::ops::product_rows::ProductRows;
use crate::ops::quantize::Integers;
use crate::pack::{ActivationFormat, CpuWeight, PackedFormat, PackedPart};
use crate::scratch::{ThreadScratch, allocated_bytes};

/// The input of a product in every form that its weights read, and scratch memory for each thread.
#[derive(Debug)]
pub(crate) struct ProductWorkspace {
    floats: ActivationRows,
    bf16_pairs: ActivationRows,
    integers: ActivationRows,
    scratch: ThreadScratch,
}

impl ProductWorkspace {
    /// An empty workspace.
    pub(crate) fn new(num_threads: usize) -> Self {
        Self {
            floats: ActivationRows::default(),
            bf16_pairs: ActivationRows::default(),
            integers: ActivationRows::default(),
            scratch: ThreadScratch::new(num_threads),
        }
    }

    /// Converts rows of `x` to every form that `weight` reads, and makes room for `thread_lines` cache lines of
    /// scratch memory per thread.
    ///
    /// **Errors**: [`BackendError::OutOfMemory`].
    pub(crate) fn prepare(
        &mut self,
        executor: Executor<'_>,
        rows: ProductRows<'_>,
        x: LinearInput<'_, CpuBuffer>,
        weight: &CpuWeight,
        thread_lines: usize,
    ) -> Result<(), BackendError> {
        self.scratch.reserve(thread_lines.max(normalize_lines(weight.cols)))?;
        let x = InputRows::new(x, rows.num_inputs(), &self.scratch);
        assert_eq!(x.cols(), weight.cols, "the input is as wide as the weight");
        let forms = || weight.parts.iter().map(|part| (part.format.activations)(executor.level));
        let reads = |form| forms().any(|read| read == form);
        executor.pool.usage_meter().input(|| {
            if reads(ActivationFormat::Float) {
                self.floats.fill::<Floats>(executor, rows, x)?;
            }
            if reads(ActivationFormat::Bf16Pairs) {
                self.bf16_pairs.fill::<Bf16Pairs>(executor, rows, x)?;
            }
            if reads(ActivationFormat::Integers) {
                self.integers.fill::<Integers>(executor, rows, x)?;
            }
            Ok(())
        })
    }

    /// The rows of expert `index` of those that have rows, in the form that `part` reads.
    pub(crate) fn input(&self, level: Level, part: &PackedPart, index: usize) -> Activations<'_> {
        match (part.format.activations)(level) {
            ActivationFormat::Float => &self.floats,
            ActivationFormat::Bf16Pairs => &self.bf16_pairs,
            ActivationFormat::Integers => &self.integers,
        }
        .expert(index)
    }

    /// Scratch memory for each thread.
    pub(crate) fn scratch(&self) -> &ThreadScratch {
        &self.scratch
    }

    /// Bytes allocated.
    pub(crate) fn num_bytes(&self) -> usize {
        let inputs = [&self.floats, &self.bf16_pairs, &self.integers];
        let inputs = inputs.map(ActivationRows::num_bytes);
        inputs.iter().sum::<usize>() + self.scratch.num_bytes()
    }
}

/// Bytes that a [`ProductWorkspace`] allocates for `products`, at most, if none of them needs more than
/// `thread_lines` cache lines of scratch memory per thread.
pub(crate) fn max_scratch_bytes(
    level: Level,
    num_threads: usize,
    thread_lines: usize,
    products: &[ProductShape],
) -> usize {
    let mut input_lines = [0; 3];
    let mut thread_lines = thread_lines;
    for product in products {
        let Some(format) = PackedFormat::of(product.dtype) else { continue };
        let (form, row_lines) = match (format.activations)(level) {
            ActivationFormat::Float => (0, Floats::row_lines(product.cols)),
            ActivationFormat::Bf16Pairs => (1, Bf16Pairs::row_lines(product.cols)),
            ActivationFormat::Integers => (2, Integers::row_lines(product.cols)),
        };
        let lines = &mut input_lines[form];
        let rows = max_padded_rows(product.max_num_rows, product.num_experts);
        *lines = rows.saturating_mul(row_lines).max(*lines);
        thread_lines = thread_lines.max(normalize_lines(product.cols));
    }
    let inputs = input_lines.map(allocated_bytes);
    let threads = num_threads.saturating_mul(allocated_bytes(thread_lines));
    inputs.into_iter().fold(threads, usize::saturating_add)
}
