//! Records the operations of passes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inferno_backend::{
    AttentionOperation, KvDType, Operation, PassObserver, ProductOperation, WeightPart,
    WeightTensor,
};
use inferno_cpu::{CpuBackend, ThreadUsage};
use inferno_tensor::DType;

use super::{OperationProfile, Work};

/// Norms, quantization and rearrangement of the inputs of products, which are a part of them.
const INPUTS: &str = "inputs of products (norm, quantization)";

/// Activation functions of gated products, which are a part of them.
const GATES: &str = "activation functions of gated products";

/// Records operations on a CPU while it is enabled.
pub(crate) struct Recorder {
    backend: Arc<CpuBackend>,
    kv_dtype: KvDType,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_on: bool,
    /// When the current operation began, and what threads had done until then.
    begun: Option<(Instant, ThreadUsage)>,
    operations: Vec<OperationProfile>,
    /// The operation of a name, or of the first tensor of a product.
    places: HashMap<String, usize>,
}

impl Recorder {
    /// A disabled recorder for models on `backend` with keys and values in a format.
    pub(crate) fn new(backend: Arc<CpuBackend>, kv_dtype: KvDType) -> Self {
        Self { backend, kv_dtype, state: Mutex::default() }
    }

    /// The backend whose operations are recorded.
    pub(in crate::bench) fn backend(&self) -> &CpuBackend {
        &self.backend
    }

    /// Records operations from now on, or stops.
    pub(in crate::bench) fn record(&self, is_on: bool) {
        self.backend.measure_usage(is_on);
        self.lock().is_on = is_on;
    }

    /// Returns what was recorded, and starts anew.
    pub(in crate::bench) fn take(&self) -> Vec<OperationProfile> {
        let mut state = self.lock();
        state.places.clear();
        std::mem::take(&mut state.operations)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What attention reads and computes.
    fn attention_work(&self, attention: &AttentionOperation<'_>) -> Work {
        let layout = attention.layout;
        // The format was checked when the cache was allocated.
        let position_bytes = layout.kv_layer().position_bytes(self.kv_dtype).unwrap_or(0);
        // Each component of a query is multiplied with one of a key, and each weight with a value.
        let position_ops = 2 * layout.num_heads * (layout.head_dim + layout.value_dim());
        let ops = (attention.num_attended() * position_ops) as u64;
        let bytes = (attention.num_read() * position_bytes) as u64;
        match self.kv_dtype {
            KvDType::I16 => Work { bytes, int16_ops: ops, ..Work::default() },
            _ => Work { bytes, f32_ops: ops, ..Work::default() },
        }
    }
}

impl PassObserver for Recorder {
    const OBSERVES_OPERATIONS: bool = true;

    fn begin(&self) {
        let mut state = self.lock();
        if state.is_on {
            let usage = self.backend.usage();
            state.begun = Some((Instant::now(), usage));
        }
    }

    fn end(&self, operation: &Operation<'_>) {
        let ended = Instant::now();
        let mut state = self.lock();
        let Some((begun, before)) = state.begun.take() else { return };
        let usage = self.backend.usage().since(&before);
        let num_threads = self.backend.num_threads();
        let Split { own, input, gate, .. } = Split::new(ended - begun, &usage, num_threads);
        match operation {
            Operation::Product(product) => {
                let name = || product_name(product.tensors);
                let key = product.tensors.first().map_or("", |tensor| tensor.name.as_str());
                state.add(key, name, own, Some(product_work(product)));
                state.add(INPUTS, || INPUTS.to_owned(), input, None);
                if gate.time > Duration::ZERO {
                    state.add(GATES, || GATES.to_owned(), gate, None);
                }
            }
            Operation::Attention(attention) => {
                let work = self.attention_work(attention);
                state.add("attention", || "attention".to_owned(), own, Some(work));
            }
            other => {
                let name = plain_name(other);
                state.add(name, || name.to_owned(), own, None);
            }
        }
    }
}

impl State {
    /// Adds a call of the operation that `key` identifies.
    fn add(&mut self, key: &str, name: impl FnOnce() -> String, part: Part, work: Option<Work>) {
        let place = match self.places.get(key) {
            Some(&place) => place,
            None => {
                let name = name();
                let found = self.operations.iter().position(|operation| operation.name == name);
                let place = found.unwrap_or_else(|| {
                    self.operations.push(OperationProfile { name, ..Default::default() });
                    self.operations.len() - 1
                });
                self.places.insert(key.to_owned(), place);
                place
            }
        };
        let operation = &mut self.operations[place];
        operation.num_calls += 1;
        operation.time += part.time;
        operation.busy += part.busy;
        if let Some(work) = work {
            operation.work.get_or_insert_default().add(work);
        }
    }
}

/// A part of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) time: Duration,
    /// The time that threads computed, over all threads.
    pub(super) busy: Duration,
}

