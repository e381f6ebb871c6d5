//! The weights of a matrix product.

use std::ops::Range;
use std::sync::Arc;

use inferno_backend::{BackendError, WeightPart};
use inferno_tensor::DType;

use super::allocation::Allocation;
use super::upload::TRANSFER_BYTES;
use crate::backend::GpuBackend;
use crate::pack::{WeightFormat, codebook_words, num_units};
use crate::parallel;

/// The weights of a matrix product.
#[derive(Debug)]
pub struct GpuWeight {
    /// The names of its tensors, without the number of the layer.
    pub(crate) name: String,
    pub(crate) num_experts: usize,
    /// Rows of one expert.
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Whether there were two parts of the same height.
    pub(crate) is_gate_up: bool,
    pub(crate) segments: Vec<Segment>,
    /// The factors of the rows, expert by expert.
    pub(crate) scales: Option<Allocation>,
    /// The codebooks, if a format has one.
    pub(crate) codebooks: Option<Arc<Allocation>>,
    /// Size of the packed rows, in bytes.
    pub(crate) bytes: usize,
}

/// Neighboring rows of a weight with the same format.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) format: &'static WeightFormat,
    /// The first of the rows of an expert.
    pub(crate) first: usize,
    /// Rows of one expert.
    pub(crate) rows: usize,
    pub(crate) chunks: Vec<Chunk>,
}

/// Rows of a segment in one pair of buffers, as large as the device can bind.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The rows, counted over all experts.
    pub(crate) rows: Range<usize>,
    pub(crate) codes: Allocation,
    pub(crate) side: Allocation,
}

/// Bytes of a row in both buffers.
#[derive(Debug, Clone, Copy)]
struct RowBytes {
    codes: usize,
    side: usize,
}

impl RowBytes {
    fn new(dtype: DType, cols: usize) -> Self {
        let (format, units) = (WeightFormat::of(dtype), num_units(cols));
        Self { codes: 4 * format.code_words(units), side: 4 * format.side_words(units) }
    }

    /// Rows that fit in buffers of `limit` bytes.
    fn rows_within(self, limit: usize) -> usize {
        limit / self.codes.max(self.side).max(1)
    }
}

/// Size of packed weights, in bytes.
pub(crate) fn packed_bytes(dtype: DType, experts: usize, rows: usize, cols: usize) -> usize {
    let row = RowBytes::new(dtype, cols);
    [rows, row.codes + row.side].into_iter().fold(experts, usize::saturating_mul)
}

/// The parts that become one segment.
type Stack<'a> = &'a [WeightPart];

/// Stacks neighboring parts of the same format if one chunk of `limit` bytes holds them.
fn stacks(parts: &[WeightPart], limit: usize) -> Vec<Stack<'_>> {
    let fits = |stack: Stack<'_>| {
        let rows: usize = stack.iter().map(|part| part.num_experts() * part.rows()).sum();
        rows <= RowBytes::new(stack[0].dtype(), stack[0].cols()).rows_within(limit)
    };
    let mut stacks = Vec::new();
    let mut start = 0;
    for end in 1..=parts.len() {
        let may_grow = parts.get(end).is_some_and(|next| next.dtype() == parts[start].dtype());
        if !may_grow || !fits(&parts[start..=end]) {
            stacks.push(&parts[start..end]);
            start = end;
        }
    }
    stacks
}

/// The encoded row `row` of a stack, counted over all experts.
fn stacked_row(stack: Stack<'_>, row: usize) -> &[u8] {
    let per_expert: usize = stack.iter().map(WeightPart::rows).sum();
    let (expert, mut row) = (row / per_expert, row % per_expert);
    for part in stack {
        if row < part.rows() {
            return part.row(expert, row);
        }
        row -= part.rows();
    }
    unreachable!("a row of the stack");
}

