//! What an observer of products receives.

use std::sync::{Arc, Mutex};

use inferno_backend::{
    AttentionParams, Backend, BatchBuilder, BlockId, DeviceMemory, ExpertInput, ExpertParams,
    Function, Gate, KvDType, KvLayout, LinearInput, LogitRows, Norm, ObservedBackend,
    ObservedMatrices, ObservedProduct, Operation, Pass, PassObserver, QkvLayout, ReferenceBackend,
    SequenceChunk, WeightPart,
};
use inferno_tensor::DType;

/// Tensors, input rows, number of matrices and the matrix of each row.
type Seen = (Vec<String>, Vec<f32>, usize, Vec<usize>);

#[derive(Default)]
struct Recorder(Mutex<Vec<Seen>>);

impl PassObserver for Recorder {
    fn wants(&self, tensor: &str) -> bool {
        tensor != "ignored"
    }

    fn observe(&self, product: &ObservedProduct<'_>) {
        let ObservedProduct { tensors, cols, values, matrices } = *product;
        let rows = values.len() / cols;
        let (count, used) = match matrices {
            ObservedMatrices::One => (1, vec![0; rows]),
            ObservedMatrices::Each { count } => (count, (0..rows).map(|row| row % count).collect()),
            ObservedMatrices::Experts { count, chosen, choices_per_row } => {
                assert_eq!(chosen.len(), rows * choices_per_row);
                (count, chosen.iter().map(|&expert| expert as usize).collect())
            }
        };
        self.0.lock().expect("no test panicked").push((
            tensors.to_vec(),
            values.to_vec(),
            count,
            used,
        ));
    }
}

type Observed = ObservedBackend<ReferenceBackend, Recorder>;

fn observed() -> (Observed, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    (ObservedBackend::new(Arc::new(ReferenceBackend), Arc::clone(&recorder)), recorder)
}

fn weight(
    backend: &Observed,
    names: &[&str],
    experts: usize,
) -> <Observed as DeviceMemory>::Weight {
    let bytes: Vec<u8> = (0..experts * 4).flat_map(|x| (x as f32).to_le_bytes()).collect();
    let part = |name: &&str| {
        WeightPart::experts(*name, DType::F32, experts, 2, 2, bytes.clone().into()).expect("a part")
    };
    backend.load_weight(&names.iter().map(part).collect::<Vec<_>>()).expect("a weight")
}

fn matrix(backend: &Observed, rows: usize, values: &[f32]) -> <Observed as DeviceMemory>::Buffer {
    let mut buffer = backend.alloc(rows, values.len() / rows).expect("memory");
    backend.upload(values, &mut buffer);
    buffer
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn inputs_are_those_after_a_fused_norm() {
    let (backend, recorder) = observed();
    let weight = weight(&backend, &["q", "ignored", "k"], 1);
    let x = matrix(&backend, 1, &[3.0, 4.0]);
    let ones = matrix(&backend, 1, &[1.0, 2.0]);
    let mut out = backend.alloc(1, 6).expect("memory");
    let mut pass = backend.begin();
    let norm = Norm::rms(&ones, 0.0);
    pass.linear(1, LinearInput::Normed { x: &x, norm }, &weight, None, &mut out).expect("memory");
    pass.linear_add(1, &x, &weight, None, &mut out).expect("memory");
    let rms = 12.5_f32.sqrt();
    let seen = recorder.0.lock().expect("no test panicked");
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].0, names(&["q", "k"]));
    assert!((seen[0].1[0] - 3.0 / rms).abs() < 1e-6 && (seen[0].1[1] - 8.0 / rms).abs() < 1e-6);
    assert_eq!(seen[1], (names(&["q", "k"]), vec![3.0, 4.0], 1, vec![0]));
}