/// The parts of an operation, whose durations add up to its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// Everything else.
    pub(super) own: Part,
    /// The conversion of the input of a product.
    pub(super) input: Part,
    /// The activation function of a gated product. It has a share of each thread's time.
    pub(super) gate: Part,
    /// Number of threads that everything but the conversion used.
    pub(super) sharers: u32,
}

impl Split {
    /// Splits an operation that took `time`, in which threads did `usage`. Outside of parallel steps, one thread computes.
    pub(super) fn new(time: Duration, usage: &ThreadUsage, num_threads: usize) -> Self {
        let ThreadUsage { parallel, busy, input, input_parallel, input_busy, gate_busy } = *usage;
        let busy = busy + time.saturating_sub(parallel);
        let input_busy = input_busy + input.saturating_sub(input_parallel);
        let sharers = if parallel > input_parallel { num_threads as u32 } else { 1 };
        // Only the threads' time is known.
        let gate = Part { time: gate_busy / sharers, busy: gate_busy };
        let input = Part { time: input, busy: input_busy };
        let own = Part {
            time: time.saturating_sub(input.time + gate.time),
            busy: busy.saturating_sub(input.busy + gate.busy),
        };
        Self { own, input, gate, sharers }
    }
}

/// What a product reads and computes.
fn product_work(product: &ProductOperation<'_>) -> Work {
    let mut work = Work::default();
    for tensor in product.tensors {
        let dims = [2, product.num_products, tensor.rows, tensor.cols];
        let ops = dims.into_iter().map(|dim| dim as u64).product::<u64>();
        let bytes = (product.num_matrices * tensor.matrix_bytes) as u64;
        work.add(match tensor.dtype {
            DType::F16 | DType::BF16 => Work { bytes, f16_ops: ops, ..Work::default() },
            dtype if dtype.is_float() => Work { bytes, f32_ops: ops, ..Work::default() },
            _ => Work { bytes, int8_ops: ops, ..Work::default() },
        });
    }
    work
}

/// The tensors without the number of the layer.
fn product_name(tensors: &[WeightTensor]) -> String {
    WeightPart::product_name(tensors.iter().map(|tensor| tensor.name.as_str()))
}

/// The name of an operation without weights.
fn plain_name(operation: &Operation<'_>) -> &'static str {
    match operation {
        Operation::Embedding => "embedding",
        Operation::Copy => "copies of rows",
        Operation::SelectCandidates => "selection of candidates",
        Operation::Elementwise => "elementwise",
        Operation::Norm => "norm",
        Operation::Product(_) => "product",
        Operation::Rope => "rotation",
        Operation::StoreKv => "storing keys and values",
        Operation::RopeAndStoreKv => "rotation, storing keys and values",
        Operation::Attention(_) => "attention",
        Operation::Convolution => "convolution",
        Operation::LinearAttention => "linear attention",
        Operation::SelectiveScan => "selective scan",
        Operation::RouteExperts => "routing",
        Operation::CombineExperts => "combination of experts",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, dtype: DType, matrix_bytes: usize) -> WeightTensor {
        WeightTensor { name: name.to_owned(), dtype, rows: 3, cols: 4, matrix_bytes }
    }

    #[test]
    fn parts_add_up_to_the_operation() {
        let ms = Duration::from_millis;
        // 10 ms in parallel, of which 2 prepare the input, and 3 on one thread, of which 1 prepares it.
        let usage = ThreadUsage {
            parallel: ms(10),
            busy: ms(18),
            input: ms(3),
            input_parallel: ms(2),
            input_busy: ms(4),
            gate_busy: ms(2),
        };
        let Split { own, input, gate, sharers } = Split::new(ms(13), &usage, 2);
        assert_eq!(sharers, 2);
        assert_eq!((input.time, input.busy), (ms(3), ms(5)));
        assert_eq!((gate.time, gate.busy), (ms(1), ms(2)));
        assert_eq!((own.time, own.busy), (ms(9), ms(14)));
        let alone = ThreadUsage { gate_busy: ms(2), ..ThreadUsage::default() };
        let Split { own, gate, sharers, .. } = Split::new(ms(5), &alone, 2);
        assert_eq!(sharers, 1);
        assert_eq!((own.time, own.busy, gate.time), (ms(3), ms(3), ms(2)));
    }

    #[test]
    fn products_with_experts_read_those_that_are_used() {
        let tensors = [
            tensor("blk.3.ffn_gate_exps.weight", DType::Q8_0, 100),
            tensor("blk.3.ffn_up_exps.weight", DType::F16, 50),
        ];
        let product = ProductOperation { tensors: &tensors, num_products: 10, num_matrices: 2 };
        let work = product_work(&product);
        assert_eq!(work, Work { bytes: 300, int8_ops: 240, f16_ops: 240, ..Work::default() });
        assert_eq!(product_name(&tensors), "ffn_gate_exps, ffn_up_exps");
        assert_eq!(product_name(&[tensor("output.weight", DType::F32, 1)]), "output");
    }
}