impl GpuBackend {
    /// Packs `parts`, stacked by rows.
    ///
    /// **Errors**: parts that cannot be stacked, out of memory.
    pub(crate) fn pack_weight(&self, parts: &[WeightPart]) -> Result<GpuWeight, BackendError> {
        let limit = self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size);
        self.pack_within(parts, usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// Packs `parts` in buffers of at most `limit` bytes.
    fn pack_within(&self, parts: &[WeightPart], limit: usize) -> Result<GpuWeight, BackendError> {
        let (num_experts, rows, cols) = WeightPart::stacked_shape(parts)?;
        let stacks = stacks(parts, limit);
        // Halves of a gated product that do not fit are divided alike.
        let chunk_rows = stacks.iter().map(|stack| RowBytes::new(stack[0].dtype(), cols));
        let chunk_rows = chunk_rows.map(|row| row.rows_within(limit)).min().unwrap_or(0);
        if chunk_rows == 0 {
            let row = parts.iter().map(WeightPart::row_bytes).max().unwrap_or(0);
            return Err(BackendError::OutOfMemory { what: "a row of weights", bytes: row });
        }
        let mut segments = Vec::new();
        let mut first = 0;
        for stack in stacks {
            let rows: usize = stack.iter().map(WeightPart::rows).sum();
            let format = WeightFormat::of(stack[0].dtype());
            let total = num_experts * rows;
            let chunks = (0..total).step_by(chunk_rows.min(total).max(1));
            let chunks = chunks.map(|start| start..total.min(start.saturating_add(chunk_rows)));
            let chunks =
                chunks.map(|rows| self.pack_chunk(stack, rows)).collect::<Result<_, _>>()?;
            segments.push(Segment { format, first, rows, chunks });
            first += rows;
        }
        let scales = WeightPart::stacked_scales(parts);
        let scales = scales.map(|scales| self.upload_words(bytemuck::cast_slice(&scales)));
        let has_codebook = segments.iter().any(|segment| segment.format.has_codebook());
        let is_gate_up = matches!(parts, [gate, up] if gate.rows() == up.rows());
        let name = WeightPart::product_name(parts.iter().map(WeightPart::name));
        let parts = parts.iter();
        let bytes =
            parts.map(|part| packed_bytes(part.dtype(), num_experts, part.rows(), cols)).sum();
        Ok(GpuWeight {
            name,
            num_experts,
            rows,
            cols,
            is_gate_up,
            segments,
            scales: scales.transpose()?,
            codebooks: if has_codebook { Some(self.codebooks()?) } else { None },
            bytes,
        })
    }

    /// The codebooks, which all weights share.
    fn codebooks(&self) -> Result<Arc<Allocation>, BackendError> {
        if let Some(codebooks) = self.codebooks.get() {
            return Ok(Arc::clone(codebooks));
        }
        let codebooks = Arc::new(self.upload_words(&codebook_words())?);
        Ok(Arc::clone(self.codebooks.get_or_init(|| codebooks)))
    }

    fn upload_words(&self, words: &[u32]) -> Result<Allocation, BackendError> {
        let memory = self.allocate(size_of_val(words), "weights")?;
        self.write(&memory, 0, bytemuck::cast_slice(words))?;
        Ok(memory)
    }

    /// Packs some rows of a stack.
    fn pack_chunk(&self, stack: Stack<'_>, rows: Range<usize>) -> Result<Chunk, BackendError> {
        let (dtype, cols) = (stack[0].dtype(), stack[0].cols());
        let row = RowBytes::new(dtype, cols);
        let [codes, side] = [row.codes, row.side].map(|bytes| rows.len() * bytes);
        let (codes, side) = (self.allocate(codes, "weights")?, self.allocate(side, "weights")?);
        let batch_rows = row.rows_within(TRANSFER_BYTES).max(1);
        for start in rows.clone().step_by(batch_rows) {
            let batch = start..rows.end.min(start + batch_rows);
            let [code_words, side_words] = pack_rows(stack, batch, row);
            let at = (start - rows.start) as u64;
            self.write(&codes, at * row.codes as u64, bytemuck::cast_slice(&code_words))?;
            self.write(&side, at * row.side as u64, bytemuck::cast_slice(&side_words))?;
        }
        self.check()?;
        Ok(Chunk { rows, codes, side })
    }
}

/// Packs rows of a stack on all processors. Returns the words of `codes` and of `side`.
fn pack_rows(stack: Stack<'_>, rows: Range<usize>, row: RowBytes) -> [Vec<u32>; 2] {
    /// Below this, starting a thread takes longer than the work.
    const MIN_THREAD_BYTES: usize = 1 << 18;
    let (format, units) = (WeightFormat::of(stack[0].dtype()), num_units(stack[0].cols()));
    let row_words = [row.codes / 4, row.side / 4];
    let mut packed = row_words.map(|words| vec![0_u32; rows.len() * words]);
    let share = MIN_THREAD_BYTES.div_ceil(row.codes.max(1));
    let [mut codes, mut side] = packed.each_mut().map(Vec::as_mut_slice);
    let mut tasks = Vec::with_capacity(rows.len().div_ceil(share));
    for start in rows.clone().step_by(share) {
        let rows = start..rows.end.min(start + share);
        let own = [(&mut codes, row_words[0]), (&mut side, row_words[1])];
        let own = own.map(|(rest, words)| {
            rest.split_off_mut(..rows.len() * words).expect("words for every row")
        });
        tasks.push((rows, own));
    }
    parallel::for_each(tasks, |(rows, [codes, side])| {
        for (i, row) in rows.enumerate() {
            let [code_range, side_range] = row_words.map(|words| i * words..(i + 1) * words);
            let source = stacked_row(stack, row);
            format.pack(source, units, &mut codes[code_range], &mut side[side_range]);
        }
    });
    packed
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferno_backend::{Backend, DeviceMemory, ExpertInput, ExpertParams, Pass};
    use inferno_conformance::cases::{Random, SILU, bits, matrix, read};

    use crate::adapter;

    const COLS: usize = 64;
    const HEIGHT: usize = 50;
    const ROWS: usize = 9;

    /// Products with plain weights, with experts, and gated ones of both, with weights in buffers of at most `limit` bytes.
    fn products(backend: &GpuBackend, dtypes: [DType; 2], limit: usize) -> (usize, Vec<Vec<u32>>) {
        let mut random = Random::new(1);
        let mut results = Vec::new();
        let mut num_chunks = 0;
        for num_experts in [1, 5] {
            let parts = dtypes.map(|dtype| random.weight(dtype, num_experts, HEIGHT, COLS));
            let weight = backend.pack_within(&parts, limit).expect("memory");
            num_chunks += weight.segments.iter().map(|part| part.chunks.len()).sum::<usize>();
            let x = matrix(backend, ROWS, COLS, &random.values(ROWS * COLS));
            let params = ExpertParams::softmax(num_experts, num_experts, false);
            let mut routing = backend.alloc_routing(ROWS, &params).expect("memory");
            let slots = ROWS * num_experts;
            let mut out = backend.alloc(slots, HEIGHT).expect("memory");
            let mut pass = backend.begin();
            let input = (&x, ExpertInput::PerToken);
            pass.route_to_all(ROWS, &mut routing);
            pass.expert_linear_gated(&routing, input, &weight, None, SILU, &mut out)
                .expect("memory");
            pass.submit().expect("a device that works");
            results.push(bits(&read(backend, &out, slots * HEIGHT)));
            if num_experts == 1 {
                let mut wide = backend.alloc(ROWS, 2 * HEIGHT).expect("memory");
                let mut pass = backend.begin();
                pass.linear(ROWS, &x, &weight, None, &mut wide).expect("memory");
                pass.linear_gated(ROWS, &x, &weight, None, SILU, &mut out).expect("memory");
                pass.submit().expect("a device that works");
                results.push(bits(&read(backend, &wide, ROWS * 2 * HEIGHT)));
                results.push(bits(&read(backend, &out, ROWS * HEIGHT)));
            }
        }
        (num_chunks, results)
    }

    #[test]
    fn weights_in_many_buffers_have_the_same_products() {
        let Some(adapter) = adapter::for_tests() else { return };
        let backend = GpuBackend::new(adapter).expect("a device that can be opened");
        for dtypes in [[DType::F32; 2], [DType::Q8_0, DType::F16]] {
            let (one_each, expected) = products(&backend, dtypes, usize::MAX);
            assert!(one_each <= 4, "{dtypes:?}: {one_each}");
            // Chunks of 19 rows: neither the rows of an expert nor halves of a weight.
            let (many, found) =
                products(&backend, dtypes, 19 * RowBytes::new(dtypes[0], COLS).codes);
            assert!(many >= 20, "{dtypes:?}: {many}");
            assert_eq!(found, expected, "{dtypes:?}");
        }
    }
}