#[test]
fn results_are_those_of_the_backend_itself() {
    let (backend, _) = observed();
    let x = [0.3, -0.4, 1.5, 2.0];
    let gate = Gate::Product(Function::Silu);
    let found = {
        let weight = weight(&backend, &["gate", "up"], 1);
        let (x, mut out) = (matrix(&backend, 2, &x), backend.alloc(2, 2).expect("memory"));
        backend.begin().linear_gated(2, &x, &weight, None, gate, &mut out).expect("memory");
        backend.download(&out, 0..4, &mut Vec::new()).expect("memory").to_vec()
    };
    let plain = ReferenceBackend;
    let bytes: Vec<u8> = (0..4).flat_map(|x| (x as f32).to_le_bytes()).collect();
    let part = |name| WeightPart::matrix(name, DType::F32, 2, 2, bytes.clone().into());
    let weight = plain.load_weight(&[part("gate").expect("a part"), part("up").expect("a part")]);
    let mut rows = plain.alloc(2, 2).expect("memory");
    plain.upload(&x, &mut rows);
    let mut out = plain.alloc(2, 2).expect("memory");
    let weight = weight.expect("a weight");
    plain.begin().linear_gated(2, &rows, &weight, None, gate, &mut out).expect("memory");
    assert_eq!(found, plain.download(&out, 0..4, &mut Vec::new()).expect("memory"));
}

#[test]
fn a_tensor_in_two_weights_is_observed_once() {
    let (backend, recorder) = observed();
    let first = weight(&backend, &["qkv"], 1);
    let second = weight(&backend, &["qkv"], 1);
    let (x, mut out) = (matrix(&backend, 1, &[1.0, 2.0]), backend.alloc(1, 2).expect("memory"));
    for weight in [&first, &second] {
        backend.begin().linear(1, &x, weight, None, &mut out).expect("memory");
    }
    assert_eq!(recorder.0.lock().expect("no test panicked").len(), 1);
}

#[test]
fn rows_are_counted_for_the_experts_that_were_chosen() {
    let (backend, recorder) = observed();
    let up = weight(&backend, &["gate", "up"], 3);
    let down = weight(&backend, &["down"], 3);
    let params = ExpertParams::softmax(3, 2, true);
    let mut routing = backend.alloc_routing(2, &params).expect("memory");
    // The first token chooses experts 2 and 0, the second one 1 and 2.
    let logits = matrix(&backend, 2, &[2.0, 1.0, 3.0, 0.0, 9.0, 8.0]);
    let x = matrix(&backend, 2, &[1.0, 2.0, 3.0, 4.0]);
    let mut hidden = backend.alloc(4, 2).expect("memory");
    let mut out = backend.alloc(4, 2).expect("memory");
    let mut pass = backend.begin();
    pass.route_experts(2, &logits, None, &params, &mut routing);
    let gate = Gate::Product(Function::Silu);
    let input = (&x, ExpertInput::PerToken);
    pass.expert_linear_gated(&routing, input, &up, None, gate, &mut hidden).expect("memory");
    let inner = backend.download(&hidden, 0..8, &mut Vec::new()).expect("memory").to_vec();
    pass.expert_linear(&routing, &hidden, &down, None, &mut out).expect("memory");
    let chosen = vec![2, 0, 1, 2];
    let seen = recorder.0.lock().expect("no test panicked");
    assert_eq!(seen[0], (names(&["gate", "up"]), vec![1.0, 2.0, 3.0, 4.0], 3, chosen.clone()));
    assert_eq!(seen[1], (names(&["down"]), inner, 3, chosen));
}

/// The name of each operation, and the numbers of positions, products or matrices.
#[derive(Default)]
struct Operations(Mutex<Vec<(String, Vec<usize>)>>);

impl PassObserver for Operations {
    const OBSERVES_OPERATIONS: bool = true;

    fn begin(&self) {
        self.0.lock().expect("no test panicked").push(("begin".to_owned(), Vec::new()));
    }

    fn end(&self, operation: &Operation<'_>) {
        let seen = match operation {
            Operation::Product(product) => {
                let names = product.tensors.iter().map(|tensor| tensor.name.as_str());
                let bytes = product.tensors.iter().map(|tensor| tensor.matrix_bytes).sum();
                let counts = vec![product.num_products, product.num_matrices, bytes];
                (names.collect::<Vec<_>>().join("+"), counts)
            }
            Operation::Attention(attention) => {
                let positions = attention.sequences.iter().flat_map(|it| [it.start, it.end]);
                ("attention".to_owned(), positions.collect())
            }
            other => (format!("{other:?}"), Vec::new()),
        };
        let mut state = self.0.lock().expect("no test panicked");
        assert_eq!(state.pop().map(|(name, _)| name).as_deref(), Some("begin"));
        state.push(seen);
    }
}

#[test]
fn operations_are_observed_with_what_they_read() {
    let operations = Arc::new(Operations::default());
    let backend = ObservedBackend::new(Arc::new(ReferenceBackend), Arc::clone(&operations));
    let bytes = |values: usize| vec![0_u8; 4 * values];
    let matrix = |name| WeightPart::matrix(name, DType::F32, 2, 2, bytes(4).into());
    let gate_up = [matrix("gate").expect("a part"), matrix("up").expect("a part")];
    let gate_up = backend.load_weight(&gate_up).expect("a weight");
    let experts = WeightPart::experts("experts", DType::F32, 3, 2, 2, bytes(12).into());
    let experts = backend.load_weight(&[experts.expect("a part")]).expect("a weight");
    let x = backend.alloc(3, 2).expect("memory");
    let mut out = backend.alloc(4, 2).expect("memory");

    // Both tokens choose the first two experts.
    let params = ExpertParams::softmax(3, 2, true);
    let mut routing = backend.alloc_routing(2, &params).expect("memory");
    let mut logits = backend.alloc(2, 3).expect("memory");
    backend.upload(&[2.0, 3.0, 1.0, 3.0, 2.0, 1.0], &mut logits);

    // Two tokens of one sequence after two others, and one token of another.
    let layout = QkvLayout::new(1, 1, 4);
    let kv = KvLayout {
        layers: vec![layout.kv_layer()],
        window: None,
        block_tokens: 4,
        num_blocks: 2,
        dtype: KvDType::F32,
    };
    let mut cache = backend.alloc_kv_cache(&kv).expect("memory");
    let mut builder = BatchBuilder::new(4);
    for (tokens, start, block_table) in
        [(&[1, 2][..], 2, [BlockId(0)]), (&[3][..], 0, [BlockId(1)])]
    {
        let (logits, second_segment) = (LogitRows::None, None);
        let chunk =
            SequenceChunk { tokens, start, block_table: &block_table, logits, second_segment };
        builder.push(&chunk).expect("a chunk");
    }
    let mut batch = backend.alloc_batch();
    backend.upload_batch(&builder.build(), &mut batch);
    let qkv = backend.alloc(3, layout.row_len()).expect("memory");
    let mut attended = backend.alloc(3, layout.out_len()).expect("memory");

    let mut pass = backend.begin();
    let gate = Gate::Product(Function::Silu);
    pass.linear_gated(3, &x, &gate_up, None, gate, &mut out).expect("memory");
    pass.store_kv(&batch, 0, &layout, &qkv, &mut cache);
    let params_of_layer = AttentionParams::new(0, 1.0);
    pass.paged_attention(&batch, &params_of_layer, &layout, &qkv, &cache, &mut attended)
        .expect("memory");
    pass.route_experts(2, &logits, None, &params, &mut routing);
    let hidden = backend.alloc(4, 2).expect("memory");
    pass.expert_linear(&routing, &hidden, &experts, None, &mut out).expect("memory");
    let seen = operations.0.lock().expect("no test panicked");
    let plain = |name: &str| (name.to_owned(), Vec::new());
    let expected = [
        ("gate+up".to_owned(), vec![3, 1, 32]),
        plain("StoreKv"),
        ("attention".to_owned(), vec![2, 4, 0, 1]),
        plain("RouteExperts"),
        ("experts".to_owned(), vec![4, 2, 16]),
    ];
    assert_eq!(*seen, expected);
}

#[test]
fn matrices_of_heads_have_a_row_each() {
    let (backend, recorder) = observed();
    let weight = weight(&backend, &["k_b"], 2);
    let params = ExpertParams::softmax(2, 2, false);
    let mut routing = backend.alloc_routing(1, &params).expect("memory");
    let (x, mut out) = (matrix(&backend, 2, &[1.0, 2.0, 3.0, 4.0]), backend.alloc(2, 2));
    let out = out.as_mut().expect("memory");
    let mut pass = backend.begin();
    pass.route_to_all(1, &mut routing);
    pass.expert_linear(&routing, &x, &weight, None, out).expect("memory");
    let seen = recorder.0.lock().expect("no test panicked");
    assert_eq!(*seen, [(names(&["k_b"]), vec![1.0, 2.0, 3.0, 4.0], 2, vec![0, 1])]);
}
